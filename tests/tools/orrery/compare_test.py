"""Comparisons that do not come to their end: what is kept, what is told, and how they go on.

Usage: compare_test.py PROGRAM
"""

import contextlib
import fcntl
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
SCENARIO = """\
name: made
policy: fifo
cluster: {nodes: 4, gpus_per_node: 8, gpu: v100}
workload:
  generator: {preset: philly-like, jobs: 4000, arrivals: {load: 1}, preemptible_share: 1}
"""
# One after the other, so that some have ended while others have not begun.
WORDS = ["--policies", "fifo", "--parallel", "1"]
PATIENCE_S = 120


def without_measured(value):
    if isinstance(value, dict):
        return {k: without_measured(v) for k, v in value.items() if k != "measured"}
    return [without_measured(each) for each in value] if isinstance(value, list) else value


class InterruptedTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scenario = self.folder / "made.yaml"
        self.scenario.write_text(SCENARIO)
        self.out = self.folder / "out"
        self.unfinished = self.folder / "out.unfinished"

    def compare(self, *words):
        if not any(word.startswith("--seeds") for word in map(str, words)):
            words = (*words, "--seeds", "1..4")
        return subprocess.run([PROGRAM, "compare", self.scenario, *WORDS, *words],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def interrupt(self, how, *words):
        """Begins one, and ends it by this signal once a run of it has ended."""
        running = subprocess.Popen([PROGRAM, "compare", self.scenario, *WORDS, "--seeds", "1..4",
                                    "--out", self.out, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        self.wait_for(running, "fifo-1")
        running.send_signal(how)
        out, error = running.communicate(timeout=PATIENCE_S)
        return running.returncode, out, error

    def wait_for(self, running, run):
        """Returns once this run has ended, or all have. It pauses: the runs may have one processor."""
        end = time.monotonic() + PATIENCE_S
        while not (self.unfinished / ".runs" / run).exists():
            self.assertLess(time.monotonic(), end)
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(0.005)
                return

    def kept(self):
        return len(list((self.unfinished / ".runs").glob("fifo-?")))

    def test_after_a_kill_the_same_command_goes_on(self):
        code, _, _ = self.interrupt(signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)
        self.assertFalse(self.out.exists())
        kept = self.kept()
        self.assertIn(kept, (1, 2, 3))
        done = self.compare("--out", self.out, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{kept} of 4 runs are taken from an earlier comparison", done.stderr)
        self.assertFalse(self.unfinished.exists())
        whole = self.compare("--out", self.folder / "whole")
        self.assertEqual(whole.returncode, 0, whole.stderr)
        names = [sorted(str(p.relative_to(root)) for p in root.rglob("*"))
                 for root in (self.out, self.folder / "whole")]
        self.assertEqual(*names)
        texts = [json.loads((root / "compare.json").read_text())
                 for root in (self.out, self.folder / "whole")]
        self.assertEqual(*map(without_measured, texts))
        self.assertNotIn("runs_missing", json.loads(done.stdout))

    def test_ctrl_c_shows_the_runs_that_have_ended(self):
        code, out, error = self.interrupt(signal.SIGINT)
        self.assertEqual(code, 130)
        self.assertIn("fifo/1", out)
        told = re.search(r"interrupted: (\d) of 4 runs have ended; they are kept in (\S+),", error)
        self.assertTrue(told, error)
        self.assertEqual((int(told[1]), told[2]), (self.kept(), str(self.unfinished)))
        shutil.rmtree(self.unfinished)
        code, out, _ = self.interrupt(signal.SIGTERM, "--json", "--set", "cluster.nodes=5")
        self.assertEqual(code, 130)
        document = json.loads(out)
        self.assertEqual(len(document["results"]) + document["runs_missing"], 4)

    def test_after_ctrl_c_policies_stand_side_by_side_over_the_same_seeds(self):
        # The second policy has one run when the signal comes, the first has all of hers.
        running = subprocess.Popen([PROGRAM, "compare", self.scenario, "--policies", "fifo,las", "--parallel", "1",
                                    "--set", "workload.generator.jobs=4000", "--seeds", "1..3", "--out", self.out],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.wait_for(running, "las-1")
        running.send_signal(signal.SIGINT)
        out, error = running.communicate(timeout=PATIENCE_S)
        self.assertEqual(running.returncode, 130, error)
        ended = len(list((self.unfinished / ".runs").glob("las-?")))
        self.assertIn(ended, (1, 2))
        seeds = "seed 1\n" if ended == 1 else "seeds 1 to 2\n"
        self.assertIn(seeds, out)
        self.assertIn(f"{3 - ended} of them are not shown", error)

    def test_runs_of_other_input_are_done_again(self):
        self.interrupt(signal.SIGKILL)
        self.scenario.write_text(SCENARIO.replace("nodes: 4", "nodes: 6").replace("4000", "50"))
        done = self.compare("--out", self.out, "--seeds=3..4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("earlier comparison", done.stderr)
        self.assertEqual(sorted(p.name for p in self.out.iterdir() if p.is_dir()),
                         ["fifo-3", "fifo-4"])

    def test_two_at_once_do_not_write_into_one_folder(self):
        self.unfinished.mkdir()
        (self.unfinished / ".orrery-results").write_text("")
        with open(self.unfinished / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = self.compare("--out", self.out)
        self.assertEqual(done.returncode, 2)
        self.assertIn("another process writes there now", done.stderr)

    def test_a_foreign_folder_stays_as_it_is(self):
        self.unfinished.mkdir()
        (self.unfinished / "thesis.tex").write_text("years of work")
        done = self.compare("--out", self.out)
        self.assertEqual(done.returncode, 2)
        self.assertEqual([p.name for p in self.unfinished.iterdir()], ["thesis.tex"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
