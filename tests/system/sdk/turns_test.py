"""Roles on the same devices take turns: a witness file says that never two had theirs at once, also
when one stands still with it.

The actors are Python programs, the rollouts C++ programs.

Usage: turns_test.py PROGRAM ROOT ROLLOUT
"""

import os
import pathlib
import signal
import sys
import threading
import time
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
ROLLOUT = pathlib.Path(sys.argv[3]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "tests/system/up"), str(ROOT / "runtime/sdk/python")]

import orrery  # noqa: E402: from the folder that the line above names
from cluster import Cluster, signal_process, wait_until  # noqa: E402
from turning_worker import TURNS  # noqa: E402

JOB = """\
name: rlhf
drain_grace: 2s
backoff_base: 10ms
take_turns: [[actor, rollout]]
roles:
  actor: {placement: 0-1, cpu: 10m, env: {PYTHONPATH: SDK}, command: [python3, WORKER, FOLDER]}
  rollout: {placement: 0-1, cpu: 10m, command: [ROLLOUT, FOLDER]}
"""


class TurnsTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(PROGRAM, "--agents", 1, "--devices", 2)
        self.addCleanup(self.cluster.close)
        self.folder = self.cluster.folder / "told"
        self.folder.mkdir()

    def submit(self, *words):
        text = JOB.replace("SDK", str(ROOT / "runtime/sdk/python"))
        text = text.replace("WORKER", str(HERE / "turning_worker.py")).replace("ROLLOUT", str(ROLLOUT))
        path = self.cluster.write("job.yaml", text.replace("FOLDER", str(self.folder)))
        done = self.cluster.orrery("submit", path, *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def lines(self):
        file = self.folder / "witness"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []

    def test_never_two_have_the_turn_on_a_device(self):
        self.submit("--wait")
        lines = sorted(self.lines(), key=lambda line: int(line[0]))
        self.assertEqual(len(lines), 2 * TURNS * 4)
        # Each of the four processes has one device, on which it turns with one of the other role; which
        # two, the counts of open turns show: never more than the two devices.
        begun = {}
        for _, word, role, pid in lines:
            if word == "begin":
                begun[pid] = role
                self.assertLessEqual(len(begun), 2, lines)
            else:
                del begun[pid]
        self.assertEqual({role for _, _, role, _ in lines}, {"actor", "rollout"})

    def test_one_that_stands_still_with_its_turn_is_killed_before_the_next_has_it(self):
        (self.folder / "hold").touch()
        self.submit()
        driver = orrery.Driver.connect(self.cluster.environment["ORRERY_SERVER"], "rlhf", name="test")
        self.addCleanup(driver.close)
        held = driver.peer("actor", 0).submit("hold", deadline=120)
        pid = int(wait_until("the turn of the actor", self.lines)[0][3])
        waiting = driver.peer("rollout", 0).submit("hold", deadline=120)
        # The next life of the agent, which both ask again, knows who has the turn.
        agent = self.cluster.daemons()["node-1"]
        signal_process(agent, signal.SIGKILL, self.cluster.folder)
        wait_until("another agent",
                   lambda: self.cluster.daemons().get("node-1") not in (None, agent))
        signal_process(pid, signal.SIGSTOP, self.cluster.folder)
        last_seen, look_again = 0, threading.Event()
        while os.path.exists(f"/proc/{pid}") and not held.done():
            last_seen = time.monotonic_ns()
            look_again.wait(0.005)
        with self.assertRaises(orrery.WorkerLost):
            held.result()
        wait_until("the turn of the rollout", lambda: len(self.lines()) == 2)
        self.assertEqual(self.lines()[1][2], "rollout")
        self.assertGreater(int(self.lines()[1][0]), last_seen, "two had the turn at once")
        waiting.cancel()
        # The agent gives the turn on at once; that it killed, it reports, and the controller is the last
        # to know.
        wait_until("the report of why it was killed",
                   lambda: "had the turn on its devices and was silent for longer than its lease"
                   in self.cluster.orrery("describe", "rlhf").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
