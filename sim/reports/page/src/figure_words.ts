// How the figures of a comparison are called and written.
import type {ComparedFigure} from "./data";
import {columnUnit, digits3, duration, percent, plain} from "./numbers";

export interface FigureWords {
  name: string;
  say: (value: number) => string;
  moreIsBetter: boolean;
  /** Whether it has charts of its own. */
  charted: boolean;
  unit: "time" | "share" | "ratio" | "count";
}

const time = (name: string): FigureWords => ({name, say: duration, moreIsBetter: false, charted: true, unit: "time"});
const count = (name: string, charted = false): FigureWords => ({name, say: plain, moreIsBetter: false, charted, unit: "count"});

const ratio = (name: string): FigureWords => ({name, say: digits3, moreIsBetter: false, charted: true, unit: "ratio"});
const share = (name: string, moreIsBetter = false): FigureWords =>
  ({name, say: (value) => percent(value), moreIsBetter, charted: true, unit: "share"});

/** By key of summary.json. */
export const kFigures: Record<string, FigureWords> = {
  jct_avg_s: time("Completion, mean"),
  jct_p50_s: time("Completion, p50"),
  jct_p99_s: time("Completion, p99"),
  queue_avg_s: time("Waiting, mean"),
  slowdown_avg: ratio("Slowdown, mean"),
  ftf_max: ratio("Fairness, worst"),
  ftf_unfair: share("Treated unfairly"),
  makespan_s: time("Makespan"),
  gpu_utilization: share("Utilisation", true),
  fragmentation_avg: share("Fragments"),
  jobs_failed: count("Failed"),
  restarts: count("Restarts", true),
  reallocations: count("Reallocations"),
  preemptions: count("Preemptions", true),
};

/** A column of a table: its heading with the unit, and its values in that unit. */
export interface FigureColumn {
  figure: ComparedFigure;
  words: FigureWords;
  heading: string;
  write: (value: number) => string;
}

export function columnsOf(figures: ComparedFigure[]): FigureColumn[] {
  const out: FigureColumn[] = [];
  for (const figure of figures) {
    const words = kFigures[figure.key];
    if (words === undefined) continue;
    if (words.unit === "count" || words.unit === "ratio") {
      out.push({figure, words, heading: words.name, write: words.unit === "count" ? plain : digits3});
      continue;
    }
    const [unit, size] = words.unit === "share" ? ["%", 0.01] as const : columnUnit(Math.max(...figure.by_run));
    out.push({figure, words, heading: `${words.name} (${unit})`, write: (value) => digits3(value / size)});
  }
  return out;
}
