#!/usr/bin/env python3
"""The worker and the driver of docs/examples/sdk/python do what their comments say."""

import subprocess
import sys
import unittest

import fakes

EXAMPLES = fakes.HERE.parents[3] / "docs" / "examples" / "sdk" / "python"

PRINTED = ["2 actors: [{'rank': 0, 'generation': 1, 'steps': 0}, {'rank': 1, 'generation': 1, "
           "'steps': 0}]",
           "batch: [10, 20, 30, 40, 50]", "stream: [0, 1, 2]", "again: 1", "actor 0: [2]", "actor 1: [2]",
           "queue: {'loss': 0.5}"]


class Examples(unittest.TestCase):
    def run_driver(self, job, *words, environment=None):
        done = subprocess.run([sys.executable, str(EXAMPLES / "driver.py"), *words], timeout=120, text=True,
                              capture_output=True, check=False, env=environment)
        self.assertEqual((done.stdout.splitlines(), done.stderr, done.returncode), (PRINTED, "", 0))
        for worker in job.workers:
            if worker.role == "actor":
                self.assertEqual(worker.process.wait(fakes.PATIENCE_S), 0)

    def test_a_driver_outside(self):
        with fakes.FakeJob() as job:
            job.add("actor", program=EXAMPLES / "worker.py", count=2)
            self.run_driver(job, job.url, job.job, environment=job.environment(job.workers[0]))

    def test_a_driver_inside(self):
        with fakes.FakeJob() as job:
            job.add("actor", program=EXAMPLES / "worker.py", count=2)
            environment = job.environment(job.workers[0])
            self.run_driver(job, environment=environment)


if __name__ == "__main__":
    unittest.main()
