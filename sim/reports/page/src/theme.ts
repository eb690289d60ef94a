// Light and dark: as the system says, as the reader switches, and always light on paper.
import {interpolateCividis, interpolateYlGnBu} from "d3-scale-chromatic";

import {choice} from "./elements";

export type Theme = "light" | "dark";
type Wish = Theme | "auto";

const system = matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let wish: Wish = "auto";
let printing = false;

export function theme(): Theme {
  if (printing) return "light";
  return wish === "auto" ? (system.matches ? "dark" : "light") : wish;
}

/** Calls `listener` whenever colours change. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
}

function apply(): void {
  document.documentElement.dataset["theme"] = theme();
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  system.addEventListener("change", apply);
  apply();
}

export function setPrinting(now: boolean): void {
  if (printing === now) return;
  printing = now;
  apply();
}

export function themeSwitch(): HTMLElement {
  return choice<Wish>("Theme", [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]], wish, (chosen) => {
    wish = chosen;
    apply();
  });
}

// Colours that readers with any kind of colour vision tell apart: Paul Tol's schemes "muted" and
// "bright", lightened where they would sink into a dark page.
const kManyLight = ["#4477aa", "#ee8866", "#44aa99", "#aa4499", "#ddcc77", "#88ccee", "#999933", "#cc6677", "#117733"];
const kManyDark = ["#6699cc", "#ee8866", "#44bb99", "#cc77bb", "#ddcc77", "#99ddff", "#aaaa44", "#dd7788", "#4daf6a"];

function mixed(colour: string, other: string, share: number): string {
  const channel = (at: number) => Math.round(
    parseInt(colour.slice(at, at + 2), 16) * (1 - share) + parseInt(other.slice(at, at + 2), 16) * share);
  return "#" + [1, 3, 5].map((at) => channel(at).toString(16).padStart(2, "0")).join("");
}

/** Colours for things without an order: neighbours in the list differ in hue, later ones in shade. */
export function manyColours(): string[] {
  const hues = theme() === "light" ? kManyLight : kManyDark;
  return [...hues, ...hues.map((hue) => mixed(hue, "#ffffff", 0.42)), ...hues.map((hue) => mixed(hue, "#000000", 0.28))];
}

// Line colours of compared policies stay apart on white, too.
const kLinesLight = ["#0060a8", "#c8102e", "#00806a", "#8c3d99", "#b06a00", "#3a3a3a", "#0091c8", "#7a8a00"];
const kLinesDark = ["#6bb3f2", "#ff7a85", "#3fd0b0", "#d49be0", "#f0b650", "#d8d8d8", "#7fe0ff", "#cddc5a"];

export function lineColours(): string[] {
  return theme() === "light" ? kLinesLight : kLinesDark;
}

/** Dashes that go with `lineColours`, so that lines differ without colour. */
export const kDashes = ["", "6 3", "2 2", "8 3 2 3", "10 4", "1 3", "4 2 1 2 1 2", "12 2"];

/** A colour for a share of 0 to 1; 0 is near the page's ground. */
export function heat(share: number): string {
  const v = Math.min(1, Math.max(0, share));
  return theme() === "light" ? interpolateYlGnBu(0.04 + 0.96 * v) : interpolateCividis(v);
}

const kPhases: Record<string, [string, string]> = {
  Pending: ["#bbbbbb", "#777777"],
  Starting: ["#88ccee", "#99ddff"],
  Running: ["#4477aa", "#4f86c0"],
  Rescheduling: ["#ddcc77", "#ddcc77"],
  Restarting: ["#ee8866", "#ee8866"],
  Unknown: ["#aa4499", "#cc77bb"],
  Succeeded: ["#44aa99", "#44bb99"],
  Failed: ["#222222", "#eeeeee"],
};

export function phaseColour(phase: string): string {
  return (kPhases[phase] ?? ["#999999", "#999999"])[theme() === "light" ? 0 : 1];
}

/** A colour of the style sheet. */
export function styled(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
