// One figure of all policies: means with intervals, or differences to the first policy.
import {framed, type Frame, plotHeight, plotWidth, type Tick} from "./chart_frame";
import {type ComparedFigure, type ComparisonReport, differencesToFirst, type Estimate} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import {type FigureWords, kFigures} from "./figure_words";
import {isPrinting, onLayout} from "./layout";
import {percent, plain, shortDuration, signed, timeTicks} from "./numbers";
import {linearScale} from "./scales";
import {lineColours, onTheme} from "./theme";

const kRow = 24;

export class EstimatePanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});
  private readonly words: FigureWords;
  private readonly estimates: Estimate[];
  private readonly title: string;

  constructor(private readonly report: ComparisonReport, private readonly figure: ComparedFigure, private readonly differences: boolean) {
    this.words = kFigures[figure.key]!;
    this.estimates = differences ? differencesToFirst(figure) : figure.by_policy;
    this.title = this.words.name;
    const say = (value: number) => differences ? signed(value, this.words.say) : this.words.say(value);
    this.element = html("figure", {class: "distribution", "data-key": figure.key},
      html("figcaption", {}, html("h3", {}, this.title)), this.box,
      tableBehind(() => table(`${this.title}${differences ? ", difference" : ""}`, ["Policy", "Mean", "95 % interval"],
        report.policies.map((policy, at) => {
          const {mean, low, high} = this.estimates[at]!;
          return [policy, say(mean), low === null || high === null ? "—" : `${say(low)} to ${say(high)}`];
        }))));
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  /** The single runs behind the mean of a policy. */
  private runs(policy: number): number[] {
    const seeds = this.report.seeds.length;
    const of = (one: number, seed: number) => this.figure.by_run[one * seeds + seed]!;
    return this.report.seeds.map((_, seed) => of(policy, seed) - (this.differences ? of(0, seed) : 0));
  }

  private ticks(from: number, to: number, pixels: number): {at: number; text: string}[] {
    const count = pixels / 64;
    if (this.words.unit === "time") {
      return timeTicks(from, to, count).ticks.map((at) => ({
        at, text: this.differences ? signed(at, shortDuration) : shortDuration(at)}));
    }
    const say = (value: number) => this.words.unit === "share" ? percent(value, to - from < 0.05 ? 1 : 0) : plain(value);
    // Asked for fewer than two, d3-array before 3.2.2 may find none.
    return linearScale([from, to], [0, 1]).ticks(Math.max(2, count)).map((at) => ({at, text: this.differences ? signed(at, say) : say(at)}));
  }

  private draw(): void {
    const width = isPrinting() ? Math.min(330, this.box.clientWidth) : this.box.clientWidth;
    if (width === 0) return;
    const policies = this.report.policies;
    const longest = policies.reduce((most, name) => Math.max(most, name.length), 0);
    const frame: Frame = {width, height: 34 + kRow * policies.length, left: Math.min(140, 14 + longest * 6.6), right: 16, top: 6, bottom: 24};
    const all = policies.flatMap((_, at) => {
      const {mean, low, high} = this.estimates[at]!;
      return [low ?? mean, high ?? mean, ...this.runs(at)];
    });
    // What cannot be below zero is not drawn there, whatever its interval says.
    let from = this.differences ? Math.min(0, ...all) : 0;
    let to = Math.max(0, ...all);
    if (from === to) to = 1;
    const room = (to - from) * 0.05;
    from = from < 0 ? from - room : 0;
    to = to > 0 ? to + room : 0;
    const x = linearScale([from, to], [0, plotWidth(frame)]);
    const middle = (policy: number) => kRow * (policy + 0.5);
    const yTicks: Tick[] = policies.map((name, at) => ({at: middle(at), text: name}));
    const {root, plot} = framed(frame, `${this.title}${this.differences ? ", differences" : ""} by policy`,
      this.ticks(from, to, plotWidth(frame)).map((tick) => ({...tick, at: x(tick.at)})), yTicks);
    if (from < 0) plot.append(svg("line", {class: "zero", x1: x(0), x2: x(0), y1: 0, y2: plotHeight(frame)}));
    policies.forEach((_, at) => {
      if (this.differences && at === 0) return;
      const colour = lineColours()[at % lineColours().length]!;
      const {mean, low, high} = this.estimates[at]!;
      const y = middle(at);
      for (const run of this.runs(at)) plot.append(svg("line", {class: "run", x1: x(run), x2: x(run), y1: y - 5, y2: y + 5, stroke: colour}));
      if (low !== null && high !== null && high > low)
        for (const [x1, x2, y1, y2] of [[low, high, 0, 0], [low, low, -4, 4], [high, high, -4, 4]] as const)
          plot.append(svg("line", {class: "whisker", x1: x(x1), x2: x(x2), y1: y + y1, y2: y + y2, stroke: colour}));
      plot.append(svg("circle", {class: "mean", cx: x(mean), cy: y, r: 3.6, fill: colour}));
    });
    this.box.replaceChildren(root);
  }
}
