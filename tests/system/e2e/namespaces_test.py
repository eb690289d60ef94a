"""Four hosts as network namespaces: a controller and three agents under mutual TLS. One host's link
is dropped: its workers are dead before they are started elsewhere, and it comes back.

Usage: namespaces_test.py ORRERY_NODE
"""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys

from programs import (Scene, WITNESSED, check_none_twice, skip, wait_for, witness_lines)

AGENTS = ["n1", "n2", "n3"]
CONTROLLER = "10.99.0.1"
PORT = 22101
LEASE, MARGIN = 3.0, 1.0


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """A switch and hosts, each a namespace of its own; gone at the end whatever happens."""

    def __init__(self, hosts):
        self.prefix = f"orrery{os.getpid()}"
        self.switch = f"{self.prefix}sw"
        self.made = []
        self.hosts = hosts

    def __enter__(self):
        try:
            self.add(self.switch)
            ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
            ip("-n", self.switch, "link", "set", "br0", "up")
            for name, address in self.hosts.items():
                self.add_host(name, address)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            skip(f"no network namespaces: {getattr(error, 'stderr', '') or error}")
        return self

    def __exit__(self, *_):
        for namespace in reversed(self.made):
            subprocess.run(["ip", "netns", "delete", namespace], check=False)

    def add(self, namespace):
        ip("netns", "add", namespace)
        self.made.append(namespace)

    def add_host(self, name, address):
        namespace = self.namespace(name)
        self.add(namespace)
        ip("-n", self.switch, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0",
           "netns", namespace)
        ip("-n", self.switch, "link", "set", f"to-{name}", "master", "br0", "up")
        ip("-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        ip("-n", namespace, "link", "set", "lo", "up")

    def namespace(self, name):
        return f"{self.prefix}{name}"

    def inside(self, name, command):
        return ["ip", "netns", "exec", self.namespace(name), *command]

    def link(self, name, state):
        """The cable between a host and the switch, pulled or plugged."""
        ip("-n", self.switch, "link", "set", f"to-{name}", state)


class Admin:
    """Asks a controller as an administrator, over TLS on its Unix socket."""

    class Connection(http.client.HTTPConnection):
        def __init__(self, path, tls):
            super().__init__("localhost", timeout=5)
            self.path, self.tls = path, tls

        def connect(self):
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(self.timeout)
            plain.connect(str(self.path))
            self.sock = self.tls.wrap_socket(plain, server_hostname="localhost")

    def __init__(self, path, pki):
        self.path = path
        self.tls = ssl.create_default_context(cafile=pki / "ca.pem")
        self.tls.load_cert_chain(pki / "admin-ann.pem", pki / "admin-ann.key")

    def ask(self, target, method="GET", body=None):
        """(status, JSON) of a call; (0, None) where no controller answers."""
        try:
            connection = Admin.Connection(self.path, self.tls)
            connection.request(method, target, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "null")
        except (OSError, ValueError, http.client.HTTPException):
            return 0, None


def main(program):
    if os.geteuid() != 0:
        skip("making network namespaces needs root")
    if shutil.which("ip") is None:
        skip("no ip (package iproute2)")
    hosts = {"ctl": CONTROLLER} | {name: f"10.99.0.{i + 11}" for i, name in enumerate(AGENTS)}
    with Scene("namespaces") as scene, Network(hosts) as network:
        pki = scene.folder / "pki"
        for words in (["init", str(pki), "--host", CONTROLLER],
                      ["agent", *AGENTS, "--dir", str(pki)],
                      ["admin", "ann", "--dir", str(pki)]):
            subprocess.run([program, "certs", *words], check=True, capture_output=True)
        http_socket = scene.folder / "http.sock"
        controller = scene.write("ctl.yaml", f"""
http_address: unix:{http_socket}
agents_address: {CONTROLLER}:{PORT}
tls: {{ca: {pki}/ca.pem, certificate: {pki}/controller.pem, key: {pki}/controller.key}}
store: {{sqlite: {scene.folder}/orrery.db}}
settings: {{node_lease: {LEASE:.0f}s, fence_margin: {MARGIN:.0f}s}}
""")
        scene.start("ctl", network.inside("ctl", [program, "controller", "--config",
                                                  str(controller)]))
        for name in AGENTS:
            config = scene.write(f"{name}.yaml", f"""
node: {name}
address: {hosts[name]}
controllers: ["{CONTROLLER}:{PORT}"]
tls: {{ca: {pki}/ca.pem, certificate: {pki}/agent-{name}.pem, key: {pki}/agent-{name}.key}}
state: {scene.folder}/state-{name}
inventory: {{cpu: 1, memory: 1GiB, devices: 0}}
kill_workers_at_exit: true
""")
            scene.start(name, network.inside(name, [program, "agent", "--config", str(config)]))

        admin = Admin(http_socket, pki)

        def node_states():
            status, answer = admin.ask("/api/v1/nodes")
            return {n["name"]: n for n in answer["nodes"]} if status == 200 else {}

        wait_for("all nodes are connected",
                 lambda: len([n for n in node_states().values() if n.get("connected")]) == 3)
        witness = scene.folder / "witness"
        witness.mkdir()
        job = {"name": "spread", "drain_grace": "1s", "unknown_deadline": "1s", "backoff_base": "100ms",
               # These ranks need no rendezvous: those that live go on beside one that moves.
               "rescale": "in_place",
               "roles": {"worker": {"replicas": 2, "devices": 0, "cpu": "1", "memory": "16MiB",
                                    "env": {"WITNESS": str(witness)},
                                    "command": ["/bin/bash", "-c", WITNESSED]}}}
        status, answer = admin.ask("/api/v1/jobs", "POST", json.dumps(job))
        assert status == 200, answer

        def members():
            status, answer = admin.ask("/api/v1/jobs/default.spread")
            if status != 200 or answer["phase"] != "Running":
                return None
            return {m["rank"]: m["node"] for m in answer["members"]}

        before = wait_for("the job runs", members)
        wait_for("both have started",
                 lambda: len([l for l in witness_lines(witness) if l[0] == "start"]) == 2)
        cut_rank, cut = sorted(before.items())[-1]
        other_rank = min(before)
        network.link(cut, "down")
        wait_for("the node is silent", lambda: node_states()[cut]["state"] == "silent")
        after = wait_for("the rank runs elsewhere",
                         lambda: (m := members()) and m[cut_rank] != cut and m)
        lines = wait_for("it has started there",
                         lambda: (l := [x for x in witness_lines(witness)
                                        if x[0] == "start" and x[1] == cut_rank]) and
                         len(l) == 2 and witness_lines(witness))
        old_pid, new_pid = [x[2] for x in lines if x[0] == "start" and x[1] == cut_rank]
        last_sign = max(x[3] for x in lines if x[2] == old_pid)
        first_sign = min(x[3] for x in lines if x[2] == new_pid)
        print(f"rank {cut_rank}: dead on {cut} {first_sign - last_sign:.2f} s before it started on "
              f"{after[cut_rank]}")
        assert first_sign > last_sign, "the rank ran twice at the same time"
        if os.path.exists(f"/proc/{old_pid}"):
            raise AssertionError(f"process {old_pid} of the node that was cut off lives")
        assert len([x for x in lines if x[0] == "start" and x[1] == other_rank]) == 1, (
            "the worker of a node that was never cut off was started again")

        network.link(cut, "up")
        wait_for("the node is back", lambda: node_states()[cut].get("connected"))
        job["name"], job["roles"]["worker"]["env"]["WITNESS"] = "again", str(witness / "again")
        (witness / "again").mkdir()
        job["roles"]["worker"]["replicas"] = 1
        status, answer = admin.ask("/api/v1/jobs", "POST", json.dumps(job))
        assert status == 200, answer
        wait_for("the node that came back is used", lambda: (
            (a := admin.ask("/api/v1/jobs/default.again")[1]) and a.get("phase") == "Running"
            and a["members"][0]["node"] == cut))
        check_none_twice(witness)
        for name in AGENTS:
            scene.programs[name].terminate()
        for name in AGENTS:
            wait_for("the agents end", lambda: scene.programs[name].poll() is not None)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
