#!/usr/bin/env python3
"""Scenarios that nobody wrote, in world cluster: each is drawn from a seed, and the real controller, agents and
processes decide for every job what world model does.

Worlds agree only in what does not hang on seconds: a process starts when the machine lets it. So the model judges
first whether a scenario is of that kind: it runs it again with each instant and duration moved by up to three
seconds, and where it decides otherwise for any job, that scenario is left out, as about half of them are.

What differs is written to OUT/SEED.yaml with what `orrery test` says of it; journals and logs are kept beside it.

Usage: drawn_worlds.py PROGRAM [--seeds N] [--first SEED] [--at-once N] [--out DIR]
"""

import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from drawing import LATER_STARTS, Draw, moved

SKIPPED = 77


def decisions(program, scenario, folder):
    """What world model decides for each job, without its instants; None where it refuses the scenario."""
    file = folder / "scenario.yaml"
    file.write_text(json.dumps(scenario), encoding="utf-8")
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    subprocess.run([program, "sim", file, "--out", out], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   check=False)
    log = out / "events.jsonl"
    if not log.exists():
        return None
    of_job = collections.defaultdict(list)
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if "job" in event:
            event = {key: value for key, value in event.items() if not key.endswith("at_s")}
            of_job[event["job"]].append(event)
    return of_job


def is_of_all_worlds(program, scenario):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        as_written = decisions(program, scenario, folder)
        return as_written is not None and all(
            decisions(program, moved(scenario, nth), folder) == as_written for nth in range(len(LATER_STARTS)))


def in_world_cluster(program, seed, out):
    """What `orrery test` finds of that seed's scenario; nothing where both worlds decide the same, None for a
    scenario that is left out."""
    scenario = Draw(seed).scenario()
    if not is_of_all_worlds(program, scenario):
        return None
    file, kept = out / f"{seed}.yaml", out / f"{seed}.kept"
    file.write_text(json.dumps(scenario, indent=1), encoding="utf-8")
    shutil.rmtree(kept, ignore_errors=True)
    done = subprocess.run([program, "test", "--world", "cluster", "--json", "--keep", kept, file],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        file.unlink()
        shutil.rmtree(kept)
        return []
    try:
        return json.loads(done.stdout)["scenarios"][0]["unmet"]
    except ValueError:
        return (done.stdout + done.stderr).splitlines()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=200, help="how many are drawn (200)")
    parser.add_argument("--first", type=int, help="the first seed; drawn, and printed, without it")
    parser.add_argument("--at-once", type=int, default=6, help="as many run side by side: they mostly wait (6)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("out/soak/drawn"))
    given = parser.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    first = random.SystemRandom().randrange(10**9) if given.first is None else given.first
    given.out.mkdir(parents=True, exist_ok=True)
    print(f"seeds {first} to {first + given.seeds - 1}", flush=True)
    counts = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(given.at_once) as pool:
        runs = {pool.submit(in_world_cluster, program, seed, given.out): seed
                for seed in range(first, first + given.seeds)}
        for ended in concurrent.futures.as_completed(runs):
            unmet = ended.result()
            if unmet and "network namespace" in unmet[0]:
                pool.shutdown(cancel_futures=True)
                print("skipped: " + unmet[0])
                return SKIPPED
            counts["left out" if unmet is None else "differ" if unmet else "alike"] += 1
            for finding in unmet or []:
                print(f"{runs[ended]}: {finding}", flush=True)
    print(f"{counts['alike']} decided alike, {counts['differ']} otherwise, {counts['left out']} left out")
    return 0 if counts["alike"] and not counts["differ"] else 1


if __name__ == "__main__":
    sys.exit(main())
