"""Where a fit nvcc is, orrery-worker-cuda is built: a machine for GPUs must not lose it in silence.

Usage: cuda_build_test.py PROGRAM SANITIZERS      PROGRAM is empty where there is no such target
"""

import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SANITIZERS = sys.argv[1:3]
VERSION_MIN = 12  # As in tools/cmake/OrreryDependencies.cmake.


def find_nvcc(places=None):
    """The nvcc that a build should have used, or None: of CUDACXX, the PATH, the usual folders."""
    if places is None:
        places = [os.environ.get("CUDACXX", ""), shutil.which("nvcc") or "",
                  *sorted(glob.glob("/usr/local/cuda*/bin/nvcc"))]
    return next((place for place in places if place and os.access(place, os.X_OK)), None)


def major_version(nvcc):
    done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=False)
    told = re.search(r"release (\d+)\.", done.stdout)
    return int(told.group(1)) if told else 0


def verdict(nvcc, program, sanitizers):
    """What is wrong ("fail: ..."), why nothing is judged ("skip: ..."), or "built"."""
    if program and os.access(program, os.X_OK):
        return "built"
    if sanitizers:
        return "skip: GPU parts are not built with sanitizers"
    if nvcc is None:
        return "skip: there is no nvcc here"
    version = major_version(nvcc)
    if 0 < version < VERSION_MIN:
        return f"skip: {nvcc} is CUDA {version}, {VERSION_MIN} or newer is needed"
    return (f"fail: {nvcc} is there, and orrery-worker-cuda was not built; configure in an empty "
            "folder and read what it says of the CUDA toolkit, or unset ORRERY_SANITIZE")


class CudaBuildTest(unittest.TestCase):
    def nvcc(self, version):
        folder = tempfile.TemporaryDirectory(prefix="orrery-")
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "nvcc"
        path.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {version}, V{version}.1'\n")
        path.chmod(0o755)
        return str(path)

    def test_the_worker_is_built_where_nvcc_is(self):
        found = verdict(find_nvcc(), PROGRAM, SANITIZERS)
        print(found, file=sys.stderr)
        if found.startswith("skip"):
            self.skipTest(found)
        self.assertEqual(found, "built")

    def test_an_nvcc_that_goes_unused_fails(self):
        nvcc = self.nvcc("12.4")
        self.assertRegex(verdict(find_nvcc(["", nvcc]), "", ""), "^fail: .*nvcc is there")
        self.assertRegex(verdict(nvcc, "/nowhere/orrery-worker-cuda", ""), "^fail: ")

    def test_what_cannot_build_it_is_no_failure(self):
        self.assertRegex(verdict(self.nvcc("12.4"), "", "address"), "^skip: .*sanitizers")
        self.assertRegex(verdict(self.nvcc("11.8"), "", ""), "^skip: .*CUDA 11, 12 or newer")
        self.assertRegex(verdict(find_nvcc(["", "/nowhere/nvcc"]), "", ""), "^skip: .*no nvcc")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
