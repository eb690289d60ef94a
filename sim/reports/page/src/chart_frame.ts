// Axes of a chart in SVG: hairlines, ticks and their texts.
import {svg} from "./elements";

/** A tick: where it stands in pixels of the plot, and what it says. */
export interface Tick {
  at: number;
  text: string;
}

export interface Frame {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export function plotWidth(frame: Frame): number {
  return Math.max(10, frame.width - frame.left - frame.right);
}

export function plotHeight(frame: Frame): number {
  return frame.height - frame.top - frame.bottom;
}

let clips = 0;

/**
 * An SVG of the frame's size with its axes and a group for the plot, whose origin is the plot's
 * upper left corner and which shows nothing outside. `label` is what screen readers say.
 */
export function framed(frame: Frame, label: string, x: Tick[], y: Tick[]): {root: SVGSVGElement; plot: SVGGElement} {
  const width = plotWidth(frame);
  const height = plotHeight(frame);
  const clip = `clip${clips++}`;
  const plot = svg("g", {"clip-path": `url(#${clip})`});
  const axes = svg("g", {class: "axes", transform: `translate(${frame.left},${frame.top})`},
    svg("rect", {class: "ground", width, height}),
    ...y.map((tick) => svg("line", {class: "grid", x1: 0, x2: width, y1: tick.at, y2: tick.at})),
    ...y.map((tick) => svg("text", {x: -6, y: tick.at, "text-anchor": "end", "dominant-baseline": "central"}, tick.text)),
    svg("line", {class: "axis", x1: 0, x2: width, y1: height + 0.5, y2: height + 0.5}),
    ...x.map((tick) => svg("line", {class: "axis", x1: tick.at, x2: tick.at, y1: height, y2: height + 4})),
    ...x.map((tick) => svg("text", {...placed(tick, width, frame), y: height + 15}, tick.text)),
    svg("clipPath", {id: clip}, svg("rect", {x: -4, y: -1, width: width + 8, height: height + 2})), plot);
  const root = svg("svg", {
    class: "chart", role: "img", "aria-label": label, viewBox: `0 0 ${frame.width} ${frame.height}`,
    width: frame.width, height: frame.height}, axes);
  return {root, plot};
}

/** Where a text of an axis begins, so that none is cut off at the end. */
function placed(tick: Tick, width: number, frame: Frame): {x: number; "text-anchor": string} {
  const half = tick.text.length * 3.2;
  const room = width + frame.right;
  return tick.at + half > room ? {x: room, "text-anchor": "end"} : {x: tick.at, "text-anchor": "middle"};
}
