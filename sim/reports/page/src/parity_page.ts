// The page of a parity report: predicted against measured.
import type {DecisionPair, ParityReport, ParityScenario, ParityTotal} from "./data";
import {html, table} from "./elements";
import {sentences, titled} from "./head";
import {duration, percent, plain, signed, whole} from "./numbers";
import {ParityPanel} from "./parity_panel";
import {swatch} from "./swatch";

const kFigures = [["completion", "Completion"], ["recovery", "Recovery"], ["step", "Time of a unit of work"]] as const;

function totalsTable(caption: string, totals: ParityTotal[]): HTMLElement {
  return html("div", {class: "scroll"}, table(caption,
    ["Figure", "Measured", "Error, median", "p90", "worst", "Bias", "Inside predicted p10 to p90", "Uncalibrated, median", "worst", "Unmatched"],
    totals.filter(({count, unmatched}) => count + unmatched > 0).map((one) => [
      one.figure, whole(one.count), percent(one.error_p50), percent(one.error_p90), percent(one.error_max), signed(one.bias, percent),
      percent(one.inside, 0), percent(one.uncalibrated_p50), percent(one.uncalibrated_max), whole(one.unmatched)])));
}

/** The decisions of both worlds, line by line; what stands on one side only is marked. */
function decisionsBeside({job, predicted, measured, runs_other, first_other}: DecisionPair, runs: number): HTMLElement {
  const [left, right] = [predicted, measured].map((text) => text.split("\n").filter((line) => line !== "").map((line) => line.trim())) as [string[], string[]];
  const rows = [];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const [one, other] = [left[at] ?? "", right[at] ?? ""];
    const mark = one === other ? "" : "mark";
    rows.push(html("tr", {}, html("td", {class: mark}, one), html("td", {class: mark}, other)));
  }
  const name = job.replace(/^default\./, "");
  const summary = runs_other === 0 ? `${name}: decided alike in all ${runs} runs` : `${name}: decided otherwise in ${runs_other} of ${runs} runs`;
  return html("details", {open: runs_other > 0}, html("summary", {class: runs_other > 0 ? "mark" : ""}, summary),
    first_other === "" ? html("span") : html("p", {class: "note"}, first_other),
    html("div", {class: "scroll"}, html("table", {},
      html("thead", {}, html("tr", {}, html("th", {scope: "col"}, "Predicted"), html("th", {scope: "col"}, "Measured"))),
      html("tbody", {}, ...rows))));
}

function scenarioSection(scenario: ParityScenario, runs: number): HTMLElement {
  return html("section", {},
    html("h2", {}, scenario.name), html("p", {class: "note"}, scenario.description),
    html("p", {class: "note"}, `Policy ${scenario.policy}, ${plain(scenario.time_scale)} times faster than written; all times are of the runs on the machine.`),
    totalsTable("Errors: |predicted − measured| / measured", scenario.totals),
    html("div", {class: "row wide"}, ...kFigures.map(([key, title]) => {
      const rows = scenario.rows.filter(({figure}) => figure === key);
      return rows.length === 0 ? null : new ParityPanel(title, rows).element;
    })),
    sentences(`wrong-${scenario.name}`, "Where the simulator was wrong by 5 % and more", scenario.wrong),
    html("h3", {}, "Times that were learned"),
    html("div", {class: "scroll"}, table("From the runs before the measured ones", ["Time", "Samples", "p10", "Median", "p90", "Held-out error, median"],
      scenario.times.map(({time, samples, p10_s, p50_s, p90_s, held_out_error_p50}) => [time, whole(samples), duration(p10_s), duration(p50_s), duration(p90_s),
        held_out_error_p50 === null ? "—" : percent(held_out_error_p50)]))),
    sentences(`remarks-${scenario.name}`, "What was not learned", scenario.remarks),
    html("h3", {}, "Decisions"),
    ...scenario.decisions.map((pair) => decisionsBeside(pair, runs)));
}

export function parityPage(report: ParityReport): HTMLElement[] {
  document.title = "Predicted against measured";
  return [
    titled("Predicted against measured", [["scenarios", whole(report.scenarios.length)], ["measured runs of each", whole(report.measured)],
      ["runs learned from", whole(report.training)], ["runs of the model", whole(report.predicted)]]),
    html("section", {id: "totals"}, totalsTable("All scenarios", report.totals),
      html("p", {class: "note"}, "Errors are |predicted − measured| / measured; the bias is positive where too much was predicted. Uncalibrated: " +
        "predicted where starts, stops, restores and pauses take no time. Unmatched: runs in which one world alone has the figure.")),
    html("div", {class: "legend"},
      html("span", {class: "item"}, swatch(0), " predicted: p10 to p90 around its median, which is 0 %"),
      html("span", {class: "item"}, swatch(1), " measured: each run, and their median")),
    ...report.scenarios.map((scenario) => scenarioSection(scenario, report.measured)),
  ];
}
