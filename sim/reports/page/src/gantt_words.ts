// What the Gantt chart says about what is pointed at.
import type {RunReport} from "./data";
import {html} from "./elements";
import type {GanttModel, Hit} from "./gantt_model";
import {clock, duration} from "./numbers";

/** Rows of a name and a value, aligned. */
export function pairs(rows: [string, string][]): HTMLElement {
  return html("dl", {class: "pairs"}, ...rows.flatMap(([name, value]) => [html("dt", {}, name), html("dd", {}, value)]));
}

function range(first: number, last: number): string {
  return first === last ? String(first) : `${first}–${last}`;
}

export function describePart(model: GanttModel, hit: Hit): HTMLElement {
  const {report} = model;
  const {parts, segments, words, phases, cluster} = report;
  const i = hit.part;
  const begin = model.begin[i]!;
  const end = model.end[i]!;
  const step = end - begin < 10 ? 0.001 : 1;
  const first = parts.first_device[i]!;
  const rows: [string, string][] = [
    ["node", `${cluster.node[parts.node[i]!]}, device${parts.devices[i] === 1 ? "" : "s"} ${range(first, first + parts.devices[i]! - 1)}`],
  ];
  if (parts.role[i]! >= 0)
    rows.push(["role", `${words.roles[parts.role[i]!]}, rank${parts.first_rank[i] === parts.last_rank[i] ? "" : "s"} ${range(parts.first_rank[i]!, parts.last_rank[i]!)}`]);
  rows.push(["held", `${clock(begin, step)} to ${clock(end, step)}, ${duration(end - begin)}`]);
  rows.push(["because", words.reasons[segments.reason[model.segment[i]!]!]!]);
  const phase = model.phaseAt(hit.job, hit.at);
  if (phase >= 0)
    rows.push(["phase", `${words.phases[phases.phase[phase]!]} since ${clock(phases.at_s[phase]!, step)} (${words.reasons[phases.reason[phase]!]})`]);
  return html("div", {}, html("strong", {}, report.jobs.name[hit.job]!), pairs(rows));
}

export function describeMark(report: RunReport, mark: number): HTMLElement {
  const {marks, cluster, jobs} = report;
  const rows: [string, string][] = [["at", clock(marks.at_s[mark]!, 0.001)]];
  if (marks.node[mark]! >= 0) rows.push(["node", cluster.node[marks.node[mark]!]!]);
  if (marks.job[mark]! >= 0) rows.push(["job", jobs.name[marks.job[mark]!]!]);
  const mended = marks.mended_s[mark];
  if (mended !== null && mended !== undefined) rows.push(["mended", `after ${duration(mended - marks.at_s[mark]!)}`]);
  return html("div", {}, html("strong", {}, marks.what[mark]!), pairs(rows));
}
