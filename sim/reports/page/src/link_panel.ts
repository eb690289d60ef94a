// Links by time: how busy each was, busiest first.
import {bisectRight, mean} from "d3-array";

import {clipped, font, prepared} from "./canvas";
import type {Links} from "./data";
import {html, table, tableBehind} from "./elements";
import {isPrinting, onLayout} from "./layout";
import {clock, percent} from "./numbers";
import {heat, onTheme, styled} from "./theme";
import {kRightMargin, kTimeAxis, leftMargin, paintTimeAxis} from "./time_axis";
import {attachGestures, type Plot, type TimeView} from "./time_view";

export class LinkPanel {
  readonly element: HTMLElement;
  private readonly canvas = html("canvas", {
    id: "links-canvas", tabindex: "0", role: "img",
    "aria-label": "Heat map of links over time, busiest first; arrow keys move, plus and minus zoom, 0 shows all"});
  private readonly readout = html("span", {class: "readout"});
  private readonly key = html("div", {class: "legend"});
  private plot: Plot = {left: 0, top: 4, width: 1, height: 1};
  private pointed = -1;

  constructor(private readonly links: Links, private readonly view: TimeView) {
    this.element = html("figure", {class: "over-time", id: "links"},
      html("figcaption", {}, html("h3", {}, "Link use, busiest first"), this.readout),
      html("div", {class: "canvas-box"}, this.canvas), this.key, tableBehind(() => this.table()));
    attachGestures(this.canvas, view, () => this.plot);
    this.canvas.addEventListener("pointermove", (event) => {
      const y = event.clientY - this.canvas.getBoundingClientRect().top - this.plot.top;
      const row = Math.floor((y / this.plot.height) * links.name.length);
      this.pointed = row >= 0 && row < links.name.length ? row : -1;
      this.point();
    });
    view.onChange(() => this.draw());
    view.onCursor(() => this.point());
    onTheme(() => this.draw());
    onLayout(this.element, () => this.draw());
  }

  private draw(): void {
    const width = this.canvas.parentElement!.clientWidth;
    if (width === 0) return;
    const {links, view} = this;
    const rowPixels = Math.max(4, Math.min(14, 320 / links.name.length));
    const height = Math.round(rowPixels * links.name.length);
    const left = leftMargin(width);
    this.plot = {left, top: 4, width: width - left - kRightMargin, height};
    const context = prepared(this.canvas, width, height + kTimeAxis + 8, isPrinting());
    const perSecond = this.plot.width / (view.to - view.from);
    const first = Math.max(0, bisectRight(links.edges_s, view.from) - 1);
    const past = Math.min(links.edges_s.length - 1, bisectRight(links.edges_s, view.to));
    for (let row = 0; row < links.name.length; row++) {
      const top = this.plot.top + row * rowPixels;
      for (let column = first; column < past; column++) {
        const from = Math.max(left, left + (links.edges_s[column]! - view.from) * perSecond);
        const to = Math.min(left + this.plot.width, left + (links.edges_s[column + 1]! - view.from) * perSecond);
        context.fillStyle = heat(links.use[row]![column]!);
        context.fillRect(from, top, to - from + 0.4, rowPixels > 6 ? rowPixels - 0.5 : rowPixels);
      }
    }
    context.font = font(10);
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = styled("--quiet");
    const every = Math.ceil(11 / rowPixels);
    for (let row = 0; row < links.name.length; row += every)
      context.fillText(clipped(context, links.name[row]!.replace(" to ", "→"), left - 8), left - 6, this.plot.top + (row + 0.5) * rowPixels);
    paintTimeAxis(context, this.plot, view);
    this.canvas.dataset["plot"] = JSON.stringify(this.plot);
    this.drawKey();
  }

  private drawKey(): void {
    const patches = [0, 0.25, 0.5, 0.75, 1].map((share) => {
      const patch = html("span", {class: "patch"});
      patch.style.background = heat(share);
      return html("span", {class: "item"}, patch, percent(share, 0));
    });
    this.key.replaceChildren(...patches);
  }

  private point(): void {
    const at = this.view.cursor;
    if (at === null || this.pointed < 0) {
      this.readout.textContent = "";
      return;
    }
    const column = Math.min(this.links.edges_s.length - 2, Math.max(0, bisectRight(this.links.edges_s, at) - 1));
    this.readout.textContent = `${clock(at)}: ${this.links.name[this.pointed]} ${percent(this.links.use[this.pointed]![column]!)}`;
  }

  private table(): HTMLElement {
    return table("Links over the whole run", ["Link", "Mean use", "Highest use"], this.links.name.map((name, row) => [
      name, percent(mean(this.links.use[row]!) ?? 0), percent(this.links.use[row]!.reduce((a, b) => Math.max(a, b), 0))]));
  }
}
