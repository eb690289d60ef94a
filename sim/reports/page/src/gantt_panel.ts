// The Gantt chart with its switches, search, legend and description of what is pointed at.
import {prepared} from "./canvas";
import type {RunReport} from "./data";
import {choice, html, table, tableBehind} from "./elements";
import {type ColourBy, GanttModel, type Hit, Rows, type RowsBy} from "./gantt_model";
import {type GanttLook, GanttPainter, JobColours} from "./gantt_paint";
import {clock, duration, percent, plain} from "./numbers";
import {isPrinting, onLayout} from "./layout";
import {onTheme, phaseColour} from "./theme";
import {kRightMargin, kTimeAxis, leftMargin} from "./time_axis";
import {attachGestures, type Plot, type TimeView} from "./time_view";
import {describeMark, describePart} from "./gantt_words";
import type {JobChoice} from "./job_choice";

const kTop = 8;

export class GanttPanel {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly tip: HTMLElement;
  private readonly pinned: HTMLElement;
  private readonly legend: HTMLElement;
  private readonly model: GanttModel;
  private rows: Rows;
  private readonly look: GanttLook;
  private plot: Plot = {left: 0, top: kTop, width: 1, height: 1};
  private pinnedHit: Hit | null = null;
  private travelled = 0;

  constructor(private readonly report: RunReport, private readonly view: TimeView, private readonly jobs: JobChoice) {
    this.model = new GanttModel(report);
    this.rows = new Rows(report, "node");
    this.look = {colourBy: "job", rowFrom: 0, rowTo: this.rows.total, job: -1};
    this.canvas = html("canvas", {
      id: "gantt", tabindex: "0", role: "img",
      "aria-label": `Gantt chart of ${report.cluster.node.length} nodes over ${duration(report.end_s)}. Arrow keys move, ` +
        "plus and minus zoom time, Page Up and Page Down zoom rows, 0 shows all. The table below the chart has the same figures.",
    });
    this.tip = html("div", {class: "tip", role: "status", hidden: true});
    this.pinned = html("div", {class: "pinned", "aria-live": "polite"});
    this.legend = html("div", {class: "legend"});
    this.element = html("figure", {class: "over-time", id: "gantt-figure"},
      html("figcaption", {}, html("h3", {}, "Devices by job")), this.switches(),
      html("div", {class: "canvas-box"}, this.canvas, this.tip), this.legend, this.pinned,
      tableBehind(() => this.nodeTable()));
    attachGestures(this.canvas, view, () => this.plot, (pixels) => {
      this.travelled += Math.abs(pixels);
      this.moveRows((pixels / this.plot.height) * (this.look.rowTo - this.look.rowFrom));
    });
    this.listen();
    view.onChange(() => this.draw());
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
    jobs.onChange(() => this.jobChosen());
  }

  private switches(): HTMLElement {
    const zoom = (text: string, label: string, act: () => void) =>
      html("button", {type: "button", "aria-label": label, title: label, click: act}, text);
    return html("div", {class: "switches"},
      choice<RowsBy>("Rows", [["node", "Nodes"], ["device", "Devices"]], "node", (by) => {
        this.rows = new Rows(this.report, by);
        this.look.rowFrom = 0;
        this.look.rowTo = this.rows.total;
        this.draw();
      }),
      choice<ColourBy>("Colour", [["job", "Job"], ["phase", "Phase"], ["priority", "Priority"]], "job", (by) => {
        this.look.colourBy = by;
        this.draw();
      }),
      html("div", {class: "choice", role: "group", "aria-label": "Zoom"}, html("span", {class: "label"}, "Zoom"),
        zoom("−", "Zoom out", () => this.view.zoom(1 / 0.6)), zoom("+", "Zoom in", () => this.view.zoom(0.6)),
        zoom("All", "Show the whole run", () => { this.view.reset(); this.showRows(0, this.rows.total); })),
      this.jobs.field());
  }

  private listen(): void {
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerdown", () => { this.travelled = 0; });
    this.canvas.addEventListener("pointermove", (event) => { this.travelled += Math.abs(event.movementX); });
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("click", (event) => {
      if (this.travelled > 8) return;
      const hit = this.hitAt(event);
      this.pinnedHit = hit;
      this.jobs.choose(hit === null ? -1 : hit.job);
    });
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.shiftKey || document.activeElement !== this.canvas) return;
      event.preventDefault();
      const moved = event.deltaY !== 0 ? event.deltaY : event.deltaX;
      this.moveRows((moved / this.plot.height) * (this.look.rowTo - this.look.rowFrom));
    }, {passive: false});
    this.canvas.addEventListener("keydown", (event) => {
      const shown = this.look.rowTo - this.look.rowFrom;
      if (event.key === "ArrowUp") this.moveRows(-0.1 * shown);
      else if (event.key === "ArrowDown") this.moveRows(0.1 * shown);
      else if (event.key === "PageUp") this.zoomRows(0.7);
      else if (event.key === "PageDown") this.zoomRows(1 / 0.7);
      else if (event.key === "0" || event.key === "Home") this.showRows(0, this.rows.total);
      else if (event.key === "Escape") this.jobs.choose(-1);
      else return;
      event.preventDefault();
    });
  }

  private showRows(from: number, to: number): void {
    const count = Math.min(this.rows.total, Math.max(to - from, Math.min(1, this.rows.total)));
    this.look.rowFrom = Math.min(Math.max(0, from), this.rows.total - count);
    this.look.rowTo = this.look.rowFrom + count;
    this.draw();
  }

  private moveRows(by: number): void {
    const count = this.look.rowTo - this.look.rowFrom;
    const from = Math.min(Math.max(0, this.look.rowFrom + by), this.rows.total - count);
    if (from !== this.look.rowFrom) this.showRows(from, from + count);
  }

  private zoomRows(factor: number): void {
    const middle = (this.look.rowFrom + this.look.rowTo) / 2;
    const half = ((this.look.rowTo - this.look.rowFrom) / 2) * factor;
    this.showRows(middle - half, middle + half);
  }

  private draw(): void {
    const width = this.canvas.parentElement!.clientWidth;
    if (width === 0) return;
    const rowPixels = this.rows.by === "node" ? 30 : 13;
    const height = Math.round(Math.min(460, Math.max(90, this.rows.total * rowPixels)));
    const left = leftMargin(width);
    this.plot = {left, top: kTop, width: width - left - kRightMargin, height};
    const context = prepared(this.canvas, width, kTop + height + kTimeAxis + 4, isPrinting());
    new GanttPainter(context, this.plot, this.view, this.model, this.rows, this.look).paint();
    // What the tests, and scripts that take pictures, need to find a rectangle.
    this.canvas.dataset["plot"] = JSON.stringify({
      ...this.plot, from: this.view.from, to: this.view.to, rowFrom: this.look.rowFrom, rowTo: this.look.rowTo});
    this.drawLegend();
  }

  private drawLegend(): void {
    const colours = new JobColours(this.model);
    const item = (colour: string, text: string) => {
      const patch = html("span", {class: "patch"});
      patch.style.background = colour;
      return html("span", {class: "item"}, patch, text);
    };
    const items: HTMLElement[] = [];
    if (this.look.colourBy === "phase") {
      const seen = new Set(this.report.phases.phase);
      this.report.words.phases.forEach((phase, at) => {
        if (seen.has(at)) items.push(item(phaseColour(phase), phase));
      });
    } else if (this.look.colourBy === "priority") {
      const all = colours.distinctPriorities;
      const shown = all.length <= 8 ? all : all.filter((_, at) => at % Math.ceil(all.length / 8) === 0);
      for (const priority of shown) items.push(item(colours.byPriority(priority), plain(priority)));
      items.unshift(html("span", {class: "item"}, "priority"));
    } else {
      items.push(html("span", {class: "item"}, "colours tell neighbouring jobs apart and repeat"));
    }
    if (this.report.marks.at_s.length > 0) items.push(html("span", {class: "item"}, html("span", {class: "mark"}, "▼"), "failure"));
    if (this.report.node_states.node.length > 0) items.push(html("span", {class: "item"}, html("span", {class: "patch hatched"}), "node not in use"));
    items.push(html("span", {class: "item hint"}, "click to focus and pin, then wheel or + − zooms; drag or arrows move; Shift+wheel and Page Up/Down for rows"));
    this.legend.replaceChildren(...items);
  }

  private hitAt(event: MouseEvent): Hit | null {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left - this.plot.left;
    const y = event.clientY - box.top - this.plot.top;
    if (x < 0 || y < 0 || x > this.plot.width || y > this.plot.height) return null;
    const perPixel = (this.view.to - this.view.from) / this.plot.width;
    const row = this.look.rowFrom + (y / this.plot.height) * (this.look.rowTo - this.look.rowFrom);
    return this.model.hit(this.rows, this.view.from + x * perPixel, row, 2 * perPixel);
  }

  private hover(event: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const mark = this.markAt(x, y);
    const hit = this.hitAt(event);
    this.tip.hidden = mark < 0 && hit === null;
    if (this.tip.hidden) return;
    this.tip.replaceChildren(mark >= 0 ? describeMark(this.report, mark) : describePart(this.model, hit!));
    const width = this.tip.offsetWidth;
    const room = this.canvas.clientWidth;
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, room - width))}px`;
    this.tip.style.top = `${y + 16}px`;
  }

  private markAt(x: number, y: number): number {
    const {marks} = this.report;
    const perRow = this.plot.height / (this.look.rowTo - this.look.rowFrom);
    for (let i = 0; i < marks.at_s.length; i++) {
      const at = this.plot.left + ((marks.at_s[i]! - this.view.from) / (this.view.to - this.view.from)) * this.plot.width;
      const row = marks.node[i]! >= 0 ? this.rows.top[marks.node[i]!]! : this.look.rowFrom;
      const top = this.plot.top + (row - this.look.rowFrom) * perRow;
      if (Math.abs(x - at) < 6 && y >= top - 1 && y < top + 10) return i;
    }
    return -1;
  }

  private jobChosen(): void {
    this.look.job = this.jobs.chosen;
    if (this.pinnedHit !== null && this.pinnedHit.job !== this.look.job) this.pinnedHit = null;
    if (this.look.job < 0) {
      this.pinned.replaceChildren();
    } else {
      const span = this.model.span(this.look.job);
      if (span !== null && (span[1] < this.view.from || span[0] > this.view.to)) {
        const room = (span[1] - span[0]) * 0.5;
        this.view.show(span[0] - room, span[1] + room);
      }
      this.pinned.replaceChildren(this.jobs.describe(this.model, this.pinnedHit));
    }
    this.draw();
  }

  private nodeTable(): HTMLElement {
    const {cluster, parts} = this.report;
    const held = cluster.node.map(() => 0);
    const jobs = cluster.node.map(() => new Set<number>());
    for (let i = 0; i < this.model.size; i++) {
      held[parts.node[i]!]! += parts.devices[i]! * (this.model.end[i]! - this.model.begin[i]!);
      jobs[parts.node[i]!]!.add(this.model.job[i]!);
    }
    const down = cluster.node.map(() => 0);
    const {node_states: states} = this.report;
    states.node.forEach((node, i) => { down[node]! += states.end_s[i]! - states.begin_s[i]!; });
    return table("Nodes over the whole run", ["Node", "Devices", "Jobs", "Held", "Not in use"], cluster.node.map((name, node) => [
      name, String(cluster.devices[node]), String(jobs[node]!.size),
      percent(held[node]! / Math.max(1e-12, cluster.devices[node]! * this.report.end_s)), clock(down[node]!)]));
  }
}
