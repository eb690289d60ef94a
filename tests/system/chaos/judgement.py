"""Jobs that are submitted one after another while something is disturbed, and what is judged of them:

  no job is lost                 every job that was accepted is Succeeded
  no rank runs twice at once     no start found the lock taken
  nothing is stuck               all end in time once nothing is disturbed any more
  nothing restarts for nothing   a rank starts once more only for what the test has done to it
"""

import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import PATIENCE_S, wait_until  # pylint: disable=wrong-import-position

from witnesses import RANKS  # pylint: disable=wrong-import-position


class Jobs:
    """`ask(path, body=None)` gives a controller's document, None where none takes requests."""

    def __init__(self, ask, witnesses, seed, live, number=None, steps=(2, 5), more=""):
        self.ask = ask
        self.witnesses = witnesses
        self.seed = seed
        self.live = live      # At the same time.
        self.number = number  # In all; None: as many as are wanted until `no_more`.
        self.steps = steps    # From, to: seconds of a job.
        self.steps_late = None  # From which number on others, and which.
        self.more = more      # Of each job's file.
        self.submitted = []
        self.given = 0        # Numbers of jobs that were used; those of forgotten jobs are not used again.
        self.retires = number is None
        self.before_submission = lambda job: None
        # How many starts of a rank are accounted for beyond its first.
        self.accounted = lambda rank: 0

    def steps_of(self, number):
        is_late = self.steps_late and number >= self.steps_late[0]
        steps = self.steps_late[1] if is_late else self.steps
        return random.Random(f"{self.seed}/{number}").randint(*steps)

    def phases(self):
        """What the controller lists, by name; None where it is away."""
        document = self.ask("/api/v1/jobs?limit=10000")
        return document and {job["name"].removeprefix("default."): job for job in document["jobs"]}

    def is_over(self, name):
        return f"default.{name}" in self.witnesses.over

    def submit_some(self):
        """Until so many live at a time; whether a controller answered."""
        known = self.phases()
        if known is None:
            return False
        self.retire(known)
        live = sum(known.get(name, {}).get("phase") not in ("Succeeded", "Failed")
                   for name in self.submitted if not self.is_over(name))
        while live < self.live and (self.number is None or len(self.submitted) < self.number):
            if not self.submit(self.given):
                return False
            self.submitted.append(f"job-{self.given}")
            self.given += 1
            live += 1
        return True

    def submit(self, number):
        name = f"job-{number}"
        self.witnesses.prepare(name)
        self.before_submission(f"default.{name}")
        # The number makes it safe to ask again where no answer came. What is asked of a controller
        # that stands still may be accepted once it goes on.
        text = self.witnesses.text_of(name, self.steps_of(number), self.more)
        return self.ask(f"/api/v1/jobs?request={number + 1}", text) is not None

    def forget_after(self, known):
        """The controllers know the first so many that were submitted; the names of the others."""
        forgotten = self.submitted[known:]
        del self.submitted[known:]
        return forgotten

    def retire(self, known):
        """Where there is no end of jobs, what is over and well is judged once more and put aside."""
        if not self.retires:
            return
        self.judge_so_far()
        for name, job in known.items():
            if job["phase"] == "Succeeded" and not self.is_over(name):
                self.witnesses.archive(name)

    def judge_so_far(self):
        for rank in self.witnesses.read():
            assert rank.twice == 0, f"{rank}: ran twice at the same time; {self.story_of(rank.job)}"
            assert rank.job not in self.witnesses.over, f"{rank}: started after its job was over"
            allowed = 1 + self.accounted(rank)
            if len(rank.starts) > allowed:  # All of a job start again with other ports.
                allowed += self.busy_ports_of(rank.job)
            assert len(rank.starts) <= allowed, (
                f"{rank}: {len(rank.starts)} starts, {allowed} are accounted for; "
                f"{rank.starts}; {self.story_of(rank.job)}")

    def busy_ports_of(self, job):
        """How often something else on this host held a port that a worker of the job was given."""
        events = self.ask(f"/api/v1/events?job={job.removeprefix('default.')}&backlog=1000")
        return sum(event["name"] == "JobRescheduling" and "port" in event["message"]
                   for event in events["events"]) if events else 0

    def story_of(self, job):
        """What the controller says of a job, and the lines of its events."""
        name = job.removeprefix("default.")
        try:
            return json.dumps({"job": self.ask(f"/api/v1/jobs/{name}"),
                               "events": self.ask(f"/api/v1/events?job={name}&backlog=100")}, indent=1)
        except AssertionError as error:
            return f"no story: {error}"

    def no_more(self):
        self.number = len(self.submitted)

    def all_ended(self):
        self.judge_so_far()
        if not self.submit_some():
            return False
        known = self.phases()
        if known is None:
            return False
        self.retire(known)
        return len(self.submitted) == self.number and all(
            self.is_over(name) or known.get(name, {}).get("phase") in ("Succeeded", "Failed")
            for name in self.submitted)

    def end(self, patience_s=3 * PATIENCE_S):
        """Waits until all are over, judges, and says how many there were, and how many starts."""
        wait_until("all jobs to end", self.all_ended, patience_s, every_s=0.2)
        known = self.phases()
        left = [name for name in self.submitted if not self.is_over(name)]
        failed = [name for name in left if known[name]["phase"] != "Succeeded"]
        assert not failed, f"failed: {[(name, known[name]['message']) for name in failed]}"
        ranks = self.witnesses.read()
        assert len(ranks) == RANKS * len(left), f"{len(ranks)} witnesses of {len(left)} jobs"
        # Twice where its shim was killed before the first end was on disk: that start is charged.
        unended = [str(rank) for rank in ranks if rank.ends == 0]
        assert not unended, f"Succeeded without an end: {unended}"
        starts = self.witnesses.starts + sum(len(rank.starts) for rank in ranks)
        return f"{len(self.submitted)} jobs, {starts} starts"
