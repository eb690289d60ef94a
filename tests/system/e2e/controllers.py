"""Controllers on members of etcd, for scenes with several of them."""

import json
import os

from programs import call, own_port, own_ports, wait_for, witness_lines, witnessed


# For members of etcd: by themselves they collect garbage again and again while there is hardly any, and wake a
# thread for each processor.
LEAN_ETCD = {"GOGC": "400", "GOMAXPROCS": "1"}


class Members:
    """Three members of etcd on loopback."""

    def __init__(self, scene):
        self.scene = scene
        self.clients = {name: f"127.0.0.1:{own_port()}" for name in ("m0", "m1", "m2")}
        self.peers = {name: f"http://127.0.0.1:{own_port()}" for name in self.clients}
        self.cluster = ",".join(f"{name}={url}" for name, url in self.peers.items())
        self.life = ""  # Their folders of data end so.

    def data(self, name):
        return self.scene.folder / f"{name}{self.life}"

    def start(self):
        for name, client in self.clients.items():
            self.scene.start(name, [
                "etcd", "--name", name, "--data-dir", str(self.data(name)),
                "--listen-client-urls", f"http://{client}",
                "--advertise-client-urls", f"http://{client}",
                "--listen-peer-urls", self.peers[name],
                "--initial-advertise-peer-urls", self.peers[name],
                "--initial-cluster", self.cluster, "--heartbeat-interval", "100",
                "--election-timeout", "1000", "--log-level", "error"], env=os.environ | LEAN_ETCD)
        for client in self.clients.values():
            wait_for("etcd is healthy",
                     lambda: str(call(f"http://{client}/health")[1]).find("true") >= 0)


class Controllers:
    def __init__(self, scene, program, members, names=("c1", "c2", "c3"), settings="{}"):
        self.scene, self.program, self.names = scene, program, names
        self.http = {name: own_port() for name in names}
        self.agents = {name: own_port() for name in names}
        self.config = {name: scene.write(f"{name}.yaml", f"""
name: {name}
http_address: 127.0.0.1:{self.http[name]}
agents_address: 127.0.0.1:{self.agents[name]}
store: {{etcd_endpoints: [{", ".join(members.clients.values())}], etcd_prefix: /test, leader_lease: 2s}}
settings: {settings}
""") for name in names}

    def start(self, name):
        self.scene.start(name, [self.program, "controller", "--config", str(self.config[name])])

    def start_agent(self, name):
        """One of four processors and no devices."""
        addresses = ", ".join(f"127.0.0.1:{port}" for port in self.agents.values())
        config = self.scene.write(f"{name}.yaml", f"""
node: {name}
controllers: [{addresses}]
state: {self.scene.folder}/state-{name}
inventory: {{cpu: 4, memory: 4GiB, devices: 0, ports: {own_ports()}}}
kill_workers_at_exit: true
""")
        self.scene.start(name, [self.program, "agent", "--config", str(config)])

    def url(self, name):
        return f"http://127.0.0.1:{self.http[name]}"

    def admission(self, name):
        answer = call(f"{self.url(name)}/readyz", timeout=2)[1]
        return answer.get("admission") if isinstance(answer, dict) else None

    def leading(self, but=None):
        """The one that takes requests, or nothing."""
        open_now = [n for n in self.names if n != but and self.admission(n) == "open"]
        return open_now[0] if open_now else None


def submit(url, program, name, replicas, witness, cpu="100m"):
    job = {"name": name, "drain_grace": "2s",
           "roles": {"worker": {"replicas": replicas, "devices": 0, "cpu": cpu,
                                "memory": "16MiB", "command": witnessed(program, witness)}}}
    status, answer = call(f"{url}/api/v1/jobs", "POST", json.dumps(job).encode())
    assert status == 200, f"submission: {status} {answer}"


def started(witness):
    """How often each rank was started."""
    counts = {}
    for word, rank, _, _ in witness_lines(witness):
        if word == "start":
            counts[rank] = counts.get(rank, 0) + 1
    return counts
