// How the figures of a comparison are called and written.
import type {ComparedFigure} from "./data";
import {columnUnit, digits3, duration, percent, plain} from "./numbers";

export interface FigureWords {
  name: string;
  say: (value: number) => string;
  moreIsBetter: boolean;
  /** Whether it has charts of its own. */
  charted: boolean;
  unit: "time" | "share" | "count";
}

const time = (name: string): FigureWords => ({name, say: duration, moreIsBetter: false, charted: true, unit: "time"});
const count = (name: string, charted = false): FigureWords => ({name, say: plain, moreIsBetter: false, charted, unit: "count"});

/** By key of summary.json. */
export const kFigures: Record<string, FigureWords> = {
  jct_avg_s: time("Completion, mean"),
  jct_p50_s: time("Completion, p50"),
  jct_p99_s: time("Completion, p99"),
  queue_avg_s: time("Waiting, mean"),
  makespan_s: time("Makespan"),
  gpu_utilization: {name: "Utilisation", say: (share) => percent(share), moreIsBetter: true, charted: true, unit: "share"},
  jobs_failed: count("Failed"),
  restarts: count("Restarts"),
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
    if (words.unit === "count") {
      out.push({figure, words, heading: words.name, write: plain});
      continue;
    }
    const [unit, size] = words.unit === "share" ? ["%", 0.01] as const : columnUnit(Math.max(...figure.by_run));
    out.push({figure, words, heading: `${words.name} (${unit})`, write: (value) => digits3(value / size)});
  }
  return out;
}
