#!/usr/bin/env python3
"""Shockwave's 120 jobs under every policy at hand, beside the real cluster that ran them.

    tools/bench/shockwave_column.py [--orrery build/bin/orrery] [--folder DIR] [--ahead 60s] [--at-once] [--centred] [--grid]

DIR holds the trace, the table of speeds and summary.csv of the artifact
(../shared/traces/gavel/shockwave_tacc32 beside the project). Prints for each policy mean JCT and
makespan of the run, of the real cluster and of the artifact's own simulator, and the errors of both
simulations against the cluster. Nothing is fitted: rounds and the cost of a start stand in
scenarios/shockwave.yaml, and are the same for all policies. Leases: of the jobs that hold devices as
a round ends and go on, the part that keeps them.

With --grid only the means, for each combination of what the real scheduler and its solvers have: the
next round's jobs are chosen in its middle, shares follow at once, interior-point methods.
"""

import argparse
import csv
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

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


# The clock of the run under this policy was put back by an hour while it ran: the artifact's authors
# say so in reproduce/analyze_fidelity.py, and add it too. The last of its jobs ended 31,426 s after
# the first came (arrivals and completion times of the jobs), the stated makespan is 27,841 s.
CLOCK_PUT_BACK_S = {"finish_time_fairness": 3600}

# Policies whose programs the artifact solved by an interior-point method: ECOS, and for Themis
# Gurobi's barrier.
CENTRED = ("themis", "gavel_las", "gavel_sum", "gavel_makespan")

ROUND_S = 120


def known_policies(orrery: pathlib.Path) -> set[str]:
    """Names of the policies that this program has."""
    out = subprocess.run([orrery, "policies", "--json"], capture_output=True, text=True, check=True)
    return {row["name"] for row in json.loads(out.stdout)["policies"]}


def run(orrery: pathlib.Path, scenario: pathlib.Path, folder: pathlib.Path, name: str,
        parameters: dict[str, str]) -> dict | str:
    """One run's summary with "leases_extended", or what the program said instead."""
    policy = "{" + ", ".join([f"name: {name}"] + [f"{k}: {v}" for k, v in parameters.items()]) + "}"
    sets = {
        "policy": policy,
        "workload.file": folder / "120_multigpu_dynamic.trace",
        "workload.throughputs": folder / "tacc_throughputs.json",
    }
    with tempfile.TemporaryDirectory() as out_folder:
        command = [orrery, "sim", scenario, "--json", "--out", f"{out_folder}/out"]
        for key, value in sets.items():
            command += ["--set", f"{key}={value}"]
        out = subprocess.run(command, capture_output=True, text=True, check=False)
        if out.returncode != 0:
            return (out.stderr.strip() or out.stdout.strip()).splitlines()[0]
        return json.loads(out.stdout) | {"leases_extended": leases_extended(f"{out_folder}/out")}


def leases_extended(results: str) -> float:
    """Of the jobs that hold devices as a round ends and are not done: percent that keep them."""
    kept = ends = 0
    with open(f"{results}/segments.csv", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            begin, end = float(row["from"]), float(row["to"])
            inside = sum(begin < at < end for at in range(0, int(end) + 1, ROUND_S))
            kept += inside
            ends += inside + (row["segment"] != row["segments"])
    return 100 * kept / max(ends, 1)


def error(value: float, truth: float) -> float:
    """Percent by which `value` is off."""
    return 100 * (value - truth) / truth


def column(arguments: argparse.Namespace, published: dict, known: set[str], chosen: dict[str, str],
           centred: bool, lines: bool) -> list[float]:
    """Runs all policies with the parameters `chosen` besides; prints a line for each where `lines`.

    Mean errors in percent: of our completion times, theirs, our makespans, theirs."""
    errors: list[list[float]] = []
    for policy, candidates in POLICIES.items():
        real, simulated = published[policy, "physical"], published[policy, "simulation"]
        summary: dict | str = "no such policy here"
        for name, parameters in candidates:
            if name not in known:
                continue
            more = {key: value for key, value in chosen.items()
                    if name != "shockwave" or key == "choose_ahead"}
            if centred and name in CENTRED:
                more["centred"] = "true"
            summary = run(arguments.orrery, arguments.scenario, arguments.folder, name,
                          parameters | more)
            if isinstance(summary, dict):
                break
        if isinstance(summary, str):
            print(f"{policy:24} {summary}")
            continue
        makespan_s = float(real["makespan_s"]) + CLOCK_PUT_BACK_S.get(policy, 0)
        jct = error(summary["jct_avg_s"], float(real["avg_jct_s"]))
        makespan = error(summary["makespan_s"], makespan_s)
        their_jct = error(float(simulated["avg_jct_s"]), float(real["avg_jct_s"]))
        their_makespan = error(float(simulated["makespan_s"]), makespan_s)
        if lines:
            print(f"{policy:24} {summary['jct_avg_s']:8.0f} {float(real['avg_jct_s']):8.0f} "
                  f"{jct:6.1f}% {their_jct:6.1f}%   {summary['makespan_s']:8.0f} "
                  f"{makespan_s:8.0f} {makespan:6.1f}% {their_makespan:6.1f}%   "
                  f"{summary['leases_extended']:5.1f}% {float(real['lease_extension_pct']):5.1f}%")
        errors.append([abs(each) for each in (jct, their_jct, makespan, their_makespan)])
    return [sum(each) / len(errors) for each in zip(*errors)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    here = pathlib.Path("build/bin/orrery")  # Of the checkout that one stands in, if in any.
    parser.add_argument("--orrery", type=pathlib.Path,
                        default=here.absolute() if here.exists() else ROOT / here)
    parser.add_argument("--scenario", type=pathlib.Path, default=ROOT / "scenarios/shockwave.yaml")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=ROOT / "../shared/traces/gavel/shockwave_tacc32")
    parser.add_argument("--grid", action="store_true", help="the means of all combinations")
    parser.add_argument("--ahead", default="0s", help="choose_ahead of all policies")
    parser.add_argument("--at-once", action="store_true", help="shares follow at once")
    parser.add_argument("--centred", action="store_true", help="all interior-point methods")
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
    if arguments.grid:
        print("| ahead | at once | centred | completion | makespan |\n| --- | --- | --- | --- | --- |")
        for centred, ahead, at_once in itertools.product((False, True), ("0s", "60s"),
                                                         ("false", "true")):
            chosen = {"choose_ahead": ahead, "at_once": at_once}
            jct, _, makespan, _ = column(arguments, published, known, chosen, centred, False)
            print(f"| {ahead} | {at_once} | {'all' if centred else 'makespan'} "
                  f"| {jct:.2f} % | {makespan:.2f} % |", flush=True)
        return 0
    print(f"{'policy':24} {'JCT s':>8} {'real':>8} {'error':>7} {'theirs':>7}   "
          f"{'makespan':>8} {'real':>8} {'error':>7} {'theirs':>7}   {'leases':>6} {'real':>6}")
    chosen = {"choose_ahead": arguments.ahead, "at_once": "true" if arguments.at_once else "false"}
    jct, their_jct, makespan, their_makespan = column(arguments, published, known, chosen,
                                                      arguments.centred, True)
    print(f"mean error of {len(POLICIES)}: JCT {jct:.2f} % (theirs {their_jct:.2f} %), "
          f"makespan {makespan:.2f} % (theirs {their_makespan:.2f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
