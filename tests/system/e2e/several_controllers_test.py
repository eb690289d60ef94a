"""Three controllers on three members of etcd: leaders are killed and stopped, jobs go on.

Usage: several_controllers_test.py ORRERY_NODE
"""

import json
import os
import shutil
import signal
import sys
import time

from programs import (Scene, WITNESSED, call, check_nobody_twice, free_port, phase_of, skip,
                      wait_for, witness_lines)

NAMES = ["c1", "c2", "c3"]


def start_etcd(scene):
    """Three members on loopback; their client addresses."""
    clients = {name: free_port() for name in ("m0", "m1", "m2")}
    peers = {name: f"http://127.0.0.1:{free_port()}" for name in clients}
    cluster = ",".join(f"{name}={url}" for name, url in peers.items())
    for name, port in clients.items():
        scene.start(name, [
            "etcd", "--name", name, "--data-dir", str(scene.folder / name),
            "--listen-client-urls", f"http://127.0.0.1:{port}",
            "--advertise-client-urls", f"http://127.0.0.1:{port}",
            "--listen-peer-urls", peers[name], "--initial-advertise-peer-urls", peers[name],
            "--initial-cluster", cluster, "--heartbeat-interval", "100",
            "--election-timeout", "1000", "--log-level", "error"])
    for port in clients.values():
        wait_for("etcd is healthy",
                 lambda: str(call(f"http://127.0.0.1:{port}/health")[1]).find("true") >= 0)
    return {name: f"127.0.0.1:{port}" for name, port in clients.items()}


class Controllers:
    def __init__(self, scene, program, etcd):
        self.scene, self.program = scene, program
        self.http = {name: free_port() for name in NAMES}
        self.agents = {name: free_port() for name in NAMES}
        self.config = {name: scene.write(f"{name}.yaml", f"""
name: {name}
http_address: 127.0.0.1:{self.http[name]}
agents_address: 127.0.0.1:{self.agents[name]}
store: {{etcd_endpoints: [{", ".join(etcd.values())}], etcd_prefix: /test, leader_lease: 2s}}
""") for name in NAMES}

    def start(self, name):
        self.scene.start(name, [self.program, "controller", "--config", str(self.config[name])])

    def url(self, name):
        return f"http://127.0.0.1:{self.http[name]}"

    def admission(self, name):
        answer = call(f"{self.url(name)}/readyz", timeout=2)[1]
        return answer.get("admission") if isinstance(answer, dict) else None

    def leading(self, but=None):
        """The one that takes requests, or nothing."""
        open_now = [n for n in NAMES if n != but and self.admission(n) == "open"]
        return open_now[0] if open_now else None


def submit(url, name, replicas, witness):
    job = {"name": name, "drain_grace": "2s",
           "roles": {"worker": {"replicas": replicas, "devices": 0, "cpu": "100m",
                                "memory": "16MiB", "env": {"WITNESS": str(witness)},
                                "command": ["/bin/bash", "-c", WITNESSED]}}}
    status, answer = call(f"{url}/api/v1/jobs", "POST", json.dumps(job).encode())
    assert status == 200, f"submission: {status} {answer}"


def main(program):
    if shutil.which("etcd") is None:
        skip("no etcd (package etcd-server)")
    with Scene("controllers") as scene:
        etcd = start_etcd(scene)
        controllers = Controllers(scene, program, etcd)
        for name in NAMES:
            controllers.start(name)
        leader = wait_for("somebody leads", controllers.leading)
        for i in (1, 2):
            addresses = ", ".join(f"127.0.0.1:{port}" for port in controllers.agents.values())
            config = scene.write(f"a{i}.yaml", f"""
node: a{i}
controllers: [{addresses}]
state: {scene.folder}/state-a{i}
inventory: {{cpu: 4, memory: 4GiB, devices: 0}}
kill_workers_at_exit: true
""")
            scene.start(f"a{i}", [program, "agent", "--config", str(config)])
        witness = scene.folder / "witness"
        witness.mkdir()
        submit(controllers.url(leader), "steady", 4, witness)
        running = lambda name, job: phase_of(controllers.url(name), job) == "Running"
        wait_for("the job runs", lambda: running(leader, "default.steady"))
        wait_for("all four have started", lambda: len(started(witness)) == 4)

        # A leader that is killed.
        killed_at = time.monotonic()
        scene.kill(leader)
        second = wait_for("another leads", lambda: controllers.leading(but=leader))
        print(f"takeover after SIGKILL of the leader: {time.monotonic() - killed_at:.2f} s")
        wait_for("the job runs under it", lambda: running(second, "default.steady"))
        print(f"all reconciled: {time.monotonic() - killed_at:.2f} s")
        controllers.start(leader)

        # A leader that stands still, and comes back when another leads.
        stopped_at = time.monotonic()
        scene.programs[second].send_signal(signal.SIGSTOP)
        third = wait_for("another leads", lambda: controllers.leading(but=second))
        print(f"takeover after SIGSTOP of the leader: {time.monotonic() - stopped_at:.2f} s")
        scene.programs[second].send_signal(signal.SIGCONT)
        wait_for("the deposed one says that it does not lead",
                 lambda: controllers.admission(second) == "following")
        late = call(f"{controllers.url(second)}/api/v1/jobs/default.steady/stop", "POST", b"")
        assert late[0] in (200, 307, 503), late  # 200: the client was sent on to the leader.
        if late[0] == 200:
            raise AssertionError(f"a deposed leader took a request: {late}")
        wait_for("the job runs under the third", lambda: running(third, "default.steady"))

        # A member of etcd that dies; the others carry on.
        scene.kill("m0")
        now = wait_for("somebody leads still", controllers.leading)
        later = scene.folder / "later"
        later.mkdir()
        submit(controllers.url(now), "later", 1, later)
        wait_for("a new job runs", lambda: running(now, "default.later"))

        restarted = {rank: n for rank, n in started(witness).items() if n != 1}
        assert not restarted, f"workers were started again: {restarted}"
        check_nobody_twice(witness)
        for i in (1, 2):
            scene.programs[f"a{i}"].terminate()
        for i in (1, 2):
            wait_for("the agents end", lambda: scene.programs[f"a{i}"].poll() is not None)


def started(witness):
    """How often each rank was started."""
    counts = {}
    for word, rank, _, _ in witness_lines(witness):
        if word == "start":
            counts[rank] = counts.get(rank, 0) + 1
    return counts


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
