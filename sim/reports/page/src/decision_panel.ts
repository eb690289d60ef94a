// How long the policy took to decide, on the machine of the run.
import {max} from "d3-array";

import {framed, type Frame, plotHeight, plotWidth} from "./chart_frame";
import type {Measured} from "./data";
import {html, svg, table, tableBehind} from "./elements";
import {isPrinting, onLayout} from "./layout";
import {duration, plain, shortDuration, whole} from "./numbers";
import {linearScale, logScale} from "./scales";

export class DecisionPanel {
  readonly element: HTMLElement;
  private readonly box = html("div", {class: "svg-box"});
  private frame: Frame = {width: 360, height: 230, left: 46, right: 16, top: 8, bottom: 24};

  constructor(private readonly measured: Measured) {
    const {edges_us, count} = measured.decision_times;
    this.element = html("figure", {class: "distribution", id: "decisions"},
      html("figcaption", {}, html("h3", {}, "Decision times")), this.box,
      html("div", {class: "legend"}, html("span", {class: "item"},
        `p50 ${duration(measured.decision_p50_us / 1e6)}, p99 ${duration(measured.decision_p99_us / 1e6)}, ` +
        `max ${duration(measured.decision_max_us / 1e6)}; measured`)),
      html("p", {class: "readout"}, "\u00a0"),
      tableBehind(() => table("Decisions by the time they took", ["From", "To", "Decisions"], count.map((n, i) => [
        duration(edges_us[i]! / 1e6), duration(edges_us[i + 1]! / 1e6), whole(n)]))));
    onLayout(this.element, () => this.draw());
  }

  private draw(): void {
    const width = isPrinting() ? Math.min(330, this.box.clientWidth) : this.box.clientWidth;
    if (width === 0) return;
    this.frame = {...this.frame, width};
    const {edges_us, count} = this.measured.decision_times;
    if (count.length === 0) {
      this.box.replaceChildren(html("p", {class: "note"}, "No decisions."));
      return;
    }
    const x = logScale([edges_us[0]!, edges_us[edges_us.length - 1]!], [0, plotWidth(this.frame)]);
    const y = linearScale([0, max(count) ?? 1], [plotHeight(this.frame), 0]);
    const powers = [];
    for (let power = -3; power <= 9; power++) {
      const at = 10 ** power;
      if (at >= edges_us[0]! * 0.999 && at <= edges_us[edges_us.length - 1]! * 1.001) powers.push(at);
    }
    const {root, plot} = framed(this.frame, "Histogram of decision times",
      powers.map((at) => ({at: x(at), text: shortDuration(at / 1e6)})),
      y.ticks(4).filter(Number.isInteger).map((value) => ({at: y(value), text: plain(value)})));
    count.forEach((n, i) => {
      if (n === 0) return;
      const left = x(edges_us[i]!);
      plot.append(svg("rect", {class: "bin", x: left + 0.5, y: y(n), width: Math.max(0.5, x(edges_us[i + 1]!) - left - 1),
        height: y(0) - y(n)}, svg("title", {}, `${duration(edges_us[i]! / 1e6)} to ${duration(edges_us[i + 1]! / 1e6)}: ${whole(n)}`)));
    });
    this.box.replaceChildren(root);
  }
}
