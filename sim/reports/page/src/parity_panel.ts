// One figure of all jobs of a scenario: what was measured against what was predicted, as shares of
// the prediction, so that rows of any length can stand below each other.
import {framed, type Frame, plotHeight, plotWidth, type Tick} from "./chart_frame";
import type {ParityRow} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import {isPrinting, onLayout} from "./layout";
import {duration, percent, signed} from "./numbers";
import {linearScale} from "./scales";
import {lineColours, onTheme} from "./theme";

const kRow = 22;

export function rowName(row: ParityRow): string {
  const job = row.job.replace(/^default\./, "");
  return row.which === "" ? job : `${job}, ${row.which}`;
}

/** (predicted - measured) / measured, by the mean of what was measured. */
export function meanError(row: ParityRow): number | null {
  if (row.measured_s.length === 0 || row.predicted.count === 0) return null;
  const mean = row.measured_s.reduce((sum, one) => sum + one, 0) / row.measured_s.length;
  return (row.predicted.p50 - mean) / mean;
}

export class ParityPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});
  private readonly rows: ParityRow[];

  constructor(private readonly title: string, rows: ParityRow[]) {
    this.rows = rows.filter((row) => row.predicted.count > 0 && row.predicted.p50 > 0 && row.measured_s.length > 0);
    this.element = html("figure", {class: "distribution"},
      html("figcaption", {}, html("h3", {}, title)), this.box,
      tableBehind(() => table(title, ["Row", "Predicted", "p10 to p90", "Measured", "Shortest to longest", "Runs", "Error", "Uncalibrated", "Unmatched"],
        rows.map((row) => {
          const error = meanError(row);
          const range = (low: number, high: number) => `${duration(low)} to ${duration(high)}`;
          return [rowName(row), row.predicted.count === 0 ? "—" : duration(row.predicted.p50),
            row.predicted.count === 0 ? "—" : range(row.predicted.p10, row.predicted.p90),
            row.measured_s.length === 0 ? "—" : duration(row.measured.p50),
            row.measured_s.length === 0 ? "—" : range(row.measured.shortest, row.measured.longest),
            String(row.measured_s.length), error === null ? "—" : signed(error, percent), duration(row.uncalibrated_s), String(row.unmatched)];
        }))));
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  private draw(): void {
    const width = isPrinting() ? Math.min(330, this.box.clientWidth) : this.box.clientWidth;
    if (width === 0 || this.rows.length === 0) return;
    const names = this.rows.map(rowName);
    const longest = names.reduce((most, name) => Math.max(most, name.length), 0);
    const frame: Frame = {width, height: 34 + kRow * names.length, left: Math.min(190, 14 + longest * 6.4), right: 16, top: 6, bottom: 24};
    const share = (row: ParityRow, value: number) => value / row.predicted.p50 - 1;
    const all = this.rows.flatMap((row) => [share(row, row.predicted.p10), share(row, row.predicted.p90), ...row.measured_s.map((one) => share(row, one))]);
    const reach = Math.max(0.02, ...all.map((one) => Math.abs(one))) * 1.08;
    const x = linearScale([-reach, reach], [0, plotWidth(frame)]);
    const middle = (at: number) => kRow * (at + 0.5);
    const ticks: Tick[] = x.ticks(Math.max(2, plotWidth(frame) / 70)).map((at) => ({at: x(at), text: signed(at, (one) => percent(one, reach < 0.05 ? 1 : 0))}));
    const {root, plot} = framed(frame, `${this.title}: measured over predicted`, ticks, names.map((text, at) => ({at: middle(at), text})));
    plot.append(svg("line", {class: "zero", x1: x(0), x2: x(0), y1: 0, y2: plotHeight(frame)}));
    const [foretold, measured] = [lineColours()[0]!, lineColours()[1]!];
    this.rows.forEach((row, at) => {
      const y = middle(at);
      const [low, high] = [x(share(row, row.predicted.p10)), x(share(row, row.predicted.p90))];
      for (const [x1, x2, y1, y2] of [[low, high, 0, 0], [low, low, -4, 4], [high, high, -4, 4]] as const)
        plot.append(svg("line", {class: "whisker", x1, x2, y1: y + y1, y2: y + y2, stroke: foretold}));
      for (const one of row.measured_s)
        plot.append(svg("line", {class: "run", x1: x(share(row, one)), x2: x(share(row, one)), y1: y - 6, y2: y + 6, stroke: measured}));
      plot.append(svg("circle", {class: "mean", cx: x(share(row, row.measured.p50)), cy: y, r: 3.6, fill: measured}));
    });
    this.box.replaceChildren(root);
  }
}
