"""Jobs whose workers check their nodes before they start: real processes under real agents.

Usage: node_check_test.py PROGRAM CHECK
"""

import pathlib
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CHECK = pathlib.Path(sys.argv[2]).resolve()

from cluster import Cluster, wait_until  # noqa: E402: beside this file

# The first check of a job that is a lemon comes too late; the others pass.
SCRIPT = """\
if [ {kind} = lemon ] && mkdir {folder}/first 2> /dev/null; then
  exec {check} --size 2048 --deadline 1ms -- echo trains
fi
exec {check} --size 32 -- echo trains
"""

JOB = """\
name: {name}
backoff_base: 10ms
backoff_limit: 0
roles:
  trainer:
    replicas: {replicas}
    devices: 0
    cpu: 10m
    command: [sh, {script}]
"""


class NodeCheckTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2)
        cls.addClassCleanup(cls.cluster.close)

    def submit(self, name, replicas=1):
        folder = self.cluster.folder / name
        folder.mkdir()
        script = folder / "train.sh"
        script.write_text(SCRIPT.format(kind=name, folder=folder, check=CHECK))
        text = JOB.format(name=name, replicas=replicas, script=script)
        done = self.cluster.orrery("submit", self.cluster.write(f"{name}.yaml", text))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.cluster.orrery, "delete", name)

    def ended(self, name):
        return wait_until(f"{name} to end",
                          lambda: (lambda job: job.get("phase") in ("Succeeded", "Failed") and job)(
                              self.cluster.job(name)))

    def test_workers_that_pass_become_their_program(self):
        self.submit("sound", replicas=3)
        job = self.ended("sound")
        self.assertEqual((job["phase"], job["restarts"], job["failures"]), ("Succeeded", 0, []))
        logs = self.cluster.orrery("logs", "sound", "--all").stdout
        self.assertEqual(logs.count("trains"), 3, logs)
        self.assertEqual(logs.count("passed in"), 3, logs)
        self.assertIn("rank 2 of 3", logs)

    def test_a_node_that_fails_is_charged_and_left(self):
        self.submit("lemon")
        job = self.ended("lemon")
        self.assertEqual((job["phase"], job["restarts"], job["node_losses"]), ("Succeeded", 0, 1))
        failure = job["failures"][-1]
        self.assertEqual((failure["reason"], failure["blame"], failure["exit_code"]),
                         ("NodeBlamed", "node", 1))
        self.assertIn("node check: a product of matrices took longer than 1 ms",
                      failure["diagnosis"])

    def test_run_puts_it_before_the_command(self):
        done = self.cluster.orrery("run", "--nnodes", 2, "--node-check", "--dry-run", "./train")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('command: ["orrery-check", "--", "./train"]', done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
