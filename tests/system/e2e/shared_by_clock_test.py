"""A policy that shares by the clock, under the real programs: its cycle comes though no real instant
falls on a multiple of the period.

Two equal elastic jobs on four devices: the second comes when the first holds all of them, and nothing
happens any more but the time. When the second is gone the first grows again, and once more after a
node was away.

Usage: shared_by_clock_test.py ORRERY_NODE
"""

import json
import pathlib
import sys

from programs import Scene, call, own_port, own_ports, wait_for

AGENTS = ["n1", "n2"]


class Cluster:
    def __init__(self, scene, program):
        self.scene, self.program = scene, program
        self.agents, self.http = own_port(), own_port()
        self.url = f"http://127.0.0.1:{self.http}"
        config = scene.write("ctl.yaml", f"""
name: ctl
http_address: 127.0.0.1:{self.http}
agents_address: 127.0.0.1:{self.agents}
store: {{sqlite: {scene.folder}/journal.db}}
policy: {{name: fit, period: 2s}}
settings: {{node_lease: 3s, fence_margin: 1s, takeover_grace: 3s}}
""")
        scene.start("ctl", [program, "controller", "--config", str(config)])
        for name in AGENTS:
            scene.write(f"{name}.yaml", f"""
node: {name}
address: 127.0.0.1
controllers: ["127.0.0.1:{self.agents}"]
state: {scene.folder}/state-{name}
inventory: {{cpu: 4, memory: 1GiB, devices: 2, device_model: gpu, ports: {own_ports()}}}
kill_workers_at_exit: true
""")
            self.start(name)

    def start(self, name):
        self.scene.start(name, [self.program, "agent", "--config",
                                str(self.scene.folder / f"{name}.yaml")])

    def end_agents(self):
        """As an operator does, so that no worker outlives the test."""
        for name in AGENTS:
            self.scene.programs[name].terminate()
        for name in AGENTS:
            self.scene.programs[name].wait()

    def submit(self, name):
        job = {"name": name, "preemptible": True, "drain_grace": "1s",
               "roles": {"worker": {"replicas": {"min": 1, "max": 4}, "devices": 1, "cpu": "10m",
                                    "memory": "16MiB", "command": ["sleep", "600"]}}}
        status, answer = call(f"{self.url}/api/v1/jobs", "POST", json.dumps(job).encode())
        assert status == 200, f"submission: {status} {answer}"

    def running(self, name):
        """How many workers of it are ready where it is Running; else 0."""
        status, answer = call(f"{self.url}/api/v1/jobs/{name}")
        if status != 200 or answer.get("phase") != "Running":
            return 0
        return answer["ready_replicas"]

    def await_workers(self, what, **wanted):
        def as_wanted():
            return all(self.running(name) == number for name, number in wanted.items())
        try:
            wait_for(what, as_wanted)
        except AssertionError as late:
            found = {name: call(f"{self.url}/api/v1/jobs/{name}")[1] for name in wanted}
            raise AssertionError(f"{late}; found {json.dumps(found)}") from None


def main(program):
    with Scene("clock") as scene:
        cluster = Cluster(scene, program)
        wait_for("both agents to be known", lambda: len(
            (lambda a: a.get("nodes", []) if isinstance(a, dict) else [])(
                call(f"{cluster.url}/api/v1/nodes")[1])) == len(AGENTS))
        cluster.submit("first")
        cluster.await_workers("the first job on all devices", first=4)
        cluster.submit("second")
        cluster.await_workers("both jobs on half of the devices each", first=2, second=2)
        status, answer = call(f"{cluster.url}/api/v1/jobs/second", "DELETE")
        assert status == 200, f"deletion: {status} {answer}"
        cluster.await_workers("the first job on all devices again", first=4)
        scene.kill("n2")
        cluster.await_workers("the first job on the devices of the node that is left", first=2)
        cluster.start("n2")
        cluster.await_workers("the first job on all devices after the node's return", first=4)
        cluster.end_agents()


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()))
