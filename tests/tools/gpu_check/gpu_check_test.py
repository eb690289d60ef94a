#!/usr/bin/env python3
"""tools/gpu_check: its document, its verdicts, and that its checks of a GPU do what they say.

The checks that need a GPU run here on a stand-in, the CPU twin under the GPU build's name: that shows
the checks work, not that a GPU does.

Usage: gpu_check_test.py GPU_CHECK FOLDER_OF_PROGRAMS
"""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPU_CHECK, PROGRAMS = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])

# The CPU twin, which has no NCCL: that backend becomes the ring.
STAND_IN = """#!/bin/sh
before=
for word; do
  shift
  [ "$word" != nccl ] || word=ring
  if [ "$before" = --size ] && [ "$word" -gt 600 ]; then word=64; fi
  set -- "$@" "$word"
  before=$word
done
exec '{program}' "$@"
"""


def run(*arguments):
    return subprocess.run([sys.executable, str(GPU_CHECK), *arguments], capture_output=True,
                          text=True, timeout=240, check=False)


def load():
    loader = importlib.machinery.SourceFileLoader("gpu_check", str(GPU_CHECK))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu_check", loader))
    loader.exec_module(module)
    return module


class Document(unittest.TestCase):
    def test_checks_of_the_cpu_pass_and_the_rest_is_skipped_or_passes(self):
        done = run("--programs", str(PROGRAMS), "--only", "machine", "--only", "cpu_collective",
                   "--only", "cpu_killed_peer", "--only", "cuda_worker")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        document = json.loads(done.stdout)
        verdicts = {check["name"]: check["verdict"] for check in document["checks"]}
        self.assertEqual(verdicts["machine"], "passed")
        self.assertEqual(verdicts["cpu_collective"], "passed", done.stdout)
        self.assertEqual(verdicts["cpu_killed_peer"], "passed", done.stdout)
        if not document["gpu"]:
            self.assertEqual(verdicts["cuda_worker"], "skipped")

    def test_without_programs_everything_is_skipped(self):
        with tempfile.TemporaryDirectory() as empty:
            done = run("--programs", empty)
            document = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertEqual(document["failed"], 0)
        for check in document["checks"]:
            if check["verdict"] == "skipped":
                self.assertNotEqual(check["reason"], "")

    def test_packed_programs_serve_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            some = pathlib.Path(folder) / "some"  # To strip all of them takes seconds.
            some.mkdir()
            for name in ("orrery-worker", "orrery-worker-static"):
                if (PROGRAMS / name).exists():
                    os.symlink(PROGRAMS / name, some / name)
            packed = run("--programs", str(some), "--pack", f"{folder}/programs")
            self.assertEqual(packed.returncode, 0, packed.stdout + packed.stderr)
            self.assertIn("orrery-worker", json.loads(packed.stdout)["bytes"])
            done = run("--programs", f"{folder}/programs", "--only", "cpu_killed_peer")
            self.assertEqual(json.loads(done.stdout)["passed"], 1, done.stdout)

    def test_a_folder_that_is_not_there_is_bad_input(self):
        done = run("--programs", "/nowhere/at/all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is no folder", done.stderr)


class ChecksOfAGpu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        path = pathlib.Path(self.folder.name)
        for name in ("orrery-worker", "orrery-worker-static"):
            if (PROGRAMS / name).exists():
                os.symlink(PROGRAMS / name, path / name)
        self.worker = path / "orrery-worker-cuda"
        self.write(STAND_IN.format(program=str(PROGRAMS / "orrery-worker")))
        os.symlink(PROGRAMS / "orrery-check", path / "orrery-check-cuda")
        self.module = load()
        self.module.tell = lambda text: None
        options = self.module.argparse.Namespace(nccl_library=None, timeout=60,
                                                 try_shared_gpu=False)
        self.checks = self.module.Checks(options, self.module.Programs(path, ""), path)
        self.checks.gpus = [{"name": "stand-in"}]

    def write(self, text):
        self.worker.write_text(text)
        self.worker.chmod(0o755)

    def verdict(self, name):
        result = self.module.run_check(self.checks, name)
        return result["verdict"], result["reason"]

    def test_they_pass_on_what_works(self):
        for name in ("cuda_worker", "cuda_agrees_with_cpu", "cuda_drain", "nccl_worker",
                     "nccl_next_generation", "gpu_node_check"):
            with self.subTest(name):
                self.assertEqual(self.verdict(name), ("passed", ""))

    def cluster(self):
        return self.module.Cluster(self.checks, str(PROGRAMS / "orrery-node"))

    def test_a_killed_worker_goes_on_from_its_checkpoint(self):
        told = self.cluster().kill(str(self.worker), devices=0, kills=2)
        self.assertEqual(len(told["seconds_to_next_step"]), 2)

    def test_a_killed_rank_is_met_again_beside_the_files_of_other_checks(self):
        self.assertEqual(self.verdict("cpu_killed_peer"), ("passed", ""))
        self.cluster().kill(str(self.worker), devices=0, kills=1)
        told = self.cluster().kill(str(self.worker), devices=0, kills=2, replicas=2)
        self.assertEqual((told["ranks"], len(told["seconds_to_next_step"])), (2, 2))

    def test_a_cluster_is_calibrated(self):
        told = self.cluster().calibrate(str(PROGRAMS / "orrery-worker"), devices=0, size=64)
        self.assertIn("start", [each["time"] for each in told["observed"]])
        self.assertTrue(any("start" in line for line in told["file"]), told["file"])

    def test_a_script_is_trained_from_its_checkpoint_on(self):
        script = """
import os, sys
steps, checkpoint = int(sys.argv[1]), sys.argv[2]
begin = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0
print(f"rank {os.environ['RANK']} begins at step {begin}", flush=True)
open(checkpoint, "w").write(str(steps))
print(f"step {steps} of {steps}", flush=True)
"""
        told = self.cluster().train(f"```python\n{script}```\n", "1", sys.executable)
        self.assertEqual(len(told["seconds"]), 2)
        self.assertTrue(told["last_line"].endswith("step 100 of 100"), told)

    def test_a_node_that_fails_its_check_is_told(self):
        check = self.worker.parent / "orrery-check-cuda"
        check.unlink()
        check.write_text("#!/bin/sh\necho 'rank 0 of 1: the node check failed: other bits' >&2\nexit 1\n")
        check.chmod(0o755)
        verdict, reason = self.verdict("gpu_node_check")
        self.assertEqual(verdict, "failed")
        self.assertIn("other bits", reason)

    def test_they_fail_on_what_ends_badly(self):
        self.write("#!/bin/sh\necho it broke >&2\nexit 1\n")
        for name in ("cuda_worker", "cuda_drain", "nccl_worker", "nccl_next_generation"):
            with self.subTest(name):
                verdict, reason = self.verdict(name)
                self.assertEqual(verdict, "failed")
                self.assertIn("it broke", reason)

    def test_wrong_numbers_are_found(self):
        report = {"shared_mean": 0.5, "shared_low": 0.25, "shared_high": 0.75}
        self.write(f"#!/bin/sh\necho '{json.dumps(report)}'\n")
        verdict, reason = self.verdict("cuda_agrees_with_cpu")
        self.assertEqual(verdict, "failed")
        self.assertIn("they differ by", reason)

    def test_a_machine_without_nccl_skips_what_needs_it(self):
        self.write("#!/bin/sh\necho 'orrery-worker-cuda: NCCL: cannot be opened' >&2\nexit 1\n")
        for name in ("nccl_worker", "nccl_next_generation"):
            with self.subTest(name):
                self.assertEqual(self.verdict(name)[0], "skipped")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
