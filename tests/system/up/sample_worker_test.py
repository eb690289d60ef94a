"""The sample worker under a real controller, agents and shims: it follows its memberships.

Usage: sample_worker_test.py PROGRAM WORKER
"""

import os
import pathlib
import signal
import sys
import unittest

from cluster import Cluster, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
WORKER = pathlib.Path(sys.argv[2]).resolve()

# Each start is a line of its own: which worker was started, and as which process.
JOB = """\
name: sample
drain_grace: 20s
roles:
  trainer:
    replicas: 2
    devices: 0
    cpu: 100m
    command: >-
      echo "$ORRERY_RANK $$" >> "{folder}/starts";
      exec "{worker}" --size 16 --step-time-min 5ms --report-every 1 --checkpoint "{folder}/steps" --steps {steps}
"""


class SampleWorkerTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM, "--agents", 2)
        self.addCleanup(self.cluster.close)

    def submit(self, steps, *words):
        text = JOB.format(folder=self.cluster.folder, worker=WORKER, steps=steps)
        done = self.cluster.orrery("submit", self.cluster.write("sample.yaml", text), *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def starts(self):
        """Rank and process of each start, in order."""
        file = self.cluster.folder / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        return [tuple(int(word) for word in line.split()) for line in lines]

    def steps(self):
        file = self.cluster.folder / "steps"
        return int(file.read_text()) if file.exists() else 0

    def await_generation(self, generation, size):
        """Until every rank of it has worked a step."""
        for rank in range(size):
            text = f"  generation {generation}  rank {rank}/{size}  "
            wait_until(f"generation {generation}, rank {rank} of {size}", lambda t=text: any(
                t in log.read_text(errors="replace")
                for log in self.cluster.state.rglob("workers/*/log")))

    def test_two_of_them_finish_their_steps(self):
        self.submit(30, "--wait")
        self.assertEqual(self.steps(), 30)
        self.assertEqual(len(self.starts()), 2, self.cluster.orrery("describe", "sample").stdout)

    def test_a_third_joins_one_dies_and_no_other_is_started_again(self):
        self.submit(0)
        self.await_generation(1, 2)
        wait_until("profilings of both ranks",
                   lambda: "0=32 1=32" in self.cluster.orrery("describe", "sample").stdout)

        done = self.cluster.orrery("scale", "sample", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.await_generation(2, 3)
        self.assertEqual(sorted(rank for rank, _ in self.starts()), [0, 1, 2])

        done_before = self.steps()
        os.kill(dict(self.starts())[2], signal.SIGKILL)
        self.await_generation(3, 3)
        self.assertEqual(sorted(rank for rank, _ in self.starts()), [0, 1, 2, 2])
        self.assertGreaterEqual(self.steps(), done_before)

        self.assertEqual(self.cluster.orrery("stop", "sample").returncode, 0)
        wait_until("the job to end", lambda: self.cluster.job("sample").get("phase") == "Failed")
        self.assertGreater(self.steps(), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
