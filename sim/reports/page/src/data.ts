// What the page is fed with: the JSON inside it. docs/results.md says the same in prose.
// Times are seconds of the run's clock, from its start. Lists named alike are columns of one table.

/** Keys of summary.json; see docs/command_line.md. */
export interface Summary {
  scenario: string;
  policy: string;
  world: string;
  seed: number;
  jobs_total: number;
  jobs_finished: number;
  jobs_failed: number;
  jobs_unfinished: number;
  jct_avg_s: number;
  jct_p50_s: number;
  jct_p90_s: number;
  jct_p99_s: number;
  queue_avg_s: number;
  queue_p99_s: number;
  queue_max: number;
  slowdown_avg: number;
  slowdown_p99: number;
  ftf_avg: number;
  ftf_max: number;
  ftf_unfair: number;
  makespan_s: number;
  gpu_utilization: number;
  gpu_seconds_allocated: number;
  fragmentation_avg: number;
  fragmentation_max: number;
  restarts: number;
  reallocations: number;
  preemptions: number;
  node_losses: number;
  decisions: number;
  events: number;
  state_digest: string;
  workload: {rows_read: number; dropped: ReasonCount[]; altered: ReasonCount[]};
  unmet: string[];
}

export interface ReasonCount {
  reason: string;
  rows: number;
}

/** A quantity in steps: `mean[i]` holds from `at_s[i]` to `at_s[i + 1]`. */
export interface Series {
  at_s: number[];
  mean: number[];
  /** Highest value of each stretch; empty where every change was kept, and `mean` is the value. */
  highest: number[];
}

/** A sorted sample: all values, or so many at equal distances in rank, first and last included. */
export interface Sample {
  count: number;
  p50_s: number; // Of all values.
  p90_s: number;
  p99_s: number;
  values_s: number[];
}

export interface Jobs {
  name: string[];
  profile: string[];
  submitted_s: number[];
  started_s: (number | null)[];
  finished_s: (number | null)[];
  phase: string[];
  reason: string[];
  priority: number[];
  devices: number[];
  restarts: number[];
  reallocations: number[];
  preemptions: number[];
  node_losses: number[];
}

/** A stretch of time in which a job held the same devices. */
export interface Segments {
  job: number[]; // Index into `jobs`.
  begin_s: number[];
  end_s: number[];
  reason: number[]; // Index into `words.reasons`: why the job got these devices.
}

/** Neighbouring devices of one node that a segment holds for neighbouring ranks of one role. */
export interface Parts {
  segment: number[];
  node: number[]; // Index into `cluster.node`.
  first_device: number[]; // On the node.
  devices: number[];
  role: number[]; // Index into `words.roles`.
  first_rank: number[];
  last_rank: number[];
}

/** A job is in a phase from then on; in order of time for each job. */
export interface Phases {
  job: number[];
  at_s: number[];
  phase: number[]; // Index into `words.phases`.
  reason: number[];
}

export interface NodeStates {
  node: number[];
  begin_s: number[];
  end_s: number[];
  state: string[]; // What the node was other than up.
}

/** What went wrong, at a node or a job; -1 where it was at none. */
export interface Marks {
  at_s: number[];
  what: string[];
  node: number[];
  job: number[];
  mended_s: (number | null)[]; // When a recovery closed it.
}

/** How busy the links were; rows busiest first. */
export interface Links {
  name: string[];
  edges_s: number[]; // One more than columns.
  use: number[][]; // [link][column], 0 to 1.
}

/** Queues in front of the policy, parents first; in devices, [queue][point]. */
export interface Queues {
  at_s: number[];
  name: string[];
  depth: number[];
  share: number[][]; // What it was entitled to.
  used: number[][];
  borrowed: number[][]; // Held beyond its guarantee.
}

/** How often the policy took so long; bins ascend and touch. */
export interface DecisionTimes {
  edges_us: number[]; // One more than `count`.
  count: number[];
}

export interface Measured {
  decision_p50_us: number;
  decision_p99_us: number;
  decision_max_us: number;
  wall_s: number;
  peak_rss_mb: number;
  decision_times: DecisionTimes;
}

export interface RunReport {
  version: 1;
  kind: "run";
  fidelity: string;
  summary: Summary;
  approximated: string[]; // Sentences.
  thinned: string[]; // Sentences: what is not shown in full.
  cluster: {node: string[]; devices: number[]; devices_total: number; nodes_total: number};
  end_s: number;
  jobs: Jobs;
  words: {phases: string[]; reasons: string[]; roles: string[]};
  segments: Segments;
  parts: Parts;
  phases: Phases;
  node_states: NodeStates;
  marks: Marks;
  devices_in_use: Series;
  fragments: Series; // In devices.
  queue_length: Series;
  queues: Queues | null;
  jct: Sample;
  waiting: Sample;
  links: Links | null;
  measured: Measured;
}

/** A mean over seeds and half the width of its 95 percent interval. */
export interface Estimate {
  mean: number;
  low: number | null; // Of the 95 % interval; null: of one seed there is none.
  high: number | null;
}

/** One policy less another, seed by seed. */
export interface PairedDifference extends Estimate {
  p: number | null;
  p_holm: number | null;
}

export interface ComparedFigure {
  key: string;
  by_run: number[]; // [policy * seeds + seed]
  by_policy: Estimate[];
  pairs: PairedDifference[]; // In the order of pairsOf; the first are those to the first policy.
}

/** The jobs of a recorded run, by run: recorded first, then as what-ifs. */
export interface ChangedJobs {
  name: string[];
  work_known: string[]; // Where the work of each is known from.
  waited_s: (number | null)[][]; // [run][job]: from submission; null: never.
  completed_s: (number | null)[][];
  restarts: number[][];
}

export interface ComparisonReport {
  version: 1;
  kind: "comparison";
  scenario: string;
  world: string;
  fidelity: string;
  policies: string[];
  seeds: number[];
  page: string[]; // By run: relative address of its own page; empty: none.
  digest: string[]; // By run.
  unmet: string[]; // By run: how many expectations did not hold, in words; empty: none.
  approximated: string[];
  thinned: string[];
  figures: ComparedFigure[];
  jobs: ChangedJobs | null; // Null: the runs have no recording in common.
  jct: Sample[]; // By policy, all seeds together.
  waiting: Sample[];
  slowdown: Sample[]; // Without a unit.
  scatter: {name: string[]; jct_s: (number | null)[][]}; // Jobs of the first seed, by policy; null: did not succeed.
  interval_method: string;
  test_method: string;
  measured: {decision_p50_us: number[]; decision_p99_us: number[]; wall_s: number[]}; // By run.
}

/** The pairs of policies that differences are of: the later one less the earlier one. */
export function pairsOf(policies: string[]): {policy: number; against: number}[] {
  return policies.flatMap((_, against) => policies.slice(against + 1).map((_, at) => ({policy: against + 1 + at, against})));
}

/** The differences of all policies to the first, whose own is zero. */
export function differencesToFirst(figure: ComparedFigure): Estimate[] {
  return [{mean: 0, low: null, high: null}, ...figure.pairs.slice(0, figure.by_policy.length - 1)];
}

/** A figure of a sweep; policies in the order of the report's. */
export interface SweptFigure {
  key: string;
  by_point: Estimate[][]; // [point][policy]
  by_value: Estimate[][][]; // [parameter][value][policy]: the mean over all points with that value.
}

export interface SweepReport {
  version: 1;
  kind: "sweep";
  name: string;
  description: string;
  scenario: string;
  world: string;
  policies: string[];
  seeds: number[];
  parameters: {path: string; values: string[]}[];
  points: number[][]; // [point][parameter]: index of the value.
  figures: SweptFigure[];
  interval_method: string;
}

/** A sample, in seconds. */
export interface Spread {
  count: number;
  p10: number;
  p50: number;
  p90: number;
  shortest: number;
  longest: number;
}

/** One figure of one job. */
export interface ParityRow {
  job: string;
  figure: string; // "completion", "step", "recovery".
  which: string; // Of a step its size, of a recovery its number and cause.
  measured_s: number[]; // By run.
  measured: Spread;
  predicted: Spread; // `count` 0: never predicted.
  uncalibrated_s: number; // Predicted where starts, stops, restores and pauses take no time.
  unmatched: number; // Runs in which one world alone has it.
}

/** Errors of one kind of figure: |predicted - measured| / measured. */
export interface ParityTotal {
  figure: string;
  count: number;
  error_p50: number;
  error_p90: number;
  error_max: number;
  bias: number;
  inside: number;
  uncalibrated_p50: number;
  uncalibrated_max: number;
  unmatched: number;
}

/** What was decided for one job in both worlds. */
export interface DecisionPair {
  job: string;
  predicted: string;
  measured: string;
  runs_other: number;
  first_other: string;
}

export interface ParityScenario {
  name: string;
  description: string;
  policy: string;
  time_scale: number;
  times: {time: string; samples: number; p10_s: number; p50_s: number; p90_s: number; held_out_error_p50: number | null}[];
  totals: ParityTotal[];
  rows: ParityRow[];
  decisions: DecisionPair[];
  wrong: string[];
  remarks: string[];
}

export interface ParityReport {
  version: 1;
  kind: "parity";
  training: number;
  measured: number;
  predicted: number;
  totals: ParityTotal[];
  scenarios: ParityScenario[];
}

export type Report = RunReport | ComparisonReport | SweepReport | ParityReport;

export function readReport(): Report {
  return JSON.parse(document.getElementById("data")!.textContent!) as Report;
}
