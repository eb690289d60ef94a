// A quantity over time, in step with the Gantt chart above it.
import {bisectRight, max} from "d3-array";
import {area, curveStepAfter, line} from "d3-shape";

import {framed, type Frame, plotHeight, plotWidth, type Tick} from "./chart_frame";
import type {Series} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import {onLayout} from "./layout";
import {clock, plain, timeTicks} from "./numbers";
import {linearScale} from "./scales";
import {kRightMargin, leftMargin} from "./time_axis";
import {attachGestures, type TimeView} from "./time_view";

export interface SeriesLook {
  id: string;
  title: string;
  /** Upper end of the axis; null: the highest value. */
  top: number | null;
  /** What a value is called beside the pointer, such as "45 of 64 devices". */
  say: (value: number, at: number) => string;
  /** A second quantity at the same times, drawn as a line above the area. */
  line?: number[];
}

const kPoints = 4000;

export class SeriesPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box", tabindex: "0", role: "group"});
  private readonly readout = html("span", {class: "readout"});
  private frame: Frame = {width: 600, height: 112, left: 84, right: kRightMargin, top: 6, bottom: 22};
  private readonly top: number;
  private hair: SVGLineElement | null = null;

  constructor(private readonly series: Series, private readonly view: TimeView, private readonly look: SeriesLook) {
    const highest = max([...(series.highest.length > 0 ? series.highest : series.mean), ...(look.line ?? [])]) ?? 0;
    this.top = Math.max(look.top ?? highest, highest, 1);
    this.box.setAttribute("aria-label", `${look.title} over time; arrow keys move, plus and minus zoom, 0 shows all`);
    this.element = html("figure", {class: "over-time", id: look.id},
      html("figcaption", {}, html("h3", {}, look.title), this.readout), this.box, tableBehind(() => this.table()));
    attachGestures(this.box, view, () => ({
      left: this.frame.left, top: this.frame.top, width: plotWidth(this.frame), height: plotHeight(this.frame)}));
    view.onChange(() => this.draw());
    view.onCursor(() => this.point());
    onLayout(this.element, () => this.draw());
  }

  private valueAt(at: number): number {
    const i = bisectRight(this.series.at_s, at) - 1;
    return i < 0 ? 0 : this.series.mean[i]!;
  }

  /** Index of the points to draw: those in view, and the one before; some where there are many. */
  private shown(): number[] {
    const {at_s} = this.series;
    const first = Math.max(0, bisectRight(at_s, this.view.from) - 1);
    const past = Math.min(at_s.length, bisectRight(at_s, this.view.to) + 1);
    const stride = Math.max(1, Math.ceil((past - first) / kPoints));
    const out = [];
    for (let i = first; i < past; i += stride) out.push(i);
    return out;
  }

  private draw(): void {
    const width = this.box.clientWidth;
    if (width === 0) return;
    this.frame = {...this.frame, width, left: leftMargin(width)};
    const {from, to} = this.view;
    const x = linearScale([from, to], [0, plotWidth(this.frame)]);
    const y = linearScale([0, this.top], [plotHeight(this.frame), 0]);
    const {step, ticks} = timeTicks(from, to, plotWidth(this.frame) / 95);
    const yTicks: Tick[] = y.ticks(3).filter(Number.isInteger).map((value) => ({at: y(value), text: plain(value)}));
    const {root, plot} = framed(this.frame, this.look.title,
      ticks.map((at) => ({at: x(at), text: clock(at, step)})), yTicks);
    const shown = this.shown();
    // The last value holds to the end of the run.
    const points = [...shown, -1];
    const at = (i: number) => i < 0 ? x(this.view.end) : x(this.series.at_s[i]!);
    const index = (i: number) => i < 0 ? this.series.at_s.length - 1 : i;
    const mean = (i: number) => y(this.series.mean[index(i)] ?? 0);
    plot.append(svg("path", {class: "band", d: area<number>().curve(curveStepAfter).x(at).y0(y(0)).y1(mean)(points) ?? ""}));
    if (this.series.highest.length > 0)
      plot.append(svg("path", {class: "highest", d: line<number>().curve(curveStepAfter).x(at)
        .y((i) => y(this.series.highest[index(i)] ?? 0))(points) ?? ""}));
    const above = this.look.line;
    if (above !== undefined)
      plot.append(svg("path", {class: "highest", d: line<number>().curve(curveStepAfter).x(at)
        .y((i) => y(above[index(i)] ?? 0))(points) ?? ""}));
    plot.append(svg("path", {class: "line", d: line<number>().curve(curveStepAfter).x(at).y(mean)(points) ?? ""}));
    this.hair = svg("line", {class: "hair", y1: 0, y2: plotHeight(this.frame), visibility: "hidden"});
    plot.append(this.hair);
    this.box.replaceChildren(root);
    this.point();
  }

  private point(): void {
    const at = this.view.cursor;
    this.readout.textContent = at === null ? "" : `${clock(at)}: ${this.look.say(this.valueAt(at), at)}`;
    if (this.hair === null) return;
    this.hair.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) return;
    const x = ((at - this.view.from) / (this.view.to - this.view.from)) * plotWidth(this.frame);
    this.hair.setAttribute("x1", String(x));
    this.hair.setAttribute("x2", String(x));
  }

  private table(): HTMLElement {
    const rows = [];
    const kRows = 40;
    for (let i = 0; i <= kRows; i++) {
      const at = this.view.from + ((this.view.to - this.view.from) * i) / kRows;
      rows.push([clock(at), plain(this.valueAt(at))]);
    }
    return table(`${this.look.title} in the stretch shown`, ["Time", this.look.title], rows);
  }
}
