"""orrery storm from outside: what it tells, and how it goes on where it was interrupted.

Usage: storm_test.py PROGRAM ROOT
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import unittest

from program_test import PROGRAM, ProgramTest, can_open_terminal, wait_until_it_has


class StormTest(ProgramTest):
    def test_storms_are_clean_and_counted(self):
        told = json.loads(self.expect(0, "storm", "--seeds", "1..8", "--json").stdout)
        self.assertEqual(told["seeds"], 8)
        self.assertEqual(told["failures"], [])
        self.assertGreaterEqual(told["simulated_s"], 8 * 600)
        self.assertGreater(told["events"], told["records"])
        self.assertIn("agent_fenced", told["marks"])
        self.assertIn("nothing broke", self.expect(0, "storm", "--seeds", "3").stdout)
        self.assertIn("keep one", self.expect_bad("storm", "--seeds", "1..2", "--minutes", "1"))

    def test_a_storm_that_is_interrupted_goes_on(self):
        words = ["storm", "--seeds", "1..120", "--json", "--out"]
        out = self.folder / "storm"
        progress = out / "seeds-1-120.progress"
        # One after the other: most are still to come when the first 50 are kept.
        running = subprocess.Popen([PROGRAM, *words, out, "--parallel", "1"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        wait_until_it_has(running, progress.exists)
        running.send_signal(signal.SIGINT)
        told, error = running.communicate(timeout=120)
        self.assertEqual((running.returncode, told), (130, ""))
        self.assertRegex(error, r"interrupted: [\d,]+ of 120 seeds are done; the same command")
        self.assertTrue(progress.exists())
        done = self.expect(0, *words, out, "--parallel", "2")
        self.assertIn("taken from an earlier storm", done.stderr)
        parts = json.loads(done.stdout)
        self.assertEqual((parts["seeds"], parts["complete"]), (120, True))
        self.assertGreater(parts["seeds_resumed"], 0)
        self.assertFalse(out.exists())
        whole = json.loads(self.expect(0, *words, self.folder / "whole", "--parallel", "2").stdout)
        for measured in ("processor_s", "events_per_second", "seeds_resumed"):
            del parts[measured], whole[measured]
        self.assertEqual(parts, whole)

    def test_a_storm_leaves_a_folder_that_was_there(self):
        for name, was_there in [("mine", True), ("made", False)]:
            out = self.folder / name
            if was_there:
                out.mkdir()
            self.expect(0, "storm", "--seeds", "1..2", "--out", out)
            self.assertEqual(out.exists(), was_there)

    def test_a_storm_for_a_time_that_is_interrupted_tells_what_it_found(self):
        # A terminal is told of progress at once, a file after ten seconds.
        mine, its = os.openpty() if can_open_terminal() else os.pipe()
        with open(mine, "rb", buffering=0) as told:
            process = subprocess.Popen([PROGRAM, "storm", "--minutes", "60", "--json"], text=True,
                                       cwd=self.folder, stdout=subprocess.PIPE, stderr=its)
            os.close(its)
            said = b""
            while not re.search(rb" [1-9]\d*/[\d,]+ runs", said) and process.poll() is None:
                said += told.read(4096)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=120)
            said = b""
            # A terminal whose other end is closed is an error to read from.
            with contextlib.suppress(OSError):
                while part := told.read(4096):
                    said += part
        self.assertEqual(process.returncode, 130)
        self.assertGreater(json.loads(out)["seeds"], 0)
        self.assertIn(b"interrupted: these", said)

    def test_a_storm_needs_a_folder_that_it_can_write(self):
        file = self.write("file", "")
        self.assertIn("name another folder", self.expect_bad("storm", "--out", file / "below"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
