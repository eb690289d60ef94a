"""SIGKILL of random workers, shims, agents, the controller, and shims with their agent, over many jobs of
one `orrery up`; or SIGSTOP for longer than a lease lasts, then SIGCONT.

A rank starts once more only for a kill of its own worker or shim: so the kill of a controller or of an agent
alone restarts no worker. Each pause in a job's life accounts for one more start of each of its ranks:
workers are fenced meanwhile.
"""

import collections
import pathlib
import random
import re
import signal
import sys
import time

from judgement import Jobs
from witnesses import WORKER, Witnesses

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import (  # pylint: disable=wrong-import-position
    Cluster, kill_process, names_folder, processes_of, signal_process)
from daemons import call  # pylint: disable=wrong-import-position

AGENTS, LIVE_JOBS = 3, 9
LONG_AGENTS, LONG_LIVE_JOBS = 6, 24  # There is always something to kill.
STEPS, STEPS_LATE, STEPS_LONG = (2, 5), (8, 12), (10, 60)
PAUSE_S, LONG_PAUSE_S = (0.02, 0.45), (0.0, 0.12)  # Between two strikes.
STRIKES_S_MAX = 300  # Then no more are made, however many there were: machines may be very slow.
LONG_S_MAX = 6 * 3600
KEPT_JOBS = 100      # Ended ones that the controller lists, in the long form.
TOLD_EVERY_S, SUBMIT_EVERY_S = 30, 1
LEASE_S, FENCE_S = 6, 2  # Where things are paused.
PAUSED_S = (7.0, 9.0)    # Longer than a lease.


class Strikes:
    """What kills and pauses have in common. `number`: how many; `jobs`: of the short form."""

    def __init__(self, program, seed, number, is_long, jobs, lease_s, fence_s):
        self.random = random.Random(seed)
        self.begun = time.monotonic()
        self.number = number
        self.is_long = is_long
        self.pause_s = PAUSE_S
        self.told_at = self.submit_at = 0.0
        self.done = collections.Counter()  # By kind.
        self.notes = []                    # What was struck, for a failure's story.
        kept = ["--set", f"settings.retain_finished_max={KEPT_JOBS}"] if is_long else []
        self.cluster = Cluster(program, "--agents", LONG_AGENTS if is_long else AGENTS, "--set",
                               f"settings.node_lease={lease_s}s", "--set",
                               f"settings.fence_margin={fence_s}s", *kept)
        self.jobs = Jobs(self.ask, Witnesses(self.cluster.folder / "witness", program), seed,
                         LONG_LIVE_JOBS if is_long else LIVE_JOBS, None if is_long else jobs,
                         STEPS_LONG if is_long else STEPS)
        if not is_long:  # The last ones are long: there is something to kill until all kills are made.
            self.jobs.steps_late = (jobs - LIVE_JOBS, STEPS_LATE)
        self.jobs.accounted = self.accounted

    def strike(self):
        """Strikes one thing; whether there was one."""
        raise NotImplementedError

    def accounted(self, rank):
        """How many starts of a rank beyond its first have a cause in what was struck."""
        raise NotImplementedError

    def is_short_of(self):
        """Whether a kind was struck less often than it should have been."""
        return False

    def go_on(self):
        """Called between two strikes."""

    def calm_down(self):
        """Until nothing is struck any more."""

    def ask(self, path, body=None):
        """The controller's document, or None where it is away."""
        status, document = call(self.cluster.environment["ORRERY_SERVER"] + path, body)
        assert status in (0, 200, 503), f"{path}: {status} {document}"
        return document if status == 200 else None

    def victim(self):
        """A rank that runs, with its worker and shim, by chance; None where there is none."""
        ranks = [rank for rank in self.jobs.witnesses.read() if rank.runs]
        self.random.shuffle(ranks)
        for rank in ranks:
            last = rank.starts[-1]
            if WORKER in self.words_of(last.worker) and "orrery-shim" in self.words_of(last.shim):
                return rank, last.worker, last.shim
        return None

    def words_of(self, pid):
        """The words of a process of this cluster; none of any other."""
        return names_folder(pid, self.cluster.folder) or ""

    def note(self, what):
        self.notes.append(f"{time.monotonic() - self.begun:.2f} s: {what}")

    def submit_some(self):
        """In the long form at times only: a controller that just died or begins makes a client wait."""
        if not self.is_long or time.monotonic() > self.submit_at:
            self.jobs.submit_some()
            self.submit_at = time.monotonic() + SUBMIT_EVERY_S

    def strike_until_done(self):
        longest = LONG_S_MAX if self.is_long else STRIKES_S_MAX
        while ((sum(self.done.values()) < self.number or self.is_short_of())
               and time.monotonic() - self.begun < longest):
            self.submit_some()
            self.strike()
            self.go_on()
            self.jobs.judge_so_far()
            self.tell_progress()
            if len(self.jobs.submitted) == self.jobs.number and self.victim() is None \
                    and self.jobs.all_ended():
                break  # There is nothing left to kill.
            time.sleep(self.random.uniform(*self.pause_s))

    def run(self):
        """Returns a line on what was done and judged."""
        self.strike_until_done()
        struck_s = time.monotonic() - self.begun
        self.calm_down()
        self.jobs.no_more()
        told = self.jobs.end()
        self.cluster.interrupt()
        assert self.cluster.wait() == 130
        assert not processes_of(self.cluster.state), "something is left"
        return (f"{sum(self.done.values())} strikes in {struck_s:.1f} s ({dict(self.done)}), {told}, "
                f"all over after {time.monotonic() - self.begun:.1f} s: lost 0, doubled 0, stuck 0, "
                "unexplained restarts 0")

    def tell_progress(self):
        now = time.monotonic()
        if self.is_long and now - self.told_at > TOLD_EVERY_S:
            self.told_at = now
            print(f"{now - self.begun:.0f} s: {sum(self.done.values())} strikes ({dict(self.done)}), "
                  f"{len(self.jobs.witnesses.over)} of {len(self.jobs.submitted)} jobs over", flush=True)

    def tell(self):
        """What helps to understand a failure."""
        for log in sorted(self.cluster.state.glob("*.log")):
            print(f"--- {log.name}\n" + "".join(log.read_text().splitlines(True)[-30:]))
        print("".join(self.cluster.said[-40:]))
        print("struck:\n" + "\n".join(self.notes[-60:]))

    def close(self):
        self.cluster.close()


class Kills(Strikes):
    KINDS = {"worker": 45, "shim": 20, "agent": 12, "controller": 12, "shim and agent": 11}
    # In the long form the controller has a time of its own: `up` starts it again two seconds later.
    LONG_KINDS = {"worker": 42, "shim": 26, "agent": 14, "shim and agent": 10}
    CONTROLLER_LIVES_S = (0.0, 1.2)
    # Of these a tenth of all kills are made at least, in the long form.
    ENOUGH_OF = ("agent", "shim", "controller")

    def __init__(self, program, seed, number, is_long, jobs):
        # A lease that outlives the pauses of an agent that was killed several times, and in the long form
        # a row of controllers none of which lived to renew it.
        super().__init__(program, seed, number, is_long, jobs, 300 if is_long else 30, 5)
        if is_long:
            self.pause_s = LONG_PAUSE_S
        self.wanted = None         # The kind that is killed next, in the long form.
        self.controller = (0, 0.0)  # Its process and when it is killed, in the long form.
        self.charged = collections.Counter()  # By (job, rank): kills of its worker or shim.

    def accounted(self, rank):
        return self.charged[rank.job, rank.rank]

    def is_short_of(self):
        return self.is_long and any(self.done[kind] < self.number // 10 for kind in self.ENOUGH_OF)

    def draw(self):
        if not self.is_long:
            return self.random.choices(list(self.KINDS), list(self.KINDS.values()))[0]
        pid = self.cluster.daemons().get("controller")
        if pid and pid != self.controller[0]:
            self.controller = (pid, time.monotonic() + self.random.uniform(*self.CONTROLLER_LIVES_S))
        if pid and time.monotonic() >= self.controller[1]:
            return "controller"
        # What is not there is waited for, or agents alone would be killed.
        kinds = self.LONG_KINDS
        self.wanted = self.wanted or self.random.choices(list(kinds), list(kinds.values()))[0]
        return self.wanted

    def strike(self):
        kind = self.draw()
        killed = self.kill_daemon(kind) if kind in ("controller", "agent") else self.kill_rank(kind)
        if killed:
            self.done[killed] += 1
            if kind == self.wanted:
                self.wanted = None
        return killed is not None

    def kill_daemon(self, kind):
        """The kind of what was killed; None where there was nothing."""
        daemons = {name: pid for name, pid in self.cluster.daemons().items()
                   if (name == "controller") == (kind == "controller")}
        name = self.random.choice(sorted(daemons)) if daemons else None
        if not daemons or not self.kill(daemons[name]):
            return None
        self.note(f"{name}, process {daemons[name]}")
        return kind

    def kill_rank(self, kind):
        """Likewise."""
        found = self.victim()
        if not found:
            return None
        rank, worker, shim = found
        # Before the kill: what it brings about may be seen at once.
        self.charged[rank.job, rank.rank] += 1
        if kind == "shim and agent" and not self.kill(self.agent_of(shim)):
            kind = "shim"
        if not self.kill(worker if kind == "worker" else shim):
            self.charged[rank.job, rank.rank] -= 1
            self.note(f"no {kind} of {rank}: it was gone")
            return None
        self.note(f"{kind} of {rank}, worker {worker}, shim {shim}")
        return kind

    def kill(self, pid):
        return kill_process(pid, self.cluster.folder)

    def agent_of(self, shim):
        """The process id of the agent whose node's folder the shim works in; None: it is away."""
        match = re.search(r"/(node-\d+)/", self.words_of(shim))
        return self.cluster.daemons().get(match.group(1)) if match else None


class Pauses(Strikes):
    def __init__(self, program, seed, number, is_long, jobs):
        super().__init__(program, seed, number, is_long, jobs, LEASE_S, FENCE_S)
        self.resume = []    # (when, process, what)
        self.paused = 0
        self.before = {}    # Of each job: pauses that were over when it was submitted.
        # What is asked of a controller that stands still may be accepted once it goes on.
        self.jobs.before_submission = lambda job: self.before.setdefault(
            job, self.paused - len(self.resume))

    def accounted(self, rank):
        """What a pause ends: all on a node whose agent stood still, or everywhere with the controller."""
        return self.paused - self.before.get(rank.job, 0)

    def strike(self):
        """Stops one thing for longer than its lease."""
        daemons = self.cluster.daemons()
        kind = self.random.choices(["agent", "controller", "shim"], [5, 2, 3])[0]
        if kind == "shim":
            found = self.victim()
            pid, what = (found[2], f"shim of {found[0]}") if found else (None, "")
        else:
            names = [name for name in sorted(daemons) if (name == "controller") == (kind == "controller")]
            what = self.random.choice(names) if names else ""
            pid = daemons.get(what)
        if pid is None or pid in {stopped for _, stopped, _ in self.resume} \
                or not signal_process(pid, signal.SIGSTOP, self.cluster.folder):
            return False
        self.paused += 1
        self.resume.append((time.monotonic() + self.random.uniform(*PAUSED_S), pid, what))
        self.note(f"pause of {what}, process {pid}")
        self.done["pause of " + kind] += 1
        return True

    def go_on(self):
        """Lets what has stood still long enough go on."""
        for entry in list(self.resume):
            if entry[0] <= time.monotonic():
                signal_process(entry[1], signal.SIGCONT, self.cluster.folder)
                self.resume.remove(entry)
                self.note(f"end of the pause of {entry[2]}")

    def calm_down(self):
        while self.resume:
            time.sleep(0.1)
            self.go_on()
