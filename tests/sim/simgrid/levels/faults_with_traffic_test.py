"""Scenarios of failures whose jobs send gradients and checkpoints, at L1 and L2.

    faults_with_traffic_test.py ORRERY ROOT [--sample N] [--seed S]       all; or N of them, by a seed that is printed

Every scenario of failover/ and lifecycle/ whose work can be given a step by text is run twice at each
of the two levels. The runs of a level must have equal digests, none may break an invariant or get
stuck, and the levels' mean job times must be within BAR of each other.
"""

import argparse
import concurrent.futures
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

BAR = 0.05
NETWORK = ("network: {topology: fat-tree, nodes_per_leaf: 2, oversubscription: 2, "
           "storage_bandwidth: 20GB/s}")
STEP = "step: {units: 1, gradient: 20GB, overlap: 0.5}, checkpoint: {size: 50GB, interval: 7s}"
LEVELS = (("model", "L1"), ("sim", "L2"))
LEAST = 100  # Scenarios that must take part, so that a change of their form is noticed.


def with_traffic(text):
    """The scenario with a network and steps and without expectations; empty where none takes any."""
    text, taken = re.subn(r"work: (\d+(?:s|min|h))\b", rf"work: {{duration: \1, {STEP}}}", text)
    text, flow = re.subn(r"cluster: \{", f"cluster: {{{NETWORK}, ", text, count=1)
    if flow == 0:
        text = re.sub(r"cluster:\n", f"cluster:\n  {NETWORK}\n", text, count=1)
    return re.sub(r"\nexpect:\n(?:[ -].*\n?|\n)*", "\n", text) if taken else ""


def run(program, path, world, level):
    done = subprocess.run([program, "sim", str(path), "--world", world, "--fidelity", level, "--json"],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        return None, f"{path.name} at {level}: exit code {done.returncode}: {done.stderr.strip()}"
    return json.loads(done.stdout), ""


def judge(program, path):
    """What is wrong with the scenario, as sentences."""
    found, means = [], []
    for world, level in LEVELS:
        runs = [run(program, path, world, level) for _ in range(2)]
        messages = [message for _, message in runs if message]
        if messages:
            return messages
        if runs[0][0]["state_digest"] != runs[1][0]["state_digest"]:
            found.append(f"{path.name} at {level}: two runs have different digests")
        means.append(runs[0][0]["jct_avg_s"])
    if means[1] > 0 and abs(means[0] / means[1] - 1) > BAR:
        found.append(f"{path.name}: mean job time {means[0]:.1f} s at L1, {means[1]:.1f} s at L2")
    return found


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    given = parser.parse_args()
    program, root = given.program, given.root
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for source in sorted(root.glob("scenarios/failover/*.yaml")) + sorted(
                root.glob("scenarios/lifecycle/*.yaml")):
            text = with_traffic(source.read_text())
            if text:
                paths.append(pathlib.Path(folder) / source.name)
                paths[-1].write_text(text)
        tried = paths
        if given.sample:
            print(f"seed {given.seed}")
            tried = random.Random(given.seed).sample(paths, min(given.sample, len(paths)))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            found = [line for lines in pool.map(lambda path: judge(program, path), tried)
                     for line in lines]
    if len(paths) < LEAST:
        found.append(f"{len(paths)} scenarios took part, at least {LEAST} were expected")
    print("\n".join(found) if found else f"{len(tried)} of {len(paths)} scenarios")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
