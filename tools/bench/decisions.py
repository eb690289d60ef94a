#!/usr/bin/env python3
"""Times one decision of every policy against the size of the cluster, cold and with churn.

    tools/bench/decisions.py BENCH ORRERY [--gpus 64,512,...] [--policies a,b] [--limit SECONDS] [--svg FILE]

BENCH is build/bin/bench_decisions, whose first lines say what it measures; ORRERY tells which policies there are.
Prints a Markdown table of CPU milliseconds: the first decision for all jobs at once, and the median and the
longest of ten cycles in which 1 % of the jobs ended and as many came. A program that takes longer than the limit
is told as such, and larger clusters are left out for that policy. --svg draws the medians with churn.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from policies import Chart, policies_of


class Picture(Chart):
    """As that of policies.py, with another title."""

    HEADING = "Median of a decision (us, CPU) with 1 % churn against GPUs, 20,000 jobs at 131,072"


def measure(bench, policy, gpus, limit):
    try:
        done = subprocess.run([bench, policy, str(gpus)], capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"over {limit:g} s"
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed"
    return json.loads(done.stdout)


def cell(figures):
    if figures is None:
        return "left out"
    if isinstance(figures, str):
        return figures
    return ", ".join(f"{figures[key]:.3g}" for key in ("cold_ms", "churn_median_ms", "churn_max_ms"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("orrery")
    parser.add_argument("--gpus", default="64,512,4096,32768,131072")
    parser.add_argument("--policies", default="")
    parser.add_argument("--limit", type=float, default=30)
    parser.add_argument("--svg", type=pathlib.Path)
    options = parser.parse_args()
    sizes = [int(gpus) for gpus in options.gpus.split(",")]
    names = options.policies.split(",") if options.policies else policies_of(options.orrery)
    results = {}
    for policy in names:
        by_size = results.setdefault(policy, {})
        for gpus in sizes:
            by_size[gpus] = measure(options.bench, policy, gpus, options.limit)
            print(f"{policy}, {gpus} GPUs: {by_size[gpus]}", file=sys.stderr, flush=True)
            if isinstance(by_size[gpus], str):
                break
    print("| policy | " + " | ".join(f"{gpus:,} GPUs" for gpus in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    for policy, by_size in results.items():
        print(f"| `{policy}` | " + " | ".join(cell(by_size.get(gpus)) for gpus in sizes) + " |")
    if options.svg:
        measured = {policy: {gpus: 1000 * figures["churn_median_ms"] for gpus, figures in by_size.items()
                             if isinstance(figures, dict) and figures["churn_median_ms"] > 0}
                    for policy, by_size in results.items()}
        chart = Picture("Decision times of all policies with churn", sizes,
                        [value for by_size in measured.values() for value in by_size.values()])
        chart.axes(sizes)
        for number, (policy, by_size) in enumerate(measured.items()):
            chart.line(number, policy, [chart.at(gpus, value) for gpus, value in by_size.items()])
        options.svg.write_text(chart.svg(max(chart.TOP + chart.HEIGHT + 40, chart.TOP + 30 + 20 * len(measured))))


if __name__ == "__main__":
    main()
