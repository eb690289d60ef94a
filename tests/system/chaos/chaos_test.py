"""SIGKILL of random workers, shims, agents, the controller, and shims with their agent, over many jobs.

Each rank of a job is its own witness: it holds an exclusive lock of its job and rank while it lives,
and writes its starts and ends to a file that only this test reads or writes besides. Judged from
there and from the controller's word at the end:

  no job is lost                 every job that was accepted is Succeeded
  no rank runs twice at once     no start found the lock taken
  nothing restarts for nothing   a rank starts once more only for a kill of its own worker or shim:
                                 so the kill of a controller or of an agent alone restarts no worker

The long form (tools/soak chaos) goes on until all kills are made, with as many jobs as that takes, and
can pause in place of kill: SIGSTOP for longer than a lease lasts, then SIGCONT. Then each pause in a
job's life accounts for one more start of each of its ranks: workers are fenced meanwhile.

Usage: chaos_test.py PROGRAM [--seed N] [--kills N | --pauses N] [--jobs N] [--long]
                                                                      the seed is printed
"""

import argparse
import collections
import dataclasses
import json
import pathlib
import random
import re
import shutil
import signal
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import (  # pylint: disable=wrong-import-position
    PATIENCE_S, Cluster, can_kill_safely, kill_process, names_folder, processes_of, signal_process,
    wait_until)

AGENTS = 3
RANKS = 2
LIVE_JOBS = 9  # At the same time.
LONG_AGENTS, LONG_LIVE_JOBS = 8, 40  # There is always something to kill.
STEPS, STEPS_LATE = (4, 10), (20, 40)  # Half a second each.
PAUSE_S = (0.02, 0.45)  # Between two kills.
LONG_PAUSE_S = (0.0, 0.12)
STRIKES_S_MAX = 300  # Then no more are made, however many there were: machines may be very slow.
LONG_S_MAX = 6 * 3600
KEPT_JOBS = 100  # Ended ones that the controller lists, in the long form.
TOLD_EVERY_S = 30
LEASE_S, FENCE_S = 6, 2   # Where things are paused.
PAUSED_S = (7.0, 9.0)     # Longer than a lease.
SKIPPED = 77
# Work is kept from start to start, or kills would keep jobs from ever ending.
JOB = """\
name: {name}
backoff_limit: 1000000
backoff_base: 50ms
backoff_max: 200ms
drain_grace: 1s
roles:
  main:
    replicas: {ranks}
    devices: 0
    cpu: 10m
    memory: 16MiB
    command: |
      me="{folder}/$ORRERY_JOB.$ORRERY_RANK"
      exec 9>>"$me.lock"
      if ! flock -n 9; then echo "twice $$ $PPID" >> "$me.log"; exit 1; fi
      echo "start $$ $PPID" >> "$me.log"
      while [ "$(wc -c < "$me.work")" -lt {steps} ]; do sleep 0.5; printf . >> "$me.work"; done
      echo "end $$ $PPID" >> "$me.log"
"""


@dataclasses.dataclass
class Rank:
    """What the witness of one rank has seen."""
    job: str
    rank: int
    starts: list  # (worker's process id, its shim's)
    ends: int
    twice: int

    @property
    def runs(self):
        return self.starts and not self.ends


class Witnesses:
    def __init__(self, folder):
        self.folder = folder
        self.starts = 0  # Of jobs that are over.
        self.over = set()

    def archive(self, job):
        """The job is over and was judged: what its ranks wrote is not read again. A rank that starts
        all the same writes anew, and is found."""
        for path in self.folder.glob(f"default.{job}.*.log"):
            self.starts += path.read_text().count("start ")
            path.rename(path.with_suffix(".over"))
        self.over.add(f"default.{job}")

    def prepare(self, job):
        for rank in range(RANKS):
            (self.folder / f"default.{job}.{rank}.work").touch()

    def read(self):
        found = []
        for path in sorted(self.folder.glob("*.log")):
            words = [line.split() for line in path.read_text().splitlines()]
            job, rank = path.name.removesuffix(".log").rsplit(".", 1)
            found.append(Rank(job, int(rank),
                              [(int(w[1]), int(w[2])) for w in words if w[0] == "start"],
                              sum(w[0] == "end" for w in words),
                              sum(w[0] == "twice" for w in words)))
        return found


class Chaos:
    # What is killed, and how often.
    KINDS = {"worker": 45, "shim": 20, "agent": 12, "controller": 12, "shim and agent": 11}
    # It takes a controller seconds to come back: of ten thousand kills a thousand should be its own.
    LONG_KINDS = KINDS | {"controller": 60}

    def __init__(self, program, seed, kills, jobs, is_long=False, pauses=0):
        self.random = random.Random(seed)
        self.begun = time.monotonic()
        self.kills_left = kills
        self.pauses = pauses
        self.is_long = is_long
        self.told_at = 0.0
        self.resume = []  # (when, process, what)
        self.pauses_begun = 0
        self.pauses_before = {}  # Of each job: those that were over when it was submitted.
        self.jobs = [f"job-{number}" for number in range(jobs)]
        self.submitted = []
        self.charged = collections.Counter()  # By (job, rank): kills of its worker or shim.
        self.done = collections.Counter()     # By kind.
        self.strikes = []                     # What was killed, for a failure's story.
        # A lease that outlives the pauses of an agent that was killed several times.
        lease, fence = (LEASE_S, FENCE_S) if pauses else (30, 5)
        kept = ["--set", f"settings.retain_finished_max={KEPT_JOBS}"] if is_long else []
        self.cluster = Cluster(program, "--agents", LONG_AGENTS if is_long else AGENTS, "--set", f"settings.node_lease={lease}s",
                               "--set", f"settings.fence_margin={fence}s", *kept)
        self.folder = self.cluster.folder / "witness"
        self.folder.mkdir()
        self.witnesses = Witnesses(self.folder)

    def ask(self, path, body=None):
        """The controller's document, or None where it is away."""
        request = urllib.request.Request(self.cluster.environment["ORRERY_SERVER"] + path,
                                         data=body and body.encode(),
                                         headers={"Content-Type": "application/yaml"})
        try:
            with urllib.request.urlopen(request, timeout=5) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            raise AssertionError(f"{path}: {error.code} {error.read().decode()}") from error
        except OSError:
            return None

    def phases(self):
        document = self.ask("/api/v1/jobs?limit=10000")
        return document and {job["name"].removeprefix("default."): job for job in document["jobs"]}

    def submit_some(self):
        known = self.phases()
        if known is None:
            return
        self.retire(known)
        live = sum(known.get(name, {}).get("phase") not in ("Succeeded", "Failed")
                   for name in self.submitted if f"default.{name}" not in self.witnesses.over)
        while live < (LONG_LIVE_JOBS if self.is_long else LIVE_JOBS) and len(self.submitted) < len(self.jobs):
            name = self.jobs[len(self.submitted)]
            self.witnesses.prepare(name)
            # The last ones are long: there is something to kill until all kills are made.
            is_late = not self.is_long and len(self.jobs) - len(self.submitted) <= LIVE_JOBS
            text = JOB.format(name=name, ranks=RANKS, folder=self.folder,
                              steps=self.random.randint(*(STEPS_LATE if is_late else STEPS)))
            # The number makes it safe to ask again where no answer came. What is asked of a controller
            # that stands still may be accepted once it goes on.
            self.pauses_before.setdefault(f"default.{name}", self.pauses_begun - len(self.resume))
            answer = self.ask(f"/api/v1/jobs?request={len(self.submitted) + 1}", text)
            if answer is None:
                return
            self.submitted.append(name)
            live += 1

    def retire(self, known):
        """In the long form, what is over and well is judged once more and put aside."""
        if not self.is_long:
            return
        self.judge_so_far()
        for name, job in known.items():
            if job["phase"] == "Succeeded" and f"default.{name}" not in self.witnesses.over:
                self.witnesses.archive(name)
                for rank in range(RANKS):
                    self.charged.pop((f"default.{name}", rank), None)

    def pause(self):
        """Stops one thing for longer than its lease; whether there was one."""
        daemons = self.cluster.daemons()
        stopped = {pid for _, pid, _ in self.resume}
        kind = self.random.choices(["agent", "controller", "shim"], [5, 2, 3])[0]
        if kind == "shim":
            found = self.victim()
            pid = found[2] if found else None
            what = f"shim of {found[0].job} rank {found[0].rank}" if found else ""
        else:
            names = [name for name in sorted(daemons) if (name == "controller") == (kind == "controller")]
            what = self.random.choice(names) if names else ""
            pid = daemons.get(what)
        if pid is None or pid in stopped or not signal_process(pid, signal.SIGSTOP, self.cluster.folder):
            return False
        self.pauses_begun += 1
        self.resume.append((time.monotonic() + self.random.uniform(*PAUSED_S), pid, what))
        self.note(f"pause of {what}, process {pid}")
        self.done["pause of " + kind] += 1
        return True

    def go_on(self, all_of_them=False):
        """Lets what has stood still long enough go on."""
        now = time.monotonic()
        for entry in list(self.resume):
            if all_of_them or entry[0] <= now:
                signal_process(entry[1], signal.SIGCONT, self.cluster.folder)
                self.resume.remove(entry)
                self.note(f"end of the pause of {entry[2]}")

    def victim(self):
        """A rank that runs, with its worker and shim, by chance; None where there is none."""
        ranks = [rank for rank in self.witnesses.read() if rank.runs]
        self.random.shuffle(ranks)
        for rank in ranks:
            worker, shim = rank.starts[-1]
            if "flock -n 9" in self.words_of(worker) and "orrery-shim" in self.words_of(shim):
                return rank, worker, shim
        return None

    def words_of(self, pid):
        """The words of a process of this cluster; none of any other."""
        return names_folder(pid, self.cluster.folder) or ""

    def kill(self, pid):
        return kill_process(pid, self.cluster.folder)

    def agent_of(self, shim):
        """The process id of the agent whose node's folder the shim works in; None: it is away."""
        match = re.search(r"/(node-\d+)/", self.words_of(shim))
        return self.cluster.daemons().get(match.group(1)) if match else None

    def strike(self):
        """Kills one thing; whether there was one."""
        kinds = self.LONG_KINDS if self.is_long else self.KINDS
        kind = self.random.choices(list(kinds), list(kinds.values()))[0]
        if kind in ("controller", "agent"):
            daemons = {name: pid for name, pid in self.cluster.daemons().items()
                       if (name == "controller") == (kind == "controller")}
            name = self.random.choice(sorted(daemons)) if daemons else None
            if not daemons or not self.kill(daemons[name]):
                return False
            self.note(f"{name}, process {daemons[name]}")
        else:
            found = self.victim()
            if not found:
                return False
            rank, worker, shim = found
            # Before the kill: what it brings about may be seen at once.
            self.charged[rank.job, rank.rank] += 1
            if kind == "shim and agent" and not self.kill(self.agent_of(shim)):
                kind = "shim"
            if not self.kill(worker if kind == "worker" else shim):
                self.charged[rank.job, rank.rank] -= 1
                self.note(f"no {kind} of {rank.job} rank {rank.rank}: it was gone")
                return False
            self.note(f"{kind} of {rank.job} rank {rank.rank}, worker {worker}, shim {shim}")
        self.done[kind] += 1
        return True

    def note(self, what):
        self.strikes.append(f"{time.monotonic() - self.begun:.2f} s: {what}")

    def judge_so_far(self):
        for rank in self.witnesses.read():
            where = f"{rank.job} rank {rank.rank}"
            assert rank.twice == 0, f"{where}: ran twice at the same time"
            assert rank.job not in self.witnesses.over, f"{where}: started after its job was over"
            # What a pause ends: all on a node whose agent stood still, or everywhere with the controller.
            paused = self.pauses_begun - self.pauses_before.get(rank.job, 0)
            allowed = 1 + self.charged[rank.job, rank.rank] + paused
            if len(rank.starts) > allowed:  # All of a job start again with other ports.
                allowed += self.busy_ports_of(rank.job)
            assert len(rank.starts) <= allowed, (
                f"{where}: {len(rank.starts)} starts, {allowed} are accounted for; "
                f"(worker, shim) of each: {rank.starts}; {self.story_of(rank.job)}")

    def busy_ports_of(self, job):
        """How often something else on this host held a port that a worker of the job was given."""
        events = self.ask(f"/api/v1/events?job={job.removeprefix('default.')}&backlog=1000")
        return sum(event["name"] == "JobRescheduling" and "port" in event["message"]
                   for event in events["events"])

    def story_of(self, job):
        """What the controller says of a job, and the lines of its events."""
        name = job.removeprefix("default.")
        try:
            return json.dumps({"job": self.ask(f"/api/v1/jobs/{name}"),
                               "events": self.ask(f"/api/v1/events?job={name}&backlog=100")}, indent=1)
        except AssertionError as error:
            return f"no story: {error}"

    def all_ended(self):
        self.judge_so_far()
        self.submit_some()
        known = self.phases()
        if known is not None:
            self.retire(known)
        return known is not None and len(self.submitted) == len(self.jobs) and all(
            f"default.{name}" in self.witnesses.over or
            known.get(name, {}).get("phase") in ("Succeeded", "Failed") for name in self.jobs)

    def run(self):
        begun = self.begun
        longest = LONG_S_MAX if self.is_long else STRIKES_S_MAX
        while self.kills_left > 0 and time.monotonic() - begun < longest:
            self.submit_some()
            if self.pause() if self.pauses else self.strike():
                self.kills_left -= 1
            self.go_on()
            self.judge_so_far()
            self.tell_progress()
            if len(self.submitted) == len(self.jobs) and self.victim() is None and self.all_ended():
                break  # There is nothing left to kill.
            time.sleep(self.random.uniform(*(LONG_PAUSE_S if self.is_long and not self.pauses
                                             else PAUSE_S)))
        struck_s = time.monotonic() - begun
        while self.resume:
            time.sleep(0.1)
            self.go_on()
        if self.is_long:
            self.jobs = list(self.submitted)  # No more are needed.
        wait_until("all jobs to end", self.all_ended, 3 * PATIENCE_S)
        known = self.phases()
        left = [name for name in self.jobs if f"default.{name}" not in self.witnesses.over]
        failed = [name for name in left if known[name]["phase"] != "Succeeded"]
        assert not failed, f"failed: {[(name, known[name]['message']) for name in failed]}"
        ranks = self.witnesses.read()
        assert len(ranks) == RANKS * len(left)
        # Twice where its shim was killed before the first end was on disk: that start is charged.
        unended = [f"{rank.job} rank {rank.rank}" for rank in ranks if rank.ends == 0]
        assert not unended, f"Succeeded without an end: {unended}"
        self.cluster.interrupt()
        assert self.cluster.wait() == 130
        assert not processes_of(self.cluster.state), "something is left"
        starts = self.witnesses.starts + sum(len(rank.starts) for rank in ranks)
        print(f"{sum(self.done.values())} strikes in {struck_s:.1f} s ({dict(self.done)}), "
              f"{len(self.jobs)} jobs, {starts} starts, all over after "
              f"{time.monotonic() - begun:.1f} s: lost 0, doubled 0, stuck 0, unexplained restarts 0")

    def tell_progress(self):
        now = time.monotonic()
        if self.is_long and now - self.told_at > TOLD_EVERY_S:
            self.told_at = now
            print(f"{now - self.begun:.0f} s: {sum(self.done.values())} strikes, "
                  f"{len(self.witnesses.over)} of {len(self.submitted)} jobs over", flush=True)

    def tell(self):
        """What helps to understand a failure."""
        for log in sorted(self.cluster.state.glob("*.log")):
            print(f"--- {log.name}\n" + "".join(log.read_text().splitlines(True)[-30:]))
        print("".join(self.cluster.said[-40:]))
        print("struck:\n" + "\n".join(self.strikes[-60:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--pauses", type=int, default=0, help="in place of kills")
    parser.add_argument("--jobs", type=int, default=50)
    parser.add_argument("--long", action="store_true", help="until all are made")
    given = parser.parse_args()
    if not can_kill_safely() or not shutil.which("flock"):
        print("skipped: this system has no pidfd, or no flock")
        return SKIPPED
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    strikes = given.pauses or given.kills
    # In the long form more jobs than strikes can need; what is not needed is not submitted.
    chaos = Chaos(given.program, seed, strikes, 4 * strikes if given.long else given.jobs, given.long,
                  given.pauses)
    try:
        chaos.run()
    except BaseException:
        chaos.tell()
        if given.long:
            kept = pathlib.Path("out/soak/chaos") / str(seed)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(chaos.cluster.folder, kept, symlinks=True,
                            ignore=lambda folder, names: [n for n in names if n.endswith(("sock", "socket"))])
            print(f"journal, logs and witnesses are in {kept}; all strikes in {kept}/strikes")
            (kept / "strikes").write_text("\n".join(chaos.strikes) + "\n")
        print(f"seed {seed}", flush=True)
        raise
    finally:
        chaos.cluster.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
