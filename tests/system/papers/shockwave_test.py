#!/usr/bin/env python3
"""Shockwave's 120 jobs against the real cluster of 32 GPUs that ran them, and the artifact's simulator.

Usage: shockwave_test.py ORRERY ROOT
"""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(sys.argv[2]) / "tools/bench"))
from shockwave_column import leases_extended  # noqa: E402

SKIPPED = 77
# docs/papers.md has the errors of now; the artifact's own simulator is 5.4 % and 7.4 % off.
NEAR_CLUSTER = 0.08
# Policies that run in Gavel's rounds, by the artifact's names: as its simulator has them. Who runs
# first follows from who ran before, so that means of equal rules differ by some percent.
NEAR_SIMULATOR = 0.05
ROUNDS = "round: 120s, reset: 1000s, newcomers: false"
SIMULATED = {
    "finish_time_fairness": f"name: themis, {ROUNDS}",
    "max_min_fairness": f"name: gavel_las, {ROUNDS}",
    "max_sum_throughput_perf": f"name: gavel_sum, {ROUNDS}",
    "min_total_duration": f"name: gavel_makespan, centred: true, {ROUNDS}",
    "allox": f"name: allox, considered: 0.2, {ROUNDS}",
}
# The real scheduler chooses the next round's jobs in the middle of this one. Percentage points that
# the part of leases that are extended is off then. Without it three are off by 11 to 16.
NEAR_LEASES = 7
AS_ON_CLUSTER = "choose_ahead: 60s, at_once: true"
LEASES = {name: f"{{{policy}, {AS_ON_CLUSTER}}}" for name, policy in SIMULATED.items()}
LEASES["shockwave"] = "{name: shockwave, choose_ahead: 60s}"


def run(program, root, policy=None, leases=False):
    """The summary of a run, with the part of leases that are extended where asked; None without the solver."""
    chosen = [] if policy is None else ["--set", f"policy={policy}"]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, "sim", root / "scenarios/shockwave.yaml", "--json"]
                              + (["--out", f"{folder}/out"] if leases else []) + chosen,
                              capture_output=True, text=True, check=False)
        if "solver of linear programs" in done.stderr:
            return None
        if done.returncode != 0:
            raise RuntimeError(f"{policy}: {done.stderr}")
        extended = {"leases": leases_extended(f"{folder}/out")} if leases else {}
        return json.loads(done.stdout) | extended


def off(summary, published, near, title):
    """What is further off than `near`, or unfinished, in words."""
    wrong = [] if summary["jobs_finished"] == 120 else [f"{title}: not all jobs have finished"]
    for ours, theirs in (("jct_avg_s", "avg_jct_s"), ("makespan_s", "makespan_s")):
        error = summary[ours] / float(published[theirs]) - 1
        print(f"{title}: {ours} {summary[ours]:.0f} s, published {float(published[theirs]):.0f} s, {error:+.1%}")
        if abs(error) > near:
            wrong.append(f"{title}: {ours} is {error:+.1%} off")
    return wrong


def main():
    program, root = sys.argv[1], pathlib.Path(sys.argv[2])
    data = root / "../shared/traces/gavel/shockwave_tacc32"
    if not (data / "summary.csv").is_file():
        print("skipped: the artifact's results are not at ../shared/traces/gavel")
        return SKIPPED
    with open(data / "summary.csv", newline="", encoding="utf-8") as file:
        published = {(row["policy"], row["mode"]): row for row in csv.DictReader(file)}
    shockwave = run(program, root)
    wrong = off(shockwave, published["shockwave", "physical"], NEAR_CLUSTER, "shockwave, real cluster")
    for name, policy in SIMULATED.items():
        summary = run(program, root, f"{{{policy}}}")
        if summary is None:
            print(f"{name}: left out, built without the solver")
            continue
        wrong += off(summary, published[name, "simulation"], NEAR_SIMULATOR, f"{name}, its simulator")
    for name, policy in LEASES.items():
        summary = run(program, root, policy, leases=True)
        if summary is None:
            continue
        real = float(published[name, "physical"]["lease_extension_pct"])
        print(f"{name}, real cluster: {summary['leases']:.1f} % of leases extended, published {real:.1f} %")
        if abs(summary["leases"] - real) > NEAR_LEASES:
            wrong.append(f"{name}: {summary['leases']:.1f} % of leases are extended, on the cluster {real:.1f} %")
    print("\n".join(wrong) or "all as published")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
