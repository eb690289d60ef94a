// The head of a page: what was run, its figures, what was approximated.
import type {RunReport} from "./data";
import {html} from "./elements";
import {digits3, duration, percent, plain, whole} from "./numbers";
import {themeSwitch} from "./theme";

/** The title with what was run below it; `facts` are names and values. */
export function titled(title: string, facts: [string, string][]): HTMLElement {
  return html("header", {class: "top"},
    html("div", {}, html("h1", {}, title),
      html("p", {class: "facts"}, ...facts.map(([name, value]) =>
        html("span", {class: "fact"}, html("span", {class: "label"}, name), " ", html("b", {class: name === "digest" ? "digest" : ""}, value))))),
    themeSwitch());
}

/** Sentences in a list that can be folded away; nothing where there are none. */
export function sentences(id: string, title: string, list: string[]): HTMLElement | null {
  if (list.length === 0) return null;
  return html("details", {class: "sentences", id, open: true}, html("summary", {}, title),
    html("ul", {}, ...list.map((text) => html("li", {}, text))));
}

type Figure = [name: string, value: string, key?: string];

/** Groups of figures, each under a heading; `key` is the name in summary.json. */
function figures(groups: [string, Figure[]][]): HTMLElement {
  return html("div", {class: "figures"}, ...groups.map(([title, list]) => html("section", {},
    html("h3", {}, title),
    html("dl", {class: "pairs"}, ...list.flatMap(([name, value, key]) => [
      html("dt", {}, name), html("dd", key === undefined ? {} : {"data-key": key}, value)])))));
}

export function runFigures(report: RunReport): HTMLElement {
  const {summary: s, measured: m, cluster} = report;
  return figures([
    ["Jobs", [
      ["submitted", whole(s.jobs_total), "jobs_total"], ["finished", whole(s.jobs_finished), "jobs_finished"],
      ["failed", whole(s.jobs_failed), "jobs_failed"], ["unfinished", whole(s.jobs_unfinished), "jobs_unfinished"]]],
    ["Completion time", [
      ["mean", duration(s.jct_avg_s), "jct_avg_s"], ["p50", duration(s.jct_p50_s), "jct_p50_s"],
      ["p90", duration(s.jct_p90_s), "jct_p90_s"], ["p99", duration(s.jct_p99_s), "jct_p99_s"]]],
    ["Waiting", [
      ["mean", duration(s.queue_avg_s), "queue_avg_s"], ["p99", duration(s.queue_p99_s), "queue_p99_s"],
      ["queue max", whole(s.queue_max), "queue_max"], ["makespan", duration(s.makespan_s), "makespan_s"]]],
    ["Beside running alone", [
      ["slowdown", digits3(s.slowdown_avg), "slowdown_avg"], ["slowdown p99", digits3(s.slowdown_p99), "slowdown_p99"],
      ["fairness, worst", digits3(s.ftf_max), "ftf_max"], ["treated unfairly", percent(s.ftf_unfair), "ftf_unfair"]]],
    ["Cluster", [
      ["nodes", whole(cluster.nodes_total)], ["devices", whole(cluster.devices_total)],
      ["utilisation", percent(s.gpu_utilization), "gpu_utilization"],
      ["fragments", percent(s.fragmentation_avg), "fragmentation_avg"],
      ["device time", plain(s.gpu_seconds_allocated / 3600) + " h", "gpu_seconds_allocated"]]],
    ["Changes", [
      ["reallocations", whole(s.reallocations), "reallocations"], ["preemptions", whole(s.preemptions), "preemptions"],
      ["restarts", whole(s.restarts), "restarts"], ["node losses", whole(s.node_losses), "node_losses"]]],
    ["Run", [
      ["decisions", whole(s.decisions), "decisions"], ["events", whole(s.events), "events"],
      ["wall time", duration(m.wall_s)], ["peak memory", plain(m.peak_rss_mb) + " MB"]]],
  ]);
}
