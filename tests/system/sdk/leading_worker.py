"""A driver inside a job, for tests: calls the group `worker` and writes down what it was told.

Usage: leading_worker.py FOLDER
"""

import json
import os
import pathlib
import sys

import orrery

PATIENCE_S = 60


def write(folder, name, what):
    scratch = folder / f".{name}"
    scratch.write_text(json.dumps(what), encoding="utf-8")
    scratch.rename(folder / name)


def all_workers(group):
    """Who both workers are."""
    while True:
        try:
            found = group.run_all_workers_single_data("who", deadline=PATIENCE_S).result()
            if len(found) == 2:
                return found
            group.refresh()
        except (orrery.WorkerLost, orrery.GenerationChanged, orrery.NoSuchWorker, orrery.Cancelled) as gone:
            print("not yet:", gone, flush=True)


def main(folder):
    # It says hello to its agent, so that it lives through changes of the membership.
    worker = orrery.Worker.join()
    group = worker.group("worker")
    write(folder, "before", all_workers(group))
    (folder / "go").read_bytes()  # A pipe, which the test writes to when it is ready to cut.
    # Until the test has cut off the far one: the deadline alone ends this call.
    outcomes = group.run_all_workers_single_data(
        "wait_at_gate", mark=str(folder / "at-gate"), deadline=5).outcomes()
    write(folder, "cut", [type(one.error).__name__ for one in outcomes])
    write(folder, "after", all_workers(group))
    write(folder, "TLS", {name: os.environ[name] for name in os.environ if "CALL" in name})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
