"""Workers as their own witnesses: what each rank of each job writes to a folder that only the test reads.

A rank (tests/support/worker_in_test.cpp) holds an exclusive lock of its job and rank while it lives, and
writes each start, the process ids of itself and of its shim, its node's folder, and its end. Its work is
kept from start to start, or disturbances would keep jobs from ever ending.
"""

import dataclasses
import os
import pathlib
import re

RANKS = 2  # Of each job.
WORKER = "worker_in_test"  # The program of a rank; it lies beside those that are tested.
JOB = """\
name: {name}
backoff_limit: 1000000
backoff_base: 50ms
backoff_max: 200ms
drain_grace: 1s
{more}roles:
  main:
    replicas: {ranks}
    devices: 0
    cpu: 10m
    memory: 16MiB
    command: ["{worker}", steps, "{folder}", "{steps}"]
"""


@dataclasses.dataclass(frozen=True)
class Start:
    worker: int  # Process ids.
    shim: int
    node: str


@dataclasses.dataclass
class Rank:
    """What the witness of one rank has seen."""
    job: str
    rank: int
    starts: list
    ends: int
    twice: int

    @property
    def runs(self):
        return self.starts and not self.ends

    def __str__(self):
        return f"{self.job} rank {self.rank}"


class Witnesses:
    def __init__(self, folder, program):
        """`program`: one that is tested."""
        self.folder = folder
        self.worker = pathlib.Path(program).resolve().parent / WORKER
        assert self.worker.exists(), f"no {self.worker}; it is built as target {WORKER}"
        self.folder.mkdir()
        self.starts = 0  # Of jobs that are over.
        self.over = set()
        self.known = {}  # By file: its size when it was read, and what it said.

    def prepare(self, job):
        for rank in range(RANKS):
            (self.folder / f"default.{job}.{rank}.work").touch()

    def text_of(self, job, steps, more=""):
        """A job file of so many steps of a second."""
        return JOB.format(name=job, ranks=RANKS, worker=self.worker, folder=self.folder, steps=steps, more=more)

    def archive(self, job):
        """The job is over and was judged: what its ranks wrote is not read again. A rank that starts
        all the same writes anew, and is found."""
        for path in self.folder.glob(f"default.{job}.*.log"):
            self.starts += path.read_text().count("start ")
            path.rename(path.with_suffix(".over"))
        self.over.add(f"default.{job}")

    def read(self):
        """All ranks. A file that has not grown is not read again."""
        found = {}
        for entry in os.scandir(self.folder):
            if entry.name.endswith(".log"):
                size = entry.stat().st_size
                known = self.known.get(entry.name)
                found[entry.name] = known if known and known[0] == size else (size, rank_of(entry))
        self.known = found
        return [found[name][1] for name in sorted(found)]

    def work_of(self, rank):
        """How many steps it has done."""
        path = self.folder / f"{rank.job}.{rank.rank}.work"
        return path.stat().st_size if path.exists() else 0


def rank_of(entry):
    """Of a folder's entry: what the rank has written."""
    lines = [line.split() for line in pathlib.Path(entry.path).read_text().splitlines()]
    job, rank = entry.name.removesuffix(".log").rsplit(".", 1)
    return Rank(job, int(rank), [start_of(words) for words in lines if words[0] == "start"],
                sum(words[0] == "end" for words in lines), sum(words[0] == "twice" for words in lines))


def start_of(words):
    """Of a line: where the node's state is a folder that its name ends, which it is in these tests."""
    node = re.search(r"(?:/|state-)((?:node-|n|a)\d+)/", words[3])
    return Start(int(words[1]), int(words[2]), node.group(1) if node else "")
