"""Workers of a real cluster that say whose fault their failure was, and what is charged for it.

Usage: blame_test.py PROGRAM ROOT
"""

import pathlib
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "tests/system/up")]

from cluster import Cluster, wait_until  # noqa: E402: from the folder that the line above names

JOB = """\
name: NAME
drain_grace: 2s
backoff_base: 10ms
backoff_limit: BACKOFF
failover: {worker_failures_max: FAILURES}
roles:
  trainer:
    replicas: REPLICAS
    devices: 0
    cpu: 10m
    env: {PYTHONPATH: SDK}
    command: [python3, WORKER, FOLDER, HOW]
"""

ACTOR = """\
  actor:
    replicas: 1
    devices: 0
    cpu: 10m
    env: {PYTHONPATH: SDK}
    command: [python3, WORKER, FOLDER, stays]
"""


class BlameTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2)
        cls.addClassCleanup(cls.cluster.close)

    def submit(self, name, how, replicas=1, backoff=3, failures=-1, actor=True):
        folder = self.cluster.folder / name
        folder.mkdir()
        text = JOB + (ACTOR if actor else "")
        for word, value in (("NAME", name), ("HOW", how), ("REPLICAS", replicas),
                            ("BACKOFF", backoff), ("FOLDER", folder),
                            ("SDK", ROOT / "runtime/sdk/python"),
                            ("WORKER", HERE / "blaming_worker.py"),
                            ("failover: {worker_failures_max: FAILURES}\n",
                             f"failover: {{worker_failures_max: {failures}}}\n"
                             if failures >= 0 else "")):
            text = text.replace(word, str(value))
        done = self.cluster.orrery("submit", self.cluster.write(f"{name}.yaml", text))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.cluster.orrery, "delete", name)
        return folder

    def ended(self, name, phase):
        job = wait_until(f"{name} to be {phase}",
                         lambda: (lambda job: job.get("phase") in ("Succeeded", "Failed") and job)(
                             self.cluster.job(name)))
        self.assertEqual(job["phase"], phase, job)
        return job

    def describe(self, name):
        done = self.cluster.orrery("describe", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_blamed_node_is_charged_and_left(self):
        folder = self.submit("lemon", "node", backoff=0, actor=False)
        job = self.ended("lemon", "Succeeded")
        self.assertEqual((job["restarts"], job["node_losses"]), (0, 1))
        first = (folder / "trainer-0").read_text()
        self.assertNotEqual((folder / "trainer-0.again").read_text(), first)
        failure = job["failures"][-1]
        self.assertEqual((failure["reason"], failure["blame"], failure["blamed"],
                          failure["diagnosis"], failure["exit_code"]),
                         ("NodeBlamed", "node", first, "row remapping failed", 3))
        self.assertIn("it blames its node: row remapping failed", self.describe("lemon"))

    def test_a_blamed_peer_is_charged_and_goes_on(self):
        self.submit("named", "peer", replicas=2, failures=1)
        job = self.ended("named", "Failed")
        self.assertEqual(job["reason"], "FailureLimitReached")
        # Each trainer has failed once; it is the actor that they name whose second failure it is.
        self.assertIn("worker_failures_max is passed: 2 failures of one worker, 1 is allowed",
                      job["message"])
        self.assertEqual({failure["local_rank"] for failure in job["failures"]}, {0, 1})
        self.assertEqual({(failure["role"], failure["blame"], failure["blamed"])
                          for failure in job["failures"]}, {("trainer", "peer", "actor 0")})
        self.assertIn("it blames actor 0: no answer", self.describe("named"))

    def test_a_worker_that_was_lost_is_blamed_by_itself(self):
        self.submit("loses", "loses")
        job = self.ended("loses", "Succeeded")
        failure = job["failures"][-1]
        self.assertEqual((failure["role"], failure["blame"], failure["blamed"]),
                         ("trainer", "peer", "actor 0"))
        self.assertIn("lost", failure["diagnosis"])
        self.assertEqual(job["restarts"], 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
