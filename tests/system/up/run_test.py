"""`orrery run`: a distributed program as a job, with a controller of its own and on a cluster.

Usage: run_test.py ORRERY_NODE
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

from cluster import PATIENCE_S, Cluster, kill_process, processes_of, wait_until
from own_ports import give_back, own_ports

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

SHOWS_ENVIRONMENT = """\
import json, os, sys
print(json.dumps({"argv": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ)}))
"""
ONE_FAILS = """\
import os, signal, sys
if os.environ["RANK"] == "1":
    print("I am doomed", file=sys.stderr)
    sys.exit(7)
signal.pause()
"""
WAITS = """\
import signal, sys
def bye(*_):
    print("bye")
    sys.exit(0)
signal.signal(signal.SIGTERM, bye)
print("here")
signal.pause()
"""
STAYS = """\
import signal
signal.signal(signal.SIGTERM, lambda *_: print("I stay"))
print("here")
while True:
    signal.pause()
"""
FAILS_ONCE = """\
import os, signal, sys
count = os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"restart {count} of {os.environ['TORCHELASTIC_MAX_RESTARTS']}")
if count == "0":
    if os.environ["RANK"] == "0":
        sys.exit(3)
    signal.pause()
"""


class Run:
    """One `orrery run`, with what it has said so far."""

    def __init__(self, folder, environment, *words):
        self.process = subprocess.Popen([PROGRAM, "run", *map(str, words)], cwd=folder, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment)
        self.out, self.err = [], []
        self.listeners = [threading.Thread(target=self._listen, args=pair, daemon=True)
                          for pair in ((self.process.stdout, self.out),
                                       (self.process.stderr, self.err))]
        for listener in self.listeners:
            listener.start()

    @staticmethod
    def _listen(pipe, said):
        with pipe:
            for line in pipe:
                said.append(line.rstrip("\n"))

    def says(self, *lines):
        """Waits until all of these lines have come on standard output."""
        try:
            wait_until(f"the lines {lines}",
                       lambda: set(lines) <= set(self.out) or self.process.poll() is not None)
        except AssertionError as error:
            raise AssertionError(f"{error}; it said {self.out} {self.err}") from error

    def errors(self):
        return "\n".join(list(self.err))

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        """The exit code."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        for listener in self.listeners:
            listener.join(PATIENCE_S)
        return code


class StandaloneTest(unittest.TestCase):
    def setUp(self):
        # Short, for sockets lie in it.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-t-"))
        self.ports = own_ports()
        self.addCleanup(self.clean_up)
        (self.folder / "tmp").mkdir()
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith("ORRERY_") and k != "OMP_NUM_THREADS"}
        self.environment["TMPDIR"] = str(self.folder / "tmp")

    def clean_up(self):
        def kill_all():
            left = processes_of(self.folder)
            for pid in left:
                kill_process(pid, self.folder)
            return not left
        wait_until("the last of its processes to be gone", kill_all)
        shutil.rmtree(self.folder, ignore_errors=True)
        give_back(self.ports)

    def start(self, script, *words, name="train.py"):
        """With `words` before the script."""
        (self.folder / name).write_text(script)
        return Run(self.folder, self.environment, "--standalone", "--ports", self.ports, *words)

    def assert_nothing_is_left(self):
        self.assertEqual(processes_of(self.folder), {})
        self.assertEqual(list((self.folder / "tmp").iterdir()), [], "its folder is removed")

    def test_ranks_find_what_torchrun_tells(self):
        self.environment["FROM_HERE"] = "as it is"
        run = self.start(SHOWS_ENVIRONMENT, "--nnodes", 2, "--nproc_per_node", 2, "--max-restarts", 5,
                         "--env", "SEED=17", "--rdzv-backend", "c10d", "train.py", "--lr", "0.1",
                         "--name", "x")
        self.assertEqual(run.end(), 0, run.err)
        self.assertIn("--rdzv-backend means nothing here", run.errors())
        self.assertIn("train: submitted, 4 processes, 2 on each of 2 nodes", run.errors())
        self.assertIn("train: Succeeded", run.errors())
        found = {int(rank): json.loads(text) for rank, text in
                 (re.fullmatch(r"\[(\d+)\] (.*)", line).groups() for line in run.out)}
        self.assertEqual(sorted(found), [0, 1, 2, 3])
        masters = set()
        for rank, what in found.items():
            variables = what["environment"]
            expected = {"RANK": rank, "WORLD_SIZE": 4, "LOCAL_RANK": rank % 2, "LOCAL_WORLD_SIZE": 2,
                        "GROUP_RANK": rank // 2, "GROUP_WORLD_SIZE": 2, "ROLE_NAME": "default",
                        "ROLE_RANK": rank, "ROLE_WORLD_SIZE": 4,
                        "TORCHELASTIC_RUN_ID": "default.train", "TORCHELASTIC_RESTART_COUNT": 0,
                        "TORCHELASTIC_MAX_RESTARTS": 5, "OMP_NUM_THREADS": 1, "SEED": 17,
                        "FROM_HERE": "as it is"}
            self.assertEqual({name: variables.get(name) for name in expected},
                             {name: str(value) for name, value in expected.items()}, rank)
            masters.add((variables["MASTER_ADDR"], int(variables["MASTER_PORT"])))
            self.assertEqual(what["argv"], ["train.py", "--lr", "0.1", "--name", "x"])
            self.assertEqual(what["folder"], str(self.folder))
        self.assertEqual(len(masters), 1, masters)
        self.assert_nothing_is_left()

    def test_a_failure_ends_with_1_and_says_which_rank_and_what_it_wrote(self):
        run = self.start(ONE_FAILS, "--nproc-per-node", 3, "train.py")
        self.assertEqual(run.end(), 1, run.err)
        self.assertIn("[1] I am doomed", run.out)
        self.assertRegex(run.errors(), r"rank 1 failed first: .*exit code 7.*; it wrote last:\n"
                                       r"    I am doomed")
        self.assertIn("train: Failed", run.errors())
        self.assert_nothing_is_left()

    def test_a_restart_is_counted(self):
        run = self.start(FAILS_ONCE, "--nproc-per-node", 2, "--max-restarts", 1, "train.py")
        self.assertEqual(run.end(), 0, run.err)
        for rank in (0, 1):
            self.assertIn(f"[{rank}] restart 1 of 1", run.out)
        self.assertRegex(run.errors(), "train: restart 1 of 1: .*exit code 3")
        self.assertNotIn("failed first", run.errors())
        self.assert_nothing_is_left()

    def test_without_restarts_left_the_failure_is_told(self):
        run = self.start("import sys; sys.exit(4)", "--max-restarts", 1, "train.py")
        self.assertEqual(run.end(), 1, run.err)
        self.assertRegex(run.errors(), "rank 0 failed first: .*exit code 4")
        self.assertEqual(run.errors().count("train: restart"), 1, run.err)
        self.assert_nothing_is_left()

    def test_ctrl_c_stops_the_job_and_ends_everything(self):
        run = self.start(WAITS, "--nnodes", 2, "train.py")
        run.says("[0] here", "[1] here")
        run.interrupt()
        self.assertEqual(run.end(), 130, run.err)
        self.assertIn("[0] bye", run.out)
        self.assertIn("[1] bye", run.out)
        self.assertIn("interrupted; the job is stopped", run.errors())
        self.assertNotIn("failed first", run.errors())
        self.assert_nothing_is_left()

    def test_a_second_ctrl_c_does_not_wait_for_the_grace(self):
        run = self.start(STAYS, "--set", "drain_grace=1h", "train.py")
        run.says("[0] here")
        run.interrupt()
        run.says("[0] I stay")
        run.interrupt()
        self.assertEqual(run.end(), 130, run.err)
        self.assert_nothing_is_left()

    def test_what_no_node_can_hold_ends_at_once(self):
        run = self.start(WAITS, "--cpus-per-proc", 100000, "train.py")
        self.assertEqual(run.end(), 1, run.err)
        self.assertIn("there will be no other nodes; the job is stopped", run.errors())
        self.assertRegex(run.errors(), "train: Pending .*100000 cores")
        self.assert_nothing_is_left()

    def test_a_range_takes_what_there_is(self):
        run = self.start(SHOWS_ENVIRONMENT, "--nnodes", "1:2", "train.py")
        self.assertEqual(run.end(), 0, run.err)
        self.assertIn("1 to 2 processes", run.errors())
        last = json.loads(run.out[-1].partition(" ")[2])["environment"]
        self.assertEqual(last["WORLD_SIZE"], "2")
        self.assert_nothing_is_left()

    def test_ranks_are_chosen_and_printed_as_json(self):
        run = self.start("import os; print('I am', os.environ['RANK'])", "--nproc-per-node", 3,
                         "--json", "--ranks", "0,2", "train.py")
        self.assertEqual(run.end(), 0, run.err)
        lines = [json.loads(line) for line in run.out]
        self.assertEqual(sorted(lines[:-1], key=lambda line: line["rank"]),
                         [{"rank": 0, "line": "I am 0"}, {"rank": 2, "line": "I am 2"}])
        self.assertEqual((lines[-1]["job"]["name"], lines[-1]["job"]["phase"]),
                         ("default.train", "Succeeded"))

    def test_nothing_is_started_for_a_dry_run(self):
        run = self.start(WAITS, "--nnodes", 2, "--dry-run", "--set", "drain_grace=5s", "train.py")
        self.assertEqual(run.end(), 0, run.err)
        self.assertIn("    virtual_cluster: nodes", run.out)
        self.assertIn("# and on submission --set drain_grace=5s", run.out)
        self.assert_nothing_is_left()

    def test_settings_that_are_unfit_are_told_at_once(self):
        run = self.start(WAITS, "--nnodes", 65, "--set", "novalue", "train.py")
        self.assertEqual(run.end(), 2, run.err)
        run = Run(self.folder, self.environment, "--standalone", "--nnodes", 65, "--ports", "9-3",
                  "train.py")
        self.assertEqual(run.end(), 2, run.err)
        self.assertIn("--nnodes: 65 found beside --standalone", run.errors())
        self.assertIn("orrery run: --ports", run.errors())
        run = self.start(WAITS, "--set", "drain_grace=long", "train.py")
        self.assertEqual(run.end(), 2, run.err)
        self.assertIn("drain_grace", run.errors())
        self.assert_nothing_is_left()


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 2, "--agent-set", "inventory.cpu=8",
                              "--agent-set", "inventory.memory=32GiB")
        cls.addClassCleanup(cls.cluster.close)

    def start(self, script, *words):
        self.cluster.write("train.py", script)
        return Run(self.cluster.folder, self.cluster.environment, *words, "train.py")

    def states(self, job):
        return [member["state"] for member in self.cluster.job(job)["members"]]

    def test_devices_are_what_the_nodes_have(self):
        run = self.start(SHOWS_ENVIRONMENT, "--nnodes", 2, "--nproc-per-node", "gpu", "--name",
                         "devices")
        self.assertEqual(run.end(), 0, run.err)
        self.assertIn("4 processes, 2 on each of 2 nodes, 1 device each", run.errors())
        seen = sorted((variables["RANK"], variables["GROUP_RANK"], variables["CUDA_VISIBLE_DEVICES"])
                      for variables in (json.loads(line.partition(" ")[2])["environment"]
                                        for line in run.out))
        self.assertEqual(seen, [("0", "0", "0"), ("1", "0", "1"), ("2", "1", "0"), ("3", "1", "1")])

    def test_names_that_are_taken_get_a_number(self):
        names = []
        for _ in range(3):
            run = self.start("", "--detach", "--json")
            self.assertEqual(run.end(), 0, run.err)
            names.append(json.loads("".join(run.out))["name"])
        self.assertEqual(names, ["default.train", "default.train-2", "default.train-3"])
        printed = self.start("", "--dry-run")
        self.assertEqual(printed.end(), 0, printed.err)
        self.assertIn("name: train-4", printed.out)

    def test_a_name_that_was_given_is_kept(self):
        run = self.start(WAITS, "--detach", "--name", "kept")
        self.assertEqual((run.end(), run.out), (0, ["kept: submitted"]), run.err)
        again = self.start(WAITS, "--name", "kept")
        self.assertEqual(again.end(), 1, again.err)
        self.assertIn("a live job has this name", again.errors())
        self.assertEqual(self.cluster.orrery("stop", "kept").returncode, 0)

    def test_ctrl_c_stops_the_job(self):
        run = self.start(WAITS, "--name", "stopped")
        run.says("[0] here")
        run.interrupt()
        self.assertEqual(run.end(), 130, run.err)
        self.assertIn("[0] bye", run.out)
        self.assertEqual(self.cluster.job("stopped")["reason"], "StoppedByUser")

    def test_a_second_ctrl_c_leaves_at_once(self):
        run = self.start(STAYS, "--name", "stays", "--set", "drain_grace=1h")
        run.says("[0] here")
        run.interrupt()
        run.says("[0] I stay")
        run.interrupt()
        self.assertEqual(run.end(), 130, run.err)
        self.assertEqual(self.states("stays"), ["Draining"])
        # Its devices are for the next test.
        for pid, words in processes_of(self.cluster.folder).items():
            if " -u train.py" in words:
                self.assertTrue(kill_process(pid, self.cluster.folder))
        wait_until("the worker to be gone", lambda: self.states("stays") != ["Draining"])

    def test_a_job_that_is_stopped_by_another_user_has_failed(self):
        run = self.start(WAITS, "--name", "other")
        run.says("[0] here")
        self.assertEqual(self.cluster.orrery("stop", "other").returncode, 0)
        self.assertEqual(run.end(), 1, run.err)

    def test_without_a_controller_both_remedies_are_named(self):
        for words in ([], ["--devices-per-proc", 0]):
            run = self.start("", "--server", "http://127.0.0.1:1", *words)
            self.assertEqual(run.end(), 5, run.err)
            self.assertIn("start one with orrery up", run.errors())
            self.assertIn("add --standalone", run.errors())
        run = self.start("", "--server", "http://127.0.0.1:1", "--dry-run")
        self.assertEqual(run.end(), 0, run.err)
        self.assertIn("no controller answers", run.errors())
        self.assertIn("name: train", run.out)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
