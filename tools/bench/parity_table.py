#!/usr/bin/env python3
"""Runs orrery parity on the scenarios of scenarios/parity, or reads what it wrote, and prints its errors as Markdown.

    tools/bench/parity_table.py ORRERY [--runs 4] [--training 2] [--parallel 2] [--out out/parity] [--read]

--read runs nothing: the table is that of --out. Exit status: that of orrery parity --check.
"""

import argparse
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIGURES = {"completion": "completion", "recovery": "recovery", "step": "time of a unit of work"}


def percent(part):
    return f"{100 * part:.1f} %"


def row(name, total):
    return " | ".join([f"| {name}", FIGURES[total["figure"]], str(total["count"]), percent(total["error_p50"]),
                       percent(total["error_p90"]), percent(total["error_max"]), f"{100 * total['bias']:+.1f} %",
                       percent(total["inside"]), percent(total["uncalibrated_p50"]), f"{total['unmatched']} |"])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("program", type=pathlib.Path)
    options.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/parity"))
    options.add_argument("--read", action="store_true")
    for name, usual in (("--runs", 4), ("--training", 2), ("--parallel", 2)):
        options.add_argument(name, type=int, default=usual)
    given = options.parse_args()
    code = 0
    if not given.read:
        command = [given.program, "parity", *sorted((ROOT / "scenarios/parity").glob("*.yaml")), "--check", "--out",
                   given.out, "--runs", given.runs, "--training", given.training, "--parallel", given.parallel]
        code = subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=False).returncode
    report = json.loads((given.out / "parity.json").read_text())
    print("| scenario | | measured | error, median | p90 | worst | bias | in p10 to p90 | uncalibrated, median | unmatched |")
    print("| --- " * 10 + "|")
    for scenario in report["scenarios"]:
        for total in scenario["totals"]:
            if total["count"] + total["unmatched"] > 0:
                print(row(scenario["name"], total))
    for total in report["totals"]:
        print(row("**all**", total))
    return code


if __name__ == "__main__":
    sys.exit(main())
