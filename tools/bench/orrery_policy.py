#!/usr/bin/env python3
"""orrery beside pollux on workloads of the Pollux artifact and drawn ones, and beside sia on mixed devices.

    tools/bench/orrery_policy.py ORRERY DATA [--seeds N] [--drawn N] [--mixes N] [--from SEED]

ORRERY is the program, DATA the artifact's data (profiles/, workloads/). Workloads 3 and 6 are run under pollux with
so many seeds; drawn workloads and mixes of devices (tools/bench/training_mixes.py), from SEED on, with one each. Prints Markdown:
completion times in seconds, worst finish-time fairness, and milliseconds of decisions.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import training_mixes

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGAINST_POLLUX = ("pollux", "orrery", "{name: orrery, alike: false}", "{name: orrery, epochs: false}")
AGAINST_SIA = ("sia", "{name: sia, tune_batch: true}", "orrery", "{name: orrery, profiles: true}")
MIX = """\
name: mix
cluster:
  groups: [{groups}]
workload:
  format: pollux
  file: workload.csv
  profiles_by_model: {{{profiles}}}
timing: {{mode: pollux, tick: 60s, restart: 30s}}
"""
HEAD = ("| workload | policy | mean, s | median | 90 % | 99 % | worst fairness | changes | decision, ms: median | 99 % |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")


def run(orrery, scenario, policy, seed, *settings):
    command = [orrery, "sim", scenario, "--set", f"policy={policy}", "--seed", str(seed), "--json"]
    for setting in settings:
        command += ["--set", setting]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def row(name, policy, runs):
    def mean(key):
        return sum(each[key] for each in runs) / len(runs)
    print(f"| {name} | `{policy}` | " + " | ".join(f"{mean(f'jct_{key}_s'):,.0f}" for key in ("avg", "p50", "p90", "p99"))
          + f" | {max(each['ftf_max'] for each in runs):.2f} | {mean('reallocations'):.0f}"
          + f" | {mean('decision_p50_us') / 1000:.3g} | {mean('decision_p99_us') / 1000:.3g} |", flush=True)


def compare(name, policies, runs_of):
    """Rows of all policies; `runs_of(policy)` gives a policy's runs. Returns means by policy and figure."""
    means = {}
    for policy in policies:
        runs = runs_of(policy)
        row(name, policy, runs)
        means[policy] = {key: sum(each[f"jct_{key}_s"] for each in runs) / len(runs) for key in ("avg", "p50", "p90", "p99")}
    return means


def spread(name, means, base):
    for policy in means[0]:
        if policy != base:
            for key in ("avg", "p50", "p90", "p99"):
                changes = [100 * (each[policy][key] / each[base][key] - 1) for each in means]
                print(f"\n{name}, {key} of `{policy}` against `{base}`: {sum(changes) / len(changes):+.1f} %, "
                      f"{min(changes):+.1f} to {max(changes):+.1f} %, {sum(c > 0 for c in changes)} of {len(changes)} higher, "
                      f"{sum(each[policy][key] for each in means) / len(means):,.0f} s in the mean, "
                      f"`{base}` {sum(each[base][key] for each in means) / len(means):,.0f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("orrery", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--drawn", type=int, default=20)
    parser.add_argument("--mixes", type=int, default=10)
    parser.add_argument("--from", type=int, default=1, dest="first", metavar="SEED")
    options = parser.parse_args()
    data = options.data.resolve()
    rows = training_mixes.published_rows(data / "workloads")
    scenario = ROOT / "scenarios" / "pollux.yaml"
    profiles = f"workload.profiles={data / 'profiles'}"
    print(HEAD)
    for number in (3, 6):
        file = f"workload.file={data / 'workloads' / f'workload-{number}.csv'}"
        compare(number, AGAINST_POLLUX,
                lambda policy, file=file: [run(options.orrery, scenario, policy, seed, file, profiles)
                                           for seed in range(1, (options.seeds if policy == "pollux" else 1) + 1)])
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        drawn = []
        for seed in range(options.first, options.first + options.drawn):
            path = folder / f"drawn-{seed}.csv"
            training_mixes.draw_workload(rows, seed, path)
            drawn.append(compare(f"drawn {seed}", AGAINST_POLLUX,
                                 lambda policy, path=path: [run(options.orrery, scenario, policy, 1,
                                                                f"workload.file={path}", profiles)]))
        mixes = []
        for seed in range(options.first, options.first + options.mixes):
            mix = folder / f"mix-{seed}"
            mix.mkdir()
            training_mixes.draw_workload(rows, seed, mix / "workload.csv")
            training_mixes.draw_kinds(data / "profiles", seed, mix)
            cluster = training_mixes.SIA_CLUSTER.items()
            (mix / "mix.yaml").write_text(MIX.format(
                groups=", ".join(f"{{nodes: {nodes}, gpus_per_node: {gpus}, gpu: {kind}}}" for kind, (nodes, gpus) in cluster),
                profiles=", ".join(f"{kind}: {kind}" for kind, _ in cluster)))
            mixes.append(compare(f"mix {seed}", AGAINST_SIA,
                                 lambda policy, mix=mix: [run(options.orrery, mix / "mix.yaml", policy, 1)]))
    if drawn:
        spread("drawn workloads", drawn, "pollux")
    if mixes:
        spread("mixes", mixes, "sia")


if __name__ == "__main__":
    main()
