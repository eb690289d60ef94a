"""A worker with a training loop of its own, beside which it is called."""

import sys
import threading

import orrery


class Trainer:
    def __init__(self):
        self.generations_taken = []

    @orrery.method
    def generations(self):
        return self.generations_taken

    @orrery.method
    def add(self, a):
        return a + 1

    @orrery.method
    def exit(self, code):
        sys.exit(code)


worker = orrery.Worker.join()
trainer = Trainer()
worker.start(trainer, loop_takes_membership=True)
step, pause = 0, threading.Event()
while not worker.is_draining:
    membership = worker.safe_point()
    if membership is not None:
        trainer.generations_taken.append(membership.generation)
    step += 1
    pause.wait(0.001)  # Something that takes time.
orrery.write_atomically("trained", f"saved at step {step}".encode())
sys.exit(worker.finish())
