// The jobs of one seed under two policies: a point for each job, by its completion times.
import {logTicks} from "./cdf_panel";
import {framed, type Frame, plotHeight, plotWidth} from "./chart_frame";
import type {ComparisonReport} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import {isPrinting, onLayout} from "./layout";
import {duration, percent, shortDuration, signed, whole} from "./numbers";
import {logScale, type Scale} from "./scales";
import {lineColours, onTheme} from "./theme";

/** Rows of the table behind it: those that differ most. */
const kRows = 40;
/** How near the pointer must be to a point, in pixels. */
const kReach = 12;

interface Point {
  name: string;
  x: number;
  y: number;
}

export class ScatterPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});
  private readonly readout = html("p", {class: "readout"});
  private readonly summary = html("div", {class: "legend"});
  private readonly behind = html("div");
  private across = 0;
  private up = 1;
  private frame: Frame = {width: 360, height: 420, left: 64, right: 16, top: 8, bottom: 40};
  private scaleX: Scale | null = null;
  private scaleY: Scale | null = null;

  constructor(private readonly report: ComparisonReport) {
    this.element = html("figure", {class: "distribution", id: "job-scatter"},
      html("figcaption", {}, html("h3", {}, "Completion time"),
        this.chooser("Across", this.across, (policy) => { this.across = policy; }),
        this.chooser("Up", this.up, (policy) => { this.up = policy; })),
      this.box, this.summary, this.readout, this.behind);
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => { this.readout.textContent = "\u00a0"; });
    this.readout.textContent = "\u00a0";
    this.renewTable();
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  private chooser(label: string, chosen: number, choose: (policy: number) => void): HTMLElement {
    const select = html("select", {"aria-label": `${label}: policy`},
      ...this.report.policies.map((name, at) => html("option", {value: at, selected: at === chosen}, name)));
    select.addEventListener("change", () => {
      choose(Number(select.value));
      this.renewTable();
      this.draw();
    });
    return html("label", {class: "choice"}, html("span", {class: "label"}, label), select);
  }

  /** Jobs that succeeded under both policies and took time. */
  private points(): Point[] {
    const {name, jct_s} = this.report.scatter;
    return name.flatMap((job, at) => {
      const x = jct_s[this.across]![at] ?? 0;
      const y = jct_s[this.up]![at] ?? 0;
      return x > 0 && y > 0 ? [{name: job, x, y}] : [];
    });
  }

  private renewTable(): void {
    this.behind.replaceChildren(tableBehind(() => {
      const [across, up] = [this.report.policies[this.across]!, this.report.policies[this.up]!];
      const rows = this.points().sort((a, b) => Math.abs(b.y - b.x) - Math.abs(a.y - a.x)).slice(0, kRows);
      return table(`The ${rows.length} jobs that differ most`, ["Job", across, up, "Difference"],
        rows.map(({name, x, y}) => [name, duration(x), duration(y), signed(y - x, duration)]));
    }));
  }

  private draw(): void {
    const width = Math.min(560, isPrinting() ? 420 : this.box.clientWidth);
    if (width === 0) return;
    this.frame = {...this.frame, width};
    const points = this.points();
    const all = points.flatMap(({x, y}) => [x, y]);
    const low = all.reduce((least, value) => Math.min(least, value), Infinity);
    const high = all.reduce((most, value) => Math.max(most, value), 0);
    const ends: [number, number] = points.length === 0 ? [1, 10] : [low / 1.1, high * 1.1];
    const x = logScale(ends, [0, plotWidth(this.frame)]);
    const y = logScale(ends, [plotHeight(this.frame), 0]);
    [this.scaleX, this.scaleY] = [x, y];
    const ticks = (scale: Scale, pixels: number) =>
      logTicks(...ends, pixels / 58).map((value) => ({at: scale(value), text: shortDuration(value)}));
    const [across, up] = [this.report.policies[this.across]!, this.report.policies[this.up]!];
    const {root, plot} = framed(this.frame, `Completion time of each job under ${across} and ${up}`,
      ticks(x, plotWidth(this.frame)), ticks(y, plotHeight(this.frame)));
    plot.append(svg("line", {class: "zero", x1: x(ends[0]), y1: y(ends[0]), x2: x(ends[1]), y2: y(ends[1])}));
    const dots = points.map((point) => `M${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}h0`).join("");
    plot.append(svg("path", {class: "dots", d: dots, stroke: lineColours()[this.up % lineColours().length]!,
      "stroke-width": 4, "stroke-linecap": "round", "stroke-opacity": 0.45, fill: "none"}));
    root.append(svg("text", {x: this.frame.left + plotWidth(this.frame) / 2, y: this.frame.height - 6, "text-anchor": "middle"}, across),
      svg("text", {x: 12, y: this.frame.top + plotHeight(this.frame) / 2, "text-anchor": "middle",
        transform: `rotate(-90 12 ${this.frame.top + plotHeight(this.frame) / 2})`}, up));
    this.box.replaceChildren(root);
    const faster = points.filter((point) => point.y < point.x).length;
    const slower = points.filter((point) => point.y > point.x).length;
    const share = (count: number) => points.length === 0 ? "" : ` (${percent(count / points.length, 0)})`;
    this.summary.textContent = `${up} beside ${across}: ${whole(faster)} of ${whole(points.length)} jobs are faster` +
      `${share(faster)}, ${whole(slower)} slower${share(slower)}`;
  }

  private point(event: PointerEvent): void {
    if (this.scaleX === null || this.scaleY === null) return;
    const box = this.box.getBoundingClientRect();
    const [atX, atY] = [event.clientX - box.left - this.frame.left, event.clientY - box.top - this.frame.top];
    let nearest: Point | null = null;
    let least = kReach;
    for (const point of this.points()) {
      const away = Math.hypot(this.scaleX(point.x) - atX, this.scaleY(point.y) - atY);
      if (away < least) [nearest, least] = [point, away];
    }
    const [across, up] = [this.report.policies[this.across]!, this.report.policies[this.up]!];
    this.readout.textContent = nearest === null ? "\u00a0"
      : `${nearest.name}: ${duration(nearest.x)} under ${across}, ${duration(nearest.y)} under ${up}`;
  }
}
