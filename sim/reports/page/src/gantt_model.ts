// The rectangles of the Gantt chart, and which of them lies where.
import {bisectRight} from "d3-array";

import type {RunReport} from "./data";

export type RowsBy = "node" | "device";
export type ColourBy = "job" | "phase" | "priority";

/** What lies under the pointer. */
export interface Hit {
  part: number;
  job: number;
  /** The instant pointed at, within the part's segment. */
  at: number;
}

/** One row a node, or one a device; heights are in rows. */
export class Rows {
  /** [node]: where it begins. */
  readonly top: number[] = [];
  readonly total: number;

  constructor(readonly report: RunReport, readonly by: RowsBy) {
    let next = 0;
    for (const devices of report.cluster.devices) {
      this.top.push(next);
      next += by === "node" ? 1 : Math.max(1, devices);
    }
    this.total = Math.max(1, next);
  }

  /** Height of one device of `node`. */
  unit(node: number): number {
    return this.by === "node" ? 1 / Math.max(1, this.report.cluster.devices[node]!) : 1;
  }

  nodeAt(row: number): number {
    return Math.max(0, Math.min(this.top.length - 1, bisectRight(this.top, row) - 1));
  }

  height(node: number): number {
    return this.by === "node" ? 1 : Math.max(1, this.report.cluster.devices[node]!);
  }

  /** "n3", or "n3/5" for its device 5. */
  label(node: number, device: number): string {
    const name = this.report.cluster.node[node]!;
    return this.by === "node" ? name : `${name}/${device}`;
  }
}

export class GanttModel {
  readonly segment: Int32Array;
  readonly job: Int32Array;
  readonly begin: Float64Array;
  readonly end: Float64Array;
  private readonly phaseBegin: Int32Array; // [job]: its first row of `phases`; one more than jobs.

  constructor(readonly report: RunReport) {
    const {parts, segments, phases, jobs} = report;
    const count = parts.segment.length;
    this.segment = Int32Array.from(parts.segment);
    this.job = new Int32Array(count);
    this.begin = new Float64Array(count);
    this.end = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      const segment = this.segment[i]!;
      this.job[i] = segments.job[segment]!;
      this.begin[i] = segments.begin_s[segment]!;
      this.end[i] = segments.end_s[segment]!;
    }
    this.phaseBegin = new Int32Array(jobs.name.length + 1);
    for (const job of phases.job) this.phaseBegin[job + 1]!++;
    for (let job = 0; job < jobs.name.length; job++) this.phaseBegin[job + 1]! += this.phaseBegin[job]!;
  }

  get size(): number {
    return this.job.length;
  }

  /** Rows of `phases` of a job: from the first to before the second. */
  phasesOf(job: number): [number, number] {
    return [this.phaseBegin[job]!, this.phaseBegin[job + 1]!];
  }

  /** The row of `phases` that holds for a job at a time; -1: none yet. */
  phaseAt(job: number, at: number): number {
    const [first, past] = this.phasesOf(job);
    const after = bisectRight(this.report.phases.at_s, at, first, past);
    return after > first ? after - 1 : -1;
  }

  /** What is drawn at a time and a row; of several within `slack` seconds the nearest. */
  hit(rows: Rows, at: number, row: number, slack: number): Hit | null {
    const node = rows.nodeAt(row);
    const device = Math.floor((row - rows.top[node]!) / rows.unit(node));
    const {parts} = this.report;
    let best = -1;
    let bestDistance = Infinity;
    for (let i = 0; i < this.size; i++) {
      if (parts.node[i] !== node || this.begin[i]! > at + slack || this.end[i]! < at - slack) continue;
      const first = parts.first_device[i]!;
      if (device < first || device >= first + parts.devices[i]!) continue;
      const distance = at < this.begin[i]! ? this.begin[i]! - at : at > this.end[i]! ? at - this.end[i]! : 0;
      if (distance < bestDistance) {
        best = i;
        bestDistance = distance;
      }
    }
    if (best < 0) return null;
    return {part: best, job: this.job[best]!, at: Math.min(this.end[best]!, Math.max(this.begin[best]!, at))};
  }

  /** From the first to the last time that a job holds devices; null where it never does. */
  span(job: number): [number, number] | null {
    let from = Infinity;
    let to = -Infinity;
    for (let i = 0; i < this.size; i++) {
      if (this.job[i] !== job) continue;
      from = Math.min(from, this.begin[i]!);
      to = Math.max(to, this.end[i]!);
    }
    return from <= to ? [from, to] : null;
  }
}
