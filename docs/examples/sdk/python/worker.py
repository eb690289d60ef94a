"""A worker that is called: it holds a number of weights and learns from batches."""

import sys

import orrery


class Actor:
    def __init__(self, worker):
        self.worker = worker
        self.checkpoints = orrery.Checkpoints(sys.argv[1], f"actor-{worker.role_rank}") if sys.argv[1:] else None
        self.steps = 0
        if self.checkpoints and self.checkpoints.newest()[0] is not None:
            self.steps = self.checkpoints.newest()[0]

    @orrery.method
    def learn(self, batch, scale):
        """Returns a result for each item of its part of the batch."""
        self.steps += 1
        self.worker.report_progress(self.steps)
        return [item * scale for item in batch]

    @orrery.method
    def generate(self, count):
        """A stream: the driver reads while this worker goes on."""
        for number in range(count):
            yield {"actor": self.worker.role_rank, "number": number}

    @orrery.method(concurrent=True, idempotent=True)
    def place(self):
        return {"rank": self.worker.rank, "generation": self.worker.generation, "steps": self.steps}

    @orrery.method
    def finish(self):
        self.worker.stop(0)

    def on_membership(self, membership):
        print(f"generation {membership.generation}: rank {membership.rank} of {membership.world_size}", flush=True)

    def on_drain(self):
        if self.checkpoints:
            self.checkpoints.save(self.steps, b"weights", keep=3)


worker = orrery.Worker.join()
sys.exit(worker.serve(Actor(worker)))
