#!/usr/bin/env python3
"""A GPU falls off the bus under a running job, from the driver to the controller and back to the job.

`orrery up` with two GPUs that a stand-in for NVML tells of; orrery-devices opens it by the usual name.
A job runs on both of them. One fails: its worker is recovered, and since there is no third GPU the job
waits for it, uncharged. The same with two pretended devices, one of which is lost by the file that takes
it away, and comes back.

Usage: lost_device_test.py ORRERY_NODE FAKE_NVML
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "system/up"))
from own_ports import own_ports  # pylint: disable=wrong-import-position

PROGRAM = ""
FAKE_NVML = ""
PATIENCE_S = 60
JOB = """\
name: gpus
replicas: 2
devices: 1
cpu: 10m
memory: 16MiB
drain_grace: 1s
command: 'echo "device $CUDA_VISIBLE_DEVICES"; exec sleep 600'
"""


class OneNode(unittest.TestCase):
    """An `orrery up` on a machine with two GPUs, as a planted driver tells."""
    OPTIONS = ()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery_lost_device_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "libnvidia-ml.so.1").symlink_to(FAKE_NVML)
        self.tell("gpus 2")
        self.environment = dict(os.environ, ORRERY_FAKE_NVML=str(self.folder / "machine"),
                                LD_LIBRARY_PATH=str(self.folder))
        with (self.folder / "up.log").open("w", encoding="utf-8") as log:
            self.up = subprocess.Popen(
                [PROGRAM, "up", "--http", "127.0.0.1:0", "--ports", own_ports(), "--state", str(self.folder / "state"),
                 *self.OPTIONS],
                stdout=log, stderr=log, env=self.environment)
        self.addCleanup(self.end_up)
        self.wait_until(lambda: "ready in" in self.log(), "orrery up is ready")
        self.environment["ORRERY_SERVER"] = self.log().split("controller at ")[1].split(",")[0]

    def end_up(self):
        self.up.send_signal(signal.SIGINT)
        try:
            self.up.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.up.kill()
            self.fail("orrery up does not end")

    def log(self):
        return (self.folder / "up.log").read_text(encoding="utf-8")

    def tell(self, machine):
        """What the driver tells from now on; replaced in one step."""
        after = self.folder / "next"
        after.write_text(machine + "\n", encoding="utf-8")
        after.rename(self.folder / "machine")

    def lose_one(self):
        self.tell("gpus 2\nxid 1 1 79\nlost 1")

    def orrery(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.environment, capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)

    def job(self):
        done = self.orrery("describe", "gpus", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait_until(self, is_so, what):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                self.fail(f"waited for: {what}\n{self.log()}\n{json.dumps(self.job(), indent=1)}")
            time.sleep(0.15)  # Most looks start a program.

    def lose_one_under_a_job(self):
        """Its workers are recovered."""
        job = self.folder / "job.yaml"
        job.write_text(JOB, encoding="utf-8")
        done = self.orrery("submit", str(job))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_until(lambda: self.job().get("phase") == "Running", "the job runs on both GPUs")
        self.lose_one()
        self.wait_until(lambda: "a device was lost under a worker" in json.dumps(self.job()),
                        "the incident of the lost device")
        # Nothing is left for two workers: the job waits for the GPU, and nothing is charged.
        self.wait_until(lambda: self.job().get("phase") == "Pending", "the job waits")
        self.assertNotIn("backoff limit is used up", json.dumps(self.job()))


class LostDeviceTest(OneNode):
    def test_the_workers_of_a_lost_gpu_are_recovered(self):
        self.lose_one_under_a_job()


class PretendedDeviceTest(OneNode):
    OPTIONS = ("--devices", "2")

    def lost_devices(self):
        return self.folder / "state" / "node-1" / "lost_devices"

    def lose_one(self):
        self.lost_devices().write_text("1\n", encoding="utf-8")

    def test_the_job_goes_on_when_the_device_is_back(self):
        self.lose_one_under_a_job()
        self.lost_devices().unlink()
        self.wait_until(lambda: self.job().get("phase") == "Running", "the job runs on both again")


if __name__ == "__main__":
    PROGRAM, FAKE_NVML = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
