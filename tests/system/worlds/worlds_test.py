#!/usr/bin/env python3
"""Scenarios in three worlds: model, sim, and cluster, where the real controller, agents, shims and
processes run them. In each they meet their expectations, and each decides for every job what world
model does.

three_worlds.txt beside this file lists them: all are run with --all, else some that are drawn from those marked
`quick`, for a run in world cluster takes a second of processor time. Each kind of fault, of request and of job is
among them.

Usage: worlds_test.py PROGRAM ROOT [--all] [--world W] [--time-scale N]
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from drawn import drawn  # noqa: E402

SKIPPED = 77
KINDS = r"kind: \w+(?:, for)?|devices: 0\.|\b(?:requests|tasks|volumes|profilings|placement|sub_master|priority|backoff_limit|change|delete):"
LIST = pathlib.Path(__file__).with_name("three_worlds.txt")


def listed(wants_all):
    """Paths of scenarios below the root, in the order of the list."""
    out = []
    for line in LIST.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words and (wants_all or "quick" in words[1:]):
            out.append(words[0])
    return out


def kinds_in(root, file):
    return re.findall(KINDS, (pathlib.Path(root) / file).read_text(encoding="utf-8"))


def run(program, root, world, files, more=()):
    """The document of `orrery test`, and how long it took in seconds."""
    begin = time.monotonic()
    done = subprocess.run([program, "test", "--world", world, "--json", *more, *files],
                          cwd=root, stdout=subprocess.PIPE, check=False)
    try:
        return json.loads(done.stdout), time.monotonic() - begin
    except ValueError:
        sys.exit(f"orrery test --world {world} printed no document, exit {done.returncode}:\n"
                 + done.stdout.decode(errors="replace"))


def tell(world, document, seconds):
    print(f"world {world}: {document['passed']} passed, {document['failed']} failed, "
          f"{seconds:.1f} s", flush=True)
    for scenario in document["scenarios"]:
        if not scenario["passed"]:
            print("  FAIL " + scenario["file"])
            for finding in scenario["unmet"]:
                print("       " + finding)
    return document["failed"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("root")
    parser.add_argument("--all", action="store_true", help="not the quick ones alone")
    parser.add_argument("--world", choices=["model", "sim", "cluster"], help="this one alone")
    parser.add_argument("--time-scale", help="how many times faster world cluster is, for all")
    arguments = parser.parse_args()
    files = listed(arguments.all)
    if not arguments.all:
        files = drawn(files, 3, lambda file: kinds_in(arguments.root, file))
    program = str(pathlib.Path(arguments.program).resolve())
    well = True
    for world in [arguments.world] if arguments.world else ["cluster", "model", "sim"]:
        more = ["--same-decisions"] if world == "sim" else []
        if world == "cluster" and arguments.time_scale:
            more = ["--set", "time_scale=" + arguments.time_scale]
        document, seconds = run(program, arguments.root, world, files, more)
        unmet = document["scenarios"][0]["unmet"]
        if world == "cluster" and any("network namespace" in finding for finding in unmet):
            print("skipped: " + unmet[0])
            return SKIPPED
        if any("SimGrid" in finding for each in document["scenarios"]
               for finding in each["unmet"]):
            print(f"world {world}: skipped, this program was built without SimGrid")
            continue
        well = tell(world, document, seconds) and well
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
