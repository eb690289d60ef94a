"""What all trials have in common: jobs on daemons of their own, disturbed again and again, and judged."""

import collections
import pathlib
import random
import sys
import time

from daemons import Daemons
from judgement import Jobs
from witnesses import Witnesses

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import PATIENCE_S, processes_of  # pylint: disable=wrong-import-position

TOLD_EVERY_S = 30
LOOK_EVERY_S = 0.3  # A look asks the controller and reads what all witnesses wrote.


class Skipped(Exception):
    """The trial cannot be made here; says what is missing."""


class Trial:
    """One kind of disturbance. A subclass makes daemons in `build` and disturbs them in `disturb`."""
    LIVE = 6           # Jobs at the same time.
    LIVE_SHORT = 4     # In the short form.
    STEPS = (4, 12)    # Seconds of a job.
    STEPS_SHORT = (4, 9)  # In the short form.
    MORE = ""          # Of each job's file.

    def __init__(self, program, seed, number, is_long):
        self.random = random.Random(seed)
        self.number = number  # Of disturbances.
        self.is_long = is_long
        self.begun = time.monotonic()
        self.done = collections.Counter()  # By kind.
        self.notes = []                    # What was done when, for a failure's story.
        self.told_at = self.begun
        self.daemons = Daemons(program)
        self.journal = None  # Of its one controller, "ctl", where it is a file.
        self.jobs = Jobs(self.ask, Witnesses(self.daemons.folder / "witness", program), seed,
                         self.LIVE if is_long else self.LIVE_SHORT,
                         steps=self.STEPS if is_long else self.STEPS_SHORT, more=self.MORE)
        self.jobs.accounted = self.accounted

    # --- what a trial is ---

    def build(self):
        """Adds the daemons, or raises Skipped."""
        raise NotImplementedError

    def disturb(self):
        """Makes one disturbance and heals it."""
        raise NotImplementedError

    def accounted(self, _rank):
        """How many starts of a rank beyond its first have a cause in what was done."""
        return 0

    def while_it_lasts(self):
        """Called again and again while something is disturbed, before it is judged."""

    def heal(self):
        """Nothing is disturbed any more."""

    def clear(self):
        """Whatever was made for it outside of its folder."""

    def ask(self, path, body=None):
        return self.daemons.ask(path, body)

    # --- how it goes ---

    def note(self, what):
        self.notes.append(f"{time.monotonic() - self.begun:.2f} s: {what}")

    def look(self):
        """One turn of watching: daemons are kept, jobs submitted, witnesses judged."""
        self.daemons.keep()
        self.jobs.submit_some()
        self.while_it_lasts()
        self.jobs.judge_so_far()
        now = time.monotonic()
        if now - self.told_at > TOLD_EVERY_S:
            self.told_at = now
            print(f"{now - self.begun:.0f} s: {dict(self.done)}, {len(self.jobs.witnesses.over)} of "
                  f"{len(self.jobs.submitted)} jobs over", flush=True)

    def pause(self):
        """Between two looks."""
        time.sleep(LOOK_EVERY_S)

    def watch(self, seconds):
        """What is disturbed is left so for that long."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.look()
            self.pause()

    def watch_until(self, what, condition, patience_s=PATIENCE_S):
        end = time.monotonic() + patience_s
        while not condition():
            assert time.monotonic() < end, f"waited {patience_s} s for {what}"
            self.look()
            self.pause()

    def progress_of_all(self, ranks):
        """A condition: that each of them has gone on since now, or ended."""
        before = {(rank.job, rank.rank): self.jobs.witnesses.work_of(rank) for rank in ranks}

        def have_gone_on():
            now = {(rank.job, rank.rank): rank for rank in self.jobs.witnesses.read()}
            return all(key not in now or now[key].ends or
                       self.jobs.witnesses.work_of(now[key]) > done for key, done in before.items())
        return have_gone_on

    def running_ranks(self, node=None):
        return [rank for rank in self.jobs.witnesses.read()
                if rank.runs and (node is None or rank.starts[-1].node == node)]

    def run(self):
        """Returns a line on what was done and judged."""
        self.build()
        self.daemons.start()
        self.watch_until("all nodes to be ready", self.daemons_ready)
        self.watch_until("jobs to run", self.running_ranks)
        while sum(self.done.values()) < self.number:
            self.disturb()
        disturbed_s = time.monotonic() - self.begun
        self.heal()
        self.watch_until("all nodes to be ready again", self.daemons_ready)
        self.jobs.no_more()
        told = self.jobs.end()
        self.end_daemons()
        return (f"{sum(self.done.values())} in {disturbed_s:.1f} s ({dict(self.done)}), {told}, all over "
                f"after {time.monotonic() - self.begun:.1f} s: lost 0, doubled 0, stuck 0, "
                "unexplained restarts 0")

    def daemons_ready(self):
        return self.daemons.all_ready()

    def end_daemons(self):
        agents = [name for name, (words, _) in self.daemons.commands.items() if "agent" in words]
        self.daemons.end(*[name for name in self.daemons.commands if name not in agents])
        self.daemons.end(*agents)
        left = processes_of(self.daemons.folder)
        assert not left, f"something is left: {left}"
        if self.journal:
            self.daemons.check_replay(self.journal, "ctl")

    def tell(self):
        self.daemons.tell()
        print("done:\n" + "\n".join(self.notes[-60:]))

    def close(self):
        self.daemons.stop_all()
        self.clear()
        self.daemons.remove()
