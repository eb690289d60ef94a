"""Draws scenarios from seeds, so that no two things of one happen at one instant, and moves what they say in time."""

import copy
import random

END = 600
TIME_SCALE = 10
# What one instant is apart from the next, in seconds: less than three real processes at this time scale cannot
# tell apart.
APART = 1.5
POLICIES = ["fifo", "easy", "srtf", "las", "fit", "tiresias", "optimus", "orrery", "sjf", "srsf", "pollux", "sia",
            "themis", "gavel_fifo", "gavel_las", "allox"]
PERIODIC = {"fit", "tiresias", "optimus", "orrery", "pollux", "sia"}
OF_ROUNDS = {"themis", "gavel_fifo", "gavel_las", "allox"}
PLACERS = ["best_fit", "most_free", "fgd", "best_fit_score", "gpu_packing", "gpu_clustering", "dot_product",
           "consolidate", "spread", "topology"]
MODELS = ["v100", "a100"]
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
        self.is_mixed = self.nodes > 1 and self.has(.25)
        self.is_narrow = self.has(.2)
        self.has_racks = self.nodes > 1 and self.has(.3)
        self.has_classes = self.has(.2)

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
        second, third = {"name": "b"}, {"name": "c", "limit": self.one_of(1, 2, 3)}
        for queue in (first, second):
            self.optional(queue, .2, "priority", 1, 2)
            self.optional(queue, .2, "borrow", *[False] * ("guarantee" in queue), 1)
            self.optional(queue, .2, "reclaim", False)
            self.optional(queue, .2, "user_limit", 1, 2)
        out = {"period": seconds(self.random.choice(PERIODS)), "default": "b", "tree": [first, second, third]}
        if self.has(.3):
            out["tree"].append({"name": "d", "parent": "a"})
        self.optional(out, .3, "half_life", "10min")
        self.optional(out, .3, "patience", "90s", "300s")
        self.optional(out, .2, "resources", ["devices", "cpu"])
        return out

    def policy(self):
        out = {"name": self.random.choice(POLICIES)}
        if out["name"] in PERIODIC and self.has(.7):
            out["period"] = seconds(self.random.choice(PERIODS))
        if out["name"] in OF_ROUNDS:
            out["round"] = seconds(self.random.choice(PERIODS))
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
        if self.is_mixed:
            self.optional(out, .4, "device_model", *MODELS)
        if self.is_narrow:
            self.optional(out, .5, "cpu", 2, "1500m", 3)
            self.optional(out, .4, "memory", "3GiB", "5GiB")
        self.optional(out, .1, "volumes", ["scratch:data"], ["shm:shared:memory"])
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
        if self.has(.3):
            name = f"{self.one_of('ann', 'bob')}.{name}"
        out = {"name": name, "at": seconds(self.instant(.5, END * .4))}
        out.update(self.roles() if self.has(.25) else self.virtual_cluster() if self.has(.15) else self.role())
        self.optional(out, .3, "priority", "high", 5, -3, 100, *["urgent", "idle"] * self.has_classes)
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
        self.optional(out, .3, "group", "a", "b", "c", "d")
        self.optional(out, .3, "clean_pods", "All", "None", "Running")
        self.optional(out, .1, "ready_after", "1.7s", "33.3s")
        self.optional(out, .1, "backoff_max", "14.7s")
        if self.has(.15):
            out["workers"] = self.workers()
        if self.has(.3):
            out["failover"] = self.failover()
        out["work"], amount = self.work()
        if self.has(.5):
            out["estimate"] = self.between(amount * .5, amount * 2)
        return out

    def workers(self):
        """What the first worker does instead of working to the end."""
        out = {"rank": 0, "after": self.between(5, 60), "exit": self.one_of(1, 2, 137, 0)}
        if out["exit"]:
            self.optional(out, .3, "blames", "mine", "node")
        self.optional(out, .4, "times", 2, 3)
        return [out]

    def profiling(self, jobs):
        job = self.random.choice(jobs)
        values = {"throughput": round(self.random.uniform(.5, 4), 3)}
        self.optional(values, .3, "step_time_s", .5, 2)
        self.optional(values, .3, "batch_size", 64)
        return {"at": seconds(self.instant(number(job["at"]) + 1, END * .7)), "job": job["name"], "values": values}

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
                           "controller_pause", "preemption_notice", "device_lost", "cordon", "link_cut", "store_fail",
                           "reboot_loop")
        job = self.random.choice(jobs)
        out = {"kind": kind}
        if self.has(.25):
            out["after_event"] = self.event(job)
        else:
            out["at"] = seconds(self.instant(5, END * .7))
        if kind in ("crash", "delete", "hang", "slow"):
            out.update({"job": job["name"], "rank": 0})
        elif kind not in ("controller_crash", "controller_pause", "store_fail"):
            if self.has_racks and self.has(.3):
                out["rack"] = 0
            else:
                out["node"] = self.random.randrange(self.nodes)
        if kind == "crash":
            self.optional(out, .5, "exit_code", 2, 137, 143)
            self.optional(out, .2, "blames", "mine", "node")
        elif kind == "reboot_loop":
            out.update({"up_for": self.one_of("17.3s", "50.9s"), "down_for": self.one_of("4.1s", "21.7s"), "times": 2})
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

    def event(self, job):
        kind = self.one_of("phase", "ready", "exit", "incident", "command")
        out = {"event": kind, "job": job["name"], "delay": self.between(2, 20)}
        if kind == "phase":
            out["phase"] = self.one_of("Running", "Pending", "Starting", "Restarting", "Rescheduling")
        elif kind == "command":
            out["command"] = self.one_of("start_workers", "stop_workers", "update_membership")
        elif kind == "ready":
            out["rank"] = 0
        self.optional(out, .3, "count", 2)
        return out

    def cluster(self):
        group = {"gpus_per_node": self.devices}
        if self.is_narrow:
            group.update({"cpu": self.one_of(3, 5, 8), "memory": self.one_of("6GiB", "12GiB")})
        if self.has_racks:
            group["nodes_per_rack"] = 2
        if self.is_mixed:
            of_first = self.random.randint(1, self.nodes - 1)
            return {"groups": [{"nodes": of_first, "gpu": MODELS[0], **group},
                               {"nodes": self.nodes - of_first, "gpu": MODELS[1], **group}]}
        if self.nodes > 2:
            self.optional(group, .2, "spares", 1)
        return {"nodes": self.nodes, **group}

    def controller(self):
        out = {}
        self.optional(out, .5, "preemption_grace", "0s", "5s", "40s")
        self.optional(out, .3, "lemon_incidents", 2, 3)
        self.optional(out, .3, "exclusion", "90.3s", "250.7s")
        self.optional(out, .2, "kill_deadline", "30.7s")
        self.optional(out, .2, "takeover_grace", "20.3s")
        self.optional(out, .2, "retain_finished", "60.3s")
        if self.has(.3):
            out.update({"node_lease": "20s", "fence_margin": "5s"})
        return out

    def timing(self):
        out = {"start": self.between(2, 30), "stop": self.between(1, 25)}
        self.optional(out, .25, "restore", "8.3s", "21.1s")
        self.optional(out, .25, "rescale", "5.3s", "13.9s")
        if self.has(.25):
            out.update({"checkpoint_interval": "31.3s", "checkpoint_cost": self.one_of("0s", "1.7s")})
        return out

    def scenario(self):
        out = {"description": f"Drawn with seed {self.seed}.", "time_scale": TIME_SCALE, "until": seconds(END),
               "cluster": self.cluster(), "policy": self.policy()}
        if self.has_classes:
            out["priority_classes"] = {"urgent": 50, "idle": -10}
        self.optional(out, .2, "placer", *PLACERS)
        if self.has(.2):
            out["quotas"] = {"group/a": self.one_of(1, 2, 4)}
        if self.has(.4):
            out["controller"] = self.controller()
        out["timing"] = self.timing()
        out["jobs"] = jobs = [self.job(f"j{place}") for place in range(self.random.randint(2, 8))]
        requests = [self.request(jobs) for _ in range(self.random.randint(0, 4))]
        faults = [self.fault(jobs) for _ in range(self.random.randint(0, 5))]
        profilings = [self.profiling(jobs) for _ in range(self.random.randint(1, 3) * self.has(.2))]
        out.update({key: of for key, of in (("requests", requests), ("faults", faults), ("profilings", profilings))
                    if of})
        return out


# By so much later, in seconds, a start is over.
LATER_STARTS = [.3, 1, 2, 3, .6, 1.5, 2.5]


def moved(scenario, nth):
    """The scenario, later by what processes, starts and exits may take on a busy machine; `nth` of
    `LATER_STARTS`."""
    by = random.Random(nth)
    out = copy.deepcopy(scenario)

    def later(of, key, least, most):
        if key in of:
            of[key] = seconds(number(of[key]) + by.uniform(least, most))

    out["timing"]["start"] = seconds(number(out["timing"]["start"]) + LATER_STARTS[nth])
    later(out["timing"], "stop", 0, 1.5)
    later(out, "until", 5, 30)
    for job in out["jobs"]:
        later(job, "at", 0, .6)
        later(job, "ready_after", .2, 3)
        for worker in job.get("workers", []):
            later(worker, "after", 0, 1)
        if isinstance(job["work"], str):
            later(job, "work", 0, 1.5)
        else:
            job["work"]["units"] = round(job["work"]["units"] + by.uniform(0, 1.5), 3)
    for fault in out.get("faults", []):
        later(fault, "at", 0, .6)
        later(fault, "lasting", .3, 2.5)
        later(fault, "down_for", .3, 2.5)
        later(fault.get("after_event", {}), "delay", 0, 1)
    for asked in out.get("requests", []) + out.get("profilings", []):
        later(asked, "at", 0, .6)
    return out
