"""A worker that loses a peer, or says whose fault it is itself: BLAMES says what it does."""

import os
import sys

import orrery

how = os.environ["BLAMES"]
worker = orrery.Worker.join()


class Blaming:
    def on_membership(self, _membership):
        lose_peer()


def lose_peer():
    worker.peer("actor", 0).call("die", deadline=60)


if how == "says":
    worker.diagnose("mine", "a first guess")
    worker.diagnose("node", "row remapping failed: " + "\N{LATIN SMALL LETTER A WITH DIAERESIS}" * 300)
    os._exit(3)  # Nothing that an interpreter does at its end is needed.
elif how == "says_first":
    worker.diagnose("mine", "never mind the peer")
    lose_peer()
elif how == "serves":
    sys.exit(worker.serve(Blaming()))
elif how == "context":
    with worker:
        lose_peer()
elif how in ("serves_caught", "context_caught"):
    # Whoever catches it behind the worker says no more whose fault it was.
    try:
        if how == "serves_caught":
            worker.serve(Blaming())
        with worker:
            lose_peer()
    except orrery.WorkerLost:
        sys.exit(1)
elif how == "other_job":
    orrery.Driver.connect(os.environ["OTHER_URL"], "default.other").peer("actor", 0).call("die", deadline=60)
elif how == "catches":
    try:
        lose_peer()
    except orrery.WorkerLost:
        sys.exit(4)
else:
    worker.start()
    lose_peer()
