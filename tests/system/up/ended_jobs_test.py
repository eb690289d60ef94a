"""What is known of jobs that have ended: after a restart of the controller, and from its journal.

Usage: ended_jobs_test.py ORRERY_NODE ORRERY
"""

import json
import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster, kill_process, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()

FAILS = """\
name: fails
backoff_limit: 0
roles:
  main:
    replicas: 2
    devices: 0
    cpu: 100m
    command: 'echo "rank $ORRERY_RANK"; [ $ORRERY_RANK = 0 ] && sleep 600; echo "no such file: x"; exit 7'
"""
NEVER = """\
name: never
backoff_limit: 0
roles:
  main: {devices: 0, cpu: 100m, command: [/no/such/program, --now]}
"""
AGAIN = """\
name: again
backoff_base: 100ms
roles:
  main:
    devices: 0
    cpu: 100m
    command: '[ -e FOLDER/mark ] && echo second && exec sleep 600; touch FOLDER/mark; echo first; exit 3'
"""


class EndedJobsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM)
        self.addCleanup(self.cluster.close)

    def submit(self, name, text, code):
        path = self.cluster.write(name + ".yaml", text)
        done = self.cluster.orrery("submit", path, *(["--wait"] if code is not None else []))
        self.assertEqual(done.returncode, code or 0, done.stderr)
        return done.stderr

    def history(self, *words):
        done = subprocess.run([ORRERY, "history", self.cluster.state / "journal.db", *words],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def restart_controller(self):
        before = self.cluster.daemons()["controller"]
        self.assertTrue(kill_process(before, self.cluster.state))
        wait_until("the controller to be started again",
                   lambda: self.cluster.daemons().get("controller", before) != before)

    def test_why_a_job_failed_outlives_the_controller(self):
        said = self.submit("fails", FAILS, 1)
        self.assertIn("main 1 on node-1 ended with exit code 7; it wrote last:", said)
        self.assertIn("    no such file: x\n", said)
        # What its worker wrote may come a moment after the job's end.
        wait_until("the last lines", lambda: (self.cluster.job("fails").get("failures") or
                                              [{}])[-1].get("last_lines"))
        self.restart_controller()
        job = wait_until("the job to be known", lambda: self.cluster.job("fails"))
        self.assertIn("ended with exit code 7", job["message"])
        failure = job["failures"][-1]
        self.assertEqual((failure["exit_code"], failure["local_rank"], failure["node"]),
                         (7, 1, "node-1"))
        self.assertEqual(failure["last_lines"], "rank 1\nno such file: x\n")
        self.assertIn("    no such file: x\n", self.cluster.orrery("get", "jobs", "fails").stdout)
        self.assertRegex(job["submitted_utc"], r"^20\d\d-\d\d-\d\dT.*Z$")

    def test_ended_jobs_are_in_the_journal(self):
        self.cluster.environment["LOGNAME"] = "ada"
        self.submit("fails", FAILS, 1)
        self.submit("works", FAILS.replace("fails", "works").replace("exit 7", "exit 0")
                    .replace("sleep 600", "exit 0"), 0)
        # Read while its controller writes it, and also of a job that is deleted.
        self.cluster.orrery("delete", "fails")
        wait_until("the job to be forgotten", lambda: not self.cluster.job("fails"))
        jobs = json.loads(self.history("--json"))["jobs"]
        self.assertEqual([(j["name"], j["state"], j["exit_code"], j["user"]) for j in jobs],
                         [("default.fails", "Failed", 7, "ada"),
                          ("default.works", "Succeeded", 0, "ada")])
        self.assertEqual(jobs[0]["failures"][-1]["last_lines"], "rank 1\nno such file: x\n")
        self.assertLessEqual(jobs[0]["submitted"], jobs[0]["ended"])
        self.assertRegex(self.history(), r"(?m)^fails +ada +Failed +7 ")
        for words, names in [(["--state", "failed"], ["default.fails"]),
                             (["--state", "succeeded"], ["default.works"]),
                             (["--job", "works"], ["default.works"]),
                             (["--user", "bob"], []), (["--since", "2100-01-01"], []),
                             (["--until", "2020-01-01"], []),
                             (["--since", "1h", "--user", "ada"],
                              ["default.fails", "default.works"])]:
            with self.subTest(words):
                found = json.loads(self.history("--json", *words))["jobs"]
                self.assertEqual([job["name"] for job in found], names)

    def test_the_page_of_a_journal(self):
        self.submit("works", FAILS.replace("fails", "works").replace("exit 7", "exit 0")
                    .replace("sleep 600", "exit 0"), 0)
        page = self.cluster.folder / "page.html"
        done = subprocess.run([ORRERY, "report", self.cluster.state / "journal.db", "--out", page],
                              capture_output=True, text=True, timeout=120, check=False)
        if "without" in done.stderr and done.returncode == 2:
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        for part in ["works", "node-1", "journal from 20"]:
            self.assertIn(part, text)

    def test_a_worker_that_never_started_says_why(self):
        said = self.submit("never", NEVER, 1)
        self.assertIn("/no/such/program: its program cannot be run", said)
        done = self.cluster.orrery("logs", "never")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        self.assertIn("the worker never started: /no/such/program", done.stderr)
        page = self.cluster.orrery("describe", "never").stdout
        self.assertIn("command: /no/such/program --now", page)
        self.assertIn("0.1 cores", page)

    def test_the_log_of_the_start_before(self):
        self.submit("again", AGAIN.replace("FOLDER", str(self.cluster.folder)), None)
        wait_until("the second start", lambda: self.cluster.orrery("logs", "again").stdout ==
                   "second\n")
        before = self.cluster.orrery("logs", "again", "--previous")
        self.assertEqual(before.stdout, "first\n",
                         before.stderr + self.cluster.orrery("describe", "again").stdout)
        everything = self.cluster.orrery("logs", "again", "--all")
        self.assertEqual(everything.stdout, "main 0 | second\n", everything.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
