"""Links cut and healed: a controller and agents on hosts of their own (network namespaces), under
mutual TLS. A cut that lasts longer than a lease ends what runs behind it, and it starts elsewhere; one
that is much shorter than the fence ends nothing."""

import pathlib
import subprocess
import sys

from trial import Skipped, Trial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
from network import Admin, Network, NoNamespaces  # pylint: disable=wrong-import-position

AGENTS = ["n1", "n2", "n3", "n4"]
CONTROLLER, PORT = "10.98.0.1", 22101
LEASE_S, MARGIN_S = 8, 2
# A heartbeat comes each fifth of a lease, so the fence may be 4.4 s away when a cut begins, and what was
# sent meanwhile comes as late again as the cut was long.
SHORT_S, LONG_S = (0.2, 1.2), (9.0, 14.0)
LONG_S_FEW = (9.0, 10.5)  # Of the short form.


class Cuts(Trial):
    STEPS = (4, 25)
    # Ranks need no rendezvous: those that live go on beside one that moves.
    MORE = "rescale: in_place\nunknown_deadline: 1s\n"

    def __init__(self, program, seed, number, is_long):
        super().__init__(program, seed, number, is_long)
        self.hosts = {"ctl": CONTROLLER} | {name: f"10.98.0.{i + 11}" for i, name in enumerate(AGENTS)}
        self.network = Network(self.hosts)
        self.admin = None
        self.cut = {}         # By node, where the cut is a long one: the starts before it, by rank.
        self.explained = set()  # (job, rank, which start): it was ended by a cut, or may have been.
        # Of the short form: a short cut, a long one of nodes, a long one of the controller.
        self.kinds = ["short", self.random.choice(["node", "nodes"]), "controller"]
        self.random.shuffle(self.kinds)

    def build(self):
        try:
            self.network.__enter__()
        except NoNamespaces as missing:
            raise Skipped(str(missing)) from missing
        folder, program = self.daemons.folder, self.daemons.program
        pki = folder / "pki"
        for words in (["init", pki, "--host", CONTROLLER], ["agent", *AGENTS, "--dir", pki],
                      ["admin", "ann", "--dir", pki]):
            subprocess.run([program, "certs", *map(str, words)], check=True, capture_output=True)
        socket, self.journal = folder / "http.sock", folder / "journal.db"
        self.daemons.add("ctl", "controller", f"""
http_address: unix:{socket}
agents_address: {CONTROLLER}:{PORT}
tls: {{ca: {pki}/ca.pem, certificate: {pki}/controller.pem, key: {pki}/controller.key}}
store: {{sqlite: {self.journal}}}
settings: {{node_lease: {LEASE_S}s, fence_margin: {MARGIN_S}s, takeover_grace: {LEASE_S}s}}
""", inside=self.network.inside("ctl", []))
        for name in AGENTS:
            self.daemons.add(name, "agent", f"""
node: {name}
address: {self.hosts[name]}
controllers: ["{CONTROLLER}:{PORT}"]
tls: {{ca: {pki}/ca.pem, certificate: {pki}/agent-{name}.pem, key: {pki}/agent-{name}.key}}
state: {folder}/state-{name}
inventory: {{cpu: 4, memory: 4GiB, devices: 0}}
kill_workers_at_exit: true
""", inside=self.network.inside(name, []))
        self.admin = Admin(socket, pki)

    def ask(self, path, body=None):
        status, document = self.admin.ask(path, "POST" if body else "GET", body)
        assert status in (0, 200, 503), f"{path}: {status} {document}"
        return document if status == 200 else None

    def daemons_ready(self):
        document = self.ask("/api/v1/nodes")
        nodes = {node["name"]: node for node in document["nodes"]} if document else {}
        return all(nodes.get(name, {}).get("connected") and nodes[name]["state"] == "ready"
                   for name in AGENTS)

    def accounted(self, rank):
        return sum((job, number) == (rank.job, rank.rank) for job, number, _ in self.explained)

    def while_it_lasts(self):
        """What runs on a node that is cut off for long ends there, also what was under way to it."""
        for rank in self.jobs.witnesses.read():
            for which, start in enumerate(rank.starts):
                before = self.cut.get(start.node, {}).get((rank.job, rank.rank), 0)
                if start.node in self.cut and which >= before - 1:
                    self.explained.add((rank.job, rank.rank, which))

    def draw(self):
        done = sum(self.done.values())
        if not self.is_long and done < len(self.kinds):
            return self.kinds[done]
        return self.random.choices(["short", "node", "nodes", "controller"], [4, 4, 2, 1])[0]

    def disturb(self):
        kind = self.draw()
        if kind == "short":
            hosts = self.random.sample(list(self.hosts), self.random.randint(1, 3))
        else:
            hosts = {"node": 1, "nodes": 2}.get(kind)
            hosts = self.random.sample(AGENTS, hosts) if hosts else ["ctl"]
        if kind != "short":
            known = {(rank.job, rank.rank): len(rank.starts) for rank in self.jobs.witnesses.read()}
            self.cut = {name: known for name in (AGENTS if kind == "controller" else hosts)}
        for host in hosts:
            self.network.link(host, "down")
        lasts_s = SHORT_S if kind == "short" else LONG_S if self.is_long else LONG_S_FEW
        length = self.random.uniform(*lasts_s)
        self.note(f"{kind}: {', '.join(hosts)} cut for {length:.1f} s")
        self.watch(length)
        for host in hosts:
            self.network.link(host, "up")
        self.note("healed")
        self.watch_until("all nodes to be back", self.daemons_ready)
        self.look()
        self.cut = {}
        self.done[kind] += 1
        self.watch_until("all that runs to go on", self.progress_of_all(self.running_ranks()))

    def clear(self):
        self.network.__exit__()
