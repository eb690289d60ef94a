// The job that is picked: by search, by a click in the Gantt chart, or in the table of jobs.
import type {RunReport} from "./data";
import {html, table} from "./elements";
import type {GanttModel, Hit} from "./gantt_model";
import {describePart, pairs} from "./gantt_words";
import {clock, duration} from "./numbers";

const kRowsShown = 12;

export class JobChoice {
  /** Index of the job; -1: none. */
  chosen = -1;
  private readonly listeners: (() => void)[] = [];
  private input: HTMLInputElement | null = null;

  constructor(private readonly report: RunReport) {}

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  choose(job: number): void {
    this.chosen = job;
    if (this.input !== null) {
      this.input.value = job < 0 ? "" : this.report.jobs.name[job]!;
      this.input.setCustomValidity("");
    }
    for (const listener of this.listeners) listener();
  }

  /** The field to search in: Enter picks the job of this name, else the first that contains it. */
  field(): HTMLElement {
    const input = html("input", {type: "search", id: "job-search", placeholder: "name", autocomplete: "off", spellcheck: "false"});
    this.input = input;
    const find = () => {
      const text = input.value.trim().toLowerCase();
      if (text === "") {
        this.choose(-1);
        return;
      }
      const names = this.report.jobs.name;
      let found = names.findIndex((name) => name.toLowerCase() === text);
      if (found < 0) found = names.findIndex((name) => name.toLowerCase().includes(text));
      if (found >= 0) {
        this.choose(found);
      } else {
        input.setCustomValidity("No job has this in its name.");
        input.reportValidity();
      }
    };
    input.addEventListener("input", () => input.setCustomValidity(""));
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") find(); });
    input.addEventListener("search", () => { if (input.value === "") this.choose(-1); });
    return html("label", {class: "choice"}, html("span", {class: "label"}, "Job"), input);
  }

  /** The picked job in full: its times, the part that was clicked, and what it held when. */
  describe(model: GanttModel, hit: Hit | null): HTMLElement {
    const {jobs, segments} = this.report;
    const job = this.chosen;
    const time = (at: number | null) => at === null ? "—" : clock(at);
    const facts = pairs([
      ["submitted", time(jobs.submitted_s[job]!)],
      ["started", time(jobs.started_s[job]!)],
      ["finished", time(jobs.finished_s[job]!)],
      ["ended as", `${jobs.phase[job]} (${jobs.reason[job]})`],
      ["priority", String(jobs.priority[job])],
    ]);
    const devices = new Map<number, number>();
    for (let i = 0; i < model.size; i++) {
      if (model.job[i] === job) devices.set(model.segment[i]!, (devices.get(model.segment[i]!) ?? 0) + this.report.parts.devices[i]!);
    }
    const rows = [...devices].map(([segment, count]) => [
      clock(segments.begin_s[segment]!), clock(segments.end_s[segment]!),
      duration(segments.end_s[segment]! - segments.begin_s[segment]!), String(count),
      this.report.words.reasons[segments.reason[segment]!]!]);
    const left = rows.length - kRowsShown;
    return html("section", {"aria-label": "Picked job"},
      html("header", {}, html("h4", {}, jobs.name[job]!),
        html("button", {type: "button", click: () => this.choose(-1)}, "Unpin")),
      html("div", {class: "columns"}, facts, hit === null ? null : describePart(model, hit),
        html("div", {}, table("Devices held", ["From", "To", "For", "Devices", "Because"], rows.slice(0, kRowsShown)),
          left > 0 ? html("p", {class: "note"}, `and ${left} later stretches`) : null)));
  }
}
