// report.html in a headless Chromium: what it draws, says and answers to.
// Usage: node page_test.mjs PROGRAM ROOT [PICTURES]
//   PICTURES: a folder for screenshots to look at; none are kept without it.
// Ends with 77, which is "skipped", where there is no Chromium or the program has no page.
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {delimiter, join, resolve} from "node:path";
import {pathToFileURL} from "node:url";

import {Browser} from "./browser.mjs";

const [program, root, pictures] = process.argv.slice(2).map((path) => resolve(path));
const scenario = join(root, "tests/sim/reports/page/two_tenants.yaml");
// How many of what costs by the piece: fewer by ctest, the second number by `tools/soak tests`.
const countOf = (few, many) => (process.env.ORRERY_LONG === undefined ? few : many);

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

function chromium() {
  for (const name of ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
    for (const folder of (process.env.PATH ?? "").split(delimiter))
      if (folder !== "" && existsSync(join(folder, name))) return join(folder, name);
  return null;
}

function orrery(...words) {
  const done = spawnSync(program, words, {encoding: "utf8"});
  assert.equal(done.status, 0, `orrery ${words.join(" ")}: ${done.stderr}`);
  return done;
}

const json = (path) => JSON.parse(readFileSync(path, "utf8"));
const rowsOf = (path) => {
  const [head, ...rows] = readFileSync(path, "utf8").trim().split("\n").map((line) => line.split(","));
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at]])));
};
const dataOf = (path) => JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"))[1]);

/** "1 h 40 min" as seconds, and how much the text may be off. */
function readDuration(text) {
  const units = {"µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400};
  const parts = [...text.replaceAll(",", "").matchAll(/([\d.]+) (µs|ms|s|min|h|d)/g)];
  assert.notEqual(parts.length, 0, `"${text}" is no duration`);
  const seconds = parts.reduce((sum, [, number, unit]) => sum + Number(number) * units[unit], 0);
  const last = parts.at(-1);
  const digits = (last[1].split(".")[1] ?? "").length;
  return {seconds, slack: units[last[2]] * 10 ** -digits};
}

function sameDuration(text, seconds, what) {
  const read = readDuration(text);
  assert.ok(Math.abs(read.seconds - seconds) <= read.slack, `${what}: page says ${text}, the file ${seconds} s`);
}

const program_of_browser = chromium();
if (program_of_browser === null) skip("no Chromium is here; tools/packages installs it");
const folder = mkdtempSync(join(tmpdir(), "orrery-report-"));
process.on("exit", () => rmSync(folder, {recursive: true, force: true}));
const run = join(folder, "run");
const said = orrery("sim", scenario, "--out", run).stderr;
if (!existsSync(join(run, "report.html"))) {
  assert.match(said, /report\.html is not written: .*because/);
  skip("this program was built without the page");
}
const runPage = join(run, "report.html");
const summary = json(join(run, "summary.json"));
const data = dataOf(runPage);

const browser = new Browser(program_of_browser);
let failed = 0;

async function picture(page, name, whole = true) {
  if (pictures === undefined) return;
  mkdirSync(pictures, {recursive: true});
  writeFileSync(join(pictures, `${name}.png`), await page.picture(whole));
}

async function test(name, body) {
  try {
    await body();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n${error.stack}`);
  }
}

async function opened(path, options) {
  return browser.open(pathToFileURL(path).href, options);
}

/** Where a time and a row of the Gantt chart are in the window. */
async function spot(page, at, row) {
  return page.value(`(() => {
    const canvas = document.getElementById("gantt");
    canvas.scrollIntoView({block: "center"});
    const box = canvas.getBoundingClientRect();
    const plot = JSON.parse(canvas.dataset.plot);
    return [box.left + plot.left + (${at} - plot.from) / (plot.to - plot.from) * plot.width,
            box.top + plot.top + (${row} - plot.rowFrom) / (plot.rowTo - plot.rowFrom) * plot.height];
  })()`);
}

const stretch = (page) => page.value(`(({from, to}) => [from, to])(JSON.parse(document.getElementById("gantt").dataset.plot))`);

/** The colour of a pixel of a canvas, at a place in the window. */
const colourAt = (page, id, [x, y]) => page.value(`(() => {
  const canvas = document.getElementById(${JSON.stringify(id)});
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width;
  return [...canvas.getContext("2d").getImageData((${x} - box.left) * scale, (${y} - box.top) * scale, 1, 1).data].join();
})()`);

const segment = data.parts.segment.findIndex((one) => data.jobs.name[data.segments.job[one]] === "left");
const known = {
  job: "left",
  node: data.parts.node[segment],
  begin: data.segments.begin_s[data.parts.segment[segment]],
  end: data.segments.end_s[data.parts.segment[segment]],
};

await test("the page opens from a file, asks for nothing else and complains of nothing", async () => {
  const page = await opened(runPage);
  assert.deepEqual(page.requests, [pathToFileURL(runPage).href]);
  assert.deepEqual(page.complaints, []);
  assert.equal(await page.value("document.documentElement.dataset.drawn"), "yes");
  assert.equal(/(?:src|href)\s*=\s*["']?https?:|url\((?!#)/.exec(readFileSync(runPage, "utf8")), null);
  await picture(page, "light");
});

await test("the chart of devices has its rectangles where the data say", async () => {
  const page = await opened(runPage);
  const rectangle = await colourAt(page, "gantt", await spot(page, (known.begin + known.end) / 2, known.node + 0.9));
  const ground = await page.value(`(() => { const c = document.createElement("canvas").getContext("2d");
    c.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--plot"); c.fillRect(0, 0, 1, 1);
    return [...c.getImageData(0, 0, 1, 1).data].join(); })()`);
  assert.notEqual(rectangle, ground);
  // Node 2 is down: neither ground nor a job.
  const down = data.node_states.begin_s[0];
  assert.equal(data.cluster.node[data.node_states.node[0]], "node 2");
  assert.notEqual(await colourAt(page, "gantt", await spot(page, down + 30, 2.5)), ground);
  for (const id of ["utilisation", "fragmentation", "queue", "jct", "waiting"])
    assert.ok((await page.value(`document.querySelector("#${id} svg path[d]").getTotalLength()`)) > 50, id);
});

await test("hovering names the job, its node, ranks and times; clicking pins it", async () => {
  const page = await opened(runPage);
  const [x, y] = await spot(page, (known.begin + known.end) / 2, known.node + 0.4);
  await page.mouse("mouseMoved", x, y);
  const tip = await page.value(`document.querySelector(".tip").innerText`);
  assert.match(tip, /^left\n/);
  assert.ok(tip.includes(data.cluster.node[known.node]), tip);
  assert.match(tip, /devices 0–3/);
  assert.match(tip, /Running since/);
  await picture(page, "hover", false);
  await page.click(x, y);
  assert.match(await page.value(`document.querySelector(".pinned").innerText`), /left[\s\S]*submitted[\s\S]*Devices held/);
  await page.key("Escape");
  assert.equal(await page.value(`document.querySelector(".pinned").innerText`), "");
});

await test("keys zoom and move all charts over time together", async () => {
  const page = await opened(runPage);
  for (let tabs = 0; tabs < 30; tabs++) {
    await page.send("Input.dispatchKeyEvent", {type: "keyDown", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9});
    await page.send("Input.dispatchKeyEvent", {type: "keyUp", key: "Tab", code: "Tab", windowsVirtualKeyCode: 9});
    if (await page.value(`document.activeElement.id === "gantt"`)) break;
  }
  assert.ok(await page.value(`document.activeElement.id === "gantt" && getComputedStyle(document.activeElement).outlineStyle !== "none"`),
    "the chart is reached with Tab, and shows that it has the focus");
  const [from, to] = await stretch(page);
  const axis = () => page.value(`document.querySelector("#queue svg").textContent`);
  const before = await axis();
  await page.key("+");
  await page.key("+");
  const [from2, to2] = await stretch(page);
  assert.ok(from2 > from && to2 < to, `${from2} to ${to2}`);
  assert.ok(Math.abs((to2 - from2) / (to - from) - 0.49) < 0.001);
  assert.notEqual(await axis(), before);
  await page.key("ArrowRight");
  assert.ok((await stretch(page))[0] > from2);
  await page.key("0");
  assert.deepEqual(await stretch(page), [from, to]);
});

await test("the wheel zooms where the pointer is, once the chart has the focus", async () => {
  const page = await opened(runPage);
  const [from, to] = await stretch(page);
  const at = from + (to - from) / 4;
  const [x, y] = await spot(page, at, 2.9);
  const wheel = async () => {
    await page.send("Input.dispatchMouseEvent", {type: "mouseWheel", x, y, deltaX: 0, deltaY: -300});
    await page.settled();
  };
  await page.value(`document.getElementById("gantt").focus({preventScroll: true})`);
  await wheel();
  const [from2, to2] = await stretch(page);
  assert.ok(to2 - from2 < 0.9 * (to - from), `${from2} to ${to2}`);
  assert.ok(Math.abs((at - from2) / (to2 - from2) - 0.25) < 0.02, "what is pointed at stays");
});

await test("dark mode and the switch change colours", async () => {
  const page = await opened(runPage);
  const ground = () => page.value("getComputedStyle(document.documentElement).backgroundColor");
  const place = await spot(page, known.end + 1, known.node + 0.5);
  const light = [await ground(), await colourAt(page, "gantt", place)];
  await page.media({scheme: "dark"});
  const dark = [await ground(), await colourAt(page, "gantt", place)];
  await picture(page, "dark");
  assert.notEqual(light[0], dark[0]);
  assert.notEqual(light[1], dark[1]);
  await page.value(`document.querySelector("[data-value=light]").click()`);
  await page.settled();
  assert.equal(await ground(), light[0]);
});

await test("on paper the page is light, as wide as paper, and drawn finer", async () => {
  const page = await opened(runPage);
  await page.media({scheme: "dark"});
  await page.media({scheme: "dark", media: "print"});
  assert.equal(await page.value("document.documentElement.dataset.theme"), "light");
  const {canvas, box, chart} = await page.value(`({canvas: document.getElementById("gantt").width,
    box: document.body.clientWidth, chart: document.querySelector("#queue svg").clientWidth})`);
  assert.equal(box, 690);
  assert.equal(canvas, 3 * 690);
  assert.equal(chart, 690);
  assert.equal(await page.value(`getComputedStyle(document.querySelector(".switches")).display`), "none");
  await picture(page, "print");
  await page.media({scheme: "dark"});
  assert.equal(await page.value("document.documentElement.dataset.theme"), "dark");
  const paper = await page.paper();
  assert.equal(paper.subarray(0, 5).toString(), "%PDF-");
  if (pictures !== undefined) writeFileSync(join(pictures, "print.pdf"), paper);
});

await test("a narrow window needs no scrolling to the side", async () => {
  const page = await opened(runPage, {width: 400, height: 800});
  assert.ok((await page.value("document.documentElement.scrollWidth")) <= 400);
  await picture(page, "narrow");
});

await test("figures equal summary.json", async () => {
  const page = await opened(runPage);
  const shown = await page.value(`Object.fromEntries([...document.querySelectorAll("dd[data-key]")].map((dd) => [dd.dataset.key, dd.textContent]))`);
  let compared = 0;
  for (const [key, text] of Object.entries(shown)) {
    if (["gpu_utilization", "fragmentation_avg", "ftf_unfair"].includes(key)) assert.equal(text, (100 * summary[key]).toFixed(1) + " %");
    else if (key === "gpu_seconds_allocated") assert.ok(Math.abs(parseFloat(text) * 3600 / summary[key] - 1) < 0.01, text);
    else if (key.endsWith("_s")) sameDuration(text, summary[key], key);
    else if (key.startsWith("slowdown") || key.startsWith("ftf"))
      assert.ok(Math.abs(Number(text.replaceAll(",", "")) - summary[key]) <= Math.max(0.005, summary[key] / 100), `${key} ${text}`);
    else assert.equal(Number(text.replaceAll(",", "")), summary[key], key);
    compared++;
  }
  assert.ok(compared >= 18, `only ${compared} figures`);
  const head = await page.value(`document.querySelector(".top").textContent`);
  assert.match(await page.value(`document.querySelector("#approximated").textContent`), /Level L0: no link is shared/);
  for (const text of [summary.scenario, summary.policy, summary.world, summary.state_digest, "L0"]) assert.ok(head.includes(text), text);
});

await test("the table of jobs equals jobs.csv and sorts", async () => {
  const page = await opened(runPage);
  const shown = () => page.value(`[...document.querySelectorAll("table.jobs tbody tr")].map((tr) => [...tr.children].map((td) => td.textContent))`);
  const heads = await page.value(`[...document.querySelectorAll("table.jobs thead th")].map((th) => th.textContent)`);
  const rows = await shown();
  const jobs = new Map(rowsOf(join(run, "jobs.csv")).map((row) => [row.job_id, Number(row.turnaround_time)]));
  assert.deepEqual(rows.map((row) => row[0]), [...jobs.keys()]);
  const completion = heads.indexOf("Completion");
  for (const row of rows) sameDuration(row[completion], jobs.get(row[0]), row[0]);
  const click = () => page.value(`document.querySelectorAll("table.jobs thead button")[${completion}].click()`);
  await click();
  await click();
  const sorted = (await shown()).map((row) => readDuration(row[completion]).seconds);
  assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a));
  assert.equal(await page.value(`document.querySelectorAll("table.jobs thead th")[${completion}].getAttribute("aria-sort")`), "descending");
});

await test("searching a job pins it", async () => {
  const page = await opened(runPage);
  await page.value(`document.getElementById("job-search").focus()`);
  for (const letter of "elas") await page.key(letter);
  await page.key("Enter");
  assert.match(await page.value(`document.querySelector(".pinned h4").textContent`), /^elastic$/);
  await picture(page, "pinned");
});

await test("every chart has a label and a table behind it", async () => {
  const page = await opened(runPage);
  const figures = await page.value(`(async () => {
    const out = [];
    for (const figure of document.querySelectorAll("figure")) {
      const details = figure.querySelector("details.behind");
      details.open = true;
      await new Promise((done) => details.addEventListener("toggle", done, {once: true}));
      out.push({id: figure.id, rows: details.querySelectorAll("tbody tr").length,
        label: figure.querySelector("[role=img]")?.getAttribute("aria-label") ?? ""});
    }
    return out;
  })()`);
  assert.ok(figures.length >= 6);
  for (const {id, rows, label} of figures) {
    assert.ok(rows > 0, `${id} has no table`);
    assert.ok(label.length > 5, `${id} has no label`);
  }
});

await test("equal inputs give equal pages but for what was measured", async () => {
  const again = join(folder, "again");
  orrery("sim", scenario, "--out", again);
  const plain = (path) => readFileSync(join(path, "report.html"), "utf8").replace(/"measured":\{.*\}(?=\}<\/script>)/s, "");
  assert.ok(plain(run).length < readFileSync(runPage, "utf8").length);
  assert.equal(plain(again), plain(run));
});

await test("links are a heat map that says how busy the one pointed at was", async () => {
  // No world of these tests has a network, so the run is given links by hand.
  const links = {name: ["busy", "half", "idle"], edges_s: [0, 100, 200, data.end_s], use: [[1, 1, 0.2], [0.5, 0.5, 0.5], [0, 0, 0]]};
  const linked = join(folder, "linked.html");
  writeFileSync(linked, readFileSync(runPage, "utf8").replace('"links":null', `"links":${JSON.stringify(links)}`));
  const page = await opened(linked);
  assert.deepEqual(page.complaints, []);
  const places = await page.value(`(() => {
    const canvas = document.getElementById("links-canvas");
    canvas.scrollIntoView({block: "center"});
    const box = canvas.getBoundingClientRect();
    const plot = JSON.parse(canvas.dataset.plot);
    return [0, 1, 2].map((row) => [box.left + plot.left + plot.width / 6, box.top + plot.top + (row + 0.5) * plot.height / 3]);
  })()`);
  const colours = [];
  for (const place of places) colours.push(await colourAt(page, "links-canvas", place));
  assert.equal(new Set(colours).size, 3);
  await page.mouse("mouseMoved", ...places[1]);
  assert.match(await page.value(`document.querySelector("#links .readout").textContent`), /half 50\.0 %/);
  assert.match(await page.value(`document.querySelector("#utilisation .readout").textContent`), /of 12 devices/);
  await picture(page, "links");
});

await test("queues show what each holds and is entitled to", async () => {
  const out = join(folder, "queues");
  orrery("sim", join(root, "scenarios/queues/shares.yaml"), "--out", out);
  const {queues, end_s} = dataOf(join(out, "report.html"));
  assert.deepEqual(queues.name, ["research", "vision", "speech", "product", "default"]);
  const means = json(join(out, "summary.json")).queues;
  assert.equal(means[1].used_max, 16);
  const at = (minute) => queues.at_s.findLastIndex((one) => one <= 60 * minute);
  assert.equal(queues.used[1][at(5)], 16, "train holds all of the cluster at first");
  assert.equal(queues.used[1][at(25)], 6);
  assert.equal(queues.share[3][at(25)], 7);
  const page = await opened(join(out, "report.html"));
  assert.deepEqual(page.complaints, []);
  await page.value(`document.getElementById("queue-vision").scrollIntoView({block: "center"})`);
  const [left, top, width, height] = await page.value(`(() => {
    const box = document.querySelector("#queue-vision .svg-box").getBoundingClientRect();
    return [box.left, box.top, box.width, box.height];
  })()`);
  await page.mouse("mouseMoved", left + 84 + (width - 84) * 1500 / end_s, top + height / 2);
  assert.match(await page.value(`document.querySelector("#queue-vision .readout").textContent`),
    /6 devices, entitled to 6, 6 borrowed/);
  await picture(page, "queues");
});

await test("more than a thousand jobs are drawn, zoomed and searched", async () => {
  const jobs = countOf(1200, 4000);
  const big = join(folder, "big");
  orrery("sim", join(root, "scenarios/quickstart.yaml"), "--set", `workload.generator.jobs=${jobs}`, "--policy", "las", "--out", big);
  const page = await opened(join(big, "report.html"), {width: 1280, height: 900});
  assert.deepEqual(page.complaints, []);
  assert.match(await page.value(`document.querySelector("#jobs .place").textContent`), new RegExp(`1 to 25 of ${jobs.toLocaleString("en-US")}`));
  await picture(page, "big");
  await page.value(`document.getElementById("gantt").focus()`);
  for (let i = 0; i < 12; i++) await page.key("+");
  const [from, to] = await stretch(page);
  assert.ok(to - from < 0.02 * dataOf(join(big, "report.html")).end_s);
});

await test("a comparison has all policies, intervals and the figures of compare.json", async () => {
  const out = join(folder, "compared");
  orrery("compare", join(root, "scenarios/quickstart.yaml"), "--set", "workload.generator.jobs=400",
    "--set", "workload.generator.arrivals.load=4", "--policies", "fifo,las,srtf", "--seeds", "1..4", "--out", out);
  const compared = json(join(out, "compare.json"));
  const page = await opened(join(out, "report.html"), {width: 1280, height: 900});
  assert.deepEqual(page.complaints, []);
  assert.deepEqual(page.requests, [pathToFileURL(join(out, "report.html")).href]);
  const rows = await page.value(`[...document.querySelectorAll("table.policies tbody tr")].map((tr) => ({
    policy: tr.querySelector("th").textContent.trim(),
    jct: tr.querySelector("td[data-key=jct_avg_s] div").textContent,
    interval: tr.querySelector("td[data-key=jct_avg_s] .interval").textContent,
    chance: tr.querySelector("td[data-key=jct_avg_s] div:last-child").textContent}))`);
  const unit = /Completion, mean \((\w+)\)/.exec(await page.value(`document.querySelector("table.policies thead").textContent`))[1];
  assert.deepEqual(rows.map((row) => row.policy), compared.policies.map((one) => one.policy));
  rows.forEach((row, at) => {
    const [low, high] = row.interval.split(" to ");
    const figure = compared.policies[at].jct_avg_s;
    sameDuration(`${row.jct} ${unit}`, figure.mean, row.policy);
    sameDuration(`${low} ${unit}`, figure.low, row.policy);
    sameDuration(`${high} ${unit}`, figure.high, row.policy);
    if (at > 0) assert.equal(row.chance, `p ${compared.differences[at - 1].jct_avg_s.p.toFixed(3)}`);
  });
  const pairs = await page.value(`[...document.querySelectorAll("#pairs tbody tr")].filter((tr) =>
    tr.querySelector("th").textContent.startsWith("Completion, mean")).map((tr) =>
    [...tr.querySelectorAll("td")].slice(0, 2).map((td) => td.textContent))`);
  assert.deepEqual(pairs, compared.differences.map((one) => [one.policy, one.against]));
  // One dot a policy for each figure, no dot for the first policy's difference to itself.
  const charts = await page.value(`document.querySelectorAll("#estimates figure").length`);
  assert.ok(charts >= 5);
  assert.equal(await page.value(`document.querySelectorAll("#estimates circle.mean").length`), 3 * charts);
  assert.equal(await page.value(`document.querySelectorAll("#differences circle.mean").length`), 2 * charts);
  for (const id of ["jct", "waiting", "slowdown"])
    assert.equal(await page.value(`document.querySelectorAll("#${id} path.cdf").length`), 3, id);
  // Job by job: the first two policies, then another pair.
  const scatter = () => page.value(`document.querySelector("#job-scatter .legend").textContent`);
  assert.match(await scatter(), /^las\/1 beside fifo\/1: \d+ of \d+ jobs are faster/);
  const first = json(join(out, "fifo-1/summary.json"));
  assert.match(await scatter(), new RegExp(`of ${first.jobs_finished} jobs`));
  await page.value(`{const select = document.querySelectorAll("#job-scatter select")[1];
    select.value = "2"; select.dispatchEvent(new Event("change"));}`);
  assert.match(await scatter(), /^srtf\/1 beside fifo\/1/);
  assert.equal(await page.value(`document.querySelector("#job-scatter path.dots").getAttribute("d").split("M").length - 1`),
    first.jobs_finished);
  const links = await page.value(`[...document.querySelectorAll("#runs a")].map((a) => a.getAttribute("href"))`);
  assert.equal(links.length, 12);
  for (const link of links) assert.ok(existsSync(join(out, link)), link);
  await picture(page, "comparison");
  await page.value(`document.querySelector("#jct [data-value=log]").click()`);
  await page.settled();
  assert.match(await page.value(`document.querySelector("#jct svg").textContent`), /min|s/);
});

await test("a sweep is drawn against each of its parameters", async () => {
  const file = join(folder, "two_sweep.yaml");
  writeFileSync(file, `scenario: ${join(root, "scenarios/quickstart.yaml")}
description: Nodes and load.
set: {workload.generator.jobs: ${countOf(40, 200)}}
grid: {workload.generator.arrivals.load: [1, 2, 4], cluster.nodes: [4, 8]}
policies: [fifo, {name: easy, backfill_depth: 3}]
seeds: 1..${countOf(2, 3)}
`);
  const out = join(folder, "swept");
  const document = JSON.parse(orrery("sweep", file, "--out", out, "--json").stdout);
  const page = await opened(join(out, "report.html"), {width: 1280, height: 900});
  assert.deepEqual(page.complaints, []);
  const rows = () => page.value(`[...document.querySelector("#swept .scroll table").tBodies[0].rows].map((row) =>
    [...row.cells].map((cell) => cell.textContent))`);
  const check = async (key, same) => {
    const shown = await rows();
    assert.equal(shown.length, 6);
    shown.forEach((row, at) => {
      const point = document.points[at];
      assert.deepEqual(row.slice(0, 2), Object.values(point.set));
      point.policies.forEach((policy, p) => same(row[2 + 2 * p], policy[key].mean));
    });
  };
  await check("jct_avg_s", (text, value) => sameDuration(text, value, "jct_avg_s"));
  // Two parameters, and the first of them at both values of the other; two policies each.
  assert.equal(await page.value(`document.querySelectorAll("#swept figure").length`), 4);
  assert.equal(await page.value(`document.querySelectorAll("#swept figure path.cdf").length`), 8);
  assert.equal(await page.value(`document.querySelectorAll("#swept figure circle.mean").length`), 2 * (3 + 2 + 3 + 3));
  await picture(page, "sweep");
  await page.value(`{const select = document.getElementById("figure"); select.value = "gpu_utilization";
    select.dispatchEvent(new Event("change"));}`);
  await page.settled();
  await check("gpu_utilization", (text, value) => assert.equal(text, (100 * value).toFixed(1) + " %"));
  // Means over the other parameter are means of means.
  const swept = dataOf(join(out, "report.html"));
  const figure = swept.figures.find((one) => one.key === "gpu_utilization");
  const mean = (figure.by_point[0][1].mean + figure.by_point[1][1].mean) / 2;
  assert.ok(Math.abs(figure.by_value[0][0][1].mean - mean) < 1e-9);
});

await test("predicted stands against measured, with error bars and decisions side by side", async () => {
  const spread = (...values) => ({count: values.length, p10: values[0], p50: values[1], p90: values[2], shortest: values[0], longest: values[2]});
  const row = (job, figure, which, predicted, measured_s) => ({job: `default.${job}`, figure, which, measured_s, measured: spread(...measured_s),
    predicted: spread(...predicted), uncalibrated_s: 1, unmatched: 0});
  const total = (figure) => ({figure, count: 3, error_p50: 0.01, error_p90: 0.02, error_max: 0.03, bias: -0.01, inside: 0.5,
    uncalibrated_p50: 0.1, uncalibrated_max: 0.2, unmatched: 1});
  const totals = ["completion", "step", "recovery"].map(total);
  const report = {version: 1, kind: "parity", training: 2, measured: 3, predicted: 50, totals, scenarios: [{
    name: "two", description: "Two jobs.", policy: "fifo", time_scale: 10,
    times: [{time: "start", samples: 8, p10_s: 0.1, p50_s: 0.2, p90_s: 0.3, held_out_error_p50: null}], totals,
    rows: [row("train", "completion", "", [9, 10, 11], [9.5, 10, 12]), row("train", "recovery", "1: WorkerFailed", [1, 1.2, 1.3], [1, 1.1, 1.2])],
    decisions: [{job: "default.train", predicted: "  Pending\n  restarts 1\n", measured: "  Pending\n  restarts 2\n", runs_other: 1, first_other: "measured 'restarts 2'"},
      {job: "default.eval", predicted: "  Pending\n", measured: "  Pending\n", runs_other: 0, first_other: ""}],
    wrong: ["default.train: completion: predicted 10.000 s"], remarks: []}]};
  // Any page is a template: what it shows is the data in it.
  const swept = readFileSync(join(folder, "swept/report.html"), "utf8");
  const file = join(folder, "parity.html");
  writeFileSync(file, swept.replace(/(<script type="application\/json" id="data">).*?(<\/script>)/s, (_, open, close) => open + JSON.stringify(report) + close));
  const page = await opened(file, {width: 1280, height: 900});
  assert.deepEqual(page.complaints, []);
  assert.equal(await page.value(`document.querySelectorAll("figure svg.chart").length`), 2);
  assert.equal(await page.value(`document.querySelectorAll("svg .run").length`), 6);
  assert.equal(await page.value(`document.querySelectorAll("svg .whisker").length`), 6);
  assert.match(await page.value(`document.querySelector("#totals table").textContent`), /completion31\.0 %2\.0 %3\.0 %−1\.0 %50 %/);
  // Where decisions differ the table is open, and the lines are marked on both sides.
  assert.deepEqual(await page.value(`[...document.querySelectorAll("td.mark")].map((cell) => cell.textContent)`), ["restarts 1", "restarts 2"]);
  assert.match(await page.value(`document.getElementById("wrong-two").textContent`), /predicted 10\.000 s/);
  await picture(page, "parity");
});

await browser.close();
console.log(failed === 0 ? "all passed" : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
