// A canvas as sharp as the screen, or as paper.

/** The context of a canvas that shows `width` by `height` CSS pixels; drawn in these. */
export function prepared(
  canvas: HTMLCanvasElement, width: number, height: number, printing: boolean): CanvasRenderingContext2D {
  const ratio = printing ? 3 : window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** The page's font, so many pixels high. */
export function font(pixels: number): string {
  return `${pixels}px system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif`;
}

/** `text`, or as much of it as is at most `width` wide, with "…". */
export function clipped(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && context.measureText(text.slice(0, length) + "…").width > width) length--;
  return length > 1 ? text.slice(0, length) + "…" : "";
}
