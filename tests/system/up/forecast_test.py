"""Forecasts of a running controller: waiting and hypothetical jobs, what was expected, how right that was, bad input.

Usage: forecast_test.py ORRERY_NODE ORRERY
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest
import urllib.error
import urllib.request

from cluster import Cluster, processes_of, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ORRERY = pathlib.Path(sys.argv[2]).resolve()

JOB = ("name: {name}\nestimate: {estimate}\nroles:\n  main: {{devices: {devices}, cpu: 100m, "
       "command: [sleep, '{seconds}']}}\n")


class ForecastTest(unittest.TestCase):
    def cluster(self, *words):
        cluster = Cluster(PROGRAM, "--devices", "2", "--policy", "easy", *words)
        self.addCleanup(cluster.close)
        return cluster

    @staticmethod
    def job(cluster, name, seconds=600, estimate="600s", devices=2):
        return cluster.write(name + ".yaml",
                             JOB.format(name=name, seconds=seconds, estimate=estimate, devices=devices))

    def submit(self, cluster, name, **how):
        path = self.job(cluster, name, **how)
        done = cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    @staticmethod
    def metric(cluster, name):
        text = urllib.request.urlopen(cluster.environment["ORRERY_SERVER"] + "/metrics").read().decode()
        found = re.search("^" + re.escape(name) + r" (\S+)$", text, re.MULTILINE)
        return float(found.group(1)) if found else 0.0

    def test_waiting_and_hypothetical_jobs(self):
        cluster = self.cluster()
        self.submit(cluster, "runs")
        self.submit(cluster, "waits", estimate="100s")
        wait_until("the first job to run", lambda: cluster.job("runs").get("phase") == "Running")
        told = cluster.json("forecast", "waits")
        self.assertEqual([job["name"] for job in told["jobs"]], ["default.waits"])
        start = told["jobs"][0]["starts_in_s"]
        self.assertTrue(400 < start <= 600, told)
        self.assertEqual(told["jobs"][0]["nodes"], ["node-1"])
        self.assertEqual(told["jobs"][0]["remaining_known"], "declared")
        self.assertEqual(told["delays"], [])
        # All, as a person reads them.
        said = cluster.orrery("forecast")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("waits", said.stdout)
        # One that nobody submitted, by both programs; it goes last.
        asked = self.job(cluster, "asked", estimate="50s")
        by_orrery = subprocess.run([ORRERY, "forecast", asked, "--json"], capture_output=True, text=True, timeout=120,
                                   env=cluster.environment, check=False)
        self.assertEqual(by_orrery.returncode, 0, by_orrery.stderr)
        hypothetical = json.loads(by_orrery.stdout)["jobs"][0]
        self.assertEqual(hypothetical["name"], "default.asked")
        self.assertGreater(hypothetical["starts_in_s"], start)
        self.assertNotIn("asked", cluster.orrery("get", "jobs").stdout)
        # Its priority passes the other one, which it delays.
        urgent = cluster.write("urgent.yaml", asked.read_text().replace("name: asked", "name: urgent") +
                               "priority: high\n")
        delays = cluster.json("forecast", urgent)["delays"]
        self.assertEqual([delay["name"] for delay in delays], ["default.waits"])
        self.assertIn("delays 1 job:\n    waits by", cluster.orrery("forecast", urgent).stdout)
        # Over runs.
        many = cluster.json("forecast", "waits", "--runs", "5", "--arrivals", "recent")
        self.assertEqual(many["runs"], 5)
        self.assertIn("p90", many["jobs"][0]["starts_in"])
        # A trial explains admission, and when it would start.
        trial = cluster.orrery("submit", asked, "--dry-run")
        self.assertEqual(trial.returncode, 0, trial.stderr)
        self.assertIn("asked: would be taken", trial.stdout)
        self.assertRegex(trial.stdout, r"asked: starts in .* on node-1, ends in")
        self.assertNotIn("asked", cluster.orrery("get", "jobs").stdout)
        # What is expected stands in the list of jobs.
        wait_until("an expected start", lambda: re.search(r"waits .* in \d+ min", cluster.orrery("get", "jobs").stdout))
        listed = {job["name"]: job for job in cluster.json("get", "jobs")["jobs"]}
        self.assertIsNone(listed["default.runs"]["expected_start"])
        self.assertGreater(listed["default.waits"]["expected_start"], listed["default.waits"]["submitted"])

    def test_what_was_foretold_is_compared_with_what_came(self):
        cluster = self.cluster()
        self.submit(cluster, "runs")
        wait_until("the first job to run", lambda: cluster.job("runs").get("phase") == "Running")
        self.submit(cluster, "waits", seconds=1, estimate="1s")
        self.assertIsNone(self.outcome_of("default.waits", cluster.json("accuracy")))
        wait_until("a forecast of the job that waits", lambda: cluster.job("waits").get("expected_start")
                   and cluster.json("accuracy")["waiting"] == 1)
        # It comes sooner than anyone could know, and over a restart of the controller.
        cluster.interrupt()
        cluster.wait()
        cluster.start("--devices", "2", "--policy", "easy")
        cluster.orrery("stop", "runs")
        wait_until("the job to start", lambda: cluster.job("waits").get("phase") in ("Running", "Succeeded"))
        # A forecast that took long is followed by a long rest, but for those that are asked for.
        accuracy = wait_until("what came of it", lambda: cluster.orrery("forecast") and
                              (told := cluster.json("accuracy")) and
                              self.outcome_of("default.waits", told) and told)
        outcome = self.outcome_of("default.waits", accuracy)
        self.assertLess(outcome["later_s"], 0)
        self.assertAlmostEqual(outcome["error"], abs(outcome["later_s"]) / max(outcome["waited_s"], 60), places=3)
        # On a slow machine a forecast may have met the first job while it waited for its plan.
        starts = accuracy["outcomes"]
        self.assertIn(starts, (1, 2))
        said = cluster.orrery("accuracy").stdout
        self.assertIn("1 start was foretold and has come" if starts == 1 else
                      "2 starts were foretold and have come", said)
        self.assertEqual(self.metric(cluster, "orrery_forecast_error_ratio_count"), starts)

    @staticmethod
    def outcome_of(name, accuracy):
        return next((one for one in accuracy["latest"] if one["name"] == name), None)

    def test_infeasible_refused_and_unknown(self):
        cluster = self.cluster()
        self.submit(cluster, "runs")
        done = cluster.orrery("forecast", self.job(cluster, "giant", devices=3))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("giant: can never fit on this cluster", done.stdout)
        taken = cluster.folder / "taken.yaml"
        taken.write_text((cluster.folder / "runs.yaml").read_text())
        for words, code, said in (
                (("forecast", taken), 1, "a live job has this name"),
                (("forecast", "nobody"), 1, "there is no job default.nobody"),
                (("forecast", "runs", "--runs", "101"), 2, "--runs"),
                (("forecast", "runs", "--arrivals", "many"), 2, "--arrivals"),
                (("forecast", "runs", "--set", "name=x"), 2, "stands beside no file"),
                (("forecast", "runs", "--journal", "x"), 2, "use orrery forecast")):
            with self.subTest(words=words):
                done = cluster.orrery(*words)
                self.assertEqual(done.returncode, code, done.stdout + done.stderr)
                self.assertIn(said, done.stderr)
        server = cluster.environment["ORRERY_SERVER"]
        for target, status in (("?job=nobody", 404), ("?runs=0", 400), ("?arrivals=x", 400), ("?what=x", 400)):
            with self.subTest(target=target), self.assertRaises(urllib.error.HTTPError) as raised:
                urllib.request.urlopen(server + "/api/v1/forecast" + target)
            self.assertEqual(raised.exception.code, status)

    def test_one_that_runs_out_of_time(self):
        cluster = self.cluster("--set", "forecast.deadline=100ms", "--set", "forecast.refresh=0s")
        for k in range(3):
            self.submit(cluster, f"job-{k}")
        wait_until("a job to run", lambda: cluster.job("job-0").get("phase") == "Running")
        # A hundred times jobs that arrive every moment: more than there is time for.
        done = cluster.orrery("forecast", "job-2", "--runs", "100", "--arrivals", "recent")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("took longer than the 100 ms of forecast.deadline", done.stderr)
        # The controller is unharmed, and no process of the forecast is left.
        self.assertEqual(cluster.job("job-0").get("phase"), "Running")
        self.assertFalse([words for words in processes_of(cluster.state).values() if "serve-forecasts" in words])
        self.assertEqual(self.metric(cluster, 'orrery_forecasts_total{outcome="late"}'), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
