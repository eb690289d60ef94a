// When charts must be drawn anew because the room for them has changed: windows and paper.
import {setPrinting} from "./theme";

/** Width of the page's content on paper, in CSS pixels: A4 and Letter both have it. */
const kPaperWidth = 690;

const listeners: (() => void)[] = [];
let printing = false;

export function isPrinting(): boolean {
  return printing;
}

/** Calls `listener` when the width of `element` has changed, and before and after printing. */
export function onLayout(element: Element, listener: () => void): void {
  let width = -1;
  new ResizeObserver((entries) => {
    const now = entries[0]!.contentRect.width;
    if (now === width || printing) return;
    width = now;
    listener();
  }).observe(element);
  listeners.push(listener);
}

function print(now: boolean): void {
  if (now === printing) return;
  printing = now;
  // Charts are drawn before the print style counts, so the room on paper is made here.
  document.body.style.width = now ? `${kPaperWidth}px` : "";
  document.body.style.padding = now ? "0" : "";
  setPrinting(now);
  for (const listener of listeners) listener();
}

export function startPrinting(): void {
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
}
