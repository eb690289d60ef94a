// The jobs, sortable by every column, a page at a time.
import type {Jobs, RunReport} from "./data";
import {html} from "./elements";
import type {JobChoice} from "./job_choice";
import {clock, duration, whole} from "./numbers";

interface Column {
  head: string;
  text: (job: number) => string;
  /** What it is sorted by; null goes last. */
  key: (job: number) => number | string | null;
  number: boolean;
}

const kPage = 25;

function columnsOf(jobs: Jobs): Column[] {
  const words = (head: string, list: string[]): Column => ({head, text: (i) => list[i]!, key: (i) => list[i]!, number: false});
  const counts = (head: string, list: number[]): Column => ({head, text: (i) => String(list[i]), key: (i) => list[i]!, number: true});
  const times = (head: string, of: (job: number) => number | null, say: (value: number) => string): Column => ({
    head, key: of, number: true, text: (i) => {
      const value = of(i);
      return value === null ? "—" : say(value);
    }});
  const since = (list: (number | null)[]) => (i: number) => {
    const at = list[i];
    return at === null || at === undefined ? null : at - jobs.submitted_s[i]!;
  };
  return [
    words("Job", jobs.name),
    words("Profile", jobs.profile),
    times("Submitted", (i) => jobs.submitted_s[i]!, (at) => clock(at)),
    times("Waited", since(jobs.started_s), duration),
    times("Completion", since(jobs.finished_s), duration),
    counts("Min devices", jobs.devices),
    counts("Priority", jobs.priority),
    counts("Restarts", jobs.restarts),
    counts("Reallocations", jobs.reallocations),
    counts("Preemptions", jobs.preemptions),
    counts("Node losses", jobs.node_losses),
    words("Phase", jobs.phase),
    words("Reason", jobs.reason),
  ];
}

const kAlways = ["Job", "Submitted", "Waited", "Completion", "Min devices", "Phase"];

/** A column that says the same of every job tells little. */
function tells(column: Column, count: number): boolean {
  for (let i = 1; i < count; i++) if (column.key(i) !== column.key(0)) return true;
  return kAlways.includes(column.head);
}

export class JobTable {
  readonly element: HTMLElement;
  private readonly body = html("tbody");
  private readonly heads: HTMLTableCellElement[] = [];
  private readonly place = html("span", {class: "place", role: "status"});
  private readonly columns: Column[];
  private order: number[];
  private sortedBy = 2;
  private ascending = true;
  private page = 0;

  constructor(private readonly report: RunReport, private readonly jobs: JobChoice) {
    const count = report.jobs.name.length;
    this.order = Array.from({length: count}, (_, i) => i);
    this.columns = columnsOf(report.jobs).filter((column) => tells(column, count));
    this.sortedBy = this.columns.findIndex((column) => column.head === "Submitted");
    this.columns.forEach((column, at) => {
      this.heads.push(html("th", {scope: "col", class: column.number ? "number" : ""},
        html("button", {type: "button", click: () => this.sort(at)}, column.head)));
    });
    const turn = (text: string, label: string, by: number) =>
      html("button", {type: "button", "aria-label": label, click: () => this.turn(by)}, text);
    this.element = html("section", {id: "jobs"}, html("h2", {}, "Jobs"),
      html("div", {class: "scroll"}, html("table", {class: "jobs"},
        html("caption", {class: "hidden"}, "Jobs; the button in each heading sorts, the name of a job picks it in the chart"),
        html("thead", {}, html("tr", {}, ...this.heads)), this.body)),
      html("div", {class: "pages"},
        turn("«", "First page", -Infinity), turn("‹", "Page before", -1), this.place, turn("›", "Next page", 1), turn("»", "Last page", Infinity)));
    this.mark();
    this.fill();
    jobs.onChange(() => this.fill());
  }

  private sort(column: number): void {
    this.ascending = column === this.sortedBy ? !this.ascending : true;
    this.sortedBy = column;
    const key = this.columns[column]!.key;
    const sign = this.ascending ? 1 : -1;
    this.order.sort((a, b) => {
      const one = key(a);
      const other = key(b);
      if (one === other) return a - b;
      if (one === null) return 1;
      if (other === null) return -1;
      return typeof one === "string"
        ? sign * one.localeCompare(other as string, "en", {numeric: true}) : sign * (one - (other as number));
    });
    this.page = 0;
    this.mark();
    this.fill();
  }

  private mark(): void {
    this.heads.forEach((head, at) => head.setAttribute(
      "aria-sort", at !== this.sortedBy ? "none" : this.ascending ? "ascending" : "descending"));
  }

  private turn(by: number): void {
    const last = Math.max(0, Math.ceil(this.order.length / kPage) - 1);
    this.page = Math.min(last, Math.max(0, this.page + by));
    this.fill();
  }

  private fill(): void {
    const first = this.page * kPage;
    const shown = this.order.slice(first, first + kPage);
    this.body.replaceChildren(...shown.map((job) => html("tr", {"aria-selected": String(job === this.jobs.chosen)},
      ...this.columns.map((column, at) => {
        const text = column.text(job);
        if (at > 0) return html("td", {class: column.number ? "number" : ""}, text);
        return html("th", {scope: "row"}, html("button", {type: "button", click: () => this.pick(job)}, text));
      }))));
    this.place.textContent = this.order.length === 0 ? "no jobs"
      : `${whole(first + 1)} to ${whole(first + shown.length)} of ${whole(this.order.length)}` +
        (this.order.length < this.report.summary.jobs_total ? `, from ${whole(this.report.summary.jobs_total)} in all` : "");
  }

  private pick(job: number): void {
    this.jobs.choose(this.jobs.chosen === job ? -1 : job);
    if (this.jobs.chosen >= 0) document.getElementById("gantt-figure")?.scrollIntoView({block: "start"});
  }
}
