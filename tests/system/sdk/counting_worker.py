"""A worker that can be called, for tests: it counts, waits, and says who it is."""

import os
import pathlib
import sys
import threading

import orrery


class Counting:
    def __init__(self, worker):
        self.worker = worker
        self.calls = 0
        self.generations = [worker.generation]
        self.gate = threading.Event()

    def on_membership(self, membership):
        self.generations.append(membership.generation)

    @orrery.method
    def count(self, **arguments):
        """What it was given, and how many calls it has had."""
        self.calls += 1
        return {"rank": self.worker.rank, "role_rank": self.worker.role_rank, "pid": os.getpid(),
                "calls": self.calls, "given": arguments}

    @orrery.method(idempotent=True)
    def who(self):
        return {"worker": os.environ["ORRERY_WORKER"], "pid": os.getpid(),
                "rank": self.worker.rank, "role_rank": self.worker.role_rank,
                "world_size": self.worker.world_size, "generation": self.worker.generation,
                "generations": self.generations, "caller": orrery.context().caller}

    @orrery.method
    def wait_at_gate(self, mark):
        """Until the gate is opened, or the caller has gone."""
        pathlib.Path(mark).touch()
        while not self.gate.wait(0.02) and not orrery.context().cancelled:
            pass
        return "opened" if self.gate.is_set() else "cancelled"

    @orrery.method(concurrent=True)
    def open_gate(self):
        self.gate.set()

    @orrery.method
    def numbers(self, count):
        yield from range(count)

    @orrery.method
    def fail(self, text):
        raise ValueError(text)

    @orrery.method
    def ask_peer(self, role, rank):
        """A call of its own, to another worker of the job."""
        return self.worker.peer(role, rank).call("who", deadline=20)


if __name__ == "__main__":
    joined = orrery.Worker.join()
    sys.exit(joined.serve(Counting(joined)))
