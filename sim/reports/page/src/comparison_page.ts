// The page of a comparison: policies side by side, over the same seeds.
import {CdfPanel} from "./cdf_panel";
import type {ComparisonReport, Estimate} from "./data";
import {html, svg} from "./elements";
import {EstimatePanel} from "./estimate_panel";
import {kFigures} from "./figure_words";
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

function withInterval(estimate: Estimate, say: (value: number) => string): string {
  return estimate.ci95 > 0 ? `${say(estimate.mean)} ± ${say(estimate.ci95)}` : say(estimate.mean);
}

/** Policies by figures: means with intervals, and below them the difference to the first. */
function policies(report: ComparisonReport): HTMLElement {
  const shown = report.figures.filter((figure) => kFigures[figure.key] !== undefined);
  const rows = report.policies.map((policy, at) => html("tr", {},
    html("th", {scope: "row"}, swatch(at), " ", policy),
    ...shown.map((figure) => {
      const words = kFigures[figure.key]!;
      const best = figure.by_policy.map((one) => one.mean).reduce((a, b) => words.moreIsBetter ? Math.max(a, b) : Math.min(a, b));
      const isBest = figure.by_policy[at]!.mean === best && figure.by_policy.some((one) => one.mean !== best);
      const first = figure.by_policy[0]!.mean;
      const difference = figure.difference[at]!;
      const share = first !== 0 ? ` (${signed(100 * difference.mean / first, (value) => plain(value) + " %")})` : "";
      return html("td", {class: isBest ? "number best" : "number", "data-key": figure.key},
        html("div", {}, withInterval(figure.by_policy[at]!, words.say)),
        html("div", {class: "difference"}, at === 0 ? "reference" : signed(difference.mean, words.say) +
          (difference.ci95 > 0 ? ` ± ${words.say(difference.ci95)}` : "") + share));
    })));
  return html("section", {id: "policies"}, html("h2", {}, "Policies"),
    html("div", {class: "scroll"}, html("table", {class: "policies"},
      html("caption", {}, (report.seeds.length > 1
        ? `Mean over ${report.seeds.length} seeds ± half the 95 % interval (Student). `
        : "One seed, so there are no intervals. ") +
        `Below: difference to ${report.policies[0]}, paired by seed. The best of each column is underlined.`),
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Policy"),
        ...shown.map((figure) => html("th", {scope: "col", class: "number"}, kFigures[figure.key]!.name)))),
      html("tbody", {}, ...rows))));
}

/** One row a run, with a link to the run's own page where there is one. */
function runs(report: ComparisonReport): HTMLElement {
  const shown = report.figures.filter((figure) => kFigures[figure.key] !== undefined);
  const count = report.seeds.length;
  const rows = report.policies.flatMap((policy, at) => report.seeds.map((seed, s) => {
    const run = at * count + s;
    const page = report.page[run];
    const name = `${policy}, seed ${seed}`;
    return html("tr", {}, html("th", {scope: "row"}, page ? html("a", {href: page}, name) : name),
      ...shown.map((figure) => html("td", {class: "number"}, kFigures[figure.key]!.say(figure.by_run[run]!))),
      html("td", {class: "number"}, duration(report.measured.wall_s[run]!)),
      html("td", {class: "number"}, duration(report.measured.decision_p99_us[run]! / 1e6)),
      html("td", {class: "digest"}, report.digest[run]!), html("td", {}, report.unmet[run]!));
  }));
  return html("section", {id: "runs"}, html("h2", {}, "Runs"), html("div", {class: "scroll"}, html("table", {class: "jobs"},
    html("caption", {class: "hidden"}, "Every run with its figures"),
    html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Run"),
      ...shown.map((figure) => html("th", {scope: "col", class: "number"}, kFigures[figure.key]!.name)),
      html("th", {scope: "col", class: "number"}, "Wall time"), html("th", {scope: "col", class: "number"}, "Decision p99"),
      html("th", {scope: "col"}, "Digest"), html("th", {scope: "col"}, "Unmet"))),
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

