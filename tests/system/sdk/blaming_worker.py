"""A worker whose first life blames somebody, for tests: `blaming_worker.py FOLDER HOW`, or HOW
`stays` for one that is called."""

import json
import os
import pathlib
import sys
import time

import orrery


class Staying:
    @orrery.method
    def leave(self):
        """Its connections end, its job has one worker less that is done."""
        os._exit(0)


folder, how = pathlib.Path(sys.argv[1]), sys.argv[2]
worker = orrery.Worker.join()


def node():
    """The name of the node that it runs on, by the membership that it was started with."""
    with open(os.environ["ORRERY_MEMBERSHIP"], encoding="utf-8") as file:
        told = json.load(file)["membership"]
    return told["members"][told["rank"]]["node"]


def has_turn():
    """Whether the trainers before it have blamed and are back: two that fail at once are one
    incident, and the one that is drained before it exits is not charged."""
    return all((folder / f"{worker.role}-{rank}.again").exists()
               for rank in range(worker.role_rank))


mark = folder / f"{worker.role}-{worker.role_rank}"
if how == "stays":
    sys.exit(worker.serve(Staying()))
while how == "peer" and not has_turn():
    time.sleep(0.01)
if not mark.exists():
    mark.write_text(node())
    if how == "node":
        worker.diagnose("node", "row remapping failed")
        sys.exit(3)
    if how == "peer":
        worker.diagnose("peer", "no answer", role="actor", rank=0)
        sys.exit(3)
    worker.peer("actor", 0).call("leave", deadline=60)  # WorkerLost, which nothing catches.
mark.with_suffix(".again").write_text(node())
sys.exit(0 if how != "peer" else worker.serve(Staying()))
