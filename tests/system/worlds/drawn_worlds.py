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
import copy
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
END = 600
TIME_SCALE = 10
PERTURBATIONS = 7
# What one instant is apart from the next, in seconds: less than three real processes at this time scale cannot
# tell apart.
APART = 1.5
POLICIES = ["fifo", "easy", "srtf", "las", "fit", "tiresias", "optimus", "orrery", "sjf", "srsf"]
PERIODIC = {"fit", "tiresias", "optimus", "orrery"}
# Periods divide each other: a policy behind queues is asked as often as its period and theirs have in common.
PERIODS = [30, 60]

FAILOVER = {
    "mode": ["strict"], "trigger": ["at_end", "skip", "now"], "response": ["role", "job", "stop"],
    "worker_failures_max": [0, 1, 2], "worker_node_failures_max": [0, 1], "role_restarts_max": [0, 1],
    "job_restarts_max": [0, 1], "node_losses_max": [0, 1, 3], "preemptions_max": [0, 1], "reset_window": ["120.7s"],
    "hang_after": ["40.3s"], "straggler_factor": [2], "straggler_moves": [True],
}


def seconds(value):
    return f"{round(value, 3)}s"


def number(text):
    return float(text.removesuffix("s"))


class Draw:
    """Draws one scenario. No two things of it happen at one instant, for their order would be the world's."""

    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)
        self.taken = []
        self.nodes = self.random.choice([1, 2, 2, 3, 4, 6])
        self.devices = self.random.choice([1, 2, 4, 8])

    def has(self, share):
        return self.random.random() < share

    def one_of(self, *values):
        return self.random.choice(values)

    def between(self, low, high):
        return seconds(self.random.uniform(low, high))

    def instant(self, low, high):
        while True:
            at = round(self.random.uniform(low, high), 3)
            if all(abs(at - other) > APART for other in self.taken):
                self.taken.append(at)
                return at

    def optional(self, into, share, key, *values):
        if self.has(share):
            into[key] = self.random.choice(values)

    def queues(self):
        first = {"name": "a", "weight": self.one_of(1, 2, 3)}
        self.optional(first, .5, "guarantee", 1, "50%")
        out = {"period": seconds(self.random.choice(PERIODS)), "default": "b",
               "tree": [first, {"name": "b"}, {"name": "c", "limit": self.one_of(1, 2, 3)}]}
        self.optional(out, .3, "half_life", "10min")
        return out

    def policy(self):
        out = {"name": self.random.choice(POLICIES)}
        if out["name"] in PERIODIC and self.has(.7):
            out["period"] = seconds(self.random.choice(PERIODS))
        if out["name"] == "las" and self.has(.5):
            out["quantum"] = self.between(30, 300)
        if self.has(.35):
            out["queues"] = self.queues()
        return out

    def role(self):
        out = {"replicas": self.one_of(1, 1, 2, 3)}
        if self.has(.6):
            least = self.one_of(1, 1, 2)
            out["replicas"] = {"min": least, "max": least + self.one_of(1, 2, 5)}
        of_one = self.random.random()
        if of_one < .2:
            out["devices"] = self.one_of(.5, .25, .3)
        elif of_one < .3:
            out["devices"] = 0
        elif of_one < .45:
            out["devices"] = self.one_of(2, 3)
        return out

    def roles(self):
        """Of two roles; placed on the same devices they take turns."""
        if self.has(.25):
            placed = {"placement": self.one_of("0", "0-1", "all") if self.devices * self.nodes > 1 else "0"}
            return {"roles": {"learner": placed, "actor": dict(placed)}, "take_turns": [["learner", "actor"]]}
        actor = self.role()
        self.optional(actor, .3, "completion", "follower")
        self.optional(actor, .25, "sub_master", True)
        return {"roles": {"learner": self.role(), "actor": actor}}

    def virtual_cluster(self):
        """Two roles in one, or one of them beside it."""
        cluster = {"nodes": self.one_of(1, 1, 2), "bundles_per_node": self.one_of(1, 2, 4), "max_worker_groups": 2,
                   "strategy": self.one_of("pack", "strict_pack", "spread", "strict_spread")}
        actor = {"virtual_cluster": "v"} if self.has(.6) else self.role()
        return {"virtual_clusters": {"v": cluster}, "roles": {"learner": {"virtual_cluster": "v"}, "actor": actor}}

    def failover(self):
        out = {}
        for key, values in FAILOVER.items():
            self.optional(out, .25, key, *values)
        return out

    def work(self):
        amount = round(self.random.uniform(40, END * .35), 2)
        kind = self.random.random()
        if kind < .45:
            return seconds(amount), amount
        if kind < .6:
            return {"units": amount, "scaling": {"table": {1: 1}}}, amount
        return {"units": amount, "throughput": 1}, amount

    def job(self, name):
        out = {"name": name, "at": seconds(self.instant(.5, END * .4))}
        out.update(self.roles() if self.has(.25) else self.virtual_cluster() if self.has(.15) else self.role())
        self.optional(out, .3, "priority", "high", 5, -3, 100)
        self.optional(out, .4, "preemptible", True, False)
        self.optional(out, .3, "rescale", "in_place", "restart")
        self.optional(out, .4, "recovery", "role", "job", "worker")
        self.optional(out, .3, "backoff_limit", 0, 1, 2)
        self.optional(out, .3, "backoff_base", "0.5s", "7s", "13.3s")
        self.optional(out, .4, "drain_grace", "0s", "3s", "9.1s", "60s")
        self.optional(out, .3, "unknown_deadline", "0s", "17.7s", "90s")
        self.optional(out, .15, "wait_deadline", "100.3s", "400.7s")
        self.optional(out, .15, "run_deadline", "130.9s", "510.1s")
        self.optional(out, .15, "start_deadline", "21.7s", "60.3s")
        self.optional(out, .3, "group", "a", "b", "c")
        self.optional(out, .3, "clean_pods", "All", "None", "Running")
        self.optional(out, .1, "ready_after", "1.7s", "33.3s")
        if self.has(.3):
            out["failover"] = self.failover()
        out["work"], amount = self.work()
        if self.has(.5):
            out["estimate"] = self.between(amount * .5, amount * 2)
        return out

    def request(self, jobs):
        job = self.random.choice(jobs)
        out = {"at": seconds(self.instant(number(job["at"]) + 1, END * .7)), "job": job["name"]}
        kind = self.random.random()
        if kind < .5:
            out["scale"] = {self.one_of("set", "add", "remove"): self.one_of(1, 2, 3)}
        elif kind < .6:
            out["stop"] = True
        elif kind < .7:
            out["delete"] = True
        elif kind < .8:
            out["scale"] = {"clear": True}
        else:
            out["change"] = self.change(job)
        return out

    def change(self, job):
        out = {}
        self.optional(out, .5, "priority", 7, "high", -2)
        self.optional(out, .4, "wait_deadline", "900.3s")
        self.optional(out, .4, "run_deadline", "3000.7s")
        self.optional(out, .4, "backoff_limit", 0, 5)
        if "roles" not in job and (self.has(.6) or not out):
            is_elastic = isinstance(job["replicas"], dict)
            out["replicas"] = {"min": 1, "max": self.one_of(1, 2, 6)} if is_elastic else self.one_of(1, 2, 3)
        return out or {"priority": 9}

    def fault(self, jobs):
        kind = self.one_of("crash", "crash", "delete", "hang", "slow", "down", "down", "agent_crash", "controller_crash",
                           "controller_pause", "preemption_notice", "device_lost", "cordon", "link_cut", "store_fail")
        out = {"at": seconds(self.instant(5, END * .7)), "kind": kind}
        if kind in ("crash", "delete", "hang", "slow"):
            out.update({"job": self.random.choice(jobs)["name"], "rank": 0})
        elif kind not in ("controller_crash", "controller_pause", "store_fail"):
            out["node"] = self.random.randrange(self.nodes)
        if kind == "crash":
            self.optional(out, .5, "exit_code", 2, 137, 143)
        elif kind == "slow":
            out["factor"] = self.one_of(1.5, 4)
        elif kind == "hang":
            self.optional(out, .5, "lasting", "50.9s")
        elif kind == "preemption_notice":
            out.update({"notice": "30s", "lasting": "300.7s"})
        elif kind == "device_lost":
            out.update({"devices": self.random.randrange(self.devices), "lasting": "200.3s"})
        elif kind == "link_cut":
            # One way alone is not had over TCP (docs/testing.md, Three worlds).
            out.update({"lasting": self.one_of("6.1s", "60.7s"), "direction": "both"})
        else:
            lasting = {"down": ["3.1s", "120.3s"], "cordon": ["200.7s"], "agent_crash": ["4.1s", "40.3s"],
                       "store_fail": ["4.3s"]}.get(kind)
            if lasting:
                out["lasting"] = self.random.choice(lasting)
        return out

    def scenario(self):
        out = {"description": f"Drawn with seed {self.seed}.", "time_scale": TIME_SCALE, "until": seconds(END),
               "cluster": {"nodes": self.nodes, "gpus_per_node": self.devices}, "policy": self.policy()}
        if self.nodes > 1:
            self.optional(out["cluster"], .3, "nodes_per_rack", 2)
        if self.has(.2):
            out["quotas"] = {"group/a": self.one_of(1, 2, 4)}
        if self.has(.3):
            out["controller"] = {"preemption_grace": self.one_of("0s", "5s", "40s")}
        out["timing"] = {"start": self.between(2, 30), "stop": self.between(1, 25)}
        out["jobs"] = jobs = [self.job(f"j{place}") for place in range(self.random.randint(2, 8))]
        requests = [self.request(jobs) for _ in range(self.random.randint(0, 4))]
        faults = [self.fault(jobs) for _ in range(self.random.randint(0, 5))]
        out.update({key: of for key, of in (("requests", requests), ("faults", faults)) if of})
        return out


def moved(scenario, nth):
    """The scenario, later by what processes, starts and exits may take on a busy machine."""
    by = random.Random(nth)
    out = copy.deepcopy(scenario)

    def later(of, key, least, most):
        if key in of:
            of[key] = seconds(number(of[key]) + by.uniform(least, most))

    out["timing"]["start"] = seconds(number(out["timing"]["start"]) + [.3, 1, 2, 3, .6, 1.5, 2.5][nth])
    later(out["timing"], "stop", 0, 1.5)
    later(out, "until", 5, 30)
    for job in out["jobs"]:
        later(job, "at", 0, .6)
        later(job, "ready_after", .2, 3)
        if isinstance(job["work"], str):
            later(job, "work", 0, 1.5)
        else:
            job["work"]["units"] = round(job["work"]["units"] + by.uniform(0, 1.5), 3)
    for fault in out.get("faults", []):
        later(fault, "at", 0, .6)
        later(fault, "lasting", .3, 2.5)
    for request in out.get("requests", []):
        later(request, "at", 0, .6)
    return out


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
            decisions(program, moved(scenario, nth), folder) == as_written for nth in range(PERTURBATIONS))


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
