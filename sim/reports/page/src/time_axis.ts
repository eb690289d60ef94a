// The axis of time below a canvas.
import {font} from "./canvas";
import {clock, timeTicks} from "./numbers";
import {styled} from "./theme";
import type {Plot, TimeView} from "./time_view";

/** Height of the axis, in CSS pixels. */
export const kTimeAxis = 18;

/** Room to the left of all charts over time, so that they stand exactly below each other. */
export function leftMargin(width: number): number {
  return width < 560 ? 58 : 84;
}

export const kRightMargin = 14;

export function paintTimeAxis(context: CanvasRenderingContext2D, plot: Plot, view: TimeView): void {
  const bottom = plot.top + plot.height;
  const {step, ticks} = timeTicks(view.from, view.to, plot.width / 95);
  context.font = font(11);
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = styled("--axis");
  context.fillRect(plot.left, bottom, plot.width, 1);
  for (const tick of ticks) {
    const x = plot.left + ((tick - view.from) / (view.to - view.from)) * plot.width;
    context.fillStyle = styled("--axis");
    context.fillRect(x - 0.5, bottom, 1, 4);
    context.fillStyle = styled("--quiet");
    const text = clock(tick, step);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(x, plot.left + plot.width + kRightMargin - half), bottom + 6);
  }
}
