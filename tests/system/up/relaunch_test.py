"""A node on which a worker fails too often is replaced by the site's own program; what ran there
starts on the new machine.

Usage: relaunch_test.py ORRERY_NODE
"""

import json
import os
import pathlib
import sys

from cluster import Cluster, kill_process, processes_of, wait_until

# Plays the site: ends the node's agent and all that it runs, and gives the name a new machine by
# removing what the old one had on its disk. `orrery up` starts the agent of the new one.
REPLACE = """
import os, pathlib, shutil, signal, sys
state = {state!r}
for node in sys.argv[1:]:
    number = node.removeprefix("node-")
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\\0")
        except OSError:
            continue
        agent = f"{{state}}/agent-{{number}}.yaml" in words
        shim = any(word.startswith(f"{{state}}/{{node}}/workers/") for word in words)
        if agent or shim:
            os.kill(int(entry.name), signal.SIGKILL)
    shutil.rmtree(f"{{state}}/{{node}}", ignore_errors=True)
    print(node)
"""

# Says that the nodes are new machines and touches nothing: their agents, and all that ran there, run
# on. So it is where a machine has come up again before the program ends.
PRETEND = """
import json, os, pathlib, sys
pathlib.Path({out!r}).write_text(os.environ["ORRERY_RELAUNCH"])
print(*sys.argv[1:])
"""

BYSTANDER = """
name: bystander
roles:
  worker:
    devices: 0
    cpu: 10m
    command: [sleep, "86405"]
"""

JOB = """
name: fails-here
backoff_limit: 9
backoff_base: 10ms
failover: {{worker_node_failures_max: 0}}
roles:
  worker:
    devices: 0
    cpu: 10m
    command: [sleep, "{number}"]
"""


def sleepers(cluster, number):
    return [pid for pid, words in processes_of(cluster.state).items()
            if words.startswith(f"sleep {number}")]


def names(cluster):
    return [event["name"] for event in (cluster.json("events") or {"events": []})["events"]]


def submit(cluster, name, text):
    done = cluster.orrery("submit", cluster.write(f"{name}.yaml", text))
    assert done.returncode == 0, done.stderr


def runs(cluster, job):
    return cluster.job(job).get("phase") == "Running"


def a_new_machine(program):
    with Cluster(program, begin=False) as cluster:
        script = cluster.write("replace.py", REPLACE.format(state=str(cluster.state)))
        cluster.start("--agents", 1, "--set", f"relaunch_command=[python3, {script}]")
        submit(cluster, "job", JOB.format(number=86404))
        pids = lambda: sleepers(cluster, 86404)
        wait_until("the job to run", lambda: runs(cluster, "fails-here") and pids())
        first = pids()[0]
        assert kill_process(first, cluster.state)
        wait_until("the node to be replaced", lambda: "NodeRelaunched" in names(cluster))
        wait_until("the job to run on it", lambda: (
            runs(cluster, "fails-here") and pids() and pids()[0] != first))
        print(" ".join(names(cluster)))


def a_machine_that_has_registered_before_the_answer(program):
    with Cluster(program, begin=False) as cluster:
        out = cluster.folder / "description.json"
        script = cluster.write("pretend.py", PRETEND.format(out=str(out)))
        cluster.start("--agents", 1, "--set", f"relaunch_command=[python3, {script}]")
        submit(cluster, "bystander", BYSTANDER)
        submit(cluster, "job", JOB.format(number=86404))
        pids = lambda: sleepers(cluster, 86404)
        others = lambda: sleepers(cluster, 86405)
        wait_until("both jobs to run", lambda: (
            runs(cluster, "fails-here") and pids() and runs(cluster, "bystander") and others()))
        first, old = pids()[0], others()[0]
        assert kill_process(first, cluster.state)
        wait_until("the node to be replaced", lambda: "NodeRelaunched" in names(cluster))
        wait_until("the node to be used again", lambda: (
            runs(cluster, "fails-here") and pids() and pids()[0] != first))
        wait_until("what ran there before to be ended, and started anew", lambda: (
            runs(cluster, "bystander") and others() and old not in others()))
        told = json.loads(out.read_text())
        assert told["job"] == "default.fails-here", told
        node = told["nodes"][0]
        assert node["name"] == "node-1" and node["connected"], told
        assert node["address"] == "127.0.0.1" and node["host"], told
        assert "group" in node["labels"], told


def a_program_that_fails(program):
    with Cluster(program, begin=False) as cluster:
        go = cluster.folder / "go"
        os.mkfifo(go)
        script = cluster.write("fail.py", f"import sys\nopen({str(go)!r}).read()\n"
                               "sys.exit('no machine is left')\n")
        cluster.start("--agents", 1, "--set", f"relaunch_command=[python3, {script}]")
        submit(cluster, "job", JOB.format(number=86404))
        pids = lambda: sleepers(cluster, 86404)
        wait_until("the job to run", lambda: runs(cluster, "fails-here") and pids())
        assert kill_process(pids()[0], cluster.state)
        wait_until("the job to say what it waits for", lambda: (
            "waits for a new machine in place of node node-1" in cluster.job("fails-here")["message"]))
        go.write_text("")
        wait_until("the reason", lambda: any(
            event["name"] == "NodeNotReplaced" and "ended with code 1: no machine is left" in event["message"]
            for event in cluster.json("events")["events"]))


def main(program):
    a_new_machine(program)
    a_program_that_fails(program)
    a_machine_that_has_registered_before_the_answer(program)


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
