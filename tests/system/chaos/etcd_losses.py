"""Members of etcd that are killed and come back, all of them at once too; and the whole of etcd lost with its
disks and put back from a copy, with the commands that docs/stores.md prints.

A member that is away ends nothing, nor do all for less than a lease. After a restore, jobs that the copy
does not know are forgotten and what runs of them ends; of those that it knows, what ran at the copy and
still does runs on, and what started or ended meanwhile may start once more.
"""

import pathlib
import shutil
import sys

from daemons import call, own_port
from trial import Skipped, Trial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from controllers import LEAN_ETCD  # pylint: disable=wrong-import-position
from restored_etcd_test import documented, run  # pylint: disable=wrong-import-position

AGENTS = ["n1", "n2"]
CONTROLLERS = ["c1", "c2"]
LEASE_S, MARGIN_S = 60, 5  # Workers outlive the time that a restore takes.
AWAY_S, MISSED_S = (1.0, 8.0), (2.0, 8.0)  # Missed: between a copy and the loss.
AWAY_S_FEW, MISSED_S_FEW = (1.0, 4.0), (2.0, 4.0)  # Of the short form.


class EtcdLosses(Trial):
    STEPS = (3, 25)

    def __init__(self, program, seed, number, is_long):
        super().__init__(program, seed, number, is_long)
        self.clients = {name: own_port() for name in ("m0", "m1", "m2")}
        self.peers = {name: f"http://127.0.0.1:{own_port()}" for name in self.clients}
        self.cluster = ",".join(f"{name}={url}" for name, url in self.peers.items())
        self.copy = self.daemons.folder / "copy"
        self.life = 0        # Of their disks.
        self.again = {}      # By rank: starts that a restore accounts for.
        self.forgotten = []  # Jobs that the last copy did not know.

    def data(self, name):
        return self.daemons.folder / f"{name}-{self.life}"

    def add_members(self):
        for name, port in self.clients.items():
            self.daemons.add_program(name, [
                "etcd", "--name", name, "--data-dir", str(self.data(name)),
                "--listen-client-urls", f"http://127.0.0.1:{port}",
                "--advertise-client-urls", f"http://127.0.0.1:{port}",
                "--listen-peer-urls", self.peers[name],
                "--initial-advertise-peer-urls", self.peers[name],
                "--initial-cluster", self.cluster, "--heartbeat-interval", "100",
                "--election-timeout", "1000", "--log-level", "error"], LEAN_ETCD)

    def build(self):
        for tool, package in (("etcd", "etcd-server"), ("etcdctl", "etcd-client")):
            if shutil.which(tool) is None:
                raise Skipped(f"no {tool} (package {package})")
        self.add_members()
        endpoints = ", ".join(f"127.0.0.1:{port}" for port in self.clients.values())
        for name in CONTROLLERS:
            self.daemons.add_controller(
                name, f"{{etcd_endpoints: [{endpoints}], etcd_prefix: /test, leader_lease: 2s}}",
                f"{{node_lease: {LEASE_S}s, fence_margin: {MARGIN_S}s, takeover_grace: {LEASE_S}s, "
                "retain_finished_max: 200}")
        for name in AGENTS:
            self.daemons.add_agent(name)

    def healthy(self):
        return all("true" in str(call(f"http://127.0.0.1:{port}/health", timeout=2)[1])
                   for port in self.clients.values())

    def accounted(self, rank):
        return self.again.get((rank.job, rank.rank), 0)

    def disturb(self):
        kind = self.random.choices(["member", "leader and member", "all members", "restore"],
                                   [5, 3, 2, 1])[0]
        if sum(self.done.values()) == self.number - 1 and not self.done["restore"]:
            kind = "restore"
        if kind == "restore":
            self.lose_and_restore()
        else:
            self.take_away(kind)
        self.done[kind] += 1
        self.watch_until("members to be healthy", self.healthy)
        self.watch_until("all nodes to be ready", self.daemons_ready)
        submitted = len(self.jobs.submitted)
        self.watch_until("a job to be taken", lambda: len(self.jobs.submitted) > submitted)
        self.watch_until("all that runs to go on", self.progress_of_all(self.running_ranks()))

    def take_away(self, kind):
        members = list(self.clients) if kind == "all members" else [self.random.choice(list(self.clients))]
        leader = self.daemons.leading() if kind == "leader and member" else None
        length = self.random.uniform(*(AWAY_S if self.is_long else AWAY_S_FEW))
        self.note(f"{kind}: {', '.join(members)} {leader or ''} away for {length:.1f} s")
        for name in members:
            self.daemons.kill(name, stays_away=True)
        if leader:
            self.daemons.kill(leader)
        self.watch(length)
        self.daemons.start(*members)

    def lose_and_restore(self):
        self.jobs.retires = False  # What ends from here on may begin again.
        known = list(self.jobs.submitted)
        before = {(rank.job, rank.rank): rank for rank in self.jobs.witnesses.read()}
        self.copy.unlink(missing_ok=True)
        run([str(self.copy) if word == "orrery.snapshot" else word for word in documented("save")],
            endpoints=f"127.0.0.1:{self.clients['m0']}")
        self.note(f"copy, with {len(known)} jobs")
        self.watch(self.random.uniform(*(MISSED_S if self.is_long else MISSED_S_FEW)))
        self.daemons.end(*CONTROLLERS)
        for name in self.clients:
            self.daemons.kill(name, stays_away=True)
            shutil.rmtree(self.data(name))
        self.account_for(before)
        self.life += 1
        for name in self.clients:
            run([str(self.copy) if word == "orrery.snapshot" else word for word in documented("restore")],
                data_dir=self.data(name), name=name, initial_cluster=self.cluster,
                initial_advertise_peer_urls=self.peers[name])
        self.add_members()
        self.forgotten = self.jobs.forget_after(len(known))
        self.daemons.start(*self.clients, *CONTROLLERS)
        self.note(f"restored; {len(self.forgotten)} jobs are forgotten")
        self.watch_until("what the copy does not know to be ended", self.forgotten_have_ended)
        for name in self.forgotten:
            assert name not in (self.jobs.phases() or {}), f"{name} is known after the restore"
            self.jobs.witnesses.archive(name)
        self.jobs.retires = True

    def account_for(self, before):
        """Ranks that are not what they were at the copy may start again."""
        for rank in self.jobs.witnesses.read():
            key = (rank.job, rank.rank)
            then = before.get(key)
            if not then or not then.runs or rank.ends or len(then.starts) != len(rank.starts):
                self.again[key] = self.again.get(key, 0) + 1

    def forgotten_have_ended(self):
        jobs = {f"default.{name}" for name in self.forgotten}
        return not any(pathlib.Path(f"/proc/{start.worker}").exists()
                       for rank in self.jobs.witnesses.read() if rank.job in jobs
                       for start in rank.starts)
