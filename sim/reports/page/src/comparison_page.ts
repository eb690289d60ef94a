// The page of a comparison: policies side by side, over the same seeds.
import {CdfPanel} from "./cdf_panel";
import {changePanel} from "./change_panel";
import type {ComparisonReport, Estimate} from "./data";
import {html, svg} from "./elements";
import {EstimatePanel} from "./estimate_panel";
import {columnsOf, type FigureColumn, kFigures} from "./figure_words";
import {sentences, titled} from "./head";
import {duration, plain, signed} from "./numbers";
import {kDashes, lineColours, onTheme} from "./theme";

function seedsText(seeds: number[]): string {
  return seeds.length === 1 ? String(seeds[0]) : `${seeds[0]} to ${seeds[seeds.length - 1]} (${seeds.length})`;
}

/** The colour and dash of a policy, which stand for it in every chart. */
function swatch(policy: number): SVGElement {
  const stroke = svg("line", {x1: 0, x2: 22, y1: 4, y2: 4, "stroke-width": 2, "stroke-dasharray": kDashes[policy % kDashes.length]!});
  const paint = () => stroke.setAttribute("stroke", lineColours()[policy % lineColours().length]!);
  paint();
  onTheme(paint);
  return svg("svg", {class: "dash", width: 22, height: 8, "aria-hidden": "true"}, stroke);
}

function withInterval(estimate: Estimate, write: (value: number) => string): string {
  return estimate.ci95 > 0 ? `${write(estimate.mean)} ± ${write(estimate.ci95)}` : write(estimate.mean);
}

/** A difference to the first policy: in the column's unit, and below it in percent. */
function differenceCell(column: FigureColumn, policy: number): HTMLElement[] {
  const {mean, ci95} = column.figure.difference[policy]!;
  const first = column.figure.by_policy[0]!.mean;
  const size = signed(mean, column.write) + (ci95 > 0 ? ` ± ${column.write(ci95)}` : "");
  return [html("div", {class: "difference"}, policy === 0 ? "reference" : size),
    html("div", {class: "difference"}, policy === 0 || first === 0 ? "" : signed((100 * mean) / first, (value) => plain(value) + " %"))];
}

/** Policies by figures: means with intervals, and below them the difference to the first. */
function policies(report: ComparisonReport): HTMLElement {
  const columns = columnsOf(report.figures);
  const cell = (column: FigureColumn, policy: number) => {
    const means = column.figure.by_policy.map((one) => one.mean);
    const best = column.words.moreIsBetter ? Math.max(...means) : Math.min(...means);
    const isBest = means[policy] === best && means.some((mean) => mean !== best);
    return html("td", {class: isBest ? "number best" : "number", "data-key": column.figure.key},
      html("div", {}, withInterval(column.figure.by_policy[policy]!, column.write)), ...differenceCell(column, policy));
  };
  return html("section", {id: "policies"}, html("h2", {}, "Policies"),
    html("div", {class: "scroll"}, html("table", {class: "policies"},
      html("caption", {}, (report.seeds.length > 1
        ? `Mean over ${report.seeds.length} seeds ± half the 95 % interval (Student). `
        : "One seed, so there are no intervals. ") +
        `Below: difference to ${report.policies[0]}, paired by seed. The best of each column is underlined.`),
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Policy"),
        ...columns.map((column) => html("th", {scope: "col", class: "number"}, column.heading)))),
      html("tbody", {}, ...report.policies.map((policy, at) => html("tr", {},
        html("th", {scope: "row"}, swatch(at), " ", policy), ...columns.map((column) => cell(column, at))))))));
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
      html("div", {class: "row"}, ...charted.map((figure) => new EstimatePanel(report, figure, true).element))),
    html("section", {id: "distributions"}, html("h2", {}, "Distributions"), html("div", {class: "row wide"},
      new CdfPanel("jct", "Completion time", lines(report.jct)).element,
      new CdfPanel("waiting", "Waiting", lines(report.waiting)).element)),
    runs(report),
  ];
}

