#!/usr/bin/env python3
"""Sweeps of the built program: cells that are kept, killed, taken up again, launched by commands.

Usage: sweep_test.py PROGRAM ROOT [--full]     --full: the killed sweep has 200 cells of 1,000 jobs
"""

import contextlib
import csv
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
FULL = "--full" in sys.argv
PATIENCE_S = 240
SCENARIO = """\
name: made
seed: 9
policy: {name: easy, backfill_depth: 5}
cluster: {nodes: 4, gpus_per_node: 8, gpu: v100}
workload:
  generator: {preset: philly-like, jobs: 100, arrivals: {load: 1}, preemptible_share: 1}
"""
SWEEP = """\
scenario: made.yaml
grid:
  workload.generator.arrivals.load: [0.7, 1.3]
policies: [fifo, easy]
seeds: 1..2
"""
# So many cells, and so long ones, that a signal comes before the last of them.
LONG_SCENARIO = SCENARIO.replace("jobs: 100", "jobs: 400")
LONG_SWEEP = SWEEP.replace("[0.7, 1.3]", "[0.7, 1, 1.3]").replace("1..2", "1..4")


def pause(running):
    """Between two looks at a process: it may have one processor."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.wait(0.005)


class SweepTest(unittest.TestCase):
    undisturbed = {}

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "made.yaml").write_text(SCENARIO)
        self.file = self.write(SWEEP)
        self.out = self.folder / "out"

    def write(self, text, name="made_sweep.yaml"):
        path = self.folder / name
        path.write_text(text)
        return path

    def sweep(self, *words, program=PROGRAM, file=None, **more):
        if "--out" not in words:
            words = ("--out", self.out, *words)
        return subprocess.run([program, "sweep", file or self.file, *words], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False, cwd=self.folder, **more)

    def expect(self, code, *words, **more):
        done = self.sweep(*words, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def rows(self, out=None):
        with open((out or self.out) / "sweep.csv", newline="") as file:
            return list(csv.DictReader(file))

    def whole(self):
        """The CSV of a run that nothing disturbs; of equal files it is run once."""
        given = ((self.folder / "made.yaml").read_text(), self.file.read_text())
        if given not in SweepTest.undisturbed:
            out = self.folder / "whole"
            self.expect(0, "--out", out)
            SweepTest.undisturbed[given] = (out / "sweep.csv").read_bytes()
        return SweepTest.undisturbed[given]

    def write_long(self):
        (self.folder / "made.yaml").write_text(LONG_SCENARIO)
        self.file.write_text(LONG_SWEEP)

    def cells(self):
        return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns)
                for path in (self.out / "cells").glob("*.cell")}

    def end_by(self, how, cells, *words):
        """Starts the sweep, and ends it by this signal once so many cells are there."""
        running = subprocess.Popen([PROGRAM, "sweep", self.file, "--out", self.out, *words],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + PATIENCE_S
        while len(self.cells()) < cells and running.poll() is None:
            self.assertLess(time.monotonic(), end)
            pause(running)
        running.send_signal(how)
        out, error = running.communicate(timeout=PATIENCE_S)
        return running.returncode, out, error


class ResumedTest(SweepTest):
    def test_killed_in_the_middle_it_goes_on_to_the_same_bytes(self):
        cells = 200 if FULL else 24
        self.write_long()
        if FULL:
            self.file.write_text("""\
scenario: made.yaml
set: {workload.generator.jobs: 1000}
grid: {workload.generator.arrivals.load: [0.6, 0.8, 1, 1.2, 1.4]}
policies: [fifo, easy, srtf, las]
seeds: 1..10
""")
        code, _, _ = self.end_by(signal.SIGKILL, cells // 6, "--parallel", "1")
        self.assertEqual(code, -signal.SIGKILL)
        self.assertFalse((self.out / "sweep.csv").exists())
        before = self.cells()
        self.assertTrue(cells // 6 <= len(before) < cells, before)
        again = self.end_by(signal.SIGKILL, len(before) + 3, "--parallel", "2")
        self.assertEqual(again[0], -signal.SIGKILL)
        done = self.expect(0)
        self.assertRegex(done.stderr, rf"remark: \d+ of {cells} cells were done before")
        after = self.cells()
        self.assertEqual({name: after[name] for name in before}, before, "a finished cell was run again")
        begun = time.monotonic()
        self.assertEqual((self.out / "sweep.csv").read_bytes(), self.whole())
        self.assertEqual(len(self.rows()), cells)
        if FULL:
            print(f"{cells} cells: killed at {len(before)} and again, equal; undisturbed {time.monotonic() - begun:.1f} s")
        self.assertEqual(list(self.out.rglob("*.half")), [])

    def test_a_finished_sweep_runs_nothing_again(self):
        self.expect(0)
        before, table = self.cells(), (self.out / "sweep.csv").read_bytes()
        done = self.expect(0)
        self.assertIn("8 of 8 cells were done before", done.stderr)
        self.assertEqual(self.cells(), before)
        self.assertEqual((self.out / "sweep.csv").read_bytes(), table)

    def test_a_cell_that_is_not_whole_does_not_count(self):
        self.expect(0)
        table = (self.out / "sweep.csv").read_bytes()
        cell = lambda number: self.out / f"cells/{number:06}.cell"
        cell(2).write_bytes(cell(2).read_bytes()[:-1])
        cell(3).write_bytes(b"")
        damaged = bytearray(cell(4).read_bytes())
        damaged[len(damaged) // 2] ^= 1
        cell(4).write_bytes(damaged)
        cell(5).write_bytes(cell(6).read_bytes())  # Another cell's.
        (self.out / "cells/000007.cell.host-1.half").write_bytes(cell(7).read_bytes())
        cell(7).unlink()
        done = self.expect(0)
        self.assertIn("3 of 8 cells were done before", done.stderr)
        self.assertEqual((self.out / "sweep.csv").read_bytes(), table)
        self.assertEqual(list(self.out.rglob("*.half")), [])

    def test_ctrl_c_says_how_to_go_on(self):
        self.write_long()
        code, out, error = self.end_by(signal.SIGINT, 3, "--parallel", "1")
        self.assertEqual((code, out), (130, ""))
        self.assertRegex(error, rf"interrupted: \d+ of 24 cells are done and kept in {self.out}; "
                                "the same command goes on")
        self.expect(0)
        self.assertEqual((self.out / "sweep.csv").read_bytes(), self.whole())

    def test_a_change_is_refused_with_what_it_is(self):
        self.expect(0)
        for path, text in [(self.file, SWEEP + "# one word more\n"),
                           (self.folder / "made.yaml", SCENARIO + "# one word more\n")]:
            before = path.read_text()
            path.write_text(text)
            error = self.expect(2).stderr
            self.assertIn(f"{path} has changed", error)
            self.assertIn("name another folder with --out, undo the change, or remove", error)
            path.write_text(before)
        other = self.folder / "orrery"
        shutil.copy(PROGRAM, other)
        self.assertIn("this is another program", self.expect(2, program=other).stderr)
        self.expect(0)

    def test_a_changed_file_of_the_workload_is_refused(self):
        log = self.folder / "log.swf"
        log.write_text("; UnixStartTime: 0\n1 100 12 61 16 -1 -1 16 90 819200 1 6 1 -1 2 3 -1 -1\n")
        (self.folder / "made.yaml").write_text(
            "cluster: {nodes: 4, gpus_per_node: 8, gpu: v100}\nworkload: {format: swf, file: log.swf}\n")
        self.file.write_text("scenario: made.yaml\ngrid: {cluster.nodes: [4, 8]}\n")
        self.expect(0)
        log.write_text(log.read_text() + "2 200 12 61 16 -1 -1 16 90 819200 1 6 1 -1 2 3 -1 -1\n")
        self.assertIn("a file that its scenario names has changed", self.expect(2).stderr)

    def test_the_folder_is_one_sweeps_alone(self):
        self.expect(0)
        other = self.write(SWEEP.replace("fifo", "srtf"), "other_sweep.yaml")
        error = self.expect(2, file=other).stderr
        self.assertIn(f"is the folder of the sweep {self.file}", error)
        foreign = self.folder / "thesis"
        foreign.mkdir()
        (foreign / "thesis.tex").write_text("years of work")
        self.assertIn("holds files that no sweep wrote", self.expect(2, "--out", foreign).stderr)
        self.assertEqual([path.name for path in foreign.iterdir()], ["thesis.tex"])
        with open(self.out / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertIn("another process runs this sweep now", self.expect(2).stderr)


class TableTest(SweepTest):
    def test_a_row_is_the_run_that_its_command_names(self):
        self.file.write_text("""\
scenario: made.yaml
set: {workload.generator.jobs: 60}
list:
- {}
- {cluster.nodes: 2}
- {cluster.nodes: 8, workload.generator.arrivals.load: 1.5}
policies: [easy, {name: easy, backfill_depth: 1}, srtf]
seeds: [3, 8]
""")
        document = json.loads(self.expect(0, "--json").stdout)
        rows = self.rows()
        self.assertEqual(len(rows), 18)
        self.assertEqual([row["cell"] for row in rows], [str(n) for n in range(1, 19)])
        self.assertEqual(list(rows[0])[:6], ["cell", "cluster.nodes", "workload.generator.arrivals.load",
                                             "policy", "seed", "exit"])
        self.assertEqual([rows[0]["cluster.nodes"], rows[6]["cluster.nodes"]], ["", "2"])
        self.assertEqual([row["policy"] for row in rows[:6:2]], ["easy", "easy backfill_depth=1", "srtf"])
        self.assertEqual([row["seed"] for row in rows[:2]], ["3", "8"])
        for cell in document["cells"]:
            summary, row = cell["summary"], rows[cell["cell"] - 1]
            self.assertEqual((row["state_digest"], float(row["jct_avg_s"]), row["unmet"]),
                             (summary["state_digest"], summary["jct_avg_s"], "0"))
        # Cell 16: the last point, the policy with its own parameter, the second seed.
        words = ["--set", "policy={name: easy, backfill_depth: 1}", "--set", "workload.generator.jobs=60",
                 "--set", "cluster.nodes=8", "--set", "workload.generator.arrivals.load=1.5", "--seed", "8"]
        alone = subprocess.run([PROGRAM, "sim", self.folder / "made.yaml", *words, "--json"],
                               capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        self.assertEqual(json.loads(alone.stdout)["state_digest"], rows[15]["state_digest"])

    def test_the_scenarios_own_policy_and_seed(self):
        self.file.write_text("scenario: made.yaml\ngrid: {cluster.nodes: [4, 8]}\n")
        self.expect(0)
        self.assertEqual([(row["policy"], row["seed"]) for row in self.rows()], [("easy", "9")] * 2)
        # With its parameters, which count for no other policy.
        alone = subprocess.run([PROGRAM, "sim", self.folder / "made.yaml", "--json"], check=True,
                               capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(json.loads(alone.stdout)["state_digest"], self.rows()[0]["state_digest"])

    def test_a_dry_run_writes_nothing(self):
        done = self.expect(0, "--dry-run")
        self.assertIn("8 cells, 2 points x 2 policies x 2 seeds", done.stdout)
        self.assertFalse(self.out.exists())
        document = json.loads(self.expect(0, "--dry-run", "--json").stdout)
        self.assertEqual(document["cells"][5], {
            "cell": 6, "set": {"workload.generator.arrivals.load": "1.3"}, "policy": "fifo", "seed": 2,
            "done": False})
        self.expect(0, "--cells", "2,6-7")
        document = json.loads(self.expect(0, "--dry-run", "--json").stdout)
        self.assertEqual([cell["cell"] for cell in document["cells"] if cell["done"]], [2, 6, 7])

    def test_unmet_expectations_are_counted_and_told(self):
        (self.folder / "made.yaml").write_text(
            "cluster: {nodes: 1, gpus_per_node: 2}\n"
            "jobs: [{name: a, work: 100s, devices: 1}]\n"
            "expect: [{job: a, phase: Succeeded, by: 50s}]\n")
        self.file.write_text("scenario: made.yaml\ngrid: {'jobs[0].work': [20s, 100s]}\nseeds: 1..2\n")
        done = self.expect(1)
        self.assertEqual([(row["exit"], row["unmet"]) for row in self.rows()],
                         [("0", "0"), ("0", "0"), ("1", "1"), ("1", "1")])
        self.assertIn("(2 cells)", done.stderr)


class LaunchedTest(SweepTest):
    def test_by_a_command_the_same_comes_of_it(self):
        self.expect(0, "--launcher", "nice -n 5", "--parallel", "2")
        self.assertEqual((self.out / "sweep.csv").read_bytes(), self.whole())
        self.assertEqual((self.out / "logs/8.log").read_text(), "cell 8: done, exit code 0\n")

    def test_from_another_folder_the_same_comes_of_it(self):
        self.expect(0, "--launcher", "cd / && echo {cell} {file} {out} && {command}")
        self.assertEqual((self.out / "sweep.csv").read_bytes(), self.whole())
        self.assertIn(f"7 {self.file} {self.out}\n", (self.out / "logs/7.log").read_text())

    def test_a_failed_cell_is_told_and_run_again(self):
        launcher = "if [ {cell} = 3 ]; then echo no such node >&2; exit 9; fi; {command}"
        error = self.expect(1, "--launcher", launcher).stderr
        self.assertIn("cell 3 (workload.generator.arrivals.load=0.7, policy easy, seed 1): failed: its "
                      "command ended with code 9 and left no result: no such node", error)
        self.assertIn("7 of 8 cells are done", error)
        self.assertFalse((self.out / "sweep.csv").exists())
        alone = re.search(r"  alone: orrery (.*)", error)[1]
        subprocess.run([PROGRAM, *shlex.split(alone)], check=True, capture_output=True, timeout=PATIENCE_S)
        self.assertIn("7 of 8 cells were done before", self.expect(0).stderr)
        self.assertEqual((self.out / "sweep.csv").read_bytes(), self.whole())

    def test_a_run_that_is_killed_is_a_failed_cell(self):
        self.file.write_text(SWEEP.replace("[0.7, 1.3]", "[1]").replace("1..2", "1"))
        (self.folder / "made.yaml").write_text(SCENARIO.replace("jobs: 100", "jobs: 4000000"))
        running = subprocess.Popen([PROGRAM, "sweep", self.file, "--out", self.out, "--parallel", "1"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = pathlib.Path(f"/proc/{running.pid}/task/{running.pid}/children")
        for _ in range(2):
            end = time.monotonic() + PATIENCE_S
            while not (child := children.read_text().split()):
                self.assertLess(time.monotonic(), end)
                pause(running)
            os.kill(int(child[0]), signal.SIGKILL)
            while running.poll() is None and child[0] in children.read_text().split():
                self.assertLess(time.monotonic(), end)
                pause(running)
        _, error = running.communicate(timeout=PATIENCE_S)
        self.assertEqual(running.returncode, 3, error)
        self.assertIn("failed: a run: the process of the run was ended by the system: Killed", error)
        self.assertIn("0 of 2 cells are done", error)


class RefusedTest(SweepTest):
    def refused(self, text, *words):
        self.file.write_text(text)
        error = self.expect(2, *words).stderr
        self.assertFalse(self.out.exists())
        return error

    def test_everything_wrong_with_its_values_is_told_with_lines(self):
        error = self.refused("""\
scenario: made.yaml
set: {cluster.nodez: 4}
grid:
  workload.generator.arrivals.lod: [1, 2]
  cluster.gpus_per_node: [8, 1000]
policies: [fifo, esy]
""")
        for line in [":2: cluster.nodez: is no key here, the nearest is 'nodes'",
                     ":4: workload.generator.arrivals.lod: is no key here, the nearest is 'load'",
                     ":6: policies: no policy is named \"esy\", needed one of"]:
            self.assertIn(f"{self.file}{line}", error)
        self.assertEqual(error.count("nodez"), 1)
        self.assertIn("did you mean easy?", error)

    def test_a_parameter_that_a_policy_lacks(self):
        error = self.refused("scenario: made.yaml\ngrid: {policy.backfill_depth: [1, 2]}\npolicies: [easy, fifo]\n")
        self.assertIn(f"{self.file}:2: fifo: ", error)
        self.assertNotIn("easy: ", error)

    def test_contradictions_and_what_is_empty(self):
        for text, line in [
                ("grid: {}", ":2: grid: is empty"),
                ("grid: {cluster.nodes: []}", ":2: grid: cluster.nodes: has no values"),
                ("grid: {cluster.nodes: 4}", ":2: grid: cluster.nodes: is '4', a list of values is needed"),
                ("list: []", ":2: list: is empty"),
                ("grid: {cluster.nodes: [4]}\nlist: [{}]", ":3: list: stands beside grid"),
                ("grid: {cluster.nodes: [4]}\nset: {cluster: {}}",
                 ":2: grid: cluster.nodes is set here, and cluster under set too"),
                ("grid: {cluster.nodes: [4]}\nset: {cluster.nodes: 8}",
                 ":2: grid: cluster.nodes is set here, and under set too, each value"),
                ("grid: {seed: [1, 2]}", ":2: grid: seed is set here, but a cell's seed comes from seeds"),
                ("grid: {policy: [fifo]}", "a cell's policy comes from policies"),
                ("grid: {cluster.nodes: [4, 4]}", ":2: grid: cluster.nodes: 4 stands twice"),
                ("seeds: 1..3", ":1: sweep: has neither grid nor list"),
                ("grid: {cluster.nodes: [4]}\nseeds: []", ":3: seeds: is an empty list"),
                ("grid: {cluster.nodes: [4]}\nseeds: 5..1", ':3: seeds: "5..1" counts downwards'),
                ("grid: {cluster.nodes: [4]}\npolicies: []", ":3: policies: is an empty list"),
                ("grid: {cluster.nodes: [4]}\npolicies: [fifo, fifo]", ":3: policies: fifo stands twice"),
                ("grid: {cluster.nodes: [4]}\nseeds: 1..100000\npolicies: [fifo, easy]", "more than 100000 cells"),
                ("grids: {cluster.nodes: [4]}", ":2: grids: is no key here, the nearest is 'grid'")]:
            with self.subTest(text):
                self.assertIn(line, self.refused(f"scenario: made.yaml\n{text}\n"))
        self.assertIn("none.yaml cannot be read",
                      self.refused("scenario: none.yaml\ngrid: {cluster.nodes: [4]}\n"))
        self.assertIn("a sweep needs world model or sim",
                      self.refused("scenario: made.yaml\ngrid: {cluster.nodes: [4]}\nset: {world: cluster}\n"))

    def test_options(self):
        self.assertIn("--launcher: slurm needs sbatch, which is in no folder of PATH",
                      self.expect(2, "--launcher", "slurm", env={"PATH": "/nonexistent"}).stderr)
        self.assertIn("words stand behind local", self.expect(2, "--launcher", "local 3").stderr)
        self.assertIn("an empty text found", self.expect(2, "--launcher", " ").stderr)
        self.assertIn("the sweep has 8 cells", self.expect(2, "--cells", "8-9").stderr)
        self.assertIn("write for example 3 or 1,4,7-9", self.expect(2, "--cells", "4-2").stderr)
        self.assertIn("stands beside --launcher", self.expect(2, "--cells", "1", "--launcher", "nice").stderr)
        self.assertFalse(self.out.exists())

    def test_check_knows_sweeps(self):
        done = subprocess.run([PROGRAM, "check", self.file, ROOT / "scenarios/load_sweep.yaml"],
                              capture_output=True, text=True, check=True, timeout=PATIENCE_S)
        self.assertEqual(done.stdout, f"{self.file}: sound, 8 cells\n"
                                      f"{ROOT}/scenarios/load_sweep.yaml: sound, 30 cells\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
