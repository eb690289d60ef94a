// The stretch of time that all charts over time show together, and the instant pointed at.

export class TimeView {
  from: number;
  to: number;
  /** The instant under the pointer; null: none. */
  cursor: number | null = null;
  private readonly listeners: (() => void)[] = [];
  private readonly cursorListeners: (() => void)[] = [];
  private scheduled = false;

  constructor(readonly begin: number, readonly end: number) {
    this.from = begin;
    this.to = end;
  }

  /** Calls `listener` at most once a frame after a change of the stretch. */
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  onCursor(listener: () => void): void {
    this.cursorListeners.push(listener);
  }

  /** Shows from `from` to `to`, kept within the run and not narrower than a millionth of it. */
  show(from: number, to: number): void {
    const all = this.end - this.begin;
    const width = Math.min(all, Math.max(to - from, all * 1e-6));
    this.from = Math.min(Math.max(from, this.begin), this.end - width);
    this.to = this.from + width;
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const listener of this.listeners) listener();
    });
  }

  /** Makes the stretch `factor` times as long; the instant `around` stays where it is. */
  zoom(factor: number, around = (this.from + this.to) / 2): void {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  /** Moves by a share of the stretch. */
  pan(share: number): void {
    const by = share * (this.to - this.from);
    const inside = by < 0 ? Math.max(by, this.begin - this.from) : Math.min(by, this.end - this.to);
    this.show(this.from + inside, this.to + inside);
  }

  reset(): void {
    this.show(this.begin, this.end);
  }

  isWhole(): boolean {
    return this.from <= this.begin && this.to >= this.end;
  }

  point(at: number | null): void {
    if (this.cursor === at) return;
    this.cursor = at;
    for (const listener of this.cursorListeners) listener();
  }
}

/** Where a chart's plot lies in its element, in CSS pixels. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Keys that move and zoom time; true where the key was one of them. */
export function timeKey(event: KeyboardEvent, view: TimeView): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  switch (event.key) {
    case "+": case "=": view.zoom(0.7); return true;
    case "-": case "_": view.zoom(1 / 0.7); return true;
    case "ArrowLeft": view.pan(event.shiftKey ? -0.5 : -0.1); return true;
    case "ArrowRight": view.pan(event.shiftKey ? 0.5 : 0.1); return true;
    case "0": case "Home": view.reset(); return true;
    default: return false;
  }
}

/**
 * Lets wheel, drag and keys of `element` move `view`. The wheel zooms where the element has the
 * focus or Ctrl is held, so that a page can be scrolled past a chart. `dragRows` hears of drags
 * upwards, in pixels.
 */
export function attachGestures(
  element: HTMLElement | SVGElement, view: TimeView, plot: () => Plot, dragRows?: (pixels: number) => void): void {
  const timeAt = (x: number) => {
    const {left, width} = plot();
    return view.from + ((x - element.getBoundingClientRect().left - left) / width) * (view.to - view.from);
  };
  element.addEventListener("wheel", (any) => {
    const event = any as WheelEvent;
    const focused = document.activeElement === element || event.ctrlKey;
    if (!focused || event.shiftKey) return;
    event.preventDefault();
    const pixels = event.deltaMode === 0 ? event.deltaY : event.deltaY * 30;
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / plot().width);
    else view.zoom(Math.exp(Math.max(-1, Math.min(1, pixels * 0.003))), timeAt(event.clientX));
  }, {passive: false});

  const held = new Map<number, {x: number; y: number}>();
  element.addEventListener("pointerdown", (any) => {
    const event = any as PointerEvent;
    if (event.button !== 0) return;
    held.set(event.pointerId, {x: event.clientX, y: event.clientY});
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", (any) => {
    const event = any as PointerEvent;
    const at = timeAt(event.clientX);
    view.point(at >= view.from && at <= view.to ? at : null);
    const before = held.get(event.pointerId);
    if (!before) return;
    const others = [...held].filter(([id]) => id !== event.pointerId).map(([, where]) => where);
    if (others.length > 0) {
      const fixed = others[0]!.x;
      const ratio = Math.abs(before.x - fixed) / Math.max(8, Math.abs(event.clientX - fixed));
      view.zoom(Math.min(2, Math.max(0.5, ratio)), timeAt(fixed));
    } else {
      view.pan((before.x - event.clientX) / plot().width);
      dragRows?.(before.y - event.clientY);
    }
    held.set(event.pointerId, {x: event.clientX, y: event.clientY});
  });
  const release = (any: Event) => held.delete((any as PointerEvent).pointerId);
  element.addEventListener("pointerup", release);
  element.addEventListener("pointercancel", release);
  element.addEventListener("pointerleave", () => view.point(null));
  element.addEventListener("keydown", (any) => {
    const event = any as KeyboardEvent;
    if (timeKey(event, view)) event.preventDefault();
  });
}
