"""A node on which a worker fails too often is replaced by the site's own program; what ran there
starts on the new machine.

Usage: relaunch_test.py ORRERY_NODE
"""

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


def main(program):
    with Cluster(program, begin=False) as cluster:
        script = cluster.write("replace.py", REPLACE.format(state=str(cluster.state)))
        cluster.start("--agents", 1, "--set", f"relaunch_command=[python3, {script}]")
        done = cluster.orrery("submit", cluster.write("job.yaml", JOB.format(number=86404)))
        assert done.returncode == 0, done.stderr
        pids = lambda: [pid for pid, words in processes_of(cluster.state).items()
                        if words.startswith("sleep 86404")]
        wait_until("the job to run", lambda: cluster.job("fails-here").get("phase") == "Running"
                   and pids())
        first = pids()[0]
        assert kill_process(first, cluster.state)
        names = lambda: [event["name"] for event in (cluster.json("events") or {"events": []})["events"]]
        wait_until("the node to be replaced", lambda: "NodeRelaunched" in names())
        wait_until("the job to run on it", lambda: (
            cluster.job("fails-here").get("phase") == "Running" and pids() and pids()[0] != first))
        print(" ".join(names()))


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
