#!/usr/bin/env python3
"""Steps of jobs over links of a known rate, measured and predicted, as Markdown.

    tools/bench/shaped_links.py BIN [--rate 16] [--steps 60] [--rounds 3]

Four hosts under two leaf switches, all network namespaces of this machine, with a token bucket of --rate
Mbit/s at each end of each link, that between the leaves too. The real controller and agents run there, under
mutual TLS, and jobs of orrery-worker-static, whose steps are a small product and a ring's all-reduce.
`orrery calibrate` measures one pair of ranks; from the network that it finds `orrery sim` predicts, at fidelity L2, the
other cases: four ranks, ranks in an order that crosses the leaves each time, jobs that share the link between them, a
slow link, a slow uplink. Compared is the time of a step.

BIN is the folder of the built programs. Needs root, ip and tc; exit status 77 where they are missing.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/system/e2e"), str(ROOT / "tests/system/up")]
from network import Network, NoNamespaces, ip  # pylint: disable=wrong-import-position
from programs import Scene, skip, wait_for  # pylint: disable=wrong-import-position

CONTROLLER = "10.98.0.1"
AGENTS_PORT, HTTP_PORT = 22101, 22100
NODES = ["n0", "n1", "n2", "n3"]
PER_LEAF = 2
SIZE = 256                  # Of the matrices: the all-reduce has 4 SIZE^2 bytes.
BYTES = 4 * SIZE * SIZE
BUCKET = "4600b"            # What a link passes on at once after a pause: three packets. A real one passes on one.

# Of each case its jobs, as the nodes of their ranks in order, and the links that have another part of the rate.
CASES = {
    "a pair under one leaf": ([[0, 1]], {}),
    "a pair across the leaves": ([[1, 2]], {}),
    "four ranks": ([[0, 1, 2, 3]], {}),
    "two pairs, each under its leaf": ([[0, 1], [2, 3]], {}),
    "two pairs across the leaves": ([[0, 2], [1, 3]], {}),
    "three ranks, one link at a half": ([[0, 1, 2]], {"n1": 0.5}),
    "two pairs across, the uplink at a half": ([[0, 2], [1, 3]], {"uplink": 0.5}),
    "two pairs across, the uplink doubled": ([[0, 2], [1, 3]], {"uplink": 2}),
    "four ranks, the uplink at a quarter": ([[0, 1, 2, 3]], {"uplink": 0.25}),
}


class ShapedNetwork(Network):
    """Two leaves joined by one link; hosts of the second leaf are those that come last."""

    def __init__(self, hosts):
        super().__init__(hosts)
        self.ends = {}  # Link -> both of its ends, each a namespace and an interface.

    def __enter__(self):
        super().__enter__()
        try:
            ip("-n", self.switch, "link", "add", "br1", "type", "bridge")
            ip("-n", self.switch, "link", "set", "br1", "up")
            ip("-n", self.switch, "link", "add", "up0", "type", "veth", "peer", "name", "up1")
            for end, bridge in (("up0", "br0"), ("up1", "br1")):
                ip("-n", self.switch, "link", "set", end, "master", bridge, "up")
            for name in NODES[PER_LEAF:]:
                ip("-n", self.switch, "link", "set", f"to-{name}", "master", "br1")
        except subprocess.CalledProcessError as error:
            self.__exit__()
            raise NoNamespaces(f"no network namespaces: {error.stderr}") from error
        self.ends["uplink"] = [(self.switch, "up0"), (self.switch, "up1")]
        for name in NODES:
            self.ends[name] = [(self.switch, f"to-{name}"), (self.namespace(name), "eth0")]
        return self

    def shape(self, rate_mbit):
        """Each link's rate each way is rate_mbit[link]."""
        for link, ends in self.ends.items():
            rate = rate_mbit[link] * 1e6
            for namespace, interface in ends:
                done = subprocess.run(
                    ["tc", "-n", namespace, "qdisc", "replace", "dev", interface, "root", "tbf", "rate",
                     f"{rate:.0f}bit", "burst", BUCKET, "limit", "200000b"],
                    check=False, capture_output=True, text=True)
                if done.returncode != 0:
                    raise NoNamespaces(f"no token bucket: {done.stderr.strip()}")


class Cluster:
    """A controller and an agent on each node."""

    def __init__(self, binaries, scene, network, hosts):
        self.binaries, self.scene, self.network = binaries, scene, network
        node = str(binaries / "orrery-node")
        self.pki = scene.folder / "pki"
        for words in (["init", str(self.pki), "--host", CONTROLLER], ["agent", *NODES, "--dir", str(self.pki)],
                      ["admin", "ann", "--dir", str(self.pki)]):
            subprocess.run([node, "certs", *words], check=True, capture_output=True)
        config = scene.write("ctl.yaml", f"""
http_address: {CONTROLLER}:{HTTP_PORT}
agents_address: {CONTROLLER}:{AGENTS_PORT}
tls: {{ca: {self.pki}/ca.pem, certificate: {self.pki}/controller.pem, key: {self.pki}/controller.key}}
store: {{sqlite: {scene.folder}/orrery.db}}
""")
        scene.start("ctl", network.inside("ctl", [node, "controller", "--config", str(config)]))
        for count, name in enumerate(NODES, 1):
            config = scene.write(f"{name}.yaml", f"""
node: {name}
address: {hosts[name]}
controllers: ["{CONTROLLER}:{AGENTS_PORT}"]
tls: {{ca: {self.pki}/ca.pem, certificate: {self.pki}/agent-{name}.pem, key: {self.pki}/agent-{name}.key}}
state: {scene.folder}/state-{name}
inventory: {{cpu: 8, memory: 8GiB, devices: 1, device_model: gpu}}
kill_workers_at_exit: true
""")
            scene.start(name, network.inside(name, [node, "agent", "--config", str(config)]))
            # One after the other, so that node i is the one called n<i>.
            wait_for(f"{name} is connected", lambda count=count: self.connected() == count)

    def connected(self):
        try:
            answer = json.loads(self.orrery("get", "nodes", "--json"))
        except AssertionError:
            return 0  # The controller is about to start.
        return len([node for node in answer["nodes"] if node.get("connected")])

    def orrery(self, *words):
        """Output of a verb against this controller."""
        pki = self.pki
        command = self.network.inside("ctl", [
            str(self.binaries / "orrery"), *words, "--server", f"https://{CONTROLLER}:{HTTP_PORT}", "--ca",
            str(pki / "ca.pem"), "--cert", str(pki / "admin-ann.pem"), "--key", str(pki / "admin-ann.key")])
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def run(self, case, jobs, steps):
        """Runs jobs at once. Seconds of a step: from the first worker's beginning to the end of the last one, over the steps."""
        names = []
        for number, nodes in enumerate(jobs):
            names.append(f"{case}-{number}")
            work = f"{self.binaries}/orrery-worker-static --size {SIZE} --steps {steps} --checkpoint-every {steps} --report-every {steps}"
            times = f"{self.scene.folder}/{names[-1]}.$ORRERY_RANK"
            job = {"name": names[-1], "roles": {"worker": {
                "placement": places(nodes), "cpu": "1", "memory": "64MiB",
                "command": ["/bin/sh", "-c", f"date +%s.%N > {times}; {work} && date +%s.%N >> {times}"]}}}
            self.orrery("submit", str(self.scene.write(f"{names[-1]}.yaml", json.dumps(job))))

        def over():
            told = json.loads(self.orrery("get", "jobs", *names, "--json"))["jobs"]
            phases = [job["phase"] for job in told]
            assert "Failed" not in phases, told
            return all(phase == "Succeeded" for phase in phases)

        wait_for(f"jobs of {case} end", over, patience=600)
        times = [[float(line) for line in path.read_text().split()] for name in names
                 for path in self.scene.folder.glob(f"{name}.[0-9]")]
        return (max(end for _, end in times) - min(begin for begin, _ in times)) / steps


def places(nodes):
    return ",".join(str(node) for node in nodes)


def predict(binaries, folder, network, jobs, parts, product_s):
    """Seconds of a step of jobs that run at once, simulated. `network`: as it was learned, `product_s`: of a step's product alone."""
    scenario = {
        "fidelity": "L2", "world": "sim",
        "cluster": {"nodes": len(NODES), "gpus_per_node": 1, "network": {
            "topology": "fat-tree", "nodes_per_leaf": PER_LEAF, "oversubscription": PER_LEAF,
            "nic_bandwidth": f"{network['bandwidth']:.0f}B/s",
            "link_bandwidth": f"{network['bandwidth'] * parts.get('uplink', 1):.0f}B/s",
            "latency": network["latency"]}},
        "jobs": [{"name": f"job-{number}", "roles": {"worker": {"placement": places(nodes)}},
                  "work": {"duration": f"{1000 * product_s}s", "step": {"units": product_s, "gradient": f"{BYTES}B"}}}
                 for number, nodes in enumerate(jobs)],
        "faults": [{"kind": "bandwidth", "at": "0s", "node": NODES.index(name), "factor": part}
                   for name, part in parts.items() if name in NODES],
    }
    path = folder / "predicted.yaml"
    path.write_text(json.dumps(scenario))
    done = subprocess.run([str(binaries / "orrery"), "sim", str(path), "--json"], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stdout + done.stderr)
    return json.loads(done.stdout)["makespan_s"] / 1000


def learned_network(text):
    """Bandwidth in bytes a second and latency, of a calibration."""
    found = re.search(r"nic_bandwidth: ([0-9.]+)(k|M|G)?B/s, latency: ([0-9.]+[mun]?s)", text)
    return {"bandwidth": float(found[1]) * {None: 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]], "latency": found[3]}


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binaries", type=pathlib.Path)
    options.add_argument("--rate", type=float, default=16, help="Mbit/s of each link")
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--rounds", type=int, default=3, help="runs of each case; their median is what was measured")
    given = options.parse_args()
    binaries = given.binaries.resolve()
    if shutil.which("tc") is None:
        skip("no tc (package iproute2)")
    hosts = {"ctl": CONTROLLER} | {name: f"10.98.0.{i + 11}" for i, name in enumerate(NODES)}
    errors = []
    with Scene("shaped") as scene, ShapedNetwork(hosts) as network:
        full = dict.fromkeys([*NODES, "uplink"], given.rate)
        network.shape(full)
        cluster = Cluster(binaries, scene, network, hosts)
        cluster.orrery("calibrate", "--ranks", "1,2", "--starts", "1", "--rounds", "10", "--size", str(2 * SIZE), "--devices", "1",
                       "--worker", str(binaries / "orrery-worker-static"), "--out", str(scene.folder / "measured.yaml"))
        learned = learned_network((scene.folder / "measured.yaml").read_text())
        product_s = cluster.run("alone", [[0]], 20 * given.steps)
        print(f"Links of {given.rate:g} Mbit/s; learned of a pair: {learned['bandwidth'] / 125000:.2f} Mbit/s, latency {learned['latency']}; "
              f"a product takes {1000 * product_s:.1f} ms.\n")
        print("| case | predicted | measured, median | least, most | error |\n| --- | --- | --- | --- | --- |")
        for number, (case, (jobs, parts)) in enumerate(CASES.items()):
            network.shape({link: rate * parts.get(link, 1) for link, rate in full.items()})
            runs = [cluster.run(f"case{number}-{turn}", jobs, given.steps) for turn in range(given.rounds)]
            predicted_s, measured_s = predict(binaries, scene.folder, learned, jobs, parts, product_s), statistics.median(runs)
            errors.append(abs(predicted_s - measured_s) / measured_s)
            print(f"| {case} | {predicted_s:.4f} s | {measured_s:.4f} s | {min(runs):.4f}, {max(runs):.4f} s | "
                  f"{100 * (predicted_s - measured_s) / measured_s:+.1f} % |", flush=True)
    print(f"\nErrors: median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoNamespaces as missing:
        skip(missing)
