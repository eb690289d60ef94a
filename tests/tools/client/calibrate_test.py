"""orrery calibrate against a controller that is none: what it asks, tells, writes and deletes.

Usage: calibrate_test.py PROGRAM
"""

import json
import signal
import subprocess
import sys
import threading
import unittest

from client_test import NODES, PROGRAM, VerbTest, status


class Probed(dict):
    """Answers of a controller that calibrate measures, whatever its jobs are called."""

    MEASURED = json.dumps({"device": "cpu", "backend": "gloo", "multiply_s": [0.1], "gflops_p50": 1,
                           "checkpoint_bytes": 4096, "checkpoint_write_s": [0.1],
                           "checkpoint_read_s": [0.1], "all_reduce": []})

    def __init__(self, looked_at):
        """`looked_at(name)`: phase and ready workers of a job, or None: it ends well."""
        super().__init__()
        self.looked_at = looked_at
        self.stopped = False

    def get(self, key, default=None):
        method, path = key
        kind, _, rest = path.removeprefix("/api/v1/").partition("/")
        name, _, what = rest.partition("/")
        if kind == "nodes":
            return 200, {"nodes": NODES}
        if kind == "events":
            return 200, {"events": [{"name": "JobFailed", "at": 1}, {"name": "WorkersExited", "at": 2}]
                                   if self.stopped else []}
        if method == "DELETE" or (method, kind, name) == ("POST", "jobs", ""):
            return 200, {"jobs": [{"name": "default.calibrate"}]}
        if what == "logs":
            return 200, self.MEASURED
        self.stopped = self.stopped or what == "stop"
        return lambda _: (200, self.status(name))

    def status(self, name):
        phase, ready = self.looked_at(name) or ("Succeeded", 0)
        return status("calibrate", phase, ready_replicas=ready)


class CalibrateTest(VerbTest):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "measured.yaml"
        self.words = ("calibrate", "--ranks", "1,2", "--starts", "1", "--out", str(self.file))

    def sizes(self):
        return [json.loads(each[3])["replicas"] for each in self.fake.requests("POST")
                if each[1].endswith("/scale")]

    def deleted(self):
        """How many jobs were."""
        return len(self.fake.requests("DELETE"))

    def test_a_policy_that_grows_jobs_by_itself_is_measured(self):
        def grown(name):
            sizes = self.sizes()
            return ("Running", sizes[-1] if sizes else 2) if name.endswith("elastic") else None
        self.fake.answers = Probed(grown)
        self.expect(0, *self.words)
        self.assertEqual(self.sizes(), [1, 2, 1, 2])
        self.assertTrue(self.file.exists())
        self.assertEqual(self.deleted(), 3)

    def test_what_the_job_of_memberships_does_not_tell_is_left_out(self):
        self.fake.answers = Probed(lambda name: ("Failed", 0) if name.endswith("elastic") else None)
        done = self.expect(0, *self.words)
        self.assertIn("remark: changes of membership and the stop were not measured", done.stderr)
        self.assertTrue(self.file.exists())
        self.assertEqual(self.deleted(), 3)

    def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(self):
        for path in ["", str(self.folder), str(self.folder / "none" / "x.yaml")]:
            self.assertIn(path or "--out", self.expect(2, *self.words[:-1], path).stderr)
        self.assertEqual(self.fake.asked, [])

    def test_an_interrupt_deletes_the_job_that_runs(self):
        looked = threading.Event()

        def runs(_):
            looked.set()
            return "Running", 1
        for number in (signal.SIGINT, signal.SIGTERM):
            looked.clear()
            self.fake.asked.clear()
            self.fake.answers = Probed(runs)
            probing = subprocess.Popen([PROGRAM, *self.words], env=self.environment, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.assertTrue(looked.wait(60))
            probing.send_signal(number)
            _, error = probing.communicate(timeout=60)
            self.assertEqual(probing.returncode, 130, error)
            self.assertEqual(self.deleted(), 1)
            self.assertFalse(self.file.exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
