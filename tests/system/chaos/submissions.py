"""The controller is killed in a loop while clients submit, each submission with a number of its own, and ask
again where no answer came, or too late, or just to be sure. Judged: each job that was acknowledged exists
once, each of its ranks started once, and it ended well; and there is no other."""

import json
import pathlib
import random
import sys
import threading
import time
import urllib.error
import urllib.request

from witnesses import RANKS, Witnesses

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import (  # pylint: disable=wrong-import-position
    PATIENCE_S, Cluster, kill_process, processes_of, wait_until)

AGENTS, CLIENTS = 3, 4
UNENDED = 8            # Jobs that clients are ahead of the workers.
LIFE_S = (0.0, 1.5)    # Of a controller that takes requests.
AGAIN_S = (0.0, 0.1)   # Until a client asks again.
IMPATIENT_S = 0.03     # A client that hears nothing for that long asks again, at times.


class Client(threading.Thread):
    """Submits one job after the other, and keeps those that were acknowledged."""

    def __init__(self, number, trial):
        super().__init__(daemon=True)
        self.number, self.trial = number, trial
        self.random = random.Random(f"{trial.seed}/{number}")
        self.acknowledged = []
        self.tries = 0
        self.failure = None

    def run(self):
        try:
            while not self.trial.over.is_set():
                if self.trial.unended() < UNENDED:
                    self.submit(f"job-{self.number}-{len(self.acknowledged)}")
                self.trial.over.wait(self.random.uniform(0, 0.1))
        except BaseException as failure:  # pylint: disable=broad-exception-caught
            self.failure = failure

    def submit(self, name):
        """Until it is acknowledged, also where all are to come to an end: it may have been taken."""
        self.trial.witnesses.prepare(name)
        text = self.trial.witnesses.text_of(name, 1)
        key = self.number * 1_000_000 + len(self.acknowledged) + 1
        answer = None
        while answer is None:
            answer = self.ask(text, key, IMPATIENT_S if self.random.random() < 0.3 else 5)
            if answer is None:
                time.sleep(self.random.uniform(*AGAIN_S))
        assert [job["name"] for job in answer["jobs"]] == [f"default.{name}"], answer
        if self.random.random() < 0.3:  # As if the answer had been lost.
            again = self.ask(text, key, 5)
            assert again is None or again == answer, f"{name}: {answer}, then {again}"
        self.acknowledged.append(name)

    def ask(self, text, key, patience_s):
        """The answer, or None where there was none or the controller could make nothing durable."""
        self.tries += 1
        url = self.trial.url() + "/api/v1/jobs"
        headers = {"Content-Type": "application/yaml"}
        if key % 2:
            headers["Idempotency-Key"] = f"chaos-{key}"
        else:
            url += f"?request={key}"
        request = urllib.request.Request(url, data=text.encode(), headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=patience_s) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:
            assert error.code == 503, f"{key}: {error.code} {error.read().decode()}"
        except (OSError, ValueError):
            pass
        return None


class Submissions:
    def __init__(self, program, seed, kills):
        self.seed, self.kills = seed, kills
        self.random = random.Random(seed)
        self.begun = time.monotonic()
        self.over = threading.Event()
        self.looking = threading.Lock()
        self.ended = set()  # What witnesses wrote whose rank has ended.
        self.notes = []
        self.cluster = Cluster(program, "--agents", AGENTS, "--set", "settings.node_lease=30s",
                               "--set", "settings.fence_margin=5s",
                               "--set", "settings.retain_finished_max=1000000")
        self.witnesses = Witnesses(self.cluster.folder / "witness", program)
        self.clients = [Client(number, self) for number in range(CLIENTS)]

    def url(self):
        return self.cluster.environment["ORRERY_SERVER"]

    def unended(self):
        """Jobs that were acknowledged and whose workers have not all ended."""
        with self.looking:
            for path in set(self.witnesses.folder.glob("*.log")) - self.ended:
                if "end " in path.read_text():
                    self.ended.add(path)
            return sum(len(client.acknowledged) for client in self.clients) - len(self.ended) / RANKS

    def takes_requests(self):
        try:
            with urllib.request.urlopen(self.url() + "/readyz", timeout=2) as reply:
                return reply.status == 200
        except OSError:
            return False

    def check_clients(self):
        for client in self.clients:
            if client.failure:
                raise client.failure

    def run(self):
        for client in self.clients:
            client.start()
        for number in range(self.kills):
            wait_until("the controller to take requests", self.takes_requests)
            self.over.wait(self.random.uniform(*LIFE_S))
            self.check_clients()
            pid = wait_until("the controller", lambda: self.cluster.daemons().get("controller"))
            if kill_process(pid, self.cluster.folder):
                self.notes.append(f"{time.monotonic() - self.begun:.2f} s: controller {number}, process {pid}")
        struck_s = time.monotonic() - self.begun
        self.over.set()
        for client in self.clients:
            client.join(3 * PATIENCE_S)
            assert not client.is_alive(), "a client was not answered"
        self.check_clients()
        names = [name for client in self.clients for name in client.acknowledged]
        jobs = wait_until("all jobs to end", lambda: self.all_over(names), 3 * PATIENCE_S)
        assert sorted(jobs) == sorted(names), (
            f"acknowledged and not there: {set(names) - set(jobs)}; there without an answer: "
            f"{set(jobs) - set(names)}")
        failed = {name: job["message"] for name, job in jobs.items() if job["phase"] != "Succeeded"}
        assert not failed, f"failed: {failed}"
        ranks = self.witnesses.read()
        assert len(ranks) == RANKS * len(names), f"{len(ranks)} witnesses of {len(names)} jobs"
        for rank in ranks:
            assert (len(rank.starts), rank.ends, rank.twice) == (1, 1, 0), f"{rank}: {rank.starts}"
        self.cluster.interrupt()
        assert self.cluster.wait() == 130
        assert not processes_of(self.cluster.state), "something is left"
        tries = sum(client.tries for client in self.clients)
        return (f"{len(self.notes)} controllers killed in {struck_s:.1f} s, {len(names)} jobs acknowledged in "
                f"{tries} tries, all over after {time.monotonic() - self.begun:.1f} s: lost 0, doubled 0, "
                "stuck 0, unexplained restarts 0")

    def listed(self):
        """All that the controller lists, by name; None where it is away."""
        jobs, after = {}, ""
        try:
            while True:
                url = f"{self.url()}/api/v1/jobs?limit=10000{after}"
                with urllib.request.urlopen(url, timeout=30) as reply:
                    page = json.load(reply)
                jobs |= {job["name"].removeprefix("default."): job for job in page["jobs"]}
                if not page.get("next"):
                    return jobs
                after = f"&after={page['next']}"
        except urllib.error.HTTPError as error:
            assert error.code == 503, f"{error.code} {error.read().decode()}"
        except OSError:
            pass
        return None

    def all_over(self, names):
        """All that is listed, once it has ended; else nothing."""
        jobs = self.listed()
        is_over = jobs and all(job["phase"] in ("Succeeded", "Failed") for job in jobs.values())
        return jobs if is_over and len(jobs) >= len(names) else None

    def tell(self):
        for log in sorted(self.cluster.state.glob("*.log")):
            print(f"--- {log.name}\n" + "".join(log.read_text().splitlines(True)[-30:]))
        print("done:\n" + "\n".join(self.notes[-60:]))

    def close(self):
        self.over.set()
        self.cluster.close()
