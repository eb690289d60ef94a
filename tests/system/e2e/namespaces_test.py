"""Four hosts as network namespaces: a controller and three agents under mutual TLS. One host's link
is dropped: its workers are dead before they are started elsewhere, and it comes back.

Usage: namespaces_test.py ORRERY_NODE
"""

import json
import os
import subprocess
import sys

from network import Admin, Network, NoNamespaces
from programs import Scene, check_none_twice, skip, wait_for, witness_lines, witnessed

AGENTS = ["n1", "n2", "n3"]
CONTROLLER = "10.99.0.1"
PORT = 22101
LEASE, MARGIN = 3.0, 1.0


def main(program):
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
                                    "command": witnessed(program, witness)}}}
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
        job["name"], job["roles"]["worker"]["command"] = "again", witnessed(program, witness / "again")
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
    try:
        main(os.path.abspath(sys.argv[1]))
    except NoNamespaces as missing:
        skip(missing)
