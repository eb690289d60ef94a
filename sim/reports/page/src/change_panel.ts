// The jobs of a recorded run beside what would have become of them: a picture of the changes, and the
// table behind it.
import type {ChangedJobs, ComparisonReport} from "./data";
import {html, svg} from "./elements";
import {duration, signed, whole} from "./numbers";
import {lineColours, onTheme} from "./theme";

const kShown = 200;
const kBins = 60;
const kWidth = 720;
const kHeight = 120;

function change(list: (number | null)[][], run: number, job: number): number | null {
  const then = list[0]![job];
  const now = list[run]![job];
  return then === null || then === undefined || now === null || now === undefined ? null : now - then;
}

/** How many jobs complete how much later (right) or sooner (left) than recorded. */
function picture(report: ComparisonReport, jobs: ChangedJobs, run: number): HTMLElement {
  const changes = jobs.name.map((_, job) => change(jobs.completed_s, run, job)).filter((one) => one !== null);
  const reach = Math.max(1, ...changes.map((one) => Math.abs(one)));
  const bins = new Array<number>(kBins).fill(0);
  for (const one of changes) bins[Math.min(kBins - 1, Math.floor(((one + reach) / (2 * reach)) * kBins))]!++;
  const most = Math.max(1, ...bins);
  const width = kWidth / kBins;
  const bars = bins.map((count, at) => {
    const height = count === 0 ? 0 : Math.max(1, (count / most) * kHeight);
    return svg("rect", {x: at * width, y: kHeight - height, width: width - 1, height},
      svg("title", {}, `${whole(count)} jobs`));
  });
  const paint = () => bars.forEach((bar) => bar.setAttribute("fill", lineColours()[run % lineColours().length]!));
  paint();
  onTheme(paint);
  const middle = svg("line", {x1: kWidth / 2, x2: kWidth / 2, y1: 0, y2: kHeight, stroke: "currentColor", "stroke-dasharray": "3 3"});
  const count = (keep: (one: number) => boolean) => whole(changes.filter(keep).length);
  return html("figure", {},
    html("figcaption", {}, `${report.policies[run]}: ${count((one) => one < 0)} jobs complete sooner, ` +
      `${count((one) => one > 0)} later, ${count((one) => one === 0)} as recorded. ` +
      `From ${duration(reach)} sooner (left) to ${duration(reach)} later (right).`),
    svg("svg", {viewBox: `0 0 ${kWidth} ${kHeight}`, width: "100%", role: "img",
      "aria-label": `Changes of completion under ${report.policies[run]}`}, ...bars, middle));
}

export function changePanel(report: ComparisonReport, jobs: ChangedJobs): HTMLElement {
  const runs = report.policies.map((_, run) => run).slice(1);
  const size = (job: number) => Math.max(...runs.map((run) => {
    const by = change(jobs.completed_s, run, job);
    return by === null ? (jobs.completed_s[0]![job] === null ? 0 : Infinity) : Math.abs(by);
  }));
  const order = jobs.name.map((_, job) => job).sort((a, b) => size(b) - size(a) || a - b).slice(0, kShown);
  const time = (value: number | null | undefined) => (value === null || value === undefined ? "never" : duration(value));
  const by = (value: number | null) => (value === null ? "—" : value === 0 ? "0" : signed(value, duration));
  const head = (text: string, number = true) => html("th", {scope: "col", class: number ? "number" : ""}, text);
  const cell = (text: string) => html("td", {class: "number"}, text);
  return html("section", {id: "changes"}, html("h2", {}, "Job by job"),
    html("p", {class: "note"}, "Waiting and completion count from submission. The first run is the recorded one."),
    html("div", {class: "row wide"}, ...runs.map((run) => picture(report, jobs, run))),
    html("div", {class: "scroll"}, html("table", {class: "jobs"},
      html("caption", {}, order.length < jobs.name.length
        ? `The ${whole(order.length)} of ${whole(jobs.name.length)} jobs whose completion changes most`
        : "Those whose completion changes most come first"),
      html("thead", {}, html("tr", {}, head("Job", false), head("Work is", false), head("Waited"), head("Completion"), head("Restarts"),
        ...runs.flatMap((run) => [head(`Waited, ${report.policies[run]}`), head("Change"), head("Completion"), head("Change"), head("Restarts")]))),
      html("tbody", {}, ...order.map((job) => html("tr", {}, html("th", {scope: "row"}, jobs.name[job]!), html("td", {}, jobs.work_known[job]!),
        cell(time(jobs.waited_s[0]![job])), cell(time(jobs.completed_s[0]![job])), cell(String(jobs.restarts[0]![job])),
        ...runs.flatMap((run) => [cell(time(jobs.waited_s[run]![job])), cell(by(change(jobs.waited_s, run, job))),
          cell(time(jobs.completed_s[run]![job])), cell(by(change(jobs.completed_s, run, job))), cell(String(jobs.restarts[run]![job]))])))))));
}
