#!/usr/bin/env python3
"""The placers on Alibaba's openb cluster beside the results of the simulator that was published with them.

    tools/bench/placers.py [--orrery build/bin/orrery] [--lists default,gpuspec25] [--seeds 42..51] [--placers fgd]

Prints a Markdown table for each list of tasks: GPUs allocated when tasks have asked for all that the cluster has, and
fragments in percent of what is free on the way there, each as the mean over the seeds and its difference to the
published mean of ten seeds; CPU seconds and memory of a run. Also says so where the data are not there.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "../shared/traces/alibaba_openb_2023"
SKIPPED = 77
LISTS = ("default", "cpu200", "gpushare40", "gpuspec25", "multigpu30")
# Placers here, and the published scorers of the same rule.
PUBLISHED = {"random": "01-Random", "dot_product": "02-DotProd", "gpu_clustering": "03-GpuClustering",
             "gpu_packing": "04-GpuPacking", "best_fit_score": "05-BestFit", "fgd": "06-FGD"}
# The first column of the table, then those of fragments.
ALLOCATED = ("allocated_pct", "alloc_pct_of_cluster", 100)
FRAGMENTS = [("fragment_of_free_pct", "frag_pct_of_idle", at) for at in (60, 80, 90, 100)]


def published():
    """Published means and standard deviations by list, placer, metric and percent arrived."""
    out = {}
    with open(DATA / "expected_results/peer_summary_10seeds.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            key = (row["workload"].removeprefix("openb_pod_list_"), row["sc_policy"], row["metric"],
                   int(row["arrived_pct"]))
            out[key] = float(row["mean"]), float(row["std"])
    return out


def run(orrery, tasks, placer, seed):
    """The points of one run by percent arrived, its CPU seconds and its memory in MB."""
    command = [orrery, "sim", ROOT / "scenarios/placers/openb.yaml", "--json", "--seed", str(seed),
               "--set", f"placer={placer}", "--set", f"workload.file={DATA}/openb_pod_list_{tasks}.csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        text, wrong = process.communicate()
        if process.returncode != 0:
            raise RuntimeError(f"{tasks} {placer} {seed}: {wrong.decode()}")
    summary = json.loads(text)
    return {point["arrived_pct"]: point for point in summary["arrivals"]}, summary


def means(orrery, tasks, placer, seeds, workers):
    """The mean over the seeds of each point, and the largest memory in MB."""
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        runs = list(pool.map(lambda seed: run(orrery, tasks, placer, seed), seeds))
    out = {(ours, at): sum(points[at][ours] for points, _ in runs) / len(runs)
           for ours, _, at in [ALLOCATED] + FRAGMENTS}
    return out, max(summary["peak_rss_mb"] for _, summary in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orrery", type=pathlib.Path, default=ROOT / "build/bin/orrery")
    parser.add_argument("--lists", default=",".join(LISTS))
    parser.add_argument("--placers", default=",".join(PUBLISHED))
    parser.add_argument("--seeds", default="42..51")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    if not (DATA / "expected_results").is_dir():
        print("skipped: the data are not at ../shared/traces/alibaba_openb_2023")
        return SKIPPED
    first, _, last = arguments.seeds.partition("..")
    seeds = range(int(first), int(last or first) + 1)
    theirs = published()
    for tasks in arguments.lists.split(","):
        print(f"\n| {tasks}, {len(seeds)} seeds | allocated at 100 % | published | "
              + " | ".join(f"fragments at {at} %" for _, _, at in FRAGMENTS) + " | CPU s a run | MB |")
        print("| --- |" + " ---: |" * (len(FRAGMENTS) + 4))
        for placer in arguments.placers.split(","):
            before = os.times()
            ours, memory = means(arguments.orrery, tasks, placer, seeds, arguments.workers)
            after = os.times()
            cpu = (after.children_user + after.children_system - before.children_user - before.children_system)
            name = PUBLISHED.get(placer)
            cells = []
            for column in [ALLOCATED] + FRAGMENTS:
                mean = ours[column[0], column[2]]
                known = theirs.get((tasks, name, column[1], column[2]))
                cells.append(f"{mean:.2f}" + (f" ({mean - known[0]:+.2f})" if known else ""))
                if column is ALLOCATED:
                    cells.append(f"{known[0]:.2f} ± {known[1]:.2f}" if known else "")
            print(f"| `{placer}` | " + " | ".join(cells) + f" | {cpu / len(seeds):.2f} | {memory:.0f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
