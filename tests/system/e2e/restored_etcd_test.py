"""The journal in etcd is put back from a copy with the very commands of docs/stores.md, under agents
that have heard of later epochs: they come back and are used, and what came later is forgotten.

Usage: restored_etcd_test.py ORRERY_NODE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from controllers import Controllers, Members, started, submit
from programs import Scene, call, check_none_twice, phase_of, skip, wait_for, witness_lines

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/stores.md"


def documented(verb):
    """The words of the page's one command line with `etcdctl ... snapshot VERB`."""
    found = re.findall(rf"^ *ETCDCTL_API=3 (etcdctl .*\bsnapshot {verb} .*)$", PAGE.read_text(), re.M)
    assert len(found) == 1, f"{PAGE}: {len(found)} commands with snapshot {verb} found, one needed"
    return found[0].split()


def run(words, **values):
    """Runs a documented command with other values of the options named, which it must have."""
    for option, value in values.items():
        option = "--" + option.replace("_", "-")
        places = [i for i, word in enumerate(words) if word.startswith(option + "=")]
        assert len(places) == 1, f"{option} is not in {words}"
        words[places[0]] = f"{option}={value}"
    done = subprocess.run(words, check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "ETCDCTL_API": "3"})
    assert done.returncode == 0, f"{words}: {done.stdout}"


class Restored:
    def __init__(self, scene, program):
        self.scene = scene
        self.etcd = Members(scene)
        # Workers outlive the time that a restore takes.
        self.controllers = Controllers(scene, program, self.etcd, names=("c1", "c2"),
                                       settings="{node_lease: 2min}")
        self.copy = scene.folder / "orrery.snapshot"

    def url(self):
        return self.controllers.url(wait_for("a controller leads", self.controllers.leading))

    def epoch(self):
        """Of the leader; 0 where it has ended by now."""
        status, text = call(f"{self.url()}/metrics")
        return int(re.search(r"^orrery_epoch (\d+)$", text, re.M)[1]) if status == 200 else 0

    def standing(self):
        """State by node; nothing where the leader has stepped down by now."""
        status, answer = call(f"{self.url()}/api/v1/nodes")
        return {node["name"]: node["state"] for node in answer["nodes"]} if status == 200 else {}

    def have_heard_of(self, epoch):
        """Whether both agents have. To the leader a node is ready before that, for as long as its lease lasts."""
        return all(f"the controller of epoch {epoch} is there\n" in
                   (self.scene.folder / f"{name}.log").read_text() for name in ("a1", "a2"))

    def submit(self, name, replicas, cpu):
        witness = self.scene.folder / name
        witness.mkdir()
        submit(self.url(), self.controllers.program, name, replicas, witness, cpu)
        wait_for(f"{name} runs", lambda: phase_of(self.url(), f"default.{name}") == "Running")
        wait_for("its workers have started", lambda: len(started(witness)) == replicas)
        return witness

    def back_up(self):
        words = documented("save")
        run([str(self.copy) if word == "orrery.snapshot" else word for word in words],
            endpoints=self.etcd.clients["m0"])

    def restore(self):
        """Of a cluster whose controllers and members have ended."""
        self.etcd.life = "-restored"
        for name in self.etcd.clients:
            words = documented("restore")
            run([str(self.copy) if word == "orrery.snapshot" else word for word in words],
                data_dir=self.etcd.data(name), name=name, initial_cluster=self.etcd.cluster,
                initial_advertise_peer_urls=self.etcd.peers[name])

    def take_over(self, times):
        """One leader is killed after the other."""
        for _ in range(times):
            leader = wait_for("a controller leads", self.controllers.leading)
            self.scene.kill(leader)
            wait_for("another leads", lambda but=leader: self.controllers.leading(but=but))
            self.controllers.start(leader)


def has_ended(witness):
    """Whether no worker of the job is there any more."""
    started_as = [pid for word, _, pid, _ in witness_lines(witness) if word == "start"]
    return started_as and not any(pathlib.Path(f"/proc/{pid}").exists() for pid in started_as)


def main(program):
    for tool, package in (("etcd", "etcd-server"), ("etcdctl", "etcd-client")):
        if shutil.which(tool) is None:
            skip(f"no {tool} (package {package})")
    with Scene("restored") as scene:
        cluster = Restored(scene, program)
        cluster.etcd.start()
        for name in cluster.controllers.names:
            cluster.controllers.start(name)
        cluster.url()
        for name in ("a1", "a2"):
            cluster.controllers.start_agent(name)
        wait_for("both nodes are there", lambda: len(cluster.standing()) == 2)
        kept = cluster.submit("kept", 2, "500m")
        cluster.back_up()  # While a controller leads: the copy has its key.
        before = wait_for("its epoch", cluster.epoch)
        cluster.take_over(3)
        lost = cluster.submit("lost", 2, "500m")
        heard_of = wait_for("its epoch", cluster.epoch)
        # Whichever comes back first is to tell of the last epoch.
        wait_for("both nodes have heard of the last leader", lambda: cluster.have_heard_of(heard_of))
        assert heard_of >= before + 3, (before, heard_of)

        for name in cluster.controllers.names:
            scene.programs[name].terminate()
        for name in cluster.controllers.names:
            wait_for("the controllers end", lambda: scene.programs[name].poll() is not None)
        for name in cluster.etcd.clients:
            scene.kill(name)
        cluster.restore()
        cluster.etcd.start()
        for name in cluster.controllers.names:
            cluster.controllers.start(name)

        wait_for("nodes have told of the later epoch", lambda: cluster.epoch() > heard_of)
        wait_for("both nodes are used again",
                 lambda: list(cluster.standing().values()) == ["ready", "ready"])
        events = call(f"{cluster.url()}/api/v1/events")[1]["events"]
        behind = [event for event in events if event["name"] == "JournalIsBehind"]
        assert behind and f"epoch {heard_of}" in behind[0]["message"], events
        wait_for("what the copy does not know is ended", lambda: has_ended(lost))
        assert call(f"{cluster.url()}/api/v1/jobs/default.lost")[0] == 404
        wait_for("what it knows runs",
                 lambda: phase_of(cluster.url(), "default.kept") == "Running")
        # One worker for each node: all of what is left there.
        fresh = cluster.submit("fresh", 2, "3")
        assert started(kept) == {0: 1, 1: 1}, f"workers were started again: {started(kept)}"
        for witness in (kept, lost, fresh):
            check_none_twice(witness)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
