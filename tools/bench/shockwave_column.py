#!/usr/bin/env python3
"""Shockwave's 120 jobs under every policy at hand, beside the real cluster that ran them.

    tools/bench/shockwave_column.py [--orrery build/bin/orrery] [--folder DIR]

DIR holds the trace, the table of speeds and summary.csv of the artifact
(../shared/traces/gavel/shockwave_tacc32 beside the project). Prints for each policy mean JCT and
makespan of the run, of the real cluster and of the artifact's own simulator, and the errors of both
simulations against the cluster. Nothing is fitted: rounds and the cost of a start stand in
scenarios/shockwave.yaml, and are the same for all policies.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# The artifact's name of a policy, and the candidates for it here: name and parameters.
# Its rounds are Gavel's; this fork of it computes shares at most every 1,000 s, Gavel every 1,920.
ROUND = {"round": "120s", "reset": "1000s", "newcomers": "false"}
POLICIES = {
    "shockwave": [("shockwave", {})],
    "finish_time_fairness": [("themis", ROUND)],
    "max_min_fairness": [("gavel_las", ROUND)],
    "max_sum_throughput_perf": [("gavel_sum", ROUND)],
    # Its solver was an interior-point method (ECOS), and this program has no objective.
    "min_total_duration": [("gavel_makespan", {**ROUND, "centred": "true"})],
    # The fork matches 0.2 of the waiting jobs.
    "allox": [("allox", {**ROUND, "considered": "0.2"})],
}


def known_policies(orrery: pathlib.Path) -> set[str]:
    """Names of the policies that this program has."""
    out = subprocess.run([orrery, "policies", "--json"], capture_output=True, text=True, check=True)
    return {row["name"] for row in json.loads(out.stdout)["policies"]}


def run(orrery: pathlib.Path, scenario: pathlib.Path, folder: pathlib.Path, name: str,
        parameters: dict[str, str]) -> dict | str:
    """One run's summary, or what the program said instead."""
    policy = "{" + ", ".join([f"name: {name}"] + [f"{k}: {v}" for k, v in parameters.items()]) + "}"
    sets = {
        "policy": policy,
        "workload.file": folder / "120_multigpu_dynamic.trace",
        "workload.throughputs": folder / "tacc_throughputs.json",
    }
    command = [orrery, "sim", scenario, "--json"]
    for key, value in sets.items():
        command += ["--set", f"{key}={value}"]
    out = subprocess.run(command, capture_output=True, text=True, check=False)
    if out.returncode != 0:
        return (out.stderr.strip() or out.stdout.strip()).splitlines()[0]
    return json.loads(out.stdout)


def error(value: float, truth: float) -> float:
    """Percent by which `value` is off."""
    return 100 * (value - truth) / truth


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orrery", type=pathlib.Path, default=ROOT / "build/bin/orrery")
    parser.add_argument("--scenario", type=pathlib.Path, default=ROOT / "scenarios/shockwave.yaml")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=ROOT / "../shared/traces/gavel/shockwave_tacc32")
    arguments = parser.parse_args()
    if not arguments.folder.exists():
        print(f"{arguments.folder}: is not there, the artifact's results are needed; "
              "name their folder with --folder", file=sys.stderr)
        return 2
    published: dict[tuple[str, str], dict[str, str]] = {}
    with open(arguments.folder / "summary.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            published[row["policy"], row["mode"]] = row
    known = known_policies(arguments.orrery)
    print(f"{'policy':24} {'JCT s':>8} {'real':>8} {'error':>7} {'theirs':>7}   "
          f"{'makespan':>8} {'real':>8} {'error':>7} {'theirs':>7}")
    jct_errors, makespan_errors, theirs_jct, theirs_makespan = [], [], [], []
    for policy, candidates in POLICIES.items():
        real, simulated = published[policy, "physical"], published[policy, "simulation"]
        summary: dict | str = "no such policy here"
        for name, parameters in candidates:
            if name not in known:
                continue
            summary = run(arguments.orrery, arguments.scenario, arguments.folder, name, parameters)
            if isinstance(summary, dict):
                break
        if isinstance(summary, str):
            print(f"{policy:24} {summary}")
            continue
        jct = error(summary["jct_avg_s"], float(real["avg_jct_s"]))
        makespan = error(summary["makespan_s"], float(real["makespan_s"]))
        their_jct = error(float(simulated["avg_jct_s"]), float(real["avg_jct_s"]))
        their_makespan = error(float(simulated["makespan_s"]), float(real["makespan_s"]))
        print(f"{policy:24} {summary['jct_avg_s']:8.0f} {float(real['avg_jct_s']):8.0f} "
              f"{jct:6.1f}% {their_jct:6.1f}%   {summary['makespan_s']:8.0f} "
              f"{float(real['makespan_s']):8.0f} {makespan:6.1f}% {their_makespan:6.1f}%")
        jct_errors.append(abs(jct))
        makespan_errors.append(abs(makespan))
        theirs_jct.append(abs(their_jct))
        theirs_makespan.append(abs(their_makespan))
    if jct_errors:
        count = len(jct_errors)
        print(f"mean error of {count}: JCT {sum(jct_errors) / count:.1f} % (theirs "
              f"{sum(theirs_jct) / count:.1f} %), makespan {sum(makespan_errors) / count:.1f} % "
              f"(theirs {sum(theirs_makespan) / count:.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
