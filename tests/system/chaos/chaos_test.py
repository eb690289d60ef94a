"""Disturbances of the real programs, judged by witnesses outside: every rank of every job is its own.

  no job is lost                 every job that was accepted is Succeeded
  no rank runs twice at once     no start found the lock taken
  nothing is stuck               all end once nothing is disturbed any more
  nothing restarts for nothing   a rank starts once more only for what was done to it

Usage: chaos_test.py PROGRAM [TRIAL] [--seed N] [--number N] [--long] [...]        the seed is printed

  kills         SIGKILL of workers, shims, agents, the controller
  pauses        SIGSTOP for longer than a lease, then SIGCONT
  cuts          links of network namespaces, cut for less and for more than a lease
  disk          the file systems of journal and state, full and free again
  clock         steps of the daemons' time of day
  etcd          members killed, and all of etcd lost and put back from a copy
  submissions   the controller killed in a loop while clients submit
"""

import argparse
import pathlib
import random
import shutil
import subprocess
import sys

from clock_steps import ClockSteps
from cuts import Cuts
from etcd_losses import EtcdLosses
from full_disk import FullDisk
from kills import Kills, Pauses
from submissions import Submissions
from trial import Skipped

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import can_kill_safely  # pylint: disable=wrong-import-position

SKIPPED = 77
# How many there are in the short form, which a build's own tests run, and in the long one.
NUMBERS = {"kills": (40, 10_000), "pauses": (6, 500), "cuts": (3, 100), "disk": (3, 100),
           "clock": (7, 400), "etcd": (3, 60), "submissions": (6, 300)}


def trial_of(given, seed, number):
    if given.trial in ("kills", "pauses"):
        kind = Kills if given.trial == "kills" else Pauses
        return kind(given.program, seed, number, given.long, given.jobs)
    if given.trial == "clock":
        return ClockSteps(given.program, seed, number, given.long, given.preloaded)
    if given.trial == "submissions":
        return Submissions(given.program, seed, number)
    return {"cuts": Cuts, "disk": FullDisk, "etcd": EtcdLosses}[given.trial](given.program, seed, number, given.long)


def keep(trial, seed, name):
    """Journal, logs and witnesses of one that failed."""
    folder = getattr(trial, "cluster", None) or trial.daemons
    kept = pathlib.Path("out/soak/chaos") / f"{name}-{seed}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.parent.mkdir(parents=True, exist_ok=True)
    # What goes on meanwhile comes and goes.
    subprocess.run(["cp", "-a", folder.folder, kept], check=False, capture_output=True)
    (kept / "done").write_text("\n".join(trial.notes) + "\n")
    print(f"journal, logs and witnesses are in {kept}; all that was done in {kept}/done")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("trial", nargs="?", choices=NUMBERS, default="kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--number", type=int, default=None, help="of disturbances")
    parser.add_argument("--jobs", type=int, default=20, help="of kills and pauses in the short form")
    parser.add_argument("--long", action="store_true", help="as many jobs as it takes")
    parser.add_argument("--preloaded", help="the library that steps clocks")
    given = parser.parse_args()
    if not can_kill_safely():
        print("skipped: this system has no pidfd")
        return SKIPPED
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"{given.trial}: seed {seed}", flush=True)
    number = given.number or NUMBERS[given.trial][given.long]
    trial = trial_of(given, seed, number)
    try:
        print(f"{given.trial}: {trial.run()}; seed {seed}", flush=True)
    except Skipped as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    except BaseException:
        trial.tell()
        if given.long:
            keep(trial, seed, given.trial)
        print(f"{given.trial}: seed {seed}", flush=True)
        raise
    finally:
        trial.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
