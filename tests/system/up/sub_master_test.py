"""A role's recovery led by a real sub-master process, which dies at every arrow of docs/failover.md.

Usage: sub_master_test.py ORRERY_NODE
"""

import pathlib
import sys

from cluster import Cluster, kill_process, wait_until

ARROWS = ["report", "asked", "restored", "restart_asked", "restarted", "started", "done"]

# Dies once at each arrow for which a file `die-ARROW` is there.
LEAD = """
import json, os, pathlib, signal, socket

scene = pathlib.Path(os.environ["SCENE"])

def note(word):
    with open(scene / "lead.log", "a") as log:
        log.write(f"{word} {os.getpid()}\\n")

def dies(arrow):
    file = scene / f"die-{arrow}"
    if file.exists():
        file.unlink()
        note(f"dies-{arrow}")
        os.kill(os.getpid(), signal.SIGKILL)

agent = socket.socket(socket.AF_UNIX)
agent.connect(os.environ["ORRERY_SOCKET"])
lines = agent.makefile("rw")

def say(message):
    lines.write(json.dumps(message) + "\\n")
    lines.flush()

say({"hello": {"worker": os.environ["ORRERY_WORKER"], "token": os.environ["ORRERY_TOKEN"]}})
note("start")
for line in lines:
    order = json.loads(line).get("sub_master")
    if order is None:
        continue
    note(order["word"])
    answer = lambda word: say({"sub_master": {**order, "word": word}})
    if order["word"] == "recover":
        dies("asked")
        answer("ask_state")
    elif order["word"] == "state":
        dies("restored")
        answer("ask_restart")
        dies("restart_asked")
    elif order["word"] == "restarted":
        dies("restarted")
        note("role-started")
        dies("started")
        answer("done")
        dies("done")
"""

JOB = """
name: led
backoff_limit: 100
backoff_base: 20ms
backoff_max: 20ms
recovery: role
roles:
  actor:
    replicas: 2
    devices: 0
    cpu: 10m
    env: {{SCENE: {scene}}}
    command: [/bin/sh, -c, 'echo "$ORRERY_RANK $$" >> "$SCENE/actors.log"; exec sleep 86400']
    sub_master: {{command: [python3, {scene}/lead.py], env: {{SCENE: {scene}}}}}
"""


class Led:
    def __init__(self, cluster):
        self.cluster = cluster
        self.scene = cluster.folder

    def words(self, name):
        path = self.scene / name
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def actors(self):
        """{rank: [process ids, oldest first]}"""
        found = {}
        for rank, pid in self.words("actors.log"):
            found.setdefault(rank, []).append(int(pid))
        return found

    def master(self):
        return int([pid for word, pid in self.words("lead.log") if word == "start"][-1])

    def runs(self):
        job = self.cluster.job("led")
        return job.get("phase") == "Running" and job.get("ready_replicas") == 3 and job

    def recover(self, arrow):
        """One crash of an actor while the sub-master dies at the arrow."""
        before = self.actors()
        restarts = wait_until("the job to run", self.runs)["restarts"]
        deaths = len(self.words("lead.log"))
        if arrow not in ("none", "report"):
            (self.scene / f"die-{arrow}").touch()
        assert kill_process(before["0"][-1], self.scene)
        if arrow == "report":
            assert kill_process(self.master(), self.scene)

        def is_over():
            now = self.actors()
            log = [word for word, _ in self.words("lead.log")[deaths:]]
            done = "role-started" in log and not (self.scene / f"die-{arrow}").exists()
            # The controller knows of a death once the next sub-master has begun.
            if f"dies-{arrow}" in log:
                done = done and "start" in log[log.index(f"dies-{arrow}"):]
            return (done and all(len(now[rank]) == len(before[rank]) + 1 for rank in before)
                    and self.runs())

        job = wait_until(f"the recovery, with a death at {arrow}", is_over)
        log = " ".join(word for word, _ in self.words("lead.log")[deaths:])
        print(f"{arrow:14} {job['restarts'] - restarts} charged   {log}")
        assert job["restarts"] == restarts + 1, "one crash is charged once"


def main(program):
    with Cluster(program, "--agents", 2) as cluster:
        led = Led(cluster)
        (cluster.folder / "lead.py").write_text(LEAD)
        path = cluster.write("led.yaml", JOB.format(scene=cluster.folder))
        done = cluster.orrery("submit", path)
        assert done.returncode == 0, done.stderr
        wait_until("the job to run", led.runs)
        wait_until("all programs to have begun", lambda: led.words("lead.log") and
                   len(led.actors()) == 2)
        for arrow in ["none", *ARROWS, "none"]:
            led.recover(arrow)
        for rank, pids in led.actors().items():
            assert len(pids) == len(ARROWS) + 3, f"rank {rank}: started {len(pids)} times"


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
