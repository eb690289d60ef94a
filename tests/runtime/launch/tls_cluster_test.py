"""A cluster with certificates, from `certs init` to a job, with the real programs.

A peer that shows no certificate, one of another authority, of another node or of another role is refused, and
so is plaintext where other machines could reach it. A worker may ask about its own job, by its token, as
long as it runs.

Usage: tls_cluster_test.py ORRERY_NODE
"""

import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "system/up"))
from own_ports import own_ports  # pylint: disable=wrong-import-position

ORRERY = str(pathlib.Path(sys.argv[1]).resolve())
PATIENCE_S = 60

JOB = """
name: hello
roles:
  main: {replicas: 2, devices: 0, cpu: 100m, memory: 1MiB, command: "true"}
"""

# Asks the controller with what its environment gives it, tells the answers, and stays.
TALK = """
import json, os, ssl, sys, time, urllib.error, urllib.request
server, job = os.environ["ORRERY_SERVER_URL"], "default.talk"

def ask(method, path, body=None, token=os.environ["ORRERY_TOKEN"]):
    request = urllib.request.Request(server + path, method=method,
                                     data=None if body is None else json.dumps(body).encode())
    if token:
        request.add_header("Authorization", "Bearer " + token)
    try:
        context = ssl.create_default_context(cafile=os.environ["ORRERY_CA"])
        return urllib.request.urlopen(request, context=context, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code

answers = {
    "members": ask("GET", f"/api/v1/jobs/{job}/members"),
    "replicas": ask("GET", f"/v2alpha1/{job}/replicas"),
    "profilings": ask("POST", f"/v2alpha1/{job}.1/profilings", {"loss": 1.5}),
    "members of another job": ask("GET", "/api/v1/jobs/default.hello/members"),
    "members without a token": ask("GET", f"/api/v1/jobs/{job}/members", token=None),
    "members with a wrong token": ask("GET", f"/api/v1/jobs/{job}/members",
                                      token=os.environ["ORRERY_TOKEN"][:-1] + "x"),
    "jobs": ask("GET", "/api/v1/jobs"),
    "stop": ask("POST", f"/api/v1/jobs/{job}/stop", {}),
}
with open(sys.argv[1] + ".new", "w") as out:
    json.dump({"answers": answers, "server": server, "token": os.environ["ORRERY_TOKEN"]}, out)
os.replace(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""

TALKING_JOB = """
name: talk
roles:
  main: {{replicas: 1, devices: 0, cpu: 100m, command: [{python}, {script}, {out}]}}
"""


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        self.daemons = []
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("ORRERY_")}

    def run(self, *words, **more):
        return subprocess.run([ORRERY, *words], capture_output=True, text=True, timeout=PATIENCE_S,
                              cwd=self.folder, env={**self.environment, **more}, check=False)

    def expect(self, code, *words, **more):
        done = self.run(*words, **more)
        assert done.returncode == code, (words, done)
        return done

    def spawn(self, name, *words):
        log = open(self.folder / f"{name}.log", "wb")
        daemon = subprocess.Popen([ORRERY, *words], stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, cwd=self.folder, env=self.environment)
        self.daemons.append(daemon)
        return daemon

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def wait_for(self, holds, what):
        begun = time.monotonic()
        while not holds():
            if time.monotonic() - begun > PATIENCE_S:
                for path in sorted(self.folder.glob("*.log")):
                    print(f"--- {path.name}\n{path.read_text(errors='replace')[-2000:]}")
                raise AssertionError(f"{what} did not come within {PATIENCE_S} s")
            time.sleep(0.15)  # Most looks start a program.

    def stop(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


def make_certificates(cluster):
    cluster.expect(0, "certs", "init", "--host", "127.0.0.1")
    cluster.expect(0, "certs", "agent", "n[0-1]")
    cluster.expect(0, "certs", "user", "ann")
    cluster.expect(0, "certs", "init", "other", "--host", "127.0.0.1")
    cluster.expect(0, "certs", "agent", "n2", "--dir", "other")
    token = cluster.expect(0, "certs", "token", "--role", "user", "--name", "ann").stdout
    (cluster.folder / "token").write_text(token)
    (cluster.folder / "wrong").write_text("orrery_wrong\n")


def start_controller(cluster):
    cluster.spawn("controller", "controller", "--set", "http_address=127.0.0.1:0",
                  "--set", "agents_address=127.0.0.1:0", "--set", "store.sqlite=journal.db",
                  "--set", "tls={ca: certs/ca.pem, certificate: certs/controller.pem, "
                  "key: certs/controller.key}", "--set", "tokens_file=certs/tokens")
    cluster.wait_for(lambda: "agents at" in cluster.log("controller"), "the controller")
    words = cluster.log("controller").split()
    return words[words.index("HTTP") + 2].rstrip(","), words[words.index("agents") + 2]


def start_agent(cluster, agents, name, certificate, authority="certs"):
    log = f"agent-{name}-{pathlib.Path(certificate).name}"
    cluster.spawn(log, "agent", "--set", f"node={name}", "--set", f"controllers=[{agents}]",
                  "--set", f"state=state-{log}", "--set", "kill_workers_at_exit=true",
                  "--set", f"inventory={{devices: 0, ports: {own_ports()}}}",
                  "--set", f"tls={{ca: {authority}/ca.pem, certificate: {certificate}.pem, "
                  f"key: {certificate}.key}}")
    return log


def strangers_are_refused(cluster, http, agents):
    wrong_node = start_agent(cluster, agents, "n9", "certs/agent-n1")
    wrong_role = start_agent(cluster, agents, "ann", "certs/user-ann")
    start_agent(cluster, agents, "n2", "other/agent-n2", "other")  # Gets no word through.
    cluster.wait_for(lambda: "the certificate is for agent n1" in cluster.log(wrong_node),
                     "the refusal of another node's certificate")
    cluster.wait_for(lambda: "the certificate is for user ann" in cluster.log(wrong_role),
                     "the refusal of a user as a node")
    ca = ("--server", http, "--ca", "certs/ca.pem")
    for why, words in {
        "no credentials": ca,
        "a wrong token": (*ca, "--token-file", "wrong"),
        "another authority's controller": ("--server", http, "--ca", "other/ca.pem",
                                           "--token-file", "token"),
        "plaintext": ("--server", http.replace("https", "http"), "--token-file", "token"),
    }.items():
        done = cluster.run("get", "nodes", *words)
        assert done.returncode != 0 and "n0" not in done.stdout, (why, done)
    unknown = cluster.expect(5, "get", "nodes", "--server", http, "--ca", "other/ca.pem").stderr
    assert "--ca" in unknown and "orrery up" not in unknown, unknown


def friends_work(cluster, http):
    (cluster.folder / "job.yaml").write_text(JOB)
    by_token = {"ORRERY_SERVER": http, "ORRERY_CA": "certs/ca.pem", "ORRERY_TOKEN_FILE": "token"}
    cluster.wait_for(
        lambda: "n0" in (found := cluster.run("get", "nodes", **by_token).stdout) and "n1" in found,
        "two nodes")
    cluster.expect(0, "submit", "--wait", "job.yaml", **by_token)
    names = cluster.expect(0, "get", "nodes", "--server", http, "--ca", "certs/ca.pem", "--cert",
                           "certs/user-ann.pem", "--key", "certs/user-ann.key").stdout
    assert "n0" in names and "n1" in names and "n2" not in names and "n9" not in names, names
    cluster.expect(0, "certs", "token", "--role", "user", "--name", "ann", "--revoke")
    assert cluster.run("get", "nodes", **by_token).returncode != 0, "a revoked token is good"


def workers_ask_about_their_own_job(cluster, http):
    out = cluster.folder / "answers.json"
    (cluster.folder / "talk.py").write_text(TALK)
    (cluster.folder / "talk.yaml").write_text(TALKING_JOB.format(
        python=sys.executable, script=cluster.folder / "talk.py", out=out))
    as_ann = ("--server", http, "--ca", "certs/ca.pem", "--cert", "certs/user-ann.pem", "--key",
              "certs/user-ann.key")
    cluster.expect(0, "submit", "talk.yaml", *as_ann)
    cluster.wait_for(out.exists, "a worker's answers")
    said = json.loads(out.read_text())
    assert said["answers"] == {
        "members": 200, "replicas": 200, "profilings": 200, "members of another job": 403,
        "members without a token": 401, "members with a wrong token": 401, "jobs": 403,
        "stop": 403}, said

    def status():
        context = ssl.create_default_context(cafile=cluster.folder / "certs/ca.pem")
        request = urllib.request.Request(said["server"] + "/api/v1/jobs/default.talk/members")
        request.add_header("Authorization", "Bearer " + said["token"])
        try:
            return urllib.request.urlopen(request, context=context, timeout=PATIENCE_S).status
        except urllib.error.HTTPError as error:
            return error.code

    assert status() == 200
    cluster.expect(0, "stop", "talk", *as_ann)
    cluster.wait_for(lambda: status() == 401, "the end of the token with its worker")


def plaintext_stays_here(cluster):
    for words in (("controller", "--set", "http_address=0.0.0.0:0"),
                  ("controller", "--set", "agents_address=0.0.0.0:0"),
                  ("agent", "--set", "controllers=[10.0.0.1:22101]")):
        done = cluster.expect(2, *words)
        assert "mutual TLS is needed" in done.stderr, done


def only_controllers_serve(cluster):
    done = cluster.expect(2, "controller", "--set", "http_address=127.0.0.1:0", "--set", "agents_address=127.0.0.1:0",
                          "--set", "tls={ca: certs/ca.pem, certificate: certs/user-ann.pem, key: certs/user-ann.key}")
    assert "certificate of role user" in done.stderr and "orrery certs controller" in done.stderr, done


def an_agent_of_another_authority_than_its_own_is_told(cluster):
    done = cluster.expect(2, "agent", "--set", "node=n0", "--set", "controllers=[127.0.0.1:1]", "--set", "state=mixed",
                          "--set", "inventory={devices: 0}", "--set",
                          "tls={ca: other/ca.pem, certificate: certs/agent-n0.pem, key: certs/agent-n0.key}")
    assert "certs/agent-n0.pem: was signed by another authority, 'Orrery" in done.stderr, done
    assert "other/ca.pem, needed one that this has signed" in done.stderr, done


def an_unsound_file_of_tokens_is_told(cluster, http):
    context = ssl.create_default_context(cafile=cluster.folder / "certs/ca.pem")
    request = urllib.request.Request(http + "/api/v1/jobs", headers={
        "Authorization": "Bearer " + (cluster.folder / "token").read_text().strip()})

    def answer():
        try:
            return urllib.request.urlopen(request, context=context, timeout=PATIENCE_S).status, ""
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    tokens = cluster.folder / "certs/tokens"
    sound = tokens.read_text()
    tokens.write_text(sound + "garbage\n")
    status, text = answer()
    assert status == 503 and "file of tokens is not sound" in text, (status, text)
    assert "tokens: every one is refused" in cluster.log("controller"), cluster.log("controller")
    tokens.write_text(sound)
    assert answer() == (200, "")


def main():
    with tempfile.TemporaryDirectory(prefix="orrery-tls-") as name:
        cluster = Cluster(pathlib.Path(name))
        try:
            make_certificates(cluster)
            plaintext_stays_here(cluster)
            only_controllers_serve(cluster)
            an_agent_of_another_authority_than_its_own_is_told(cluster)
            http, agents = start_controller(cluster)
            for node in ("n0", "n1"):
                start_agent(cluster, agents, node, f"certs/agent-{node}")
            strangers_are_refused(cluster, http, agents)
            an_unsound_file_of_tokens_is_told(cluster, http)
            friends_work(cluster, http)
            workers_ask_about_their_own_job(cluster, http)
        finally:
            cluster.stop()
    print("ok")


if __name__ == "__main__":
    main()
