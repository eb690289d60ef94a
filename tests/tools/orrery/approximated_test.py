"""What a run does not model as its scenario says it: told by `check`, by `sim` and in its files.

Usage: approximated_test.py PROGRAM
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SCENARIO = """\
name: made
seed: 3
policy: fifo
cluster:
  groups: [{nodes: 1, gpus_per_node: 8, gpu: v100}, {nodes: 1, gpus_per_node: 8, gpu: h100}]
workload: {generator: {jobs: 30, arrivals: {load: 0.9}}}
timing: {start: 0s}
"""
SPEEDS = "cluster.devices={v100: {speed: 2}, h100: {speed: 2}}"


class ApproximatedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scenario = self.folder / "made.yaml"
        self.scenario.write_text(SCENARIO)

    def orrery(self, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_models_of_equal_speed_are_told_everywhere(self):
        sentence = "work goes on equally fast on all models of device (h100, v100)"
        checked = self.orrery("check", self.scenario)
        self.assertIn(f"{self.scenario}: cluster.devices: warning: {sentence}", checked.stderr)
        self.assertIn(sentence, self.orrery("sim", self.scenario).stdout)
        self.orrery("sim", self.scenario, "--out", self.folder / "out")
        summary = json.loads((self.folder / "out/summary.json").read_text())
        self.assertEqual(len(summary["workload"]["notes"]), 1)
        self.assertIn(sentence, summary["workload"]["notes"][0])

    def test_nothing_is_told_where_speeds_are(self):
        self.assertNotIn("equally fast", self.orrery("sim", self.scenario, "--set", SPEEDS).stdout)

    def test_generated_jobs_are_twice_as_fast_on_devices_that_are(self):
        def shortest(*words):
            return json.loads(self.orrery("sim", self.scenario, "--json", "--set",
                                          "workload.generator.arrivals.load=0.01",
                                          *words).stdout)["jct_avg_s"]
        self.assertAlmostEqual(shortest() / shortest("--set", SPEEDS), 2, delta=0.01)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
