"""orrery calibrate on a cluster that runs: what it measures, writes and leaves, and what its journal tells.

Usage: calibrate_test.py PROGRAM WORKER ORRERY
"""

import json
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
WORKER = pathlib.Path(sys.argv[2]).resolve()
ORRERY = pathlib.Path(sys.argv[3]).resolve()
FAST = ("--rounds", "2", "--size", "64")
SCENARIO = "cluster: {nodes: 2}\njobs: [{name: a, replicas: 2, devices: 8, work: 9s}]\n"


class CalibrateTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM, "--agents", 2)
        self.addCleanup(self.cluster.close)
        self.file = self.cluster.folder / "measured.yaml"

    def calibrate(self, *words):
        return self.cluster.orrery("calibrate", "--worker", WORKER, "--out", self.file, *FAST, *words)

    def simulate(self, *words):
        scenario = self.cluster.write("scenario.yaml", SCENARIO)
        done = subprocess.run([ORRERY, "sim", scenario, "--json", *map(str, words)], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_a_cluster_is_measured_and_left_as_it_was(self):
        done = self.calibrate("--ranks", "1,2", "--starts", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = json.loads(done.stdout)
        samples = {each["time"]: each["samples"] for each in told["observed"]}
        self.assertEqual(samples["start"], 4)
        self.assertEqual(samples["product"], 8)
        self.assertEqual(samples["all-reduce 4 KiB, 2 ranks"], 4)
        self.assertEqual(samples["all-reduce 16 KiB, 2 ranks"], 4)
        self.assertGreaterEqual(samples["stop"], 1)
        self.assertGreaterEqual(samples["rescale"], 1)
        self.assertEqual(told["device"], "cpu")
        self.assertTrue(all(each["p10_s"] <= each["p50_s"] <= each["p90_s"] for each in told["observed"]))
        self.assertTrue(any("no device model was measured" in each for each in told["remarks"]), told)
        # Its jobs are gone; a scenario reads what it wrote.
        self.assertEqual(self.cluster.json("get", "jobs")["jobs"], [])
        without = self.simulate()["jct_avg_s"]
        self.assertGreater(self.simulate("--set", f"calibration={self.file}")["jct_avg_s"], without)
        # The journal tells the same starts, and more.
        learned = subprocess.run([ORRERY, "calibrate", "--from", self.cluster.state / "journal.db", "--out",
                                  self.cluster.folder / "learned.yaml", "--json"],
                                 capture_output=True, text=True, check=False)
        self.assertEqual(learned.returncode, 0, learned.stderr)
        by_time = {each["time"]: each["samples"] for each in json.loads(learned.stdout)["observed"]}
        self.assertGreaterEqual(by_time["start"], 4)

    def test_one_rank_tells_nothing_of_a_network(self):
        done = self.calibrate("--ranks", "1", "--starts", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("remark: no job had two ranks", done.stderr)
        self.assertNotIn("network:", self.file.read_text())
        # Nor does a second rank come and go, for which there may be no room.
        self.assertIn("remark: changes of membership were not measured", done.stderr)
        self.assertRegex(done.stderr + done.stdout, r"\bstop\b")

    def test_ranks_for_which_there_is_no_device_are_told_at_once(self):
        done = self.calibrate("--ranks", "1", "--starts", "1", "--devices", "1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("would never run", done.stderr)
        self.assertIn("--devices", done.stderr)
        self.assertFalse(self.file.exists())

    def test_what_cannot_be_measured_is_said_and_nothing_is_written(self):
        good = {"--worker": WORKER, "--ranks": "1", "--starts": "1", "--rounds": "2", "--size": "64"}
        for option, value, code, said in (("--worker", "/bin/true", 2, "wrote no measurement"),
                                          ("--worker", "/no/worker", 1, "cannot be run"),
                                          ("--ranks", "0", 2, "--ranks: is '0'"),
                                          ("--rounds", "many", 2, "--rounds")):
            with self.subTest(option=option, value=value):
                words = [each for pair in (good | {option: value}).items() for each in pair]
                done = self.cluster.orrery("calibrate", "--out", self.file, *words)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)
                self.assertFalse(self.file.exists())
        self.assertEqual(self.cluster.json("get", "jobs")["jobs"], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
