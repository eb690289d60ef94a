"""A worker that can be reached before it serves: it waits for a word in a channel of its own."""

import sys

import orrery


class Early:
    @orrery.method
    def add(self, a):
        return a + 1


worker = orrery.Worker.join()
worker.listen()
worker.channel("go", capacity=1).get(deadline=60).ack()
sys.exit(worker.serve(Early()))
