"""Priorities by name on a controller that runs: submit, apply, run, and what is said of a name that it lacks.

Usage: priority_classes_test.py PROGRAM ORRERY
"""

import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()
JOB = "name: {name}\npriority: {priority}\ndevices: 0\ncommand: [sleep, '60']\n"


class PriorityClassesTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM, "--agents", 1, "--set", "priority_classes.production=50", "--set",
                               "priority_classes.normal=-5")
        self.addCleanup(self.cluster.close)

    def job_file(self, name, priority):
        return self.cluster.write(f"{name}.yaml", JOB.format(name=name, priority=priority))

    def done(self, *words):
        done = self.cluster.orrery(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_names_are_the_controllers(self):
        self.done("submit", self.job_file("a", "production"))
        self.assertEqual(self.cluster.job("a")["priority"], 50)
        self.done("apply", self.job_file("a", "high"))
        self.assertEqual(self.cluster.job("a")["priority"], 100)
        self.done("run", "--detach", "--name", "b", "--priority", "production", "--devices-per-proc", "0", "--no-python",
                  "sleep", "60")
        self.assertEqual(self.cluster.job("b")["priority"], 50)
        self.done("run", "--detach", "--name", "c", "--devices-per-proc", "0", "--no-python", "sleep", "60")
        self.assertEqual(self.cluster.job("c")["priority"], -5)
        refused = self.cluster.orrery("submit", self.job_file("d", "urgent"))
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("priority: is 'urgent', one of normal, high, production or a whole number", refused.stderr)

    def test_a_check_without_the_controller_says_that_it_does_not_know(self):
        done = subprocess.run([ORRERY, "check", self.job_file("a", "production")], capture_output=True, text=True,
                              check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("priority: warning: is neither normal, high nor a number, but may be a class", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
