#!/usr/bin/env python3
"""Runs give the digests that stand in digests.json: in every build type, on every processor.

Usage: determinism_test.py ORRERY ROOT            compare with digests.json
       determinism_test.py ORRERY ROOT --bless    write what the program gives now into it

A digest is of the whole journal and of the state that it leads to, so any change of what the core
or a policy decides, or of how records are written, changes it. Then look at what changed, and bless
with the commit that meant it.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

PINS = pathlib.Path(__file__).with_name("digests.json")

# glibc picks other variants of its functions where these are masked.
MASKED = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-FMA,-FMA4,-BMI2,-ERMS"}


def run(program, root, pin, environment):
    """The digest of one run, as `orrery sim --json` tells it."""
    settings = [word for each in pin["set"] for word in ("--set", each)]
    command = [program, "sim", root / pin["scenario"], "--policy", pin["policy"], *settings,
               "--json"]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{pin['scenario']} {pin['policy']}: {done.stderr}")
    return json.loads(done.stdout)["state_digest"]


class Digests(unittest.TestCase):
    """One case for each environment; PROGRAM and ROOT are set below."""

    def compare(self, environment):
        for pin in json.loads(PINS.read_text()):
            with self.subTest(scenario=pin["scenario"], policy=pin["policy"]):
                self.assertEqual(run(PROGRAM, ROOT, pin, environment), pin["digest"],
                                 "see the head of determinism_test.py")

    def test_as_pinned(self):
        self.compare({})

    def test_with_processor_features_masked(self):
        self.compare(MASKED)


def bless():
    pins = json.loads(PINS.read_text())
    for pin in pins:
        pin["digest"] = run(PROGRAM, ROOT, pin, {})
    rows = ",\n".join("  " + json.dumps(pin) for pin in pins)
    PINS.write_text(f"[\n{rows}\n]\n")


PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(sys.argv.pop(1))
if __name__ == "__main__":
    if "--bless" in sys.argv:
        bless()
    else:
        unittest.main()
