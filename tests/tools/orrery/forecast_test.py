"""orrery forecast: from a journal's last state, and what is refused.

Usage: forecast_test.py PROGRAM
"""

import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SCENARIO = """\
policy: easy
until: 31s
cluster: {nodes: 2, gpus_per_node: 4}
jobs:
  - {name: over, replicas: 1, work: 5s}
  - {name: wide, at: 6s, replicas: 8, estimate: 100s, work: 70s}
  - {name: wide-too, at: 7s, replicas: 8, estimate: 100s, work: 100s}
  - {name: last, at: 30s, replicas: 4, estimate: 60s, work: 60s}
"""
JOB = "name: {}\nreplicas: {}\ngpus: 1\npriority: {}\nestimate: 30s\ncommand: [sleep, '30']\n"


class ForecastTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "run.yaml").write_text(SCENARIO)
        subprocess.run([PROGRAM, "sim", "run.yaml", "--journal", "--out", "run"], cwd=cls.folder,
                       check=False, capture_output=True)

    def forecast(self, *words, code=0, text=""):
        done = subprocess.run([PROGRAM, "forecast", *words, "--journal", "run/journal.db"], cwd=self.folder,
                              input=text, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def job(self, name, replicas, priority=0):
        path = self.folder / f"{name}.yaml"
        path.write_text(JOB.format(name, replicas, priority))
        return path.name

    def test_waiting_jobs_and_what_they_wait_for(self):
        told = json.loads(self.forecast("--json").stdout)
        by_name = {job["name"]: job for job in told["jobs"]}
        # By the stated 100 s, of which 24 s have passed: the state does not know that it is 70 s.
        self.assertEqual(by_name["default.wide"]["ends_in_s"], 76)
        self.assertEqual(by_name["default.wide-too"]["starts_in_s"], 76)
        self.assertEqual(by_name["default.last"]["starts_in_s"], 176)
        self.assertEqual(by_name["default.last"]["remaining_known"], "declared")
        self.assertIn("needs 4 devices at once", by_name["default.last"]["waits_for"])
        self.assertIsNone(told["delays"])
        self.assertIn("in 1 min 16 s", self.forecast().stdout)

    def test_a_job_that_is_not_submitted(self):
        told = json.loads(self.forecast(self.job("urgent", 8, "high"), "--json").stdout)
        self.assertEqual([job["name"] for job in told["jobs"]], ["default.urgent"])
        self.assertEqual(told["jobs"][0]["starts_in_s"], 76)
        self.assertEqual({delay["name"]: delay["by_s"] for delay in told["delays"]},
                         {"default.wide-too": 30, "default.last": 30})
        said = self.forecast("urgent.yaml").stdout
        self.assertIn("urgent: starts in 1 min 16 s on 0, 1, ends in 1 min 46 s", said)
        self.assertIn("delays 2 jobs:", said)

    def test_a_job_on_standard_input(self):
        told = json.loads(self.forecast("-", "--json", text=JOB.format("urgent", 8, "high")).stdout)
        self.assertEqual([job["name"] for job in told["jobs"]], ["default.urgent"])
        self.assertEqual(told["jobs"][0]["starts_in_s"], 76)
        self.assertIn("standard input", self.forecast("-", code=2, text="name: a\nreplicas: many\n").stderr)

    def test_a_waiting_job_and_whom_it_delays(self):
        told = json.loads(self.forecast("wide-too", "--json").stdout)
        self.assertEqual(told["delays"], [{"name": "default.last", "by_s": 100}])

    def test_what_cannot_be(self):
        done = self.forecast(self.job("giant", 9), code=1)
        self.assertIn("giant: can never fit on this cluster: needs 9 devices at once", done.stdout)
        taken = self.folder / "taken.yaml"
        taken.write_text(JOB.format("wide", 1, 0))
        self.assertIn("refused: default.wide: a live job has this name", self.forecast("taken.yaml", code=1).stderr)

    def test_bad_input(self):
        for words, said in (
                (("nobody",), "nobody: is neither a job of the journal nor a file"),
                (("over",), "over: is over since"),
                (("--set", "cluster.nodes=3"), "is not of the policy"),
                (("--set", "policy.speed=3"), "speed")):
            with self.subTest(words=words):
                self.assertIn(said, self.forecast(*words, code=2).stderr)

    def test_over_runs(self):
        told = json.loads(self.forecast("last", "--runs", "5", "--arrivals", "recent", "--json").stdout)
        self.assertEqual(told["runs"], 5)
        self.assertLessEqual(told["jobs"][0]["starts_in"]["p10"], told["jobs"][0]["starts_in"]["p90"])
        self.assertEqual(told, json.loads(
            self.forecast("last", "--runs", "5", "--arrivals", "recent", "--json").stdout))

    def test_journals_that_cannot_be_read(self):
        whole = (self.folder / "run" / "journal.db").read_bytes()
        for name, content, said in (("cut.db", whole[:len(whole) // 2], "cut.db"), ("none.db", None, "none.db"),
                                    ("text.db", b"no journal", "text.db")):
            with self.subTest(name=name):
                if content is not None:
                    (self.folder / name).write_bytes(content)
                done = subprocess.run([PROGRAM, "forecast", "--journal", name], cwd=self.folder, capture_output=True,
                                      text=True, timeout=120, check=False)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)

    def test_a_journal_of_another_version(self):
        path = self.folder / "later.db"
        shutil.copy(self.folder / "run" / "journal.db", path)
        with sqlite3.connect(path) as database:
            database.execute("PRAGMA user_version = 999")
        done = subprocess.run([PROGRAM, "forecast", "--journal", path.name], cwd=self.folder, capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("later.db", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
