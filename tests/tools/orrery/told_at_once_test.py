"""What is wrong with a scenario and with the policy that it names is told in one go.

Usage: told_at_once_test.py PROGRAM
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CLUSTER = "cluster: {nodes: 2, gpus_per_node: 4}\n"
JOBS = "jobs: [{name: a, work: 10s}]\n"
WRONG_JOBS = "jobs: [{name: a, work: 10s, prioritty: 3}]\n"


class ToldAtOnceTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file = self.folder / "case.yaml"

    def found(self, text, *words, code=2):
        """The subjects of the errors that `words` tell of a scenario, in order."""
        self.file.write_text(CLUSTER + text)
        done = subprocess.run([PROGRAM, words[0], self.file, *words[1:]], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        at = f"{self.file}:"
        return [line.split(": ")[1 if line.startswith(at) else 0] for line in done.stderr.splitlines()]

    def test_a_wrong_job_and_a_policy_that_is_not_there(self):
        for verb in ("check", "sim", "compare"):
            self.assertEqual(self.found("policy: lass\n" + WRONG_JOBS, verb), ["job a", "policy"], verb)

    def test_a_wrong_job_and_a_parameter_out_of_range(self):
        for verb in ("check", "sim", "compare"):
            self.assertEqual(self.found("policy: {name: las, quantum: -3s}\n" + WRONG_JOBS, verb),
                             ["job a", "policy.quantum"], verb)

    def test_a_trace_that_is_not_there_and_a_parameter_of_another_policy(self):
        text = "policy: {name: easy, depth: 3}\nworkload: {format: philly, file: none.csv}\n"
        self.assertEqual(self.found(text, "sim"), [str(self.folder / "none.csv"), "policy.depth"])

    def test_a_policy_of_the_command_line_stands_for_the_files_own(self):
        self.assertEqual(self.found("policy: lass\n" + JOBS, "sim", "--policy", "las", code=0), [])
        self.assertEqual(self.found("policy: lass\n" + WRONG_JOBS, "sim", "--policy", "fofo"),
                         ["job a", "--policy"])
        self.assertEqual(self.found("policy: lass\n" + WRONG_JOBS, "compare", "--policies", "fifo,fofo"),
                         ["job a", "--policies"])

    def test_a_sweep_whose_scenario_and_policies_are_wrong(self):
        (self.folder / "base.yaml").write_text(CLUSTER + JOBS)
        self.file.write_text("scenario: base.yaml\nset: {cluster.nodes: -3}\n"
                             "grid: {cluster.gpus_per_node: [4, 8]}\npolicies: [fifo, {name: easy, depth: 3}]\n")
        for verb in ("check", "sweep"):
            done = subprocess.run([PROGRAM, verb, self.file], capture_output=True, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 2, done.stderr)
            self.assertIn(f"{self.file}:2: cluster.nodes: is '-3'", done.stderr)
            self.assertIn(f"{self.file}:4: easy depth=3: policy.depth: is no parameter", done.stderr)

    def test_nothing_is_told_twice(self):
        self.assertEqual(self.found("policy: lass\n" + JOBS, "check"), ["policy"])
        self.assertEqual(self.found("policy: {quantum: 3min}\n" + JOBS, "check"), ["policy"])
        self.assertEqual(len(self.found('policy: {name: las, queues: "a weight=-1"}\n' + JOBS, "check")), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
