"""`orrery test --junit` of the built program, its reports read by a parser of XML.

Usage: junit_test.py PROGRAM
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

TWO_JOBS = """\
name: two-jobs
policy: fifo
cluster: {nodes: 1, gpus_per_node: 4, gpu: v100}
jobs:
  - {name: first, at: 0s, gpus: 4, work: 100s}
  - {name: second, at: 10s, gpus: 2, work: 50s}
"""
MANY = """\
name: many
policy: fifo
cluster: {nodes: 2, gpus_per_node: 8, gpu: v100}
workload:
  generator: {preset: philly-like, jobs: 1000000, arrivals: {load: 0.9}, preemptible_share: 1}
"""


class JunitTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scenario = self.write("two.yaml", TWO_JOBS)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect(self, code, *words):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              errors="replace", timeout=120, check=False)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def junit(self, code, *words):
        """Runs with --junit; the document, read by a parser of XML that knows nothing of us."""
        path = self.folder / "report.xml"
        done = self.expect(code, "test", *words, "--junit", path)
        return ElementTree.parse(path).getroot(), done

    def test_junit_counts_what_passed_failed_and_was_broken(self):
        for folder in ["one", "two"]:
            (self.folder / folder).mkdir()
        good = self.write("one/good.yaml", TWO_JOBS + "expect:\n  - {job: first, phase: Succeeded}\n")
        unmet = self.write("one/unmet.yaml", "seed: 5\n" + TWO_JOBS + "expect:\n"
                           "  - {job: first, phase: Failed}\n  - {job: second, phase: Failed}\n")
        broken = self.write("two/broken.yaml", "cluster: 3\n")
        root, done = self.junit(2, good, unmet, broken, "--json")
        self.assertEqual(root.tag, "testsuites")
        counts = [root.get(key) for key in ("tests", "failures", "errors", "skipped")]
        self.assertEqual(counts, ["3", "1", "1", "0"])
        one, two = root
        self.assertEqual([one.get("name"), two.get("name")], [str(good.parent), str(broken.parent)])
        self.assertEqual([one.get(key) for key in ("tests", "failures", "errors")], ["2", "1", "0"])
        self.assertEqual([two.get(key) for key in ("tests", "failures", "errors")], ["1", "0", "1"])
        self.assertRegex(one.get("timestamp"), r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$")
        cases = root.findall(".//testcase")
        self.assertEqual([case.get("name") for case in cases], [str(good), str(unmet), str(broken)])
        for case in cases:
            self.assertGreaterEqual(float(case.get("time")), 0)
        scenarios = json.loads(done.stdout)["scenarios"]
        self.assertEqual([bool(case.findall("failure")) for case in cases], [False, True, False])
        failure = cases[1].find("failure")
        self.assertEqual(failure.text.splitlines(), scenarios[1]["unmet"])
        self.assertEqual(failure.get("message"), scenarios[1]["unmet"][0] + " (and 1 more)")
        self.assertEqual(failure.get("type"), "unmet expectation")
        error = cases[2].find("error")
        self.assertEqual(error.text.splitlines(), scenarios[2]["unmet"])
        self.assertIn("two/broken.yaml:1: cluster", error.text)
        self.assertEqual(error.get("type"), "bad input")
        self.assertIsNone(cases[2].find("properties"))
        # What a run was is what sim says that it is.
        summary = json.loads(self.expect(1, "sim", unmet, "--json").stdout)
        properties = {each.get("name"): each.get("value") for each in cases[1].iter("property")}
        self.assertEqual(properties, {"seed": "5", "world": "model", "policy": summary["policy"],
                                      "state_digest": summary["state_digest"]})

    def test_junit_is_well_formed_whatever_a_text_holds(self):
        odd = TWO_JOBS.replace("name: two-jobs", r'name: "a\x01<b>&\"]]>\u2028"')
        odd = odd.replace("first", r'"f\x07irst]]>&"')
        folder = self.folder / "a & <b>\n\x1b\udcff"
        folder.mkdir()
        path = folder / 'q"uote.yaml'
        path.write_text(odd)
        root, _ = self.junit(2, path)
        case = root.find(".//testcase")
        self.assertEqual(case.get("name"), str(path).replace("\x1b", "\ufffd").replace("\udcff", "\ufffd"))
        self.assertTrue(case.find("error").text)

    def test_what_cannot_be_meant_is_refused_before_anything_runs(self):
        path = self.write("mine.yaml", TWO_JOBS)
        done = self.expect(2, "test", path, "--junit", path, "--set", "foo")
        for words in ("a scenario that is to run", "path=value is needed"):
            self.assertIn(words, done.stderr)
        self.assertEqual(path.read_text(), TWO_JOBS)
        self.assertIn("drop one", self.expect(
            2, "test", path, "--world", "cluster", "--fidelity", "L3").stderr)

    def test_only_files_of_a_folder_are_scenarios(self):
        (self.folder / "folder.yaml").mkdir()
        os.mkfifo(self.folder / "pipe.yaml")
        self.assertIn("1 passed, 0 failed", self.expect(0, "test", self.folder).stdout)

    def test_junit_of_what_passes_has_nothing_but_cases(self):
        root, done = self.junit(0, self.scenario)
        self.assertIn("1 passed", done.stdout)
        self.assertEqual([each.tag for each in root.find(".//testcase")], ["properties"])
        self.assertEqual(root.get("failures"), "0")

    def test_a_report_that_cannot_be_written_is_told_before_anything_runs(self):
        made = self.write("made.yaml", MANY)
        for path in [self.folder / "none" / "report.xml", self.folder]:
            done = self.expect(2, "test", made, "--junit", path)
            self.assertEqual(done.stdout, "")
            line, = done.stderr.splitlines()
            self.assertIn(f"--junit: is {path}, which cannot be written", line)
            self.assertIn("name another file", line)
        kept = self.write("kept.xml", "kept")
        self.expect(2, "test", self.folder / "none", "--junit", kept)
        self.assertNotEqual(kept.read_text(), "kept", "a file that is not there is a case too")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
