// A figure against the values of one parameter: a line for each policy, with the intervals of its means.
import {framed, type Frame, plotHeight, plotWidth, type Tick} from "./chart_frame";
import type {Estimate} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import type {FigureWords} from "./figure_words";
import {isPrinting, onLayout} from "./layout";
import {percent, plain, shortDuration, timeTicks} from "./numbers";
import {linearScale} from "./scales";
import {kDashes, lineColours, onTheme} from "./theme";

/** What a panel shows. */
export interface ParameterChart {
  title: string;
  values: string[];
  policies: string[];
  words: FigureWords;
  estimates: Estimate[][]; // [value][policy]
}

/** Numbers where all values are some, else null: they then stand at equal distances. */
function numbersOf(values: string[]): number[] | null {
  const numbers = values.map((value) => value.trim() === "" ? NaN : Number(value));
  return numbers.every(Number.isFinite) ? numbers : null;
}

export class ParameterPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});

  constructor(private readonly chart: ParameterChart) {
    const {title, values, policies, words, estimates} = chart;
    const cell = ({mean, low, high}: Estimate) => low === null || high === null ? words.say(mean)
      : `${words.say(mean)} (${words.say(low)} to ${words.say(high)})`;
    this.element = html("figure", {class: "distribution parameter"},
      html("figcaption", {}, html("h3", {}, title)), this.box,
      tableBehind(() => table(`${words.name} by ${title}`, ["Value", ...policies],
        values.map((value, at) => [value, ...policies.map((_, policy) => cell(estimates[at]![policy]!))]))));
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  private yTicks(to: number, pixels: number): {at: number; text: string}[] {
    const {unit} = this.chart.words;
    if (unit === "time") return timeTicks(0, to, pixels / 32).ticks.map((at) => ({at, text: shortDuration(at)}));
    const say = (value: number) => unit === "share" ? percent(value, to < 0.05 ? 1 : 0) : plain(value);
    return linearScale([0, to], [0, 1]).ticks(Math.max(2, pixels / 32)).map((at) => ({at, text: say(at)}));
  }

  private draw(): void {
    const width = isPrinting() ? Math.min(330, this.box.clientWidth) : this.box.clientWidth;
    if (width === 0) return;
    const {values, policies, words, estimates, title} = this.chart;
    const frame: Frame = {width, height: 230, left: 58, right: 18, top: 8, bottom: 24};
    const all = estimates.flat().flatMap(({mean, high}) => [mean, high ?? mean]);
    const highest = all.reduce((most, value) => Math.max(most, value), 0) || 1;
    const y = linearScale([0, highest * 1.05], [plotHeight(frame), 0]);
    const numbers = numbersOf(values);
    const places = numbers ?? values.map((_, at) => at);
    const [least, most] = [Math.min(...places), Math.max(...places)];
    const room = (most - least || 1) * 0.06;
    const x = linearScale([least - room, most + room], [0, plotWidth(frame)]);
    const stride = Math.max(1, Math.ceil((values.length * 46) / plotWidth(frame)));
    const xTicks: Tick[] = values.flatMap((text, at) => at % stride === 0 ? [{at: x(places[at]!), text}] : []);
    const {root, plot} = framed(frame, `${words.name} by ${title}`, xTicks,
      this.yTicks(highest * 1.05, plotHeight(frame)).map((tick) => ({...tick, at: y(tick.at)})));
    const order = places.map((_, at) => at).sort((a, b) => places[a]! - places[b]!);
    policies.forEach((_, policy) => {
      const colour = lineColours()[policy % lineColours().length]!;
      // Side by side, so that whiskers at one value can be told apart.
      const aside = (policy - (policies.length - 1) / 2) * 4;
      const at = (value: number) => x(places[value]!) + aside;
      const of = (value: number) => estimates[value]![policy]!;
      plot.append(svg("path", {class: "cdf", stroke: colour, "stroke-dasharray": kDashes[policy % kDashes.length]!,
        d: order.map((value, step) => `${step === 0 ? "M" : "L"}${at(value).toFixed(2)},${y(of(value).mean).toFixed(2)}`).join("")}));
      for (const value of order) {
        const {mean, low, high} = of(value);
        if (low !== null && high !== null && high > low)
          for (const [x1, x2, y1, y2] of [[0, 0, low, high], [-3, 3, low, low], [-3, 3, high, high]] as const)
            plot.append(svg("line", {class: "whisker", x1: at(value) + x1, x2: at(value) + x2, y1: y(y1), y2: y(y2), stroke: colour}));
        plot.append(svg("circle", {class: "mean", cx: at(value), cy: y(mean), r: 3, fill: colour}));
      }
    });
    this.box.replaceChildren(root);
  }
}
