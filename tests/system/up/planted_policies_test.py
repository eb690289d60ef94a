"""orrery up with a policy that misbehaves: one cycle is lost, with a reason, and nothing else.

Usage: planted_policies_test.py PROGRAM, where PROGRAM is orrery-node with a planted policy.
"""

import pathlib
import sys
import unittest
import urllib.request

from cluster import Cluster, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

JOB = """\
name: NAME
drain_grace: 1s
roles:
  main:
    replicas: 1
    devices: 0
    cpu: 100m
    command: echo $$ >> "FOLDER/NAME"; exec sleep 600
"""


class PlantedPoliciesTest(unittest.TestCase):
    def cluster(self, *words):
        made = Cluster(PROGRAM, begin=False)
        self.addCleanup(made.close)
        self.planted = made.folder / "planted"
        made.environment["ORRERY_PLANTED"] = str(self.planted)
        made.start("--agents", 1, *words)
        return made

    def plant(self, what):
        """What the policy does from now on; empty: what it should."""
        self.planted.unlink(missing_ok=True)
        if what:
            new = self.planted.with_suffix(".new")
            new.write_text(what + "\n")
            new.rename(self.planted)

    def submit(self, cluster, name):
        path = cluster.write(f"{name}.yaml",
                             JOB.replace("NAME", name).replace("FOLDER", str(cluster.folder)))
        done = cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def wait_until_running(self, cluster, name):
        wait_until(f"{name} to run", lambda: cluster.job(name).get("phase") == "Running")

    @staticmethod
    def starts(cluster, name):
        """How often the job's worker was started, as far as it has said so."""
        said = cluster.folder / name
        return len(said.read_text().split()) if said.exists() else 0

    @staticmethod
    def lost_plans(cluster):
        lines = cluster.orrery("events").stdout.splitlines()
        return [line for line in lines if "PlanLost" in line]

    @staticmethod
    def counted(cluster, loss):
        with urllib.request.urlopen(cluster.environment["ORRERY_SERVER"] + "/metrics") as answer:
            text = answer.read().decode()
        name = f'orrery_plans_lost_total{{loss="{loss}"}} '
        return int(next(line for line in text.splitlines() if line.startswith(name)).split()[-1])

    def test_each_misdeed_costs_a_cycle_and_disturbs_nobody(self):
        cluster = self.cluster("--set", "planner.deadline=1s")
        self.submit(cluster, "runs-on")
        self.wait_until_running(cluster, "runs-on")
        for number, (what, loss, words) in enumerate([
                ("loops", "late", "did not answer in time: no answer within 1 s"),
                ("throws", "failed", "it failed: planted in a test"),
                ("crashes", "ended", "killed by signal 11"),
                ("garbage", "too_large", "its answer is too large")]):
            self.plant(what)
            name = f"waits-{number}"
            self.submit(cluster, name)
            wait_until(f"a plan to be lost since it {what}",
                       lambda words=words: any(words in line for line in self.lost_plans(cluster)))
            self.assertGreater(self.counted(cluster, loss), 0)
            self.assertEqual(cluster.job(name).get("phase"), "Pending")
            self.assertIn("policy fifo/1 gave no plan", cluster.job(name)["message"])
            self.plant("")
            self.wait_until_running(cluster, name)
        self.assertEqual(cluster.job("runs-on")["phase"], "Running")
        self.assertEqual(self.starts(cluster, "runs-on"), 1)
        self.assertEqual([node["state"] for node in cluster.json("get", "nodes")["nodes"]],
                         ["ready"])

    def test_nonsense_is_dropped_and_no_worker_is_touched(self):
        cluster = self.cluster()
        for name in ("first", "second"):
            self.submit(cluster, name)
            self.wait_until_running(cluster, name)
        self.plant("brief nonsense")
        self.submit(cluster, "third")
        wait_until("the plan to come", lambda: cluster.orrery("events").stdout.count("GrantDropped"))
        self.plant("")
        self.submit(cluster, "fourth")
        names = ("first", "second", "third", "fourth")
        for name in names:
            self.wait_until_running(cluster, name)
            # A worker runs from its start on: what it is told to write comes a moment after.
            wait_until(f"{name} to write", lambda name=name: self.starts(cluster, name))
        self.assertEqual([self.starts(cluster, name) for name in names], [1] * 4)

    def test_the_end_does_not_wait_for_a_policy(self):
        cluster = self.cluster("--set", "planner.deadline=1h")
        self.plant("sleeps")
        self.submit(cluster, "waits")
        wait_until("the policy to be asked", lambda: "orrery_plans_asked_total 1" in
                   urllib.request.urlopen(cluster.environment["ORRERY_SERVER"] + "/metrics")
                   .read().decode())
        cluster.interrupt()
        self.assertEqual(cluster.wait(), 130)
        self.assertTrue(cluster.line("everything has ended"), cluster.said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
