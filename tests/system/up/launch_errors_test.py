"""A program or a folder that is not there ends its job at the first try, and says what and where.

Usage: launch_errors_test.py ORRERY_NODE
"""

import pathlib
import sys
import unittest

from cluster import Cluster, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

JOB = """\
name: {name}
roles:
  main:
    devices: 0
    cpu: 10m
    command: {command}
    working_directory: {folder}
"""


class LaunchErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 1)
        cls.addClassCleanup(cls.cluster.close)

    def failed(self, name, command, folder="."):
        path = self.cluster.write(f"{name}.yaml",
                                  JOB.format(name=name, command=command, folder=folder))
        done = self.cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = wait_until(f"{name} to fail", lambda: (
            found := self.cluster.job(name)).get("phase") == "Failed" and found)
        self.assertEqual(job["restarts"], 0)
        self.assertEqual(job["reason"], "CannotStart")
        self.assertIn("worker 0 of role main cannot be started on node node-1: ", job["message"])
        return job["message"]

    def test_a_program_that_is_not_there(self):
        self.assertIn("python9: its program cannot be run: No such file or directory",
                      self.failed("nowhere", "[python9, train.py]"))

    def test_a_file_that_is_no_program(self):
        plain = self.cluster.write("plain", "no program\n")
        self.assertIn(f"{plain}: its program cannot be run: Permission denied",
                      self.failed("plain", f"[{plain}]"))

    def test_a_working_directory_that_is_not_there(self):
        self.assertIn("/no/such: its working directory cannot be entered: No such file or directory",
                      self.failed("homeless", '["true"]', "/no/such"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
