"""Calls to the workers of a real cluster: through changes of membership, and with parts of it dead.

Usage: calls_test.py PROGRAM ROOT
"""

import os
import pathlib
import signal
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "tests/system/up"), str(ROOT / "runtime/sdk/python")]

import orrery  # noqa: E402: from the folder that the line above names
from cluster import Cluster, signal_process, wait_until  # noqa: E402

DEADLINE_S = 60

# A driver that has a call under way.
DRIVER = """\
import sys, orrery
driver = orrery.Driver.connect(sys.argv[1], "orphaned", name="first")
group = driver.group("worker")
group.run_all_workers_single_data("wait_at_gate", mark=sys.argv[2], deadline=300).result()
"""

JOB = """\
name: NAME
drain_grace: 5s
roles:
  worker:
    replicas: REPLICAS
    devices: 0
    cpu: 10m
    env: {PYTHONPATH: SDK}
    command: [python3, WORKER]
  helper:
    replicas: 1
    devices: 0
    cpu: 10m
    env: {PYTHONPATH: SDK}
    command: [python3, WORKER]
"""


class CallsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 4)
        cls.addClassCleanup(cls.cluster.close)

    def submit(self, name, replicas):
        text = JOB.replace("NAME", name).replace("REPLICAS", str(replicas))
        text = text.replace("SDK", str(ROOT / "runtime/sdk/python"))
        path = self.cluster.write(f"{name}.yaml",
                                  text.replace("WORKER", str(HERE / "counting_worker.py")))
        done = self.cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(self.cluster.orrery, "delete", name)
        driver = orrery.Driver.connect(self.cluster.environment["ORRERY_SERVER"], name, name="test")
        self.addCleanup(driver.close)
        return driver

    def group(self, driver, role="worker"):
        return orrery.WorkerGroup(driver, role)

    def freed_group(self, driver):
        """The group, once the workers have heard that its last driver is gone."""
        def free():
            try:
                return self.group(driver)
            except orrery.SecondDriver:
                return None
        return wait_until("the group to be free", free)

    def all_workers(self, group, size):
        """Who the workers of a group are, once there are so many of the present membership."""
        def asked():
            try:
                group.refresh()
                found = group.run_all_workers_single_data("who", deadline=20).result()
            except (orrery.WorkerLost, orrery.GenerationChanged, orrery.NoSuchWorker,
                    orrery.SecondDriver, orrery.Timeout, orrery.Cancelled):
                return None  # Cancelled: by one that leaves the group just now.
            return found if [one["role_rank"] for one in found] == list(range(size)) else None
        return wait_until(f"{size} workers to answer", asked)

    def test_calls_by_all_rules_reach_the_processes(self):
        driver = self.submit("rules", 4)
        group = orrery.WorkerGroup(
            driver, "worker", sharding=orrery.NamedSharding([[0, 1], [2, 3]], ["dp", "tp"]))
        found = self.all_workers(group, 4)
        self.assertEqual(len({one["pid"] for one in found} | {os.getpid()}), 5)
        self.assertEqual({one["caller"] for one in found}, {"driver:test"})
        sharded = group.run_all_workers_sharded_data(
            "count", in_sharded_axes=["dp"], replicate_on_axes=["tp"],
            output_is_replicated=["tp"], data=["a", "b"], deadline=DEADLINE_S).result()
        self.assertEqual([(one["role_rank"], one["given"]) for one in sharded],
                         [(0, {"data": "a"}), (2, {"data": "b"})])
        self.assertEqual([one["calls"] for one in group.run_all_workers_single_data(
            "count", deadline=DEADLINE_S).result()], [2, 2, 2, 2])
        self.assertEqual(list(driver.peer("helper", 0).stream("numbers", 40, deadline=DEADLINE_S)),
                         list(range(40)))
        with self.assertRaisesRegex(orrery.Remote, "ValueError.*mine"):
            driver.peer("worker", 1).call("fail", "mine", deadline=DEADLINE_S)
        asked = driver.peer("helper", 0).call("ask_peer", "worker", 3, deadline=DEADLINE_S)
        self.assertEqual(asked["role_rank"], 3)
        self.assertRegex(asked["caller"], r"^\d+-\d+-\d+$")

    def test_a_group_goes_on_through_changes_of_size_and_survivors_live_on(self):
        driver = self.submit("sizes", "{min: 1, max: 4}")
        group = self.group(driver)
        size = {"worker": 1}
        for wanted in (2, 4, 1):
            done = self.cluster.orrery("scale", "sizes", f"worker={wanted}")
            self.assertEqual(done.returncode, 0, done.stderr)
            before, size["worker"] = size.get("found", {}), wanted
            found = self.all_workers(group, wanted)
            self.assertEqual({one["world_size"] for one in found}, {wanted + 1})
            for one in found:
                was = before.get(one["role_rank"])
                self.assertIn(was, (None, one["pid"]), "a survivor was started again")
            size["found"] = {one["role_rank"]: one["pid"] for one in found}

    def test_a_killed_worker_is_an_error_at_once_and_then_it_is_back(self):
        driver = self.submit("killed", 2)
        group = self.group(driver)
        found = self.all_workers(group, 2)
        mark = self.cluster.folder / "killed.mark"
        call = driver.peer("worker", 1).submit("wait_at_gate", str(mark), deadline=DEADLINE_S)
        wait_until("the call to run", mark.exists)
        signal_process(found[1]["pid"], signal.SIGKILL, self.cluster.folder)
        with self.assertRaises(orrery.WorkerLost) as lost:
            call.result()
        self.assertEqual((lost.exception.role, lost.exception.rank), ("worker", 1))
        again = self.all_workers(group, 2)
        self.assertNotEqual(again[1]["pid"], found[1]["pid"])

    def test_a_frozen_worker_times_out_and_the_others_answers_are_kept(self):
        driver = self.submit("frozen", 2)
        group = self.group(driver)
        found = self.all_workers(group, 2)
        signal_process(found[0]["pid"], signal.SIGSTOP, self.cluster.folder)
        outcomes = group.run_all_workers_single_data("who", deadline=10).outcomes()
        signal_process(found[0]["pid"], signal.SIGCONT, self.cluster.folder)
        self.assertIsInstance(outcomes[0].error, orrery.Timeout)
        self.assertEqual(outcomes[1].value["pid"], found[1]["pid"])
        self.assertEqual([one["pid"] for one in self.all_workers(group, 2)],
                         [one["pid"] for one in found])

    def test_calls_go_on_while_an_agent_or_the_controller_is_dead(self):
        driver = self.submit("alone", 2)
        group = self.group(driver)
        found = self.all_workers(group, 2)
        for daemon in ("node-1", "node-2", "controller"):
            pid = self.cluster.daemons()[daemon]
            signal_process(pid, signal.SIGSTOP, self.cluster.folder)
            answers = group.run_all_workers_single_data("who", deadline=DEADLINE_S).result()
            self.assertEqual([one["pid"] for one in answers], [one["pid"] for one in found], daemon)
            signal_process(pid, signal.SIGKILL, self.cluster.folder)
            wait_until(f"another {daemon}",
                       lambda: self.cluster.daemons().get(daemon) not in (None, pid))
        # A caller that begins now asks the new controller, which has heard of the workers anew.
        other = orrery.Driver.connect(self.cluster.environment["ORRERY_SERVER"], "alone",
                                      name="other")
        self.addCleanup(other.close)
        self.assertEqual(other.peer("worker", 0).call("who", deadline=DEADLINE_S)["pid"],
                         found[0]["pid"])

    def test_what_a_killed_driver_held_is_free_at_once(self):
        driver = self.submit("orphaned", 2)
        self.all_workers(self.group(driver, "helper"), 1)
        wait_until("both workers", lambda: all(
            peer.port for peer in driver.peers().role("worker")) and
            len(driver.peers().role("worker")) == 2)
        mark = self.cluster.folder / "orphaned.mark"
        first = subprocess.Popen(
            [sys.executable, "-c", DRIVER, self.cluster.environment["ORRERY_SERVER"], str(mark)],
            env=os.environ | {"PYTHONPATH": str(ROOT / "runtime/sdk/python")})
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        wait_until("its call to run", mark.exists)
        with self.assertRaises(orrery.SecondDriver):
            self.group(driver).run_all_workers_single_data("who", deadline=DEADLINE_S).result()
        first.kill()
        # The call of the dead driver is told that no caller waits, and ends; ours runs behind it.
        self.assertEqual(len(self.all_workers(self.freed_group(driver), 2)), 2)

    def test_one_driver_at_a_time_holds_a_group(self):
        first = self.submit("held", 2)
        self.all_workers(self.group(first), 2)
        second = orrery.Driver.connect(self.cluster.environment["ORRERY_SERVER"], "held",
                                       name="second")
        self.addCleanup(second.close)
        with self.assertRaisesRegex(orrery.SecondDriver, "driver:test"):
            self.group(second).run_all_workers_single_data("who", deadline=DEADLINE_S).result()
        self.assertEqual(second.peer("worker", 0).call("who", deadline=DEADLINE_S)["caller"],
                         "driver:second")
        first.close()
        self.all_workers(self.freed_group(second), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
