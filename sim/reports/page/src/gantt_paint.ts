// Draws the Gantt chart: which job held which devices when, what failed, what is picked.
import {clipped, font} from "./canvas";
import type {ColourBy, GanttModel, Rows} from "./gantt_model";
import {heat, manyColours, phaseColour, styled, theme} from "./theme";
import type {Plot, TimeView} from "./time_view";
import {paintTimeAxis} from "./time_axis";

export interface GanttLook {
  colourBy: ColourBy;
  /** The rows shown, from the first to before the second. */
  rowFrom: number;
  rowTo: number;
  /** The job that is picked; -1: none. Others are then dimmed. */
  job: number;
}

/** Colours of the jobs' rectangles, by what they are coloured by. */
export class JobColours {
  private readonly colours = manyColours();
  private readonly priorities: number[];

  constructor(private readonly model: GanttModel) {
    this.priorities = [...new Set(model.report.jobs.priority)].sort((a, b) => a - b);
  }

  byJob(job: number): string {
    return this.colours[job % this.colours.length]!;
  }

  byPriority(priority: number): string {
    const last = this.priorities.length - 1;
    return heat(last === 0 ? 0.55 : 0.15 + 0.8 * (this.priorities.indexOf(priority) / last));
  }

  /** Ascending. */
  get distinctPriorities(): number[] {
    return this.priorities;
  }

  of(job: number, by: ColourBy): string {
    return by === "priority" ? this.byPriority(this.model.report.jobs.priority[job]!) : this.byJob(job);
  }
}

/** Black or white, whichever reads better on `colour`, written #rrggbb or rgb(r, g, b). */
function ink(colour: string): string {
  const parts = colour.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : (colour.match(/\d+/g) ?? ["0", "0", "0"]).map(Number);
  return 0.299 * parts[0]! + 0.587 * parts[1]! + 0.114 * parts[2]! > 140 ? "#111111" : "#ffffff";
}

export class GanttPainter {
  private x: (at: number) => number;
  private y: (row: number) => number;
  private readonly rowPixels: number;

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly plot: Plot,
    private readonly view: TimeView,
    private readonly model: GanttModel,
    private readonly rows: Rows,
    private readonly look: GanttLook) {
    const perSecond = plot.width / (view.to - view.from);
    this.x = (at) => plot.left + (at - view.from) * perSecond;
    this.rowPixels = plot.height / (look.rowTo - look.rowFrom);
    this.y = (row) => plot.top + (row - look.rowFrom) * this.rowPixels;
  }

  paint(): void {
    const {context, plot} = this;
    context.fillStyle = styled("--plot");
    context.fillRect(plot.left, plot.top, plot.width, plot.height);
    this.rowLines();
    context.save();
    context.beginPath();
    context.rect(plot.left, plot.top, plot.width, plot.height);
    context.clip();
    this.nodeStates();
    this.parts();
    this.marks();
    context.restore();
    this.labels();
    paintTimeAxis(context, plot, this.view);
  }

  private rowLines(): void {
    const {context, plot, rows} = this;
    context.fillStyle = styled("--rule");
    const first = rows.nodeAt(this.look.rowFrom);
    const last = rows.nodeAt(this.look.rowTo);
    for (let node = first; node <= last; node++) {
      const height = rows.height(node) * this.rowPixels;
      if (height < 4) return;
      const y = this.y(rows.top[node]!);
      if (node > first) context.fillRect(plot.left, Math.round(y) - 0.5, plot.width, 1);
    }
  }

  /** Times in which a node was not to be used: hatched. */
  private nodeStates(): void {
    const {context, rows} = this;
    const {node_states: states} = this.model.report;
    if (states.node.length === 0) return;
    const hatch = this.hatch();
    for (let i = 0; i < states.node.length; i++) {
      const node = states.node[i]!;
      const top = this.y(rows.top[node]!);
      const height = rows.height(node) * this.rowPixels;
      const left = this.x(states.begin_s[i]!);
      const width = Math.max(1, this.x(states.end_s[i]!) - left);
      if (left > this.plot.left + this.plot.width || left + width < this.plot.left) continue;
      context.fillStyle = hatch;
      context.fillRect(left, top, width, height);
    }
  }

  private hatch(): CanvasPattern {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d")!;
    pen.fillStyle = styled("--down");
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = styled("--hatch");
    pen.lineWidth = 1.2;
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift - 1, 7);
      pen.lineTo(shift + 7, -1);
    }
    pen.stroke();
    return this.context.createPattern(tile, "repeat")!;
  }

  private parts(): void {
    const {model, rows, look, view} = this;
    const {parts, jobs} = model.report;
    const colours = new JobColours(model);
    for (let i = 0; i < model.size; i++) {
      const begin = model.begin[i]!;
      const end = model.end[i]!;
      if (end < view.from || begin > view.to) continue;
      const node = parts.node[i]!;
      const unit = rows.unit(node);
      const row = rows.top[node]! + parts.first_device[i]! * unit;
      const height = parts.devices[i]! * unit;
      if (row > look.rowTo || row + height < look.rowFrom) continue;
      const job = model.job[i]!;
      this.context.globalAlpha = look.job < 0 || look.job === job ? 1 : 0.18;
      const y = this.y(row);
      const pixels = height * this.rowPixels;
      if (look.colourBy === "phase") this.phases(job, begin, end, y, pixels);
      else this.bar(begin, end, y, pixels, colours.of(job, look.colourBy));
      this.name(jobs.name[job]!, begin, end, y, pixels,
        look.colourBy === "phase" ? phaseColour("Running") : colours.of(job, look.colourBy));
    }
    this.context.globalAlpha = 1;
  }

  private phases(job: number, begin: number, end: number, y: number, height: number): void {
    const {phases, words} = this.model.report;
    const [first, past] = this.model.phasesOf(job);
    let row = Math.max(first, this.model.phaseAt(job, begin));
    for (let from = begin; from < end; row++) {
      const next = row + 1 < past ? Math.min(end, phases.at_s[row + 1]!) : end;
      if (next > from) this.bar(from, next, y, height, phaseColour(words.phases[phases.phase[row]!]!));
      from = Math.max(from, next);
      if (row + 1 >= past) return;
    }
  }

  /** A rectangle with a gap to its neighbours where there is room for one. */
  private bar(begin: number, end: number, y: number, height: number, colour: string): void {
    const left = this.x(begin);
    const width = Math.max(0.6, this.x(end) - left);
    this.context.fillStyle = colour;
    this.context.fillRect(
      left, height > 3 ? y + 0.5 : y, width > 3 ? width - 0.5 : width, height > 3 ? height - 1 : Math.max(0.4, height));
  }

  private name(text: string, begin: number, end: number, y: number, height: number, ground: string): void {
    if (height < 11) return;
    const {context, plot} = this;
    const left = Math.max(this.x(begin), plot.left) + 4;
    const room = Math.min(this.x(end), plot.left + plot.width) - left - 4;
    if (room < 14) return;
    context.font = font(Math.min(11, height - 2));
    context.fillStyle = ink(ground);
    context.textAlign = "left";
    context.textBaseline = "middle";
    if (context.measureText(text).width <= room) context.fillText(text, left, y + height / 2 + 0.5);
  }

  /** A triangle where something failed, on the node's row or above the plot. */
  private marks(): void {
    const {marks} = this.model.report;
    const size = Math.max(3.5, Math.min(6, this.rowPixels / 3));
    for (let i = 0; i < marks.at_s.length; i++) {
      const at = marks.at_s[i]!;
      if (at < this.view.from || at > this.view.to) continue;
      for (const row of this.rowsOfMark(i)) this.triangle(this.x(at), this.y(row), size);
    }
  }

  private rowsOfMark(mark: number): number[] {
    const {marks} = this.model.report;
    const node = marks.node[mark]!;
    return node >= 0 ? [this.rows.top[node]!] : [this.look.rowFrom];
  }

  private triangle(x: number, y: number, size: number): void {
    const {context} = this;
    context.beginPath();
    context.moveTo(x - size, y + 0.5);
    context.lineTo(x + size, y + 0.5);
    context.lineTo(x, y + 0.5 + size * 1.7);
    context.closePath();
    context.fillStyle = styled("--alarm");
    context.strokeStyle = theme() === "light" ? "#ffffff" : "#000000";
    context.lineWidth = 1;
    context.fill();
    context.stroke();
  }

  private labels(): void {
    const {context, plot, rows, look} = this;
    context.font = font(11);
    context.fillStyle = styled("--quiet");
    context.textAlign = "right";
    context.textBaseline = "middle";
    let free = plot.top;
    const last = rows.nodeAt(look.rowTo);
    for (let node = rows.nodeAt(look.rowFrom); node <= last; node++) {
      // Devices are named where each has room for its name, else their node is.
      const each = rows.by === "device" && this.rowPixels >= 11;
      const height = rows.height(node);
      for (let row = 0; row < height; row += each ? 1 : height) {
        const middle = this.y(rows.top[node]! + row + (each ? 0.5 : height / 2));
        if (middle < free + 5 || middle < plot.top || middle > plot.top + plot.height - 4) continue;
        const text = each ? rows.label(node, row) : rows.report.cluster.node[node]!;
        context.fillText(clipped(context, text, plot.left - 8), plot.left - 6, middle);
        free = middle + 7;
      }
    }
  }
}
