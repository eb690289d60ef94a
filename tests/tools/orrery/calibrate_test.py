"""orrery calibrate --from: what is learned of journals, the file that scenarios read, and what is refused.

Usage: calibrate_test.py PROGRAM SOURCES
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(sys.argv[2]).resolve()
JOBS = """\
policy: {name: fit, period: 60s}
cluster: {nodes: 4, gpus_per_node: 4}
jobs:
  - {name: grows, replicas: {min: 2, max: 12}, preemptible: true, estimate: oracle, work: {units: 60000, throughput: 4}}
  - {name: joins, at: 401s, replicas: {min: 1, max: 6}, preemptible: true, estimate: oracle, work: {units: 9000, throughput: 2}}
  - {name: fails, at: 90s, replicas: 2, backoff_limit: 9, work: 1500s, workers: [{rank: 1, after: 333s, exit: 3, times: 3}]}
"""


class CalibrateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name, start in (("monday", "6s"), ("tuesday", "9s")):
            scenario = cls.folder / f"{name}.yaml"
            scenario.write_text(f"timing: {{start: {start}, stop: 1s, restore: 2s, rescale: 3s}}\n" + JOBS)
            subprocess.run([PROGRAM, "sim", scenario, "--journal", "--out", cls.folder / name],
                           check=True, capture_output=True)

    def orrery(self, *words, code=0):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def journal(self, name="monday"):
        return self.folder / name / "journal.db"

    def test_what_was_set_is_learned_and_told(self):
        told = json.loads(self.orrery("calibrate", "--from", self.journal(), "--json").stdout)
        self.assertEqual((told["timing"]["start_s"], told["timing"]["stop_s"], told["timing"]["restore_s"]), (6, 1, 2))
        self.assertAlmostEqual(told["timing"]["rescale_s"], 3, places=5)
        self.assertTrue(any("checkpoint_interval is not said" in each for each in told["remarks"]), told["remarks"])
        text = self.orrery("calibrate", "--from", self.journal(), "--out", "learned.yaml")
        self.assertIn("wrote learned.yaml", text.stderr)
        self.assertIn("held-out error", text.stdout)

    def test_of_two_journals_each_foretells_the_other(self):
        told = json.loads(self.orrery("calibrate", "--from", self.journal(), "--from", self.journal("tuesday"),
                                      "--json").stdout)
        start = next(each for each in told["observed"] if each["time"] == "start")
        self.assertEqual(start["samples"], 6)
        self.assertGreater(start["held_out"]["error_p50"], 0.3)

    def test_a_journal_that_is_named_twice_is_refused(self):
        done = self.orrery("calibrate", "--from", self.journal(), "--from", self.folder / "monday/../monday/journal.db",
                           "--out", "twice.yaml", code=2)
        self.assertIn("is named twice", done.stderr)
        self.assertFalse((self.folder / "twice.yaml").exists())

    def test_the_journal_that_it_learns_from_is_kept(self):
        own = self.folder / "own.db"
        shutil.copy(self.journal(), own)
        done = self.orrery("calibrate", "--from", "own.db", "--out", own, code=2)
        self.assertIn(f"--out: {own} is read itself, needed another file to write", done.stderr)
        self.assertEqual(own.read_bytes(), self.journal().read_bytes())

    def test_a_scenario_reads_it(self):
        self.orrery("calibrate", "--from", self.journal(), "--out", "read.yaml")
        scenario = self.folder / "reads.yaml"
        job = "cluster: {nodes: 1}\njobs: [{name: a, work: 9s}]\n"
        scenario.write_text("calibration: read.yaml\n" + job)
        jct = lambda *words: json.loads(self.orrery("sim", *words, "--json").stdout)["jct_avg_s"]
        self.assertEqual(jct(scenario), 15)
        # What the scenario and the command line say themselves counts.
        scenario.write_text("calibration: read.yaml\ntiming: {start: 1s}\n" + job)
        self.assertEqual(jct(scenario), 10)
        self.assertEqual(jct(scenario, "--set", "timing.start=2s"), 11)
        scenario.write_text(job)
        self.assertEqual(jct(scenario, "--set", "calibration=read.yaml"), 15)

    def test_what_is_wrong_with_the_file_is_told_with_its_place(self):
        scenario = self.folder / "wrong.yaml"
        good = "version: 1\ntiming:\n  start: 6s\n"
        for text, timing, said in (
                (good.replace("version: 1", "version: 2"), "", "bad.yaml:1: version: is '2', a whole number from 1 to 1"),
                (good.replace("6s", "6"), "", "bad.yaml:3: timing.start: is '6', a time with a unit"),
                (good + "jobs: []\n", "", "bad.yaml:4: jobs: is no key here"),
                ("timing: {start: 1s}\n", "", "version"),
                (good.replace("6s", "{quantiles: [3s, 2s]}"), "", "do not ascend"),
                (good.replace("6s", "{quantiles: [3s]}"), "", "has fewer than two times"),
                (good.replace("6s", "{quantiles: [3s, 2s]}"), "timing: {start: 1s}\n", "do not ascend"),
                (good + "planner: {latency: 1}\n", "planner: {latency: 1s}\n", "bad.yaml:4: planner.latency"),
                (good, "timing: pollux\n", "has times for mode simple"),
                (None, "", "cannot be read")):
            with self.subTest(said):
                bad = self.folder / "bad.yaml"
                bad.unlink(missing_ok=True)
                if text is not None:
                    bad.write_text(text)
                scenario.write_text("calibration: bad.yaml\n" + timing + "cluster: {nodes: 1}\njobs: [{name: a, work: 9s}]\n")
                self.assertIn(said, self.orrery("check", scenario, code=2).stderr)

    def test_what_is_refused(self):
        cut = self.folder / "cut.db"
        cut.write_bytes(self.journal().read_bytes()[:4096 * 2 + 100])
        empty = self.folder / "empty.yaml"
        empty.write_text("until: 1s\ncluster: {nodes: 1}\njobs: [{name: a, at: 10s, work: 9s}]\n")
        self.orrery("sim", empty, "--journal", "--out", "empty")
        for words, said in ((("--from", "none.db"), "none.db"), (("--from", cut), "cut.db"),
                            (("--from", self.folder / "empty/journal.db"), "nothing can be learned from it"),
                            (("--from", "monday"), "monday: journal: is a folder, the file of a journal is needed; "
                                                   "name the one in it, monday/journal.db"),
                            (("--from", self.journal(), "--out", "no/such/folder.yaml"), "folder.yaml")):
            with self.subTest(words=words):
                done = self.orrery("calibrate", *words, code=2)
                self.assertIn(said, done.stderr)
                self.assertEqual(done.stdout, "")

    def test_journals_of_older_versions_are_read(self):
        for path in sorted((SOURCES / "tests/system/journals").glob("version_*.db")):
            with self.subTest(path.name):
                copy = self.folder / path.name
                shutil.copy(path, copy)
                told = json.loads(self.orrery("calibrate", "--from", copy, "--json").stdout)
                self.assertGreater(told["jobs"], 0)

    def test_parity_refuses_what_does_not_fit(self):
        fits = self.folder / "monday.yaml"
        for words, said in ((("--runs", "0"), "--runs: is '0', a whole number from 1"),
                            (("--training", "many"), "--training: is 'many'"),
                            (("--set", "jitter.timers=1ms"), "jitter"),
                            (("--set", "name=a/b"), "leave out the '/'"),
                            ((fits,), "give each a name of its own")):
            with self.subTest(words=words):
                if (PROGRAM.parent / "orrery-cluster").exists():
                    self.assertIn(said, self.orrery("parity", fits, *words, code=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
