"""orrery replay --policy and --set: a recorded run under other decisions, and what is refused.

Usage: what_if_test.py PROGRAM SOURCES
"""

import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SOURCES = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(SOURCES / "tests/support"))

from drawn import drawn  # noqa: E402

SCENARIO = """\
seed: 3
policy: fifo
cluster: {nodes: 2, gpus_per_node: 4}
timing: {start: 10s}
jobs:
  - {name: wide, replicas: 8, work: 100s}
  - {name: first, replicas: 1, work: 100s}
  - {name: wide-too, at: 1s, replicas: 8, work: 100s}
  - {name: small, at: 2s, replicas: 1, estimate: 50s, work: 50s}
"""


class WhatIfTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        scenario = cls.folder / "recorded.yaml"
        scenario.write_text(SCENARIO)
        subprocess.run([PROGRAM, "sim", scenario, "--journal", "--out", cls.folder / "run"],
                       check=True, capture_output=True)
        cls.journal = cls.folder / "run/journal.db"

    def replay(self, *words, code=0):
        done = subprocess.run([PROGRAM, "replay", *map(str, words)], capture_output=True, text=True,
                              cwd=self.folder, timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def test_the_same_decisions_give_the_same_run(self):
        told = json.loads(self.replay(self.journal, "--policy", "fifo", "--json").stdout)
        what_if = told["what_if"][0]
        self.assertEqual((what_if["jobs_same"], what_if["jobs_sooner"], what_if["jobs_later"]), (4, 0, 0))
        for job in what_if["jobs"]:
            self.assertEqual(job["recorded"], job["what_if"])
            self.assertEqual(job["work_known"], "observed")
        self.assertEqual(told["assumed"], [])

    def test_policies_stand_side_by_side(self):
        told = json.loads(self.replay(self.journal, "--policy", "fifo,srtf", "--json").stdout)
        self.assertEqual([one["summary"]["policy"] for one in told["what_if"]], ["fifo/1", "srtf/1"])
        text = self.replay(self.journal, "--policy", "fifo,srtf").stdout
        self.assertIn("fifo/1 (recorded)", text)
        self.assertIn("fifo/1: 0 jobs complete sooner than recorded, 0 later, 4 at the same instant", text)

    def test_another_cluster_lets_jobs_start_sooner(self):
        told = json.loads(self.replay(self.journal, "--set", "cluster.groups[0].nodes=8", "--json").stdout)
        by_name = {job["name"]: job for job in told["what_if"][0]["jobs"]}
        self.assertEqual(by_name["wide-too"]["what_if"]["started_s"], 1)
        self.assertLess(by_name["wide-too"]["completion_change_s"], 0)

    def record(self, name, text):
        scenario = self.folder / f"{name}.yaml"
        scenario.write_text(text)
        subprocess.run([PROGRAM, "sim", scenario, "--journal", "--out", self.folder / name],
                       check=True, capture_output=True)
        return self.folder / name / "journal.db"

    def test_scenarios_whose_control_has_no_agents_end_so_again(self):
        """But for what the pages say that a journal does not tell."""
        left_out = r"agents|relaunch|sub_master|^policy: *\{|kind: (hang|slow)|^control"
        replayed = 0
        folders = [SOURCES / "scenarios" / part for part in ("lifecycle", "failover")]
        paths = [path for folder in folders for path in sorted(folder.glob("*.yaml"))
                 if not path.stem.endswith("_month") and not re.search(left_out, path.read_text(), re.MULTILINE)]
        self.assertGreater(len(paths), 20)
        # Each kind of fault and policy, and of what is asked of jobs.
        tried = drawn(paths, 4, lambda path: re.findall(r"kind: \w+|^policy: \w+|^requests", path.read_text(),
                                                        re.MULTILINE))
        for path in tried:
            with self.subTest(scenario=path.name):
                run = self.folder / f"run-{path.stem}"
                subprocess.run([PROGRAM, "sim", path, "--journal", "--out", run], check=False, capture_output=True)
                verified = subprocess.run([PROGRAM, "journal", "verify", run / "journal.db"], check=True,
                                          capture_output=True, text=True).stdout
                policy = re.search(r"^policy (\w+)", verified, re.MULTILINE).group(1)
                told = self.replay(run / "journal.db", "--policy", policy, "--json").stdout
                done = json.loads(told)["what_if"][0]
                changed = {job["name"]: job["completion_change_s"] for job in done["jobs"]
                           if job["work_known"] == "observed" and job["completion_change_s"]}
                self.assertEqual(changed, {})
                replayed += 1
        self.assertEqual(replayed, len(tried))

    def test_jobs_that_fail_complete_neither_sooner_nor_later(self):
        journal = self.record("fails", """\
cluster: {nodes: 1, gpus_per_node: 1}
jobs:
  - {name: hopeless, replicas: 1, backoff_limit: 0, work: 100s, workers: [{rank: 0, after: 20s, exit: 3}]}
  - {name: late, replicas: 1, wait_deadline: 10s, work: 100s}
""")
        told = json.loads(self.replay(journal, "--set", "cluster.groups[0].nodes=2", "--json").stdout)["what_if"][0]
        counts = ("jobs_sooner", "jobs_later", "jobs_same", "jobs_newly_failed", "jobs_no_longer_failed")
        self.assertEqual([told[key] for key in counts], [0, 0, 0, 0, 1])
        self.assertEqual([job["completion_change_s"] for job in told["jobs"]], [None, None])
        done = self.replay(journal, "--set", "cluster.groups[0].nodes=2")
        self.assertIn("0 at the same instant; 1 complete that failed\n", done.stdout)
        self.assertIn("failed after 20.0", done.stdout)

    def test_a_job_that_it_never_came_to_is_not_refused(self):
        told = json.loads(self.replay(self.journal, "--set", "until=1500ms", "--json").stdout)
        by_name = {job["name"]: job for job in told["what_if"][0]["jobs"]}
        self.assertIsNone(by_name["small"]["what_if"])
        self.assertEqual([by_name[name]["submitted"] for name in ("wide", "wide-too", "small")], [True, True, False])
        text = self.replay(self.journal, "--set", "until=1500ms").stdout
        self.assertIn("not submitted", text)
        self.assertNotIn("refused", text)

    def test_a_job_that_can_never_fit_is_told(self):
        done = self.replay(self.journal, "--set", "cluster.groups[0].nodes=1", code=1)
        self.assertIn("never", done.stdout)
        self.assertIn("give the cluster of the what-if such nodes with --set cluster", done.stderr)

    def test_files_and_pages(self):
        out = self.folder / "out"
        self.replay(self.journal, "--policy", "fifo,srtf", "--out", out)
        for name in ("what_if.json", "recorded/jobs.csv", "fifo/jobs.csv", "srtf/jobs.csv"):
            self.assertTrue((out / name).is_file(), name)
        page = out / "report.html"
        if page.is_file():  # A program without pages writes none.
            self.assertIn('"work_known":["observed"', page.read_text())

    def test_the_journal_that_is_read_is_kept(self):
        before = self.journal.read_bytes()
        done = self.replay(self.journal, "--policy", "fifo", "--out", "run", code=2)
        self.assertIn(f"--out: run holds {self.journal}, which is read and would be replaced", done.stderr)
        self.assertEqual(self.journal.read_bytes(), before)

    def test_what_is_refused(self):
        cut = self.folder / "cut.db"
        cut.write_bytes(self.journal.read_bytes()[:4096 * 2 + 100])
        gap = self.folder / "gap.db"
        shutil.copy(self.journal, gap)
        with sqlite3.connect(gap) as database:
            table = next(name for (name,) in database.execute(
                "select name from sqlite_master where type = 'table'") if "record" in name or "journal" in name)
            rows = database.execute(f"select max(rowid) from {table}").fetchone()[0]
            database.execute(f"delete from {table} where rowid = ?", (rows // 2,))
        database.close()
        for words, said in (
                ((self.journal, "--policy", "fifi"),
                 'orrery: --policy: no policy is named "fifi"'),
                ((self.journal, "--set", "jobs[0].work=1s"), "is no part of a what-if"),
                ((self.journal, "--set", "timing.begin=1s"), "begin: is no key here"),
                ((self.journal, "--set", "policy.quantum=1h"), "quantum"),
                ((self.journal, "--policy", "fifo", "--log", "x"), "remove one of them"),
                ((self.folder / "none.db", "--policy", "fifo"), "none.db"),
                ((self.journal, "--log", self.folder / "recorded.yaml"), 'recorded.yaml: --log: has no line "led epoch"'),
                ((self.folder / "run",), "is a folder, the file of a journal is needed"),
                ((cut, "--policy", "fifo"), "cut.db"),
                ((gap, "--policy", "fifo"), "is missing")):
            with self.subTest(words=words):
                done = self.replay(*words, code=2)
                self.assertIn(said.replace("orrery: ", ""), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_journals_of_older_versions_are_read(self):
        for path in sorted((SOURCES / "tests/system/journals").glob("version_*.db")):
            with self.subTest(path.name):
                copy = self.folder / path.name
                shutil.copy(path, copy)
                told = json.loads(self.replay(copy, "--policy", "easy", "--json").stdout)
                self.assertGreater(told["recorded"]["jobs_total"], 0)
                self.assertEqual(told["recorded"]["jobs_total"], len(told["what_if"][0]["jobs"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
