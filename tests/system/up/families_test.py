"""What `orrery place --env` prints of a job is what its processes find, of every family: a job
that is placed on devices and on nodes runs under `orrery up`, and each process writes down its
environment.

Usage: families_test.py ORRERY_NODE ORRERY
"""

import json
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()

JOB = """\
jobs:
  - name: walker
    family: {family}
    roles:
      actor: {{placement: 0-3, cpu: 10m, command: {command}}}
      rollout: {{placement: "4-7:0-1", cpu: 10m, command: {command}}}
      agent: {{placement: {{node_group: node, placement: 0-1}}, cpu: 10m, command: {command}}}
"""
SIZES = {"actor": 4, "rollout": 2, "agent": 2}
# Nodes of this test lie on one host, each with a share of its ports.
OF_HOSTS = {"MASTER_ADDR", "MASTER_PORT", "AVAILABLE_ADDR_LIST", "AVAILABLE_PORT_LIST"}
# Of any worker of an agent (docs/worker_environment.md), and what /bin/sh adds.
OF_AGENTS = {"ORRERY_WORKER", "ORRERY_CALL_ADDRESS", "ORRERY_CALL_CERTIFICATE",
             "ORRERY_MEMBERSHIP", "ORRERY_SOCKET", "ORRERY_SERVER_URL",
             "ORRERY_SERVER_URL_FILE", "ORRERY_TOKEN",
             "ORRERY_WORKER_TOKEN", "PWD", "OLDPWD", "SHLVL", "_"}


class FamiliesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 4)
        cls.addClassCleanup(cls.cluster.close)

    def found(self, family):
        """The environment of each process, by role and index."""
        folder = self.cluster.folder / family
        folder.mkdir()
        command = f"'env -0 > {folder}/$ORRERY_ROLE-$ORRERY_LOCAL_RANK'"
        path = self.cluster.write(f"{family}.yaml", JOB.format(family=family, command=command))
        done = self.cluster.orrery("submit", path, "--wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        members = self.cluster.job("walker")
        done = self.cluster.orrery("delete", "walker")
        self.assertEqual(done.returncode, 0, done.stderr)
        out = {}
        for file in folder.iterdir():
            role, _, index = file.name.partition("-")
            out[role, int(index)] = dict(
                line.split("=", 1) for line in file.read_text().split("\0") if line)
        self.assertEqual(len(out), sum(SIZES.values()), members)
        return out

    def planned(self, family, role):
        scenario = self.cluster.write(
            "scenario.yaml", "cluster: {nodes: 2, devices_per_node: 4, gpu: MODEL}\n".replace(
                "MODEL", self.model) + JOB.format(family=family, command='["true"]'))
        done = subprocess.run([ORRERY, "place", scenario, "--env", role, "--json"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [one["variables"] for one in json.loads(done.stdout)[role]]

    def check(self, family):
        found = self.found(family)
        self.model = found["actor", 0].get("ACCELERATOR_MODEL", "gpu")
        for role, size in SIZES.items():
            planned = self.planned(family, role)
            self.assertEqual(len(planned), size)
            for index, variables in enumerate(planned):
                with self.subTest(family=family, role=role, index=index):
                    real = found[role, index]
                    self.assertEqual(
                        {name: real.get(name) for name in variables if name not in OF_HOSTS},
                        {name: value for name, value in variables.items()
                         if name not in OF_HOSTS})
                    self.assertEqual(
                        set(real) - set(variables) - OF_AGENTS - set(self.cluster.environment),
                        set())
                    for name in OF_HOSTS & set(variables):
                        self.assertIn(name, real)
        # Peers meet at the first of them, at a port that no other role has.
        if family in ("rlinf", "nemo_rl", "dlrover"):
            ports = {role: {found[role, i]["MASTER_PORT"] for i in range(size)}
                     for role, size in SIZES.items()}
            self.assertEqual(sorted(map(len, ports.values())), [1, 1, 1], ports)
            self.assertEqual(len(set.union(*ports.values())), 3, ports)

    def test_native(self):
        self.check("native")

    def test_torch(self):
        self.check("torch")

    def test_rlinf(self):
        self.check("rlinf")

    def test_nemo_rl(self):
        self.check("nemo_rl")

    def test_dlrover(self):
        self.check("dlrover")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
