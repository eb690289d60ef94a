#!/usr/bin/env python3
"""Mean completion times of `twin` beside each of its candidates alone, on three workloads that differ.

    tools/bench/twin.py ORRERY [--workloads a,b] [--candidates "las; easy; ..."] [--seed N]
                               [--trace FILE] [--json FILE] [--most PERCENT] [--set path=value]...

ORRERY is the program. The workloads:

  philly   a week of the Philly trace whose jobs state no run times; skipped where the trace is not there
  gangs    fixed jobs of one node, and bursts of gangs of many, whose users state run times roughly
  rl       elastic reinforcement learning: a learner each, and rollout workers that can be more or fewer

and `all`, one after the other in the same cluster. Prints a Markdown table: by workload the mean time from
submission to completion in seconds under each candidate and under twin, how far twin is from the best
of them in percent, and how often it changed. The last row is the mean over the jobs of the three. Then the time
of the longest decision of a run that begins with 500 live jobs. Exit code 1
where twin is further than --most percent from the best of a workload, or over the three no better than
some candidate.
"""

import argparse
import concurrent.futures
import csv
import datetime
import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = ROOT.parent / "shared" / "traces" / "pollux" / "philly.csv"
CANDIDATES = "easy; srtf; las; fit"
FIRST_DAY = "2017-10-02"
NODES = 16
GPUS = 8
HEAD = """\
name: {name}
seed: {seed}
cluster: {{nodes: {nodes}, gpus_per_node: {gpus}}}
timing: {{start: 10s, stop: 5s, restore: 20s}}
controller: {{retain_finished: 7d}}
policy: {policy}
"""


def one_job(name, at, duration, devices, replicas, estimate, preemptible, serial=None, learner=False):
    """A line of YAML. `replicas` is a number, or least and most; `duration` is at the least."""
    least = replicas if isinstance(replicas, int) else replicas[0]
    count = str(least) if isinstance(replicas, int) else f"{{min: {replicas[0]}, max: {replicas[1]}}}"
    scaling = "" if serial is None else f", scaling: {{amdahl: {{serial: {serial}}}}}"
    work = f"{{duration: {duration}s{scaling}}}"
    stated = f", estimate: {estimate}s" if estimate else ""
    preempt = "true" if preemptible else "false"
    if learner:
        roles = (f"roles: {{learner: {{replicas: 1, gpus: 1}}, "
                 f"rollout: {{replicas: {count}, gpus: {devices}}}}}")
        return f"  - {{name: {name}, at: {at}s, {roles}, preemptible: {preempt}{stated}, work: {work}}}"
    return (f"  - {{name: {name}, at: {at}s, replicas: {count}, gpus: {devices}, preemptible: {preempt}"
            f"{stated}, work: {work}}}")


def shape_of(gpus):
    """Devices of a worker and the number of workers."""
    return (gpus, 1) if gpus <= GPUS else (math.gcd(gpus, GPUS), gpus // math.gcd(gpus, GPUS))


def philly_jobs(trace, begin):
    """A week of the trace, every k-th job, so that 128 devices are short of what is asked for."""
    first = datetime.datetime.fromisoformat(FIRST_DAY)
    rows = []
    with open(trace, encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            at = (datetime.datetime.fromisoformat(row["timestamp"]) - first).total_seconds()
            if 0 <= at < 7 * 86400 and int(row["num_gpus"]) <= 64:
                rows.append((at, float(row["duration"]), int(row["num_gpus"])))
    jobs = []
    for k, (at, duration, gpus) in enumerate(sorted(rows)[::PHILLY_EVERY]):
        devices, replicas = shape_of(gpus)
        jobs.append(one_job(f"philly-{k}", int(begin + at), min(duration, 3 * 86400), devices, replicas,
                            None, True))
    return jobs


PHILLY_EVERY = 3


def gang_jobs(rng, begin):
    """Two days: single nodes all the time, and every six hours a burst of gangs of 2 to 12 nodes."""
    drawn = []
    at = 0.0
    while at < 2 * 86400:
        at += rng.expovariate(1 / 500)
        drawn.append((at, rng.lognormvariate(math.log(1500), 1.2), rng.choice([1, 2, 4, 8])))
    for burst in range(8):
        for _ in range(14):
            drawn.append((burst * 21600 + rng.uniform(0, 900), rng.lognormvariate(math.log(2400), 0.9),
                          GPUS * rng.choice([2, 2, 4, 4, 8, 12])))
    jobs = []
    for k, (at, duration, gpus) in enumerate(sorted(drawn)):
        devices, replicas = shape_of(gpus)
        duration = round(min(max(duration, 60), 43200))
        stated = max(60, round(duration * rng.lognormvariate(math.log(1.3), 0.5)))
        jobs.append(one_job(f"gang-{k}", int(begin + at), duration, devices, replicas, stated, gpus <= 8))
    return jobs


def rl_jobs(rng, begin):
    """Two days of elastic jobs that come in waves."""
    jobs = []
    at = 0.0
    k = 0
    while at < 2 * 86400:
        busy = int(at / 14400) % 2 == 0
        at += rng.expovariate(1 / (300 if busy else 900))
        least = rng.choice([1, 2, 4])
        most = least * rng.choice([4, 8])
        duration = round(min(max(rng.lognormvariate(math.log(9000), 0.9), 300), 86400))
        stated = max(60, round(duration * rng.lognormvariate(0, 0.4)))
        jobs.append(one_job(f"rl-{k}", int(begin + at), duration, 1, (least, most), stated, True,
                            rng.choice([0.02, 0.05, 0.1]), True))
        k += 1
    return jobs


def crowd(rng):
    """500 jobs at once, long enough that all of them live at the first decision."""
    return [one_job(f"crowd-{k}", 0, rng.randint(7200, 72000), *shape_of(rng.choice([1, 1, 2, 4, 8, 16])),
                    rng.randint(7200, 72000), rng.random() < 0.8) for k in range(500)]


def workloads(wanted, trace, seed):
    """Lists of lines by name."""
    out = {}
    make = {"philly": lambda begin: philly_jobs(trace, begin),
            "gangs": lambda begin: gang_jobs(random.Random(seed), begin),
            "rl": lambda begin: rl_jobs(random.Random(seed + 1), begin)}
    begins = {"philly": 0, "gangs": 9 * 86400, "rl": 12 * 86400}
    for name in wanted:
        if name == "philly" and not pathlib.Path(trace).exists():
            print(f"skipped philly: there is no {trace}", file=sys.stderr)
        elif name == "all":
            out["all"] = [line for part in make if part != "philly" or pathlib.Path(trace).exists()
                          for line in make[part](begins[part])]
        else:
            out[name] = make[name](0)
    return out


def run(orrery, folder, name, policy, jobs, seed, sets):
    file = pathlib.Path(folder) / f"{name}-{abs(hash(policy))}.yaml"
    head = HEAD.format(name=name, seed=seed, nodes=NODES, gpus=GPUS, policy=policy)
    file.write_text(head + "jobs:\n" + "\n".join(jobs) + "\n", encoding="utf-8")
    words = [orrery, "sim", str(file), "--json", *(f"--set={s}" for s in sets if "twin" in policy)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr or done.stdout)
    return json.loads(done.stdout)


def print_tables(found, policies, measured, options):
    fixed = policies[:-1]
    rows = dict(found)
    parts = [w for w in found if w != "all"]
    if len(parts) > 1:
        jobs = sum(found[w]["twin"]["jobs_finished"] for w in parts)
        rows["the three"] = {p: {"jct_avg_s": sum(found[w][p]["jct_avg_s"] * found[w][p]["jobs_finished"]
                                                  for w in parts) / jobs,
                                 "jobs_finished": jobs} for p in policies}
    print("| workload | jobs | " + " | ".join(policies) + " | twin beyond the best | changes |")
    print("| --- | ---: |" + " ---: |" * (len(policies) + 2))
    good = True
    for name, row in rows.items():
        best = min(row[p]["jct_avg_s"] for p in fixed)
        beyond = 100 * (row["twin"]["jct_avg_s"] / best - 1)
        changes = row["twin"].get("policy_choices")
        print(f"| {name} | {row['twin']['jobs_finished']:,} | "
              + " | ".join(f"{row[p]['jct_avg_s']:,.0f}" for p in policies)
              + f" | {beyond:+.1f} % | {'' if changes is None else len(changes) - 1} |")
        if options.most is not None:
            good = good and beyond <= (0 if name == "the three" else options.most)
    print(f"\nThe longest decision with 500 live jobs: {measured['decision_max_us'] / 1e3:,.0f} ms")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found), encoding="utf-8")
    sys.exit(0 if good else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("orrery")
    parser.add_argument("--workloads", default="philly,gangs,rl")
    parser.add_argument("--candidates", default=CANDIDATES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trace", default=str(TRACE))
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--json")
    parser.add_argument("--most", type=float)
    options = parser.parse_args()
    names = [c.strip() for c in options.candidates.split(";")]
    policies = {c: f"{{name: {c.split()[0]}{''.join(', ' + p.replace('=', ': ') for p in c.split()[1:])}}}"
                for c in names}
    policies["twin"] = f"{{name: twin, candidates: \"{options.candidates}\"}}"
    found = {}
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = workloads(options.workloads.split(","), options.trace, options.seed)
        asked = {(w, p): pool.submit(run, options.orrery, folder, w, text, jobs[w], options.seed,
                                     options.set)
                 for w in jobs for p, text in policies.items()}
        for (workload, policy), task in asked.items():
            found.setdefault(workload, {})[policy] = task.result()
        measured = run(options.orrery, folder, "crowd", policies["twin"], crowd(random.Random(options.seed)),
                       options.seed, [*options.set, "until=15min"])
    print_tables(found, list(policies), measured, options)


if __name__ == "__main__":
    main()
