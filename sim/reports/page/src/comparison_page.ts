// The page of a comparison: policies side by side, over the same seeds.
import {CdfPanel} from "./cdf_panel";
import {changePanel} from "./change_panel";
import {type ComparisonReport, type Estimate, pairsOf} from "./data";
import {html} from "./elements";
import {EstimatePanel} from "./estimate_panel";
import {columnsOf, type FigureColumn, kFigures} from "./figure_words";
import {sentences, titled} from "./head";
import {digits3, duration, plain, signed} from "./numbers";
import {ScatterPanel} from "./scatter_panel";
import {swatch} from "./swatch";

function seedsText(seeds: number[]): string {
  return seeds.length === 1 ? String(seeds[0]) : `${seeds[0]} to ${seeds[seeds.length - 1]} (${seeds.length})`;
}

/** The interval as a line of its own below a mean; nothing where there is none or it is a point. */
function interval(estimate: Estimate, write: (value: number) => string): HTMLElement | null {
  const {low, high} = estimate;
  return low === null || high === null || low === high ? null
    : html("div", {class: "interval"}, `${write(low)} to ${write(high)}`);
}

/** "p 0.002", "p < 0.0001". */
function chance(p: number): string {
  return p < 0.0001 ? "p < 0.0001" : `p ${digits3(p)}`;
}

/** A difference to the first policy: in the column's unit and in percent, and what it may be by chance. */
function differenceCell(column: FigureColumn, policy: number): HTMLElement[] {
  if (policy === 0) return [html("div", {class: "difference"}, "reference")];
  const pair = column.figure.pairs[policy - 1]!;
  const first = column.figure.by_policy[0]!.mean;
  const size = signed(pair.mean, column.write);
  const share = first === 0 ? "" : signed((100 * pair.mean) / first, (value) => plain(value) + " %");
  return [html("div", {class: "difference"}, size), html("div", {class: "difference"}, share),
    html("div", {class: "difference"}, pair.p === null ? "" : chance(pair.p))];
}

/** Policies by figures: means with intervals, and below them the difference to the first. */
function policies(report: ComparisonReport): HTMLElement {
  const columns = columnsOf(report.figures);
  const cell = (column: FigureColumn, policy: number) => {
    const means = column.figure.by_policy.map((one) => one.mean);
    const best = column.words.moreIsBetter ? Math.max(...means) : Math.min(...means);
    const isBest = means[policy] === best && means.some((mean) => mean !== best);
    return html("td", {class: isBest ? "number best" : "number", "data-key": column.figure.key},
      html("div", {}, column.write(column.figure.by_policy[policy]!.mean)),
      interval(column.figure.by_policy[policy]!, column.write), ...differenceCell(column, policy));
  };
  return html("section", {id: "policies"}, html("h2", {}, "Policies"),
    html("div", {class: "scroll"}, html("table", {class: "policies"},
      html("caption", {}, (report.seeds.length > 1
        ? `Mean over ${report.seeds.length} seeds, below it its ${report.interval_method}. `
        : "One seed, so there are no intervals; --seeds 1..10 gives them. ") +
        `Below: difference to ${report.policies[0]}, paired by seed. ` +
        (report.seeds.length > 1 ? report.test_method + ". " : "") + "The best of each column is underlined."),
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Policy"),
        ...columns.map((column) => html("th", {scope: "col", class: "number"}, column.heading)))),
      html("tbody", {}, ...report.policies.map((policy, at) => html("tr", {},
        html("th", {scope: "row"}, swatch(at), " ", policy), ...columns.map((column) => cell(column, at))))))));
}

/** Every pair of policies: the paired difference of each figure, and what it may be by chance. */
function pairs(report: ComparisonReport): HTMLElement | null {
  if (report.policies.length < 2 || report.seeds.length < 2) return null;
  const columns = columnsOf(report.figures).filter((column) => new Set(column.figure.by_run).size > 1);
  const rows = columns.flatMap((column) => pairsOf(report.policies).map(({policy, against}, at) => {
    const pair = column.figure.pairs[at]!;
    const number = (text: string) => html("td", {class: "number"}, text);
    return html("tr", {}, html("th", {scope: "row"}, column.heading),
      html("td", {}, report.policies[policy]!), html("td", {}, report.policies[against]!),
      number(signed(pair.mean, column.write)),
      number(pair.low === null || pair.high === null ? "" : `${signed(pair.low, column.write)} to ${signed(pair.high, column.write)}`),
      number(pair.p === null ? "" : digits3(pair.p)), number(pair.p_holm === null ? "" : digits3(pair.p_holm)));
  }));
  const head = (text: string, number = false) => html("th", {scope: "col", class: number ? "number" : ""}, text);
  return html("details", {class: "behind", id: "pairs"}, html("summary", {}, "All pairs of policies"),
    html("div", {class: "scroll"}, html("table", {class: "jobs"},
      html("caption", {}, `Differences over the same seeds. ${report.test_method}.`),
      html("thead", {}, html("tr", {}, head("Figure"), head("Policy"), head("Less"), head("Difference", true),
        head("95 % interval", true), head("p", true), head("p (Holm)", true))),
      html("tbody", {}, ...rows))));
}

/** One row a run, with a link to the run's own page where there is one. */
function runs(report: ComparisonReport): HTMLElement {
  const columns = columnsOf(report.figures);
  const count = report.seeds.length;
  const unmet = report.unmet.some((text) => text !== "");
  const rows = report.policies.flatMap((policy, at) => report.seeds.map((seed, s) => {
    const run = at * count + s;
    const page = report.page[run];
    const name = `${policy}, seed ${seed}`;
    return html("tr", {}, html("th", {scope: "row"}, page ? html("a", {href: page}, name) : name),
      ...columns.map((column) => html("td", {class: "number"}, column.write(column.figure.by_run[run]!))),
      html("td", {class: "number"}, duration(report.measured.wall_s[run]!)),
      html("td", {class: "number"}, duration(report.measured.decision_p99_us[run]! / 1e6)),
      unmet ? html("td", {}, report.unmet[run]!) : null,
      html("td", {class: "digest"}, report.digest[run]!));
  }));
  const head = (text: string, number = true) => html("th", {scope: "col", class: number ? "number" : ""}, text);
  return html("section", {id: "runs"}, html("h2", {}, "Runs"), html("div", {class: "scroll"}, html("table", {class: "jobs"},
    html("caption", {class: "hidden"}, "Every run with its figures"),
    html("thead", {}, html("tr", {}, head("Run", false), ...columns.map((column) => head(column.heading)),
      head("Wall time"), head("Decision p99"), unmet ? head("Unmet", false) : null, head("Digest", false))),
    html("tbody", {}, ...rows))));
}

export function comparisonPage(report: ComparisonReport): HTMLElement[] {
  document.title = `${report.scenario}, ${report.policies.length} policies compared`;
  const lines = (samples: typeof report.jct) => report.policies.map((name, at) => ({name, sample: samples[at]!}));
  const charted = report.figures.filter((figure) => kFigures[figure.key]?.charted && new Set(figure.by_run).size > 1);
  return [
    titled(report.scenario, [
      ["policies", report.policies.join(", ")], ["world", report.world], ["fidelity", report.fidelity], ["seeds", seedsText(report.seeds)]]),
    ...[sentences("approximated", "Approximated", report.approximated),
      sentences("thinned", "Not shown in full", report.thinned)].filter((one) => one !== null),
    policies(report),
    ...(report.jobs === null ? [] : [changePanel(report, report.jobs)]),
    html("section", {id: "estimates"}, html("h2", {}, "Means and intervals"),
      html("p", {class: "note"}, "Dots are means, whiskers 95 % intervals over seeds, faint ticks single runs."),
      html("div", {class: "row"}, ...charted.map((figure) => new EstimatePanel(report, figure, false).element))),
    report.policies.length < 2 ? html("div") : html("section", {id: "differences"},
      html("h2", {}, `Differences to ${report.policies[0]}`),
      html("p", {class: "note"}, "Paired by seed. An interval that does not reach zero is a difference that these seeds show."),
      html("div", {class: "row"}, ...charted.map((figure) => new EstimatePanel(report, figure, true).element)), pairs(report)),
    html("section", {id: "distributions"}, html("h2", {}, "Distributions"), html("div", {class: "row wide"},
      new CdfPanel("jct", "Completion time", lines(report.jct)).element,
      new CdfPanel("waiting", "Waiting", lines(report.waiting)).element,
      new CdfPanel("slowdown", "Slowdown", lines(report.slowdown), "ratio").element)),
    report.policies.length < 2 || report.scatter.name.length === 0 ? html("div") : html("section", {id: "scatter"}, html("h2", {}, "Job by job"),
      html("p", {class: "note"}, `Completion time of the jobs of seed ${report.seeds[0]} under two policies: below the line a job is faster under the policy of the vertical axis.`),
      new ScatterPanel(report).element),
    runs(report),
  ];
}

