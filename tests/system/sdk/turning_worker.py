"""A worker that takes turns on its devices with others, for tests: it writes down when its turn began
and ended.

Usage: turning_worker.py FOLDER
"""

import os
import pathlib
import sys
import threading
import time

import orrery

TURNS = 12


class Turning:
    def __init__(self, worker, witness):
        self.worker, self.witness, self.idle = worker, witness, threading.Event()

    def note(self, word):
        line = f"{time.monotonic_ns()} {word} {os.environ['ORRERY_ROLE']} {os.getpid()}\n"
        with open(self.witness, "a", encoding="utf-8") as out:
            out.write(line)

    def take_turns(self):
        for _ in range(TURNS):
            with self.worker.turn(lease_s=60):
                self.note("begin")
                self.note("end")

    @orrery.method
    def hold(self):
        """Has the turn until it is killed, or for a minute."""
        with self.worker.turn(lease_s=5):
            self.note("begin")
            while not orrery.context().cancelled:
                self.idle.wait(0.02)
            self.note("end")


def main(folder):
    worker = orrery.Worker.join()
    turning = Turning(worker, folder / "witness")
    if os.environ["ORRERY_INCARNATION"] == "1" and not (folder / "hold").exists():
        turning.take_turns()
        return 0
    return worker.serve(turning)


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
