// How the figures of a comparison are called and written.
import {duration, percent, plain} from "./numbers";

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
