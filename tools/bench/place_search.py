#!/usr/bin/env python3
"""Is the placement that a search finds the best one when it is measured? Ten small cases: `orrery place --search`
predicts, then jobs of SDK workers (bench_rl_worker) run placements under `orrery up`, predicted and measured side by side.

The workers compute nothing and take their time: sequences of drawn lengths in slots, parts in proportion to their replicas,
links by bytes over bandwidth. What is real is all between: processes, calls, channels, micro-batches, the agent's turns on
devices that are shared, barriers, and the luck of other lengths than those of the search. What a micro-batch's handover and
a turn on shared devices cost here is measured first and stated to the search, as a user would.

Usage: tools/bench/place_search.py PROGRAM_FOLDER [CASE ...] [--turns N] [--rounds N] [--measured N] [--scale N] [--json FILE]
"""

import argparse
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "system" / "up"))
from cluster import Cluster, wait_until  # noqa: E402

TOKENS_PER_SECOND = 1000  # A token is a millisecond.


def case(**words):
    usual = {"nodes": 1, "devices": 4, "switch_ms": 40, "sequences": 48, "group": 2, "concurrent": 4, "median": 60,
             "sigma": 0.8, "max": 600, "reward_ms": 0, "inference_ms": 0, "train_ms": 300, "actor_width": 1,
             "reward_gpus": 1, "weights_mb": 0, "gradient_mb": 0, "link_mb_s": 1000, "micro_batches": [1, 4]}
    return {**usual, **words}


# What each is about stands in its name. Times are of one replica.
CASES = {
    "switch-is-cheap": case(switch_ms=5, train_ms=900),
    "switch-is-dear": case(switch_ms=250, train_ms=700, median=90),
    "three-roles": case(inference_ms=350, train_ms=700, switch_ms=60),
    "heavy-tail": case(sigma=1.5, max=900, median=40, train_ms=900, switch_ms=30),
    "slow-link": case(nodes=2, devices=2, weights_mb=120, switch_ms=60, train_ms=900),
    "gradients-stay-on-a-node": case(nodes=2, devices=2, gradient_mb=400, weights_mb=40, switch_ms=50, train_ms=600,
                                     median=90),
    "reward-beside": case(reward_ms=200, reward_gpus=0, train_ms=800, switch_ms=80, median=80),
    "four-roles": case(devices=5, reward_ms=250, inference_ms=250, train_ms=700, switch_ms=50, micro_batches=[1, 6]),
    "wide-actor": case(devices=6, actor_width=2, train_ms=900, inference_ms=300, switch_ms=100),
    "generation-bound": case(concurrent=2, sequences=64, train_ms=250, switch_ms=60, median=70),
}


SCALED = ("switch_ms", "median", "max", "reward_ms", "inference_ms", "train_ms", "weights_mb", "gradient_mb")


def document(name, of, micro_batches, costs):
    reward, inference = of["reward_ms"] > 0, of["inference_ms"] > 0
    roles = {"rollout": 1, "actor": of["actor_width"]}
    if reward:
        roles["reward"] = of["reward_gpus"]
    if inference:
        roles["inference"] = 1
    loop = {"generate": {"role": "rollout", "sequences": of["sequences"], "tokens_per_second": TOKENS_PER_SECOND,
                         "concurrent": of["concurrent"],
                         "length": {"median": of["median"], "sigma": of["sigma"], "max": of["max"]}},
            "train": {"role": "actor", "time": f"{of['train_ms']}ms", "gradient": f"{of['gradient_mb']}MB"},
            "weights": f"{of['weights_mb']}MB",
            "search": {"switch": microseconds(of["switch_ms"] / 1000 + costs["turn_s"]),
                       "handover": microseconds(costs["handover_s"]), "group": of["group"],
                       "micro_batches": micro_batches}}
    if reward:
        loop["reward"] = {"role": "reward", "time": f"{of['reward_ms']}ms"}
    if inference:
        loop["inference"] = {"role": "inference", "time": f"{of['inference_ms']}ms"}
    return json.dumps({
        "name": name,
        "cluster": {"nodes": of["nodes"], "gpus_per_node": of["devices"], "gpu": "h100",
                    "network": {"nic_bandwidth": f"{of['link_mb_s']}MB/s", "device_bandwidth": "450GB/s"}},
        "jobs": [{"name": name, "roles": {role: {"replicas": 1, "gpus": width} for role, width in roles.items()},
                  "work": {"units": 1, "loop": loop}}]})


def microseconds(seconds):
    return f"{max(0, round(1e6 * seconds))}us"


def devices_of(text):
    """Device numbers of a placement."""
    found = set()
    for entry in filter(None, text.split(",")):
        first, _, last = entry.split(":")[0].partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def key_of(candidate):
    return (json.dumps(candidate["roles"], sort_keys=True), candidate["micro_batches"])


def candidates_of(program, folder, name, of, costs):
    """All placements with each number of micro-batches, best first."""
    found = {}
    for counts in [of["micro_batches"], *([count] for count in of["micro_batches"])]:
        path = folder / "search.yaml"
        path.write_text(document(name, of, counts, costs))
        done = subprocess.run([program, "place", "--search", path, "--json", "--top", "100000"], check=True,
                              capture_output=True, text=True)
        for candidate in json.loads(done.stdout)["candidates"]:
            found.setdefault(key_of(candidate), candidate)
    return sorted(found.values(), key=lambda one: (one["step_s"], one["devices"], one["micro_batches"]))


def chosen(candidates, count, seed):
    """The best by prediction, the best of each mode and number of micro-batches, and some by chance."""
    kept = list(candidates[:max(1, count // 2)])
    kinds = set()
    for one in candidates:
        kind = (one["mode"], one["micro_batches"])
        if kind not in kinds and one not in kept and len(kept) < count - 2:
            kept.append(one)
        kinds.add(kind)
    rest = [one for one in candidates if one not in kept and one["step_s"] < 2 * candidates[0]["step_s"]]
    kept += random.Random(seed).sample(rest, min(len(rest), count - len(kept)))
    return kept


def turns_of(of, count):
    """Lengths in seconds, by group, of other luck than the search's."""
    turns = []
    for turn in range(count):
        luck = random.Random(f"measured {turn}")
        lengths = [min(of["max"], of["median"] * math.exp(of["sigma"] * luck.gauss(0, 1))) / TOKENS_PER_SECOND
                   for _ in range(of["sequences"])]
        turns.append([lengths[i:i + of["group"]] for i in range(0, len(lengths), of["group"])])
    return turns


def link_seconds(of, nodes, megabytes):
    """All-reduce in a ring over so many nodes."""
    return 2 * (nodes - 1) / nodes * megabytes / of["link_mb_s"] if nodes > 1 else 0


def plan_of(of, candidate, turns):
    roles = candidate["roles"]
    places = {role: devices_of(one.get("placement", "")) for role, one in roles.items()}
    nodes = {role: {device // of["devices"] for device in held} for role, held in places.items()}
    parts = [("rollout", 0)]
    parts += [("reward", of["reward_ms"])] if of["reward_ms"] else []
    parts += [("inference", of["inference_ms"])] if of["inference_ms"] else []
    parts += [("actor", of["train_ms"])]
    shares = [[i != j and bool(places[a] & places[b]) for j, (b, _) in enumerate(parts)]
              for i, (a, _) in enumerate(parts)]
    told = []
    for number, (role, milliseconds) in enumerate(parts):
        seconds = milliseconds / 1000 / roles[role]["replicas"]
        if role == "actor":
            seconds += link_seconds(of, len(nodes[role]), of["gradient_mb"])
        told.append({"role": role, "replicas": roles[role]["replicas"], "seconds": seconds,
                     "after": [j for j in range(number) if shares[number][j]],
                     "takes": any(shares[number]), "gives_back": any(shares[number])})
    away = nodes["rollout"] - nodes["actor"]
    return {"parts": told, "micro_batches": candidate["micro_batches"], "concurrent": of["concurrent"],
            "switch_s": of["switch_ms"] / 1000, "turns": turns,
            "weights_s": min(2, len(away)) * of["weights_mb"] / of["link_mb_s"]}


def job_of(name, worker, plan_path, candidate):
    roles = {}
    for role, one in candidate["roles"].items():
        roles[role] = {"cpu": "1m", "memory": "1MiB", "completion": "follower", "env": {"ORRERY_READY": "hello"},
                       "command": [str(worker), "work"]}
        if "placement" in one:
            roles[role]["placement"] = one["placement"]
        else:
            roles[role].update(devices=0, replicas=one["replicas"])
    roles["driver"] = {"cpu": "1m", "memory": "1MiB", "devices": 0, "command": [str(worker), "drive", str(plan_path)]}
    return json.dumps({"name": name, "drain_grace": "2s", "roles": roles, "take_turns": candidate["take_turns"]})


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.program = arguments.programs / "orrery"
        self.worker = arguments.programs / "bench_rl_worker"
        self.jobs = 0

    def measure(self, cluster, of, candidate, turns):
        """Seconds of each turn; one more goes before."""
        self.jobs += 1
        name = f"rl-{self.jobs}"
        plan = cluster.write(f"{name}.json", json.dumps(plan_of(of, candidate, [turns[0], *turns])))
        out = pathlib.Path(f"{plan}.out")
        done = cluster.orrery("submit", cluster.write("job.yaml", job_of(name, self.worker, plan, candidate)))
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        wait_until(f"the turns of {name}", out.exists)
        seconds = json.loads(out.read_text())
        cluster.orrery("delete", name)
        return seconds[1:]

    def costs(self):
        """Seconds that the handover of a micro-batch takes, and a turn on devices that are shared: from turns in
        which nothing else takes time."""
        of = case(devices=4, switch_ms=0, train_ms=0, median=1, sigma=0, group=1, sequences=36)
        turns = turns_of(of, 30)
        cluster = Cluster(self.program, "--agents", 1, "--devices", 4)
        try:
            def median(rollout, actor, batches):
                roles = {"rollout": {"replicas": 2, "placement": rollout}, "actor": {"replicas": 2, "placement": actor}}
                candidate = {"roles": roles, "micro_batches": batches,
                             "take_turns": [["rollout", "actor"]] if rollout == actor else []}
                return statistics.median(self.measure(cluster, of, candidate, turns))
            apart, batches, shared = median("0-1", "2-3", 1), median("0-1", "2-3", 9), median("0-1", "0-1", 1)
            return {"handover_s": max(0, batches - apart) / 8, "turn_s": max(0, shared - apart) / 2}
        finally:
            cluster.close()

    def run(self, name, costs):
        of = {key: value * self.arguments.scale if key in SCALED else value for key, value in CASES[name].items()}
        cluster = Cluster(self.program, "--agents", of["nodes"], "--devices", of["devices"])
        try:
            candidates = candidates_of(self.program, cluster.folder, name, of, costs)
            kept = chosen(candidates, self.arguments.measured, name)
            turns = turns_of(of, self.arguments.turns)
            tries = [[self.measure(cluster, of, one, turns) for one in kept] for _ in range(self.arguments.rounds)]
            for number, one in enumerate(kept):
                one["measured_s"] = statistics.mean(map(min, zip(*(each[number] for each in tries))))
            return len(candidates), kept
        finally:
            cluster.close()


def words_of(candidate):
    return ", ".join(f"{role} {one.get('placement', '-').replace(',', '+')}" for role, one in candidate["roles"].items())


def tell(name, count, kept):
    best = min(one["measured_s"] for one in kept)
    found = kept[0]
    print(f"\n{name}: {len(kept)} of {count} candidates measured")
    print("  predicted  measured  error     mode           batches  placement")
    for one in kept:
        error = one["step_s"] / one["measured_s"] - 1
        mark = " <- found" if one is found else ""
        mark += " <- best" if one["measured_s"] == best else ""
        print(f"  {one['step_s']:7.3f} s {one['measured_s']:7.3f} s {100 * error:+6.1f} %  {one['mode']:13s} "
              f"{one['micro_batches']:8d}  {words_of(one)}{mark}", flush=True)
    return found["measured_s"] / best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("programs", type=lambda text: pathlib.Path(text).resolve(), help="the folder build/bin")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)} (default: all)")
    parser.add_argument("--turns", type=int, default=6, help="that are measured of each placement")
    parser.add_argument("--rounds", type=int, default=2, help="of all placements; of each turn the fastest counts, since "
                        "other work on the machine only adds")
    parser.add_argument("--measured", type=int, default=7, help="placements of each case")
    parser.add_argument("--scale", type=int, default=1, help="all times so many times as long: what the machine adds counts less")
    parser.add_argument("--json", type=pathlib.Path, help="append a line for each case")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.cases if name not in CASES]:
        parser.error(f"no such case: {', '.join(unknown)}")
    bench = Bench(arguments)
    begun, ratios, errors = time.monotonic(), {}, []
    costs = bench.costs()
    print(f"measured here: {1000 * costs['handover_s']:.1f} ms for the handover of a micro-batch, "
          f"{1000 * costs['turn_s']:.1f} ms for a turn on shared devices", flush=True)
    for name in arguments.cases or CASES:
        count, kept = bench.run(name, costs)
        ratios[name] = tell(name, count, kept)
        errors += [abs(one["step_s"] / one["measured_s"] - 1) for one in kept]
        if arguments.json:
            with arguments.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"case": name, "ratio": ratios[name], "candidates": kept}) + "\n")
    print(f"\nfound over best, measured: {', '.join(f'{name} {ratio:.3f}' for name, ratio in ratios.items())}")
    print(f"the best in {sum(ratio == 1 for ratio in ratios.values())} of {len(ratios)}, "
          f"within 2 % of it in {sum(ratio <= 1.02 for ratio in ratios.values())}, at worst {max(ratios.values()):.3f} times; "
          f"errors of predictions: median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %; "
          f"{time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
