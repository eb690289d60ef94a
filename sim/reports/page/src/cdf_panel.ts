// Cumulative distributions, of times or of ratios: how many jobs took at most so long.
import {bisectRight} from "d3-array";

import {framed, type Frame, plotHeight, plotWidth, type Tick} from "./chart_frame";
import type {Sample} from "./data";
import {choice, html, svg, table, tableBehind} from "./elements";
import {isPrinting, onLayout} from "./layout";
import {digits3, duration, percent, plain, quantile, shortDuration, timeTicks, whole} from "./numbers";
import {linearScale, logScale} from "./scales";
import {kDashes, lineColours, onTheme} from "./theme";

export interface CdfLine {
  name: string;
  sample: Sample;
}

type Axis = "linear" | "log";

const kQuantiles = [0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1];

export class CdfPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});
  private readonly readout = html("p", {class: "readout"});
  private readonly legend = html("div", {class: "legend"});
  private axis: Axis = "linear";
  private frame: Frame = {width: 360, height: 230, left: 46, right: 16, top: 8, bottom: 24};
  private valueAt: (x: number) => number = () => 0;

  /** Ratios have no unit; their axis begins at 1. */
  constructor(id: string, private readonly title: string, private readonly lines: CdfLine[],
              private readonly unit: "time" | "ratio" = "time") {
    this.element = html("figure", {class: "distribution", id},
      html("figcaption", {}, html("h3", {}, title),
        choice<Axis>("Axis", [["linear", "Linear"], ["log", "Log"]], "linear", (axis) => {
          this.axis = axis;
          this.draw();
        })),
      this.box, this.legend, this.readout, tableBehind(() => this.table()));
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => { this.readout.textContent = "\u00a0"; });
    this.readout.textContent = "\u00a0";
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  private draw(): void {
    const width = isPrinting() && this.lines.length === 1 ? Math.min(330, this.box.clientWidth) : this.box.clientWidth;
    if (width === 0) return;
    this.frame = {...this.frame, width};
    const pixels = plotWidth(this.frame);
    const values = this.lines.flatMap((one) => one.sample.values_s);
    const highest = values.reduce((most, value) => Math.max(most, value), 0) || 1;
    const lowest = values.reduce((least, value) => value > 0 ? Math.min(least, value) : least, highest);
    let ticks: Tick[];
    let x: (value: number) => number;
    if (this.axis === "log") {
      const from = lowest >= highest ? lowest / 10 : lowest;
      const scale = logScale([from, highest], [0, pixels]);
      x = (value) => value <= from ? 0 : scale(value);
      ticks = logTicks(from, highest, pixels / 58, this.unit).map((value) => ({at: scale(value), text: this.short(value)}));
      this.valueAt = (at) => scale.invert(at);
    } else {
      const scale = linearScale([0, highest], [0, pixels]);
      x = scale;
      const round = this.unit === "time" ? timeTicks(0, highest, pixels / 62).ticks : scale.ticks(Math.max(2, pixels / 62));
      ticks = round.map((value) => ({at: scale(value), text: this.short(value)}));
      this.valueAt = (at) => scale.invert(at);
    }
    const y = linearScale([0, 1], [plotHeight(this.frame), 0]);
    const {root, plot} = framed(this.frame, `${this.title}, cumulative`, ticks,
      [0, 0.25, 0.5, 0.75, 1].map((share) => ({at: y(share), text: percent(share, 0)})));
    this.lines.forEach((one, at) => plot.append(svg("path", {
      class: "cdf", d: steps(one.sample.values_s, x, y, pixels), stroke: lineColours()[at % lineColours().length]!,
      "stroke-dasharray": kDashes[at % kDashes.length]!})));
    this.box.replaceChildren(root);
    this.drawLegend();
  }

  private short(value: number): string {
    return this.unit === "time" ? shortDuration(value) : plain(value);
  }

  private say(value: number): string {
    return this.unit === "time" ? duration(value) : digits3(value);
  }

  private drawLegend(): void {
    this.legend.replaceChildren(...this.lines.map((one, at) => {
      const sample = one.sample.values_s;
      const stroke = svg("svg", {class: "dash", width: 22, height: 8, "aria-hidden": "true"}, svg("line", {
        x1: 0, x2: 22, y1: 4, y2: 4, stroke: lineColours()[at % lineColours().length]!,
        "stroke-dasharray": kDashes[at % kDashes.length]!, "stroke-width": 2}));
      const figures = sample.length === 0 ? "none"
        : `p50 ${this.say(one.sample.p50_s)}, p90 ${this.say(one.sample.p90_s)}, p99 ${this.say(one.sample.p99_s)}`;
      return html("span", {class: "item"}, this.lines.length > 1 ? stroke : null,
        (one.name === "" ? "" : one.name + ": ") + figures + `; ${whole(one.sample.count)} jobs`);
    }));
  }

  private point(event: PointerEvent): void {
    const x = event.clientX - this.box.getBoundingClientRect().left - this.frame.left;
    if (x < 0 || x > plotWidth(this.frame)) return;
    const value = this.valueAt(x);
    const shares = this.lines.map((one) => {
      const sample = one.sample.values_s;
      const share = sample.length === 0 ? 0 : bisectRight(sample, value) / sample.length;
      return (one.name === "" ? "" : one.name + " ") + percent(share);
    });
    this.readout.textContent = `at most ${this.say(value)}: ${shares.join(", ")}`;
  }

  private table(): HTMLElement {
    return table(`${this.title}: share of jobs ${this.unit === "time" ? "that took at most so long" : "with at most so much"}`,
      ["Share", ...this.lines.map((one) => one.name || (this.unit === "time" ? "Time" : "Ratio"))],
      kQuantiles.map((q) => [percent(q, 0), ...this.lines.map((one) =>
        one.sample.values_s.length === 0 ? "—" : this.say(quantile(one.sample.values_s, q)))]));
  }
}

/** A path that rises by one step at each value; as fine as the screen needs. */
function steps(values: number[], x: (value: number) => number, y: (share: number) => number, end: number): string {
  if (values.length === 0) return "";
  const parts = [`M0,${y(0).toFixed(2)}`];
  let before = -1;
  for (let i = 0; i < values.length; i++) {
    const at = x(values[i]!);
    const next = i + 1 < values.length ? x(values[i + 1]!) : Infinity;
    // Many steps within a third of a pixel are one.
    if (next - before < 0.33) continue;
    parts.push(`H${at.toFixed(2)}V${y((i + 1) / values.length).toFixed(2)}`);
    before = at;
  }
  return parts.join("") + `H${end.toFixed(2)}`;
}

const kRound = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];
const kRoundFine = [...kRound, 2, 5, 30, 120, 300, 1800, 7200, 14400, 21600, 172800, 432000].sort((a, b) => a - b);

const kPowers = Array.from({length: 13}, (_, at) => 10 ** (at - 3));
const kPowersFine = kPowers.flatMap((power) => [power, 2 * power, 5 * power]);

/** Round values between two, for a logarithmic axis, at most `count`. */
export function logTicks(from: number, to: number, count: number, unit: "time" | "ratio" = "time"): number[] {
  const within = (list: number[]) => list.filter((value) => value >= from && value <= to);
  const fine = within(unit === "time" ? kRoundFine : kPowersFine);
  const ticks = fine.length <= count ? fine : within(unit === "time" ? kRound : kPowers);
  const stride = Math.max(1, Math.ceil(ticks.length / count));
  return ticks.filter((_, at) => at % stride === 0);
}
