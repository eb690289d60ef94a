// The page of one run.
import {bisectRight} from "d3-array";

import {CdfPanel} from "./cdf_panel";
import type {RunReport} from "./data";
import {DecisionPanel} from "./decision_panel";
import {html, table} from "./elements";
import {GanttPanel} from "./gantt_panel";
import {runFigures, sentences, titled} from "./head";
import {JobChoice} from "./job_choice";
import {JobTable} from "./job_table";
import {LinkPanel} from "./link_panel";
import {percent, plain, whole} from "./numbers";
import {SeriesPanel} from "./series_panel";
import {TimeView} from "./time_view";

/** Of each queue what it held, and as a line what it was entitled to. */
function queues(report: RunReport, view: TimeView): HTMLElement[] {
  const all = report.queues;
  if (all === null) return [];
  return all.name.map((name, i) => {
    const used = all.used[i]!;
    const share = all.share[i]!;
    const borrowed = all.borrowed[i]!;
    return new SeriesPanel({at_s: all.at_s, mean: used, highest: []}, view, {
      id: `queue-${name}`, title: `Queue ${name}: devices held, and its share as a line`, top: null, line: share,
      say: (value, at) => {
        const k = Math.max(0, bisectRight(all.at_s, at) - 1);
        return `${plain(value)} devices, entitled to ${plain(share[k] ?? 0)}, ${plain(borrowed[k] ?? 0)} borrowed`;
      }}).element;
  });
}

function workload(report: RunReport): HTMLElement | null {
  const {workload: account} = report.summary;
  if (account.rows_read === 0) return null;
  const rows = [
    ...account.dropped.map((one) => ["dropped", one.reason, whole(one.rows)]),
    ...account.altered.map((one) => ["altered", one.reason, whole(one.rows)])];
  return html("section", {id: "workload"}, html("h2", {}, "Workload"),
    html("p", {}, `${whole(account.rows_read)} rows were read${rows.length === 0 ? ", and all became jobs as they stood." : "."}`),
    rows.length === 0 ? null : table("Rows that were not taken as they stood", ["What", "Why", "Rows"], rows));
}

export function runPage(report: RunReport): HTMLElement[] {
  const {summary} = report;
  document.title = `${summary.scenario}, ${summary.policy}, seed ${summary.seed}`;
  const view = new TimeView(0, Math.max(report.end_s, 1e-3));
  const jobs = new JobChoice(report);
  const total = report.cluster.devices_total;
  const over = [
    new GanttPanel(report, view, jobs).element,
    new SeriesPanel(report.devices_in_use, view, {
      id: "utilisation", title: "Devices in use", top: total,
      say: (value) => `${plain(value)} of ${whole(total)} devices, ${percent(total > 0 ? value / total : 0)}`}).element,
    new SeriesPanel(report.fragments, view, {
      id: "fragmentation", title: "Free devices of no use to the jobs there are", top: null,
      say: (value) => `${plain(value)} devices, ${percent(total > 0 ? value / total : 0)} of all`}).element,
    new SeriesPanel(report.queue_length, view, {
      id: "queue", title: "Jobs waiting", top: null, say: (value) => `${plain(value)} jobs`}).element,
    ...queues(report, view),
    report.links === null ? null : new LinkPanel(report.links, view).element,
  ];
  return [
    titled(summary.scenario, [
      ["policy", summary.policy], ["world", summary.world], ["fidelity", report.fidelity],
      ["seed", String(summary.seed)], ["digest", summary.state_digest]]),
    runFigures(report),
    ...[
      sentences("unmet", "Expectations that did not hold", summary.unmet),
      sentences("approximated", "Approximated", report.approximated),
      sentences("thinned", "Not shown in full", report.thinned)].filter((one) => one !== null),
    html("section", {id: "schedule"}, html("h2", {}, "Schedule"), ...over),
    html("section", {id: "distributions"}, html("h2", {}, "Distributions"), html("div", {class: "row"},
      new CdfPanel("jct", "Completion time", [{name: "", sample: report.jct}]).element,
      new CdfPanel("waiting", "Waiting", [{name: "", sample: report.waiting}]).element,
      new DecisionPanel(report.measured).element)),
    new JobTable(report, jobs).element,
    ...[workload(report)].filter((one) => one !== null),
  ];
}
