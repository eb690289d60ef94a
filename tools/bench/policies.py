#!/usr/bin/env python3
"""Times the decisions of every policy against the size of the cluster.

    tools/bench/policies.py ORRERY [--gpus 64,256,...] [--policies a,b] [--jobs N] [--limit SECONDS]
                            [--json FILE] [--svg FILE]

ORRERY is the program; policies are those of `orrery policies`. Each runs the same generated jobs
(a quarter of them elastic, offered load 1.15) on nodes of 8 GPUs in world model. Prints Markdown:
the complexity of a decision, its median and 99th percentile in microseconds, and both as multiples of
those of fifo at the same size in the same call. A run longer than the limit is told as such, and larger
clusters are left out for that policy. --svg draws the 99th percentiles, --json keeps all figures.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "pages"))
from svg import Drawing  # noqa: E402

BASE = "fifo"
SCENARIO = """\
name: policies-{gpus}
seed: 1
cluster: {{nodes: {nodes}, gpus_per_node: 8, gpu: v100, cpu: 64, memory: 512GiB}}
workload:
  generator:
    preset: philly-like
    jobs: {jobs}
    arrivals: {{load: 1.15}}
    preemptible_share: 1
    elastic_share: 0.25
    estimate: {{lognormal: {{median: 1.5, sigma: 0.7}}}}
timing: {{start: 10s, stop: 5s, restore: 20s}}
"""
# Of one decision, as docs/policies.md has it: c what changed since the last one, s what it starts, g
# groups of waiting jobs that ask for the same, J live jobs, R those that run, W those that wait, N nodes,
# K types of device.
COMPLEXITY = {
    "fifo": "c + s",
    "easy": "c + s + `backfill_depth`",
    "srtf": "(c + s + g) log J",
    "las": "(c + s + g) log J; once a quantum R log R",
    "fit": "replicas x log J + W",
    "tiresias": "c + R + g + s",
    "optimus": "replicas x log J",
    "pollux": "R + W + N, and a search of `budget` cells at most",
    "orrery": "N + W + J x sizes x K, bisected",
    "shockwave": "R + W; schedule of `depth` jobs",
    "sia": "N + program of J x configurations",
    "srsf": "(c + s + g) log J",
    "sjf": "(c + s + g) log J",
    "elasticflow": "admitted x steps x sizes + R + W; with new jobs admitted² x sizes",
    "gavel_fifo": "N + J K log J",
    "gavel_las": "N + J K log J; program of J x K",
    "gavel_packing": "N + J²; program of (J + `pairs_most`) x K",
    "gavel_sum": "N + J K log J; program of J x K",
    "gavel_makespan": "N + J K log J; programs of J x K",
    "gavel_isolated": "N + J K log J",
    "gandiva": "N + J²",
    "allox": "N + J K log J; matching of `depth` jobs, `depth`³ K at most",
    "themis": "N + J K log J; programs of J x K",
    "twin": "as its candidates; each `period` `events_max` simulated events",
}
# Okabe and Ito: told apart by the colour-blind; with dashes for more than eight.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8a7f00", "#7f7f7f"]
DASHES = ["", "7 4", "2 3"]


def policies_of(program):
    """Names in the order of the registry; those that this program can make."""
    told = subprocess.run([program, "policies", "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(told.stdout)["policies"]
    return [row["name"] for row in rows if row.get("available", True)]


def measure(program, gpus, jobs, policy, limit):
    """Median and 99th percentile in microseconds, or the reason why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = pathlib.Path(folder) / "policies.yaml"
        scenario.write_text(SCENARIO.format(gpus=gpus, nodes=max(1, gpus // 8), jobs=jobs))
        command = [program, "sim", scenario, "--policy", policy, "--json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=limit)
        except subprocess.TimeoutExpired:
            return f"over {limit:g} s"
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
    summary = json.loads(done.stdout)
    return {key: summary[key] for key in ("decision_p50_us", "decision_p99_us", "decision_max_us",
                                          "decisions", "wall_s")}


def cell(figures, base):
    if figures is None:
        return "left out"
    if isinstance(figures, str):
        return figures
    parts = []
    for key in ("decision_p50_us", "decision_p99_us"):
        text = f"{figures[key]:.3g}"
        if isinstance(base, dict) and base is not figures and base[key] > 0:
            text += f" ({figures[key] / base[key]:.3g}x)"
        parts.append(text)
    return ", ".join(parts)


def table(results, sizes):
    lines = ["| policy | complexity | " + " | ".join(f"{gpus:,} GPUs" for gpus in sizes) + " |",
             "| --- | --- |" + " --- |" * len(sizes)]
    for policy, by_size in results.items():
        cells = [cell(by_size.get(gpus), results.get(BASE, {}).get(gpus)) for gpus in sizes]
        lines.append(f"| `{policy}` | {COMPLEXITY.get(policy, 'not stated')} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


class Chart(Drawing):
    """Lines over two logarithmic axes; a legend beside them."""

    LEFT, TOP, WIDTH, HEIGHT = 90, 50, 560, 380
    HEADING = "99th percentile of a decision (us) against GPUs"

    def __init__(self, title, sizes, values):
        super().__init__(title)
        self.widen(self.LEFT + self.WIDTH + 210)
        self._x = (math.log2(min(sizes)), max(1, math.log2(max(sizes)) - math.log2(min(sizes))))
        low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        self._y = (low, max(1, high - low))

    def at(self, gpus, microseconds):
        x = self.LEFT + (math.log2(gpus) - self._x[0]) / self._x[1] * self.WIDTH
        y = self.TOP + (1 - (math.log10(microseconds) - self._y[0]) / self._y[1]) * self.HEIGHT
        return x, y

    def axes(self, sizes):
        self.text(20, 28, self.HEADING, "name")
        for power in range(self._y[0], self._y[0] + self._y[1] + 1):
            _, y = self.at(sizes[0], 10.0 ** power)
            self._shapes.append(f'<path d="M{self.LEFT} {y:g}h{self.WIDTH}" '
                                'style="stroke:var(--faint);stroke-width:1"/>')
            self.text(self.LEFT - 45, y + 4, f"{10.0 ** power:g}", "note")
        for gpus in sizes:
            x, _ = self.at(gpus, 10.0 ** self._y[0])
            self.text(x, self.TOP + self.HEIGHT + 20, f"{gpus:,}", "note")

    def line(self, number, name, points):
        style = (f"stroke:{COLOURS[number % len(COLOURS)]};stroke-width:2;stroke-dasharray:"
                 f"{DASHES[number // len(COLOURS) % len(DASHES)] or 'none'}")
        if points:
            d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            self._shapes.append(f'<path d="{d}" style="{style}"/>')
        y = self.TOP + 10 + 20 * number
        x = self.LEFT + self.WIDTH + 20
        self._shapes.append(f'<path d="M{x} {y}h30" style="{style}"/>')
        self.text(x + 38, y + 5, name, "")


def picture(results, sizes):
    measured = {policy: {gpus: figures["decision_p99_us"] for gpus, figures in by_size.items()
                         if isinstance(figures, dict) and figures["decision_p99_us"] > 0}
                for policy, by_size in results.items()}
    values = [value for by_size in measured.values() for value in by_size.values()]
    chart = Chart("Decision times of all policies", sizes, values)
    chart.axes(sizes)
    for number, (policy, by_size) in enumerate(measured.items()):
        chart.line(number, policy, [chart.at(gpus, value) for gpus, value in by_size.items()])
    return chart.svg(max(chart.TOP + chart.HEIGHT + 40, chart.TOP + 30 + 20 * len(measured)))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--gpus", default="64,256,1024,4096,16384")
    parser.add_argument("--policies", default="")
    parser.add_argument("--jobs", type=int, default=4000)
    parser.add_argument("--limit", type=float, default=120)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--svg", type=pathlib.Path)
    options = parser.parse_args()
    sizes = [int(gpus) for gpus in options.gpus.split(",")]
    names = options.policies.split(",") if options.policies else policies_of(options.program)
    if BASE in names:
        names.insert(0, names.pop(names.index(BASE)))
    results = {}
    for policy in names:
        by_size = results.setdefault(policy, {})
        for gpus in sizes:
            by_size[gpus] = measure(options.program, gpus, options.jobs, policy, options.limit)
            print(f"{policy}, {gpus} GPUs: {by_size[gpus]}", file=sys.stderr, flush=True)
            if isinstance(by_size[gpus], str):
                break
    print(table(results, sizes))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(picture(results, sizes))


if __name__ == "__main__":
    main()
