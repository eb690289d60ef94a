#!/usr/bin/env python3
"""The published mean completion times of the Pollux artifact beside those of this project's simulator.

    python3 tools/bench/pollux_means.py build/bin/orrery ../shared/traces/pollux [--seeds 5] [--tries 1] [--processor-time]

Prints one row per workload: published mean, mean over the seeds, least and most, error, CPU seconds of a run and
milliseconds of a decision (of the slowest seed each), as a Markdown table. The mean decision is at most the run's
CPU time over its decisions. The others are timed by the wall clock: with --tries each seed runs so often, and the
least of its times count, since other programs can only add to them. With --processor-time the program is given the
processor time of its thread for the wall clock (by a library that is compiled and preloaded), so that others add
little.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = (1, 2, 3, 6)

THREAD_CLOCK = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec* time) {
  return syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_THREAD_CPUTIME_ID : clock, time);
}
"""


def thread_clock(folder):
    """The environment of a program whose steady clock is the processor time of the thread that asks."""
    library = pathlib.Path(folder) / "thread_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-x", "c", "-o", library, "-"], input=THREAD_CLOCK, text=True,
                   check=True)
    return os.environ | {"LD_PRELOAD": str(library)}


def run(orrery, data, workload, seed, folder, environment):
    """The run's summary, CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [orrery, "sim", ROOT / "scenarios" / "pollux.yaml", "--policy", "pollux", "--seed", str(seed), "--out", folder,
         "--set", f"workload.file={data}/workloads/workload-{workload}.csv",
         "--set", f"workload.profiles={data}/profiles"],
        check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    summary = json.loads((pathlib.Path(folder) / "summary.json").read_text())
    return summary, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("orrery", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--tries", type=int, default=1)
    parser.add_argument("--processor-time", action="store_true", help="time decisions by it, not by the wall clock")
    arguments = parser.parse_args()
    libraries = tempfile.TemporaryDirectory()
    environment = thread_clock(libraries.name) if arguments.processor_time else None
    data = arguments.data.resolve()
    published = json.loads((data / "results/results-jobload/pollux-1.0/summary.json").read_text())["avgs"]
    print("| workload | published, s | mean of the seeds, s | least to most, s | error | CPU s a run "
          "| decision, ms: mean | median | 99 % | longest |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for workload in WORKLOADS:
        means, cpu, decisions = [], [], []
        for seed in range(1, arguments.seeds + 1):
            tries = []
            for _ in range(arguments.tries):
                with tempfile.TemporaryDirectory() as folder:
                    summary, seconds = run(arguments.orrery, data, workload, seed, folder, environment)
                times = [summary["measured"][f"decision_{of}_us"] / 1000 for of in ("p50", "p99", "max")]
                tries.append([seconds, 1000 * seconds / summary["decisions"]] + times)
            means.append(summary["jct_avg_s"])
            seconds, *times = (min(each) for each in zip(*tries))
            cpu.append(seconds)
            decisions.append(times)
        mean = sum(means) / len(means)
        slowest = " | ".join(f"{max(each):.1f}" for each in zip(*decisions))
        truth = published[f"workload-{workload}"]
        print(f"| {workload} | {truth:,.0f} | {mean:,.0f} | {min(means):,.0f} to {max(means):,.0f} "
              f"| {100 * (mean / truth - 1):+.1f} % | {sum(cpu) / len(cpu):.1f} | {slowest} |", flush=True)


if __name__ == "__main__":
    main()
