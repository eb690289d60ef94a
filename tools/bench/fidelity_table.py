#!/usr/bin/env python3
"""Runs small traces at every level of fidelity and prints how their results differ, as Markdown.

    tools/bench/fidelity_table.py ORRERY [--levels L0,L1,L2,L3] [--check] [--sample N] [--seed S] [SCENARIO ...]

ORRERY is the program; scenarios default to scenarios/network/mix_*.yaml of this repository. Times
of jobs are means over all jobs; percentages are against L2. With --check the program exits with 1
where L1 is more than 3 % off L2 on a trace whose links L1 does not find saturated (those where L1
takes as long as L0), or where a level was not to be had. With --sample N so many of the scenarios are run,
drawn by a seed that is printed.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORLDS = {"L0": "model", "L1": "model", "L2": "sim", "L3": "sim"}
BAR = 0.03
SAME = 0.001


def run(program, scenario, level):
    """The summary of one run, with its wall time; None and the message where it was refused."""
    with tempfile.TemporaryDirectory() as out:
        command = [program, "sim", str(scenario), "--world", WORLDS[level], "--fidelity", level,
                   "--json", "--out", out]
        begin = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall = time.monotonic() - begin
    if done.returncode not in (0, 1):
        return None, done.stderr.strip() or f"exit code {done.returncode}"
    summary = json.loads(done.stdout)
    return {**summary, "wall": wall}, ""


def against(value, base):
    return "" if not base else f" ({100 * (value / base - 1):+.2f} %)"


def rows(program, scenario, levels):
    results = {}
    for level in levels:
        results[level], message = run(program, scenario, level)
        if results[level] is None:
            print(f"{scenario.name} at {level}: {message}", file=sys.stderr)
    return results


def print_table(table, levels):
    print("| trace | | " + " | ".join(levels) + " |")
    print("| --- | --- |" + " --- |" * len(levels))
    for name, results in table.items():
        base = results.get("L2")
        for title, key in (("mean job time", "jct_avg_s"), ("last job ends", "makespan_s")):
            cells = []
            for level in levels:
                result = results[level]
                if result is None:
                    cells.append("none")
                    continue
                difference = against(result[key], base[key]) if base and level != "L2" else ""
                cells.append(f"{result[key]:.1f} s{difference}")
            print(f"| {name} | {title} | " + " | ".join(cells) + " |")
        walls = [f"{r['wall']:.2f} s" if r else "none" for r in (results[x] for x in levels)]
        print(f"| {name} | wall time of the run | " + " | ".join(walls) + " |")


def unmet(table):
    """Sentences on what misses the bar."""
    found = []
    for name, results in table.items():
        if any(result is None for result in results.values()):
            found.append(f"{name}: a level was not to be had")
            continue
        l0, l1, l2 = (results[level]["jct_avg_s"] for level in ("L0", "L1", "L2"))
        if abs(l1 / l0 - 1) < SAME and abs(l1 / l2 - 1) > BAR:
            found.append(f"{name}: L1 is {100 * (l1 / l2 - 1):+.2f} % off L2 where no link is saturated")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("scenarios", nargs="*", type=pathlib.Path)
    parser.add_argument("--levels", default="L0,L1,L2,L3")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_intermixed_args()
    levels = arguments.levels.split(",")
    scenarios = arguments.scenarios or sorted((ROOT / "scenarios/network").glob("mix_*.yaml"))
    if arguments.sample:
        print(f"seed {arguments.seed}")
        drawn = random.Random(arguments.seed).sample(scenarios, min(arguments.sample, len(scenarios)))
        scenarios = sorted(drawn)
    table = {path.stem: rows(arguments.program, path, levels) for path in scenarios}
    print_table(table, levels)
    found = unmet(table) if arguments.check else []
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
