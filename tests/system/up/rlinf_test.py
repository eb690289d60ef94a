"""A document of RLinf is submitted as it is: its processes find what `orrery place --env` prints.

Usage: rlinf_test.py ORRERY_NODE ORRERY ROOT
"""

import json
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster
from families_test import OF_AGENTS, OF_HOSTS

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()
EMBODIED = pathlib.Path(sys.argv[3]).resolve() / "docs/examples/rlinf/embodiment"

# Components on several kinds of nodes, with an environment of their own.
GROUPS = """\
cluster:
  num_nodes: 2
  node_groups:
    - {label: train, node_ranks: 0}
    - label: generate
      node_ranks: 1
      env_configs:
        - {node_ranks: 1, env_vars: [{ENGINE: fast}], python_interpreter_path: INTERPRETER}
  component_placement:
    actor: {node_group: train, placement: 0-3}
    rollout: {node_group: generate, placement: "0-3:0-1"}
    agent: {node_group: node, placement: "0-1:0-3"}
actor: {group_name: ActorGroup}
"""


WORKER = """\
import os, sys
name = os.environ["GROUP_NAME"] + "-" + os.environ["RANK"]
with open(os.path.join(sys.argv[1], name), "w") as out:
    out.write("\\0".join(key + "=" + value for key, value in os.environ.items()
                            if "PYENV" not in key))  # Of a launcher that may stand for python3.
"""


# RLinf takes it, and leaves two of the actor's six processes without a part of the model.
LEFT_OVER = """\
runner: {task_type: reasoning}
cluster: {num_nodes: 2, component_placement: {"actor,rollout,reward": 0-5}}
actor: {model: {tensor_model_parallel_size: 2, pipeline_model_parallel_size: 2}}
"""


class RlinfTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 4,
                              environment={"EMBODIED_PATH": str(EMBODIED)})
        cls.addClassCleanup(cls.cluster.close)

    def found(self, folder):
        """The environment of each process, by what it calls its group and its rank there."""
        out = {}
        for file in folder.iterdir():
            variables = dict(line.split("=", 1) for line in file.read_text().split("\0") if line)
            out[variables["GROUP_NAME"], int(variables["RANK"])] = variables
        return out

    def planned(self, document, component, *words):
        done = subprocess.run([ORRERY, "place", document, "--env", component, "--json", *words],
                              capture_output=True, text=True, check=False,
                              env=self.cluster.environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [one["variables"] for one in json.loads(done.stdout)[component]]

    def check(self, document, sizes, command, changes=(), marks=frozenset()):
        folder = self.cluster.folder / pathlib.Path(document).stem
        folder.mkdir()
        done = self.cluster.orrery("submit", document, "--wait", "--command",
                                   command.format(folder=folder),
                                   *(word for change in changes for word in ("--set", change)))
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        found = self.found(folder)
        self.assertEqual(len(found), sum(sizes.values()))
        job = pathlib.Path(document).stem.replace("_", "-")
        of_document = {"CLUSTER_NAMESPACE", "ORRERY_JOB", "ACCELERATOR_MODEL"}
        for component, size in sizes.items():
            planned = self.planned(document, component, "--nodes", "4:2", *changes)
            self.assertEqual(len(planned), size)
            for variables in planned:
                real = found[variables["GROUP_NAME"], int(variables["RANK"])]
                with self.subTest(component=component, rank=variables["RANK"]):
                    left_out = OF_HOSTS | of_document
                    self.assertEqual({k: real.get(k) for k in variables if k not in left_out},
                                     {k: v for k, v in variables.items() if k not in left_out})
                    self.assertEqual(real["ORRERY_JOB"], f"default.{job}")
                    self.assertEqual(set(real) - set(variables) - OF_AGENTS
                                     - set(self.cluster.environment) - marks, set())
        return found

    def test_a_composed_document_runs_on_the_controllers_nodes(self):
        self.check(EMBODIED / "config/maze_ppo.yaml", {"actor": 8, "rollout": 4, "env": 4},
                   "env -0 > {folder}/$GROUP_NAME-$RANK", ["cluster.num_nodes=2"])

    def test_groups_of_nodes_have_variables_and_an_interpreter(self):
        # Stands for another Python: it runs the node's, and leaves a mark.
        interpreter = self.cluster.write("other-python", '#!/bin/sh\nASKED=yes exec python3 "$@"\n')
        interpreter.chmod(0o755)
        document = self.cluster.write("groups.yaml", GROUPS.replace("INTERPRETER", str(interpreter)))
        script = self.cluster.write("worker.py", WORKER)
        found = self.check(document, {"actor": 4, "rollout": 2, "agent": 4},
                           f"python3 {script} {{folder}}", marks={"ASKED"})
        for (group, _), variables in found.items():
            self.assertEqual((variables.get("ENGINE"), variables.get("ASKED")),
                             ("fast", "yes") if group == "rollout" else (None, None), group)

    def test_what_is_probably_not_meant_is_told_and_taken(self):
        document = self.cluster.write("left-over.yaml", LEFT_OVER)
        submitted = self.cluster.orrery("submit", document, "--command", "true")
        self.addCleanup(self.cluster.orrery, "delete", "left-over")
        simulated = subprocess.run([ORRERY, "sim", document, "--nodes", "4:2"],
                                   capture_output=True, text=True, check=False)
        for done in (submitted, simulated):
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stderr, r"left-over\.yaml:2: warning: .*2 of them are left over")
        self.assertEqual(self.cluster.job("left-over")["name"], "default.left-over")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
