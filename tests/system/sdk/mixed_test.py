"""Jobs of two languages: a driver in C++ with workers in Python, and the other way round.

Usage: mixed_test.py ORRERY_NODE MEANS ROOT
"""

import pathlib
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
MEANS = pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(sys.argv[3]).resolve()
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests/system/up"))

from cluster import Cluster  # noqa: E402: from the folder that the line above names

IN_CPP = [str(MEANS)]
IN_PYTHON = ["python3", str(HERE / "means.py")]

JOB = """\
name: NAME
roles:
  trainer: {replicas: 2, devices: 0, cpu: 10m, completion: follower, env: {PYTHONPATH: SDK}, command: WORKER}
  lead: {devices: 0, cpu: 10m, env: {PYTHONPATH: SDK}, command: DRIVER}
"""


class MixedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 2, "--devices", 4)
        cls.addClassCleanup(cls.cluster.close)

    def means(self, name, worker, driver):
        """What the driver of a job has printed, once that has succeeded."""
        text = JOB.replace("NAME", name).replace("SDK", str(ROOT / "runtime/sdk/python"))
        text = text.replace("WORKER", str(worker)).replace("DRIVER", str([*driver, "drive"]))
        done = self.cluster.orrery("submit", self.cluster.write(f"{name}.yaml", text), "--wait")
        log = self.cluster.orrery("logs", name, "--role", "lead").stdout
        self.assertEqual(done.returncode, 0, done.stderr + log + "\n".join(
            self.cluster.orrery("logs", name, "--rank", rank).stdout for rank in range(3)))
        return [float(line) for line in log.split()]

    def test_each_calls_the_other(self):
        # 1 to 1000 in two halves.
        self.assertEqual(self.means("cpp-calls-python", IN_PYTHON, IN_CPP), [250.5, 750.5])
        self.assertEqual(self.means("python-calls-cpp", IN_CPP, IN_PYTHON), [250.5, 750.5])
        self.assertEqual(self.means("cpp-calls-cpp", IN_CPP, IN_CPP), [250.5, 750.5])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
