"""orrery hands verbs to the program orrery-node that lies beside it.

Usage: beside_test.py PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()


class BesideTest(unittest.TestCase):
    def run_it(self, program, *words):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
        return subprocess.run([program, *words], capture_output=True, text=True, timeout=60,
                              check=False, env=environment)

    def test_words_and_exit_code_pass_through(self):
        done = self.run_it(PROGRAM, "get", "--server", "unix:/nowhere.sock")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertIn("unix:/nowhere.sock: no controller answers", done.stderr)

    def test_help_and_bad_usage_need_no_other_program(self):
        with tempfile.TemporaryDirectory(prefix="orrery-") as folder:
            alone = pathlib.Path(folder) / "orrery"
            shutil.copy(PROGRAM, alone)
            self.assertIn("--rank", self.run_it(alone, "logs", "--help").stdout)
            self.assertEqual(self.run_it(alone, "logs").returncode, 2)
            done = self.run_it(alone, "get")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{folder}/orrery-node cannot be run", done.stderr)
            self.assertIn("build or install both", done.stderr)

    def test_bash_completes_names_of_jobs_by_asking(self):
        script = self.run_it(PROGRAM, "completion", "bash").stdout
        self.assertIn("$(orrery get --names 2>/dev/null)", script)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
