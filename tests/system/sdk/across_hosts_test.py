"""Calls between hosts, which are network namespaces, under TLS: by a driver inside the job and by one
with a certificate of its own outside. Then a host is cut off while it is called.

Usage: across_hosts_test.py ORRERY_NODE ROOT
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests/system/e2e"))

from network import Network, NoNamespaces  # noqa: E402: from the folder that the line above names
from programs import Scene, skip, wait_for  # noqa: E402

AGENTS = {f"n{i}": f"10.98.0.{i + 10}" for i in (1, 2, 3)}
CONTROLLER = "10.98.0.1"
SDK = ROOT / "runtime/sdk/python"

# What a driver outside does: with a certificate it is called as it likes, without it is refused.
OUTSIDE = """\
import json, sys, orrery
url, ca, certificate = sys.argv[1:]
driver = orrery.Driver.connect(url, "spread", ca=ca, certificate=certificate, name="outside")
answer = driver.peer("worker", 1).call("who", deadline=30)
stranger = orrery.Driver.connect(url, "spread", ca=ca, name="stranger")
try:
    stranger.peer("worker", 1).call("who", deadline=30)
    refusal = ""
except orrery.NotAuthorised as refused:
    refusal = str(refused)
print(json.dumps([answer, refusal]))
"""


def start_cluster(program, scene, network):
    pki = scene.folder / "pki"
    for words in (["init", str(pki), "--host", CONTROLLER], ["agent", *AGENTS, "--dir", str(pki)],
                  ["user", "ann", "--dir", str(pki)]):
        subprocess.run([program, "certs", *words], check=True, capture_output=True)
    both = pki / "ann.both"
    both.write_text((pki / "user-ann.pem").read_text() + (pki / "user-ann.key").read_text())
    config = scene.write("ctl.yaml", f"""
http_address: {CONTROLLER}:22100
agents_address: {CONTROLLER}:22101
tls: {{ca: {pki}/ca.pem, certificate: {pki}/controller.pem, key: {pki}/controller.key}}
store: {{sqlite: {scene.folder}/orrery.db}}
settings: {{node_lease: 2s, fence_margin: 500ms}}
""")
    scene.start("ctl", network.inside("ctl", [program, "controller", "--config", str(config)]))
    for name, address in AGENTS.items():
        config = scene.write(f"{name}.yaml", f"""
node: {name}
address: {address}
controllers: ["{CONTROLLER}:22101"]
tls: {{ca: {pki}/ca.pem, certificate: {pki}/agent-{name}.pem, key: {pki}/agent-{name}.key}}
state: {scene.folder}/state-{name}
inventory: {{cpu: 3, memory: 1GiB, devices: 0}}
kill_workers_at_exit: true
""")
        scene.start(name, network.inside(name, [program, "agent", "--config", str(config)]))
    return pki, both


def main(program):
    with Scene("across") as scene, Network({"ctl": CONTROLLER} | AGENTS) as network:
        pki, both = start_cluster(program, scene, network)
        client = [program, "--server", f"https://{CONTROLLER}:22100", "--ca", f"{pki}/ca.pem",
                  "--cert", f"{pki}/user-ann.pem", "--key", f"{pki}/user-ann.key"]

        def ask(verb, *words):
            command = [client[0], verb, *words, *client[1:]]
            return subprocess.run(network.inside("ctl", command), capture_output=True, text=True,
                                  check=False)

        wait_for("all nodes are connected", lambda: (
            (a := ask("get", "nodes", "--json")).returncode == 0
            and len([n for n in json.loads(a.stdout)["nodes"] if n["connected"]]) == 3))
        told = scene.folder / "told"
        told.mkdir()
        os.mkfifo(told / "go")
        # Two cores for each of the workers: no node has room for both.
        role = {"devices": 0, "memory": "16MiB", "env": {"PYTHONPATH": str(SDK)}}
        job = {"name": "spread", "drain_grace": "1s", "unknown_deadline": "1s", "backoff_base": "100ms",
               "roles": {
                   "worker": role | {"replicas": 2, "cpu": 2, "completion": "follower",
                                     "command": ["python3", str(HERE / "counting_worker.py")]},
                   "lead": role | {"cpu": 1, "command": [
                       "python3", str(HERE / "leading_worker.py"), str(told)]}}}
        path = scene.write("spread.yaml", json.dumps(job))
        done = ask("submit", str(path))
        assert done.returncode == 0, done.stderr

        def told_of(name):
            wait_for(name, (told / name).exists)
            return json.loads((told / name).read_text())

        before = told_of("before")
        done = subprocess.run(network.inside("ctl", [
            sys.executable, "-c", OUTSIDE, f"https://{CONTROLLER}:22100", f"{pki}/ca.pem", str(both)]),
            capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(SDK)})
        assert done.returncode == 0, done.stderr
        answer, refusal = json.loads(done.stdout)
        assert answer["caller"] == "driver:outside" and answer["pid"] == before[1]["pid"], answer
        assert refusal, "a caller without a certificate was told of the workers"

        members = json.loads(ask("describe", "spread", "--json").stdout)["members"]
        node = {(m["role"], m["local_rank"]): m["node"] for m in members}
        lead = node["lead", 0]
        far = next(rank for rank in (0, 1) if node["worker", rank] != lead)
        assert node["worker", 0] != node["worker", 1], node
        (told / "go").write_bytes(b"go")
        wait_for("the call", (told / "at-gate").exists)
        network.link(node["worker", far], "down")
        kinds = told_of("cut")
        assert kinds[far] in ("Timeout", "WorkerLost"), kinds
        after = told_of("after")
        assert after[far]["pid"] != before[far]["pid"], "it was not started elsewhere"
        assert after[1 - far]["pid"] == before[1 - far]["pid"], "a survivor was started again"
        print(f"cut off while it was called: {kinds[far]}; then {after[far]['worker']} answered")
        tls = told_of("TLS")
        assert "ORRERY_CALL_CERTIFICATE" in tls, "calls between hosts were not encrypted"
        wait_for("the job ends", lambda: json.loads(
            ask("describe", "spread", "--json").stdout)["phase"] == "Succeeded")


if __name__ == "__main__":
    try:
        main(os.path.abspath(sys.argv[1]))
    except NoNamespaces as missing:
        skip(missing)
