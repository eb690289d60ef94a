#!/usr/bin/env python3
"""Runs give the digests that stand in digests.json: in every build type, on every processor.

Usage: determinism_test.py ORRERY ROOT            compare with digests.json
       determinism_test.py ORRERY ROOT --bless    write what the program gives now into it

Those of digests.json that are marked `long` are looked at where ORRERY_LONG is set.

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
    """The digest of one run, as `orrery sim --json` tells it; nothing where the program lacks the
    world."""
    settings = [word for each in pin["set"] for word in ("--set", each)]
    command = [program, "sim", root / pin["scenario"], "--policy", pin["policy"], *settings,
               "--json"]
    if "world" in pin:
        command += ["--world", pin["world"], "--fidelity", pin["fidelity"]]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True,
                          text=True, check=False)
    if "without SimGrid" in done.stderr:
        return None
    if done.returncode != 0:
        raise RuntimeError(f"{pin['scenario']} {pin['policy']}: {done.stderr}")
    return json.loads(done.stdout)["state_digest"]


class Digests(unittest.TestCase):
    """One case for each environment; PROGRAM and ROOT are set below."""

    def compare(self, environment):
        for pin in json.loads(PINS.read_text()):
            if "long" in pin and "ORRERY_LONG" not in os.environ:
                continue
            level = pin.get("fidelity", "L0")
            with self.subTest(scenario=pin["scenario"], policy=pin["policy"], level=level):
                digest = run(PROGRAM, ROOT, pin, environment)
                if digest is None:
                    self.skipTest("no SimGrid")
                self.assertEqual(digest, pin["digest"], "see the head of determinism_test.py")

    def test_as_pinned(self):
        self.compare({})

    def test_with_processor_features_masked(self):
        self.compare(MASKED)

    def test_side_by_side_as_one_after_the_other(self):
        """Each run has a process and an engine of its own, so neighbours change nothing."""
        def digests(parallel):
            done = subprocess.run(
                [PROGRAM, "compare", ROOT / "scenarios/network/mix_busy.yaml", "--world", "sim",
                 "--policies", "fifo,easy", "--seeds", "1..2", "--parallel", parallel, "--json"],
                capture_output=True, text=True, check=False)
            if "without SimGrid" in done.stderr:
                self.skipTest("no SimGrid")
            return [each["state_digest"] for each in json.loads(done.stdout)["results"]]

        alone = digests("1")
        self.assertEqual(len(alone), 4)
        self.assertEqual(len(set(alone)), 4)
        self.assertEqual(alone, digests("2"))


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
