"""DIJob manifests, written after the samples and end-to-end tests of DI-orchestrator (both forms),
each submitted under orrery up: it runs with its outcome, or is refused by a field's name and why.

Usage: manifests_test.py PROGRAM
"""

import json
import pathlib
import sys
import unittest
import urllib.request

from cluster import Cluster, may_mount, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
MANIFESTS = pathlib.Path(__file__).resolve().parent / "manifests"

# What runs: the job, how it ends, lines of its workers' logs by role.
RUNS = {
    "sample_tasks.yaml": ("cartpole-tasks", "Succeeded", {
        "learner": "kept\nkept\nlearner 0 attaches to 127.", "evaluator": "evaluator attaches to 127.",
        "collector": "collector 2 attaches to 127."}),
    "sample_config_map.yaml": ("cartpole-configured", "Succeeded",
                               {"learner": "configured with batch_size: 64"}),
    "sample_group.yaml": ("cartpole-group", "Succeeded",
                          {"worker": "ditask --parallel-workers=2 --ports="}),
    "sample_group_alone.yaml": ("cartpole-alone", "Succeeded", {"worker": "--node-ids=1\n"}),
    "sample_group_mesh.yaml": ("cartpole-mesh", "Succeeded", {"worker": "--node-ids=0"}),
    "e2e_tasks_complete.yaml": ("complete", "Succeeded", {"learner": "nodes 127.",
                                                          "collector": "nodes 127."}),
    "e2e_tasks_untyped.yaml": ("untyped", "Succeeded", {"serve": "serve at 127.",
                                                        "play": ", play at 127."}),
    "e2e_tasks_fails.yaml": ("fails", "Failed", {}),
    "e2e_group_any_failure.yaml": ("group-fails", "Failed", {}),
    "e2e_group_no_replicas.yaml": ("group-none", "Succeeded", {"worker": "--node-ids=0"}),
}

# These mount folders at paths of the node, for which an agent needs rights.
MOUNTS = ["sample_tasks.yaml", "sample_config_map.yaml"]

# What does not: words of the one line that is said.
REFUSED = {
    "sample_v1alpha1.yaml": ["manifest.apiVersion: is 'diengine.opendilab.org/v1alpha1'",
                             "write its coordinator, collector and learner as spec.tasks"],
    "e2e_tasks_repeated_name.yaml": ["role a", "twice"],
    "e2e_tasks_collector_twice.yaml": ["role two: a second task of type collector"],
    "e2e_tasks_unnamed.yaml": ["name"],
    "e2e_group_bounds.yaml": ["role worker", "max_replicas"],
}

# What goes on until it is stopped: scaled by HTTP.
SCALED = {"e2e_tasks_scale.yaml": "scaled", "e2e_tasks_scale_preemptible.yaml": "scaled-preemptible"}


class ManifestsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 1)
        cls.addClassCleanup(cls.cluster.close)

    def test_each_manifest_has_an_outcome_here(self):
        self.assertEqual(sorted(path.name for path in MANIFESTS.iterdir()),
                         sorted([*RUNS, *REFUSED, *SCALED]))

    def test_what_runs(self):
        for name, (job, phase, lines) in RUNS.items():
            with self.subTest(name):
                if name in MOUNTS and not may_mount():
                    self.skipTest("mounts are for agents that may")
                done = self.cluster.orrery("submit", MANIFESTS / name, "--wait")
                self.assertEqual(done.returncode, 0 if phase == "Succeeded" else 1, done.stderr)
                self.assertIn(f"{job}: {phase}", done.stderr)
                for role, line in lines.items():
                    log = "".join(
                        self.cluster.orrery("logs", job, "--role", role, "--rank", str(rank)).stdout
                        for rank in range(2))
                    self.assertIn(line, log)

    def test_what_is_overruled_is_said(self):
        done = self.cluster.orrery("submit", MANIFESTS / "sample_tasks.yaml", "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("restartPolicy: warning: is OnFailure and taken for Never", done.stderr)

    def test_what_is_refused(self):
        for name, words in REFUSED.items():
            with self.subTest(name):
                done = self.cluster.orrery("submit", MANIFESTS / name)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stdout, "")
                lines = [line for line in done.stderr.splitlines() if "warning: " not in line]
                self.assertEqual(len(lines), 1, done.stderr)
                for word in words:
                    self.assertIn(word, lines[0])

    def replicas(self, job, method, count):
        request = urllib.request.Request(
            f"{self.cluster.environment['ORRERY_SERVER']}/v2alpha1/default.{job}/replicas",
            json.dumps({"replicas": count}).encode(), method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            self.assertTrue(json.load(answer)["success"])

    def ready_of(self, job):
        """Ready workers by role; nothing while the job is not Running."""
        status = self.cluster.job(job)
        if status.get("phase") != "Running":
            return None
        return [role["ready"] for role in status["roles"]]

    def test_what_is_scaled(self):
        for name, job in SCALED.items():
            with self.subTest(name):
                done = self.cluster.orrery("submit", MANIFESTS / name)
                self.assertEqual(done.returncode, 0, done.stderr)
                wait_until(f"{job} to run", lambda job=job: self.ready_of(job) == [1, 2])
                self.replicas(job, "POST", 1)
                wait_until(f"{job} to grow", lambda job=job: self.ready_of(job) == [2, 3])
                self.replicas(job, "DELETE", 1)
                wait_until(f"{job} to shrink", lambda job=job: self.ready_of(job) == [1, 2])
                # A file that says what the job is changes nothing; scaled away, it brings it back.
                applied = self.cluster.orrery("apply", MANIFESTS / name)
                self.assertIn(f"{job}: unchanged (Running)", applied.stdout, applied.stderr)
                self.cluster.orrery("scale", job, "collector=1")
                wait_until(f"{job} to shrink", lambda job=job: self.ready_of(job) == [1, 1])
                applied = self.cluster.orrery("apply", MANIFESTS / name)
                self.assertIn("roles.collector.replicas from 1 to 2", applied.stdout,
                              applied.stderr)
                wait_until(f"{job} to be as its file", lambda job=job: self.ready_of(job) == [1, 2])
                self.cluster.orrery("delete", job)
                wait_until(f"{job} to be gone", lambda job=job: not self.cluster.job(job))
                self.assertNotIn(job, self.cluster.orrery("get", "--names").stdout.split())


PLACED = """\
name: placed
priority: normal
take_turns: [[actor, rollout]]
roles:
  actor: {command: exec sleep 600, placement: "0-1", cpu: 50m, memory: 32MiB}
  rollout: {command: exec sleep 600, placement: "0-1", cpu: 50m, memory: 32MiB}
"""


class PlacedTest(unittest.TestCase):
    """Jobs with placements on nodes that joined without a declaration, and names used again."""

    def setUp(self):
        self.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 1)
        self.addCleanup(self.cluster.close)

    def test_the_controller_knows_the_nodes(self):
        path = self.cluster.write("placed.yaml", PLACED)
        done = self.cluster.orrery("submit", path, "--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Nodes stand in the order in which their agents came.
        self.assertRegex(done.stdout, r"\Aplaced: would be taken\nplaced: starts at once on "
                                      r"(node-1, node-2|node-2, node-1)[,\n]")
        wrong = self.cluster.write("wrong.yaml", PLACED.replace('"0-1"', '"0-2"', 1))
        done = self.cluster.orrery("submit", wrong)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("wrong.yaml:5: job placed: roles.actor.placement: found", done.stderr)
        self.assertEqual(self.cluster.orrery("apply", path).stdout, "placed: submitted\n")
        wait_until("it to run", lambda: self.cluster.job("placed").get("phase") == "Running")
        self.assertEqual(self.cluster.orrery("apply", path).stdout, "placed: unchanged (Running)\n")
        self.cluster.write("placed.yaml", PLACED.replace("normal", "high"))
        self.assertEqual(self.cluster.orrery("apply", path).stdout, "placed: changed (priority)\n")
        self.cluster.write("placed.yaml", PLACED.replace("sleep 600", "sleep 60", 1))
        done = self.cluster.orrery("apply", path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("default.placed: differs in roles.actor.command, which", done.stderr)

    def test_a_name_means_its_newest_job(self):
        quick = self.cluster.write("quick.yaml", "name: a\ncommand: [\"true\"]\ndevices: 0\n"
                                                 "cpu: 50m\nmemory: 32MiB\n")
        self.assertEqual(self.cluster.orrery("submit", quick, "--wait").returncode, 0)
        slow = self.cluster.write("slow.yaml", "name: a\ncommand: exec sleep 600\ndevices: 0\n"
                                               "cpu: 50m\nmemory: 32MiB\n")
        self.assertEqual(self.cluster.orrery("submit", slow).returncode, 0)
        wait_until("it to run", lambda: self.cluster.job("a").get("phase") == "Running")
        shown = self.cluster.json("get", "a")["jobs"]
        self.assertEqual([job["phase"] for job in shown], ["Running"])
        every = self.cluster.json("get", "a", "--all")["jobs"]
        self.assertEqual([job["phase"] for job in every], ["Succeeded", "Running"])
        self.assertEqual(self.cluster.orrery("delete", "a").returncode, 0)
        wait_until("it to be gone", lambda: self.cluster.orrery("get", "--all").stdout == "")
        for words in [("describe", "a"), ("logs", "a"), ("delete", "a")]:
            self.assertIn("no job default.a", self.cluster.orrery(*words).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
