"""A PyTorch script that knows nothing of Orrery, under defaults: it survives a kill from its
checkpoint, and is scaled up and down. Script and job are those of docs/pytorch.md. `orrery run`
runs it without a job file.

Usage: pytorch_test.py ORRERY_NODE SOURCE_ROOT
Skipped (status 77) where no python3 has torch.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cluster import Cluster, kill_process, processes_of, wait_until
from own_ports import give_back, own_ports

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
HAS_TORCH = "import torch.distributed as d; assert d.is_available() and d.is_gloo_available()"
SKIPPED = 77


def interpreter_with_torch():
    """Debian's python3 may not be the first on the PATH."""
    for python in ("python3", "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", HAS_TORCH], capture_output=True, timeout=300,
                              check=False).returncode == 0:
                return python
        except (OSError, subprocess.TimeoutExpired):
            pass
    return None


def block_of(page, language):
    return re.search(rf"^```{language}\n(.*?)^```", page, re.S | re.M).group(1)


class PytorchTest(unittest.TestCase):
    def setUp(self):
        # Slower than a machine with a core for each rank, so as not to starve the agent.
        self.cluster = Cluster(PROGRAM, "--agents", 1, environment={"OMP_NUM_THREADS": "1"})
        self.addCleanup(self.cluster.close)
        page = (ROOT / "docs/pytorch.md").read_text()
        self.checkpoint = self.cluster.folder / "checkpoint.pt"
        script = self.cluster.write("train.py", block_of(page, "python"))
        job = block_of(page, "yaml")
        for old, new in (("/srv/ddp/train.py", str(script)), ("[python3,", f"[{PYTHON},"),
                         ("/srv/ddp/checkpoint.pt", str(self.checkpoint))):
            self.assertIn(old, job)
            job = job.replace(old, new)
        done = self.cluster.orrery("submit", self.cluster.write("ddp.yaml", job))
        self.assertEqual(done.returncode, 0, done.stderr)

    def ranks(self):
        """Process of each worker that runs the script, by rank."""
        found = {}
        for pid, words in processes_of(self.cluster.folder).items():
            if "train.py" not in words or not words.startswith(PYTHON):
                continue
            try:
                environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode()
            except OSError:
                continue
            rank = re.search(r"(?:^|\0)RANK=(\d+)", environment)
            if rank:
                found[int(rank.group(1))] = pid
        return found

    def logs(self):
        return [log.read_text(errors="replace")
                for log in self.cluster.state.rglob("workers/*/log")]

    def steps(self, size):
        """The last step that rank 0 tells of a membership of so many; 0 where there is none."""
        told = [int(step) for log in self.logs()
                for step in re.findall(rf"step (\d+) of \d+, {size} ranks", log)]
        return max(told, default=0)

    def begins(self, size):
        """Where each start of a rank of so many began, from low to high."""
        return sorted(int(step) for log in self.logs()
                      for step in re.findall(rf"rank \d+ of {size} begins at step (\d+)", log))

    def scale(self, size, before):
        """Scales; waits until more steps are done by so many ranks than were by any before."""
        done = self.cluster.orrery("scale", "ddp", size)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.await_steps(size, before)

    def await_steps(self, size, before):
        return wait_until(f"{size} ranks to go on after step {before}",
                          lambda: self.steps(size) > before and self.steps(size))

    def job(self):
        return self.cluster.job("ddp")

    def test_killed_scaled_up_killed_and_scaled_down(self):
        self.await_steps(1, 20)
        first = self.ranks()[0]
        self.assertTrue(kill_process(first, self.cluster.folder))
        before = self.await_steps(1, self.steps(1) + 20)
        self.assertEqual(self.begins(1)[0], 0)
        self.assertGreaterEqual(self.begins(1)[-1], 20, "it goes on from its checkpoint")
        self.assertEqual(self.job()["restarts"], 1)

        self.scale(2, before)
        self.assertEqual(sorted(self.ranks()), [0, 1])
        self.assertEqual(len(self.begins(2)), 2, "each rank is started once with the new size")
        self.assertGreaterEqual(self.begins(2)[0], 20)
        self.assertEqual(self.job()["restarts"], 1, "a change of size is no failure")
        self.assertEqual(self.job()["reschedules"], 1)

        # Its peers notice, fail, and start again as part of the same incident or of the next.
        self.assertTrue(kill_process(self.ranks()[1], self.cluster.folder))
        before = self.await_steps(2, self.steps(2) + 20)
        self.assertEqual(self.job()["phase"], "Running")
        restarts = self.job()["restarts"]

        self.scale(1, before)
        wait_until("one rank to be left", lambda: list(self.ranks()) == [0])
        self.assertEqual(self.job()["restarts"], restarts)
        self.assertEqual(self.job()["reschedules"], 2)


class RunTest(unittest.TestCase):
    def test_the_shortest_way_trains_and_goes_on_from_its_checkpoint(self):
        ports = own_ports()
        self.addCleanup(give_back, ports)
        with tempfile.TemporaryDirectory(prefix="orrery-t-") as folder:
            page = (ROOT / "docs/pytorch.md").read_text()
            (pathlib.Path(folder) / "train.py").write_text(block_of(page, "python"))
            line = re.search(r"^orrery (run --standalone .*)$", page, re.M).group(1)
            words = line.replace("--standalone", f"--standalone --ports {ports}").split()
            for begin, steps in ((0, "20"), (20, "30")):
                done = subprocess.run(
                    [PROGRAM, *words[:words.index("train.py") + 1], steps, words[-1]], cwd=folder,
                    capture_output=True, text=True, timeout=300, check=False,
                    env={**os.environ, "PYTHON_EXEC": PYTHON})
                self.assertEqual(done.returncode, 0, done.stderr)
                for rank in (0, 1):
                    self.assertIn(f"[{rank}] rank {rank} of 2 begins at step {begin}", done.stdout)
                self.assertIn(f"[0] step {steps} of {steps}, 2 ranks", done.stdout)


if __name__ == "__main__":
    PYTHON = interpreter_with_torch()
    if PYTHON is None:
        print("skipped: no python3 here can import torch with gloo; tools/packages --torch "
              "installs Debian's")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
