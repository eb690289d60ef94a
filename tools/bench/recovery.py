#!/usr/bin/env python3
"""How fast the runtime recovers: a worker that dies, alone or amid all-reduces with others, an agent
that is lost, a controller that starts again. Runs `orrery up` in a temporary folder; prints a table and one line of JSON.

Usage: tools/bench/recovery.py ORRERY_NODE [--workers N] [--kills N]
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "system" / "up"))
from cluster import Cluster, processes_of, wait_until  # noqa: E402


def job(name, replicas, command):
    return f"""
name: {name}
backoff_limit: 100000
backoff_base: 10ms
backoff_max: 10ms
drain_grace: 1s
roles:
  worker:
    replicas: {replicas}
    devices: 0
    cpu: 1m
    memory: 1MiB
    command: [{", ".join(command)}]
"""


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.cluster = Cluster(arguments.program, "--agents", 4, "--set", "settings.node_lease=3s",
                               "--set", "settings.fence_margin=1s",
                               ports=f"20000-{20000 + 6 * max(1000, arguments.workers)}")

    def ask(self, path):
        url = self.cluster.environment["ORRERY_SERVER"] + path
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return json.load(answer)
        except (OSError, ValueError):
            return {}

    def submit(self, text):
        path = self.cluster.write("job.yaml", text)
        subprocess.run([self.arguments.program, "submit", str(path)], check=True,
                       capture_output=True, env=self.cluster.environment)

    def status(self, name):
        return self.ask(f"/api/v1/jobs/default.{name}")

    def running(self, name, ready):
        found = self.status(name)
        return found.get("phase") == "Running" and found.get("ready_replicas") == ready and found

    def pids(self, words):
        return {pid for pid, text in processes_of(self.cluster.folder).items()
                if text.strip() == words}

    def worker_deaths(self):
        """Seconds from SIGKILL of a worker to Running in the next generation."""
        self.submit(job("mortal", 1, ["sleep", "86401"]))
        times = []
        wait_until("the job to run", lambda: self.running("mortal", 1))
        for _ in range(self.arguments.kills):
            generation = self.status("mortal")["generation"]
            pid = wait_until("its process", lambda: self.pids("sleep 86401")).pop()
            begun = time.monotonic()
            os.kill(pid, signal.SIGKILL)
            wait_until("the next generation", lambda: (s := self.running("mortal", 1)) and
                       s["generation"] > generation)
            times.append(time.monotonic() - begun)
        self.cluster_stop("mortal")
        return times

    def steps_of(self, generation, size):
        """Whether every rank of the sample worker has made a step in a generation."""
        logs = [log.read_text(errors="replace")
                for log in self.cluster.state.rglob("workers/*/log")]
        return all(any(f"  generation {generation}  rank {rank}/{size}  " in log for log in logs)
                   for rank in range(size))

    def deaths_amid_all_reduces(self):
        """Seconds from SIGKILL of one of three that reduce without pause to a step of all in the next
        generation; and how often a survivor was started again."""
        worker = self.arguments.program.parent / "orrery-worker"
        words = f"{worker} --size 16 --report-every 1 --steps 0"
        self.submit(job("reducing", 3, words.split()))
        times, restarts = [], 0
        wait_until("the first generation", lambda: self.steps_of(1, 3))
        for generation in range(2, 2 + self.arguments.kills):
            before = self.pids(words)
            victim = sorted(before)[generation % 3]
            begun = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            wait_until("the next generation", lambda g=generation: self.steps_of(g, 3))
            times.append(time.monotonic() - begun)
            restarts += len(before - {victim} - self.pids(words))
        self.cluster_stop("reducing")
        return times, restarts

    def cluster_stop(self, name):
        subprocess.run([self.arguments.program, "delete", name], check=True, capture_output=True,
                       env=self.cluster.environment)

    def lost_agent(self):
        """Seconds from the moment at which an agent stands still to its node being silent."""
        agents = [pid for pid, text in processes_of(self.cluster.folder).items()
                  if "orrery-node agent" in text]
        pid = sorted(agents)[0]
        known = {n["name"] for n in self.ask("/api/v1/nodes")["nodes"] if n["state"] == "ready"}
        begun = time.monotonic()
        os.kill(pid, signal.SIGSTOP)
        wait_until("a silent node", lambda: any(
            n["state"] == "silent" for n in self.ask("/api/v1/nodes").get("nodes", [])))
        took = time.monotonic() - begun
        os.kill(pid, signal.SIGCONT)
        wait_until("its return", lambda: known == {
            n["name"] for n in self.ask("/api/v1/nodes").get("nodes", []) if n["state"] == "ready"})
        return took

    def controller_restart(self):
        """Seconds from SIGKILL of the controller to all workers known again, and which were started
        anew."""
        count = self.arguments.workers
        begun = time.monotonic()
        self.submit(job("many", count, ["sleep", "86402"]))
        wait_until("all workers to run", lambda: self.running("many", count), 600)
        started = time.monotonic() - begun
        before = self.pids("sleep 86402")
        controller = [pid for pid, text in processes_of(self.cluster.folder).items()
                      if "orrery-node controller" in text]
        begun = time.monotonic()
        os.kill(controller[0], signal.SIGKILL)
        wait_until("a controller", lambda: self.ask("/readyz").get("admission") == "open")
        led = time.monotonic() - begun
        wait_until("all workers to be known", lambda: self.running("many", count), 120)
        took = time.monotonic() - begun
        return started, led, took, len(before - self.pids("sleep 86402"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    bench = Bench(parser.parse_args())
    with bench.cluster:
        deaths = bench.worker_deaths()
        reducing, restarted = bench.deaths_amid_all_reduces()
        silent = bench.lost_agent()
        started, led, restart, lost = bench.controller_restart()
    result = {
        "worker_death_p50_s": round(statistics.median(deaths), 3),
        "worker_death_max_s": round(max(deaths), 3),
        "all_reduce_death_p50_s": round(statistics.median(reducing), 3),
        "all_reduce_death_max_s": round(max(reducing), 3),
        "all_reduce_survivors_restarted": restarted,
        "lost_agent_s": round(silent, 3), "node_lease_s": 3,
        "workers": bench.arguments.workers, "workers_started_s": round(started, 3),
        "controller_open_s": round(led, 3), "controller_reconciled_s": round(restart, 3),
        "workers_restarted": lost,
    }
    for key, value in result.items():
        print(f"{key:28} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
