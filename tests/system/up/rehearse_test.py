"""A run of real processes as a what-if and as a forecast, from the journal that its controller writes.

Usage: rehearse_test.py ORRERY_NODE ORRERY
"""

import json
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()

JOB = "name: {name}\nestimate: 600s\nroles:\n  main: {{devices: 0, cpu: '{cpu}', command: [sleep, '{seconds}']}}\n"
# Of the what-if, whatever else the machine does meanwhile: starts take what most of them took.
ERROR_S = 5


class RehearseTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM)
        self.addCleanup(self.cluster.close)

    def submit(self, name, seconds, *words, cpu="100m"):
        path = self.cluster.write(name + ".yaml", JOB.format(name=name, seconds=seconds, cpu=cpu))
        done = self.cluster.orrery("submit", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def orrery(self, *words):
        done = subprocess.run([ORRERY, *map(str, words), "--json"], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_its_own_decisions_again_come_to_nearly_the_same(self):
        for k in range(4):
            self.submit(f"job-{k}", 1 + k % 2)
        self.submit("last", 1, "--wait")
        told = self.orrery("replay", self.cluster.state / "journal.db", "--policy", "fifo")
        jobs = told["what_if"][0]["jobs"]
        self.assertEqual(len(jobs), 5)
        over = [job for job in jobs if job["recorded"]["completed_s"] is not None]
        self.assertGreaterEqual(len(over), 1)
        for job in over:
            self.assertEqual(job["work_known"], "timed")
            self.assertLess(abs(job["completion_change_s"]), ERROR_S)

    def test_the_journal_of_a_live_controller_foretells(self):
        self.submit("long", 600)
        asked = self.cluster.write("asked.yaml", JOB.format(name="asked", seconds=1, cpu="100m"))
        told = self.orrery("forecast", asked, "--journal", self.cluster.state / "journal.db")
        self.assertEqual([job["name"] for job in told["jobs"]], ["default.asked"])
        self.assertEqual(told["jobs"][0]["remaining_known"], "declared")
        self.assertEqual(told["jobs"][0]["starts_in_s"], 0)
        # It was not submitted.
        self.assertNotIn("asked", self.cluster.orrery("get", "jobs").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
