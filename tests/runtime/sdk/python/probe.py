"""A worker for the tests: methods that show what is done with calls. Started by fakes.py."""

import asyncio
import os
import sys
import threading

import orrery


class Teapot(Exception):
    """An error of a class that callers do not have."""


class Probe:
    def __init__(self, worker):
        self.worker = worker
        self.forget()

    def forget(self):
        self.calls = []
        self.begun, self.released = threading.Event(), threading.Event()
        self.produced = 0
        self.tallies = {}
        self.memberships = []
        self.asks_at_membership = None
        self.was_cancelled = None

    @orrery.method
    def begin_anew(self):
        """Forgets all that a test has done with it, and tells its agent."""
        self.forget()
        self.worker.lead(None)
        self.worker._channels.__init__(self.worker._served)
        self.worker._say({"begins": "anew"})

    @orrery.method
    def echo(self, *args, **kwargs):
        return [list(args), kwargs]

    @orrery.method(idempotent=True)
    def add(self, a, b=1):
        return a + b

    @orrery.method
    def pid(self):
        return os.getpid()

    @orrery.method
    def die(self):
        os._exit(9)

    @orrery.method
    def blame(self, fault, message):
        self.worker.diagnose(fault, message)

    @orrery.method
    def place(self):
        worker = self.worker
        return [worker.role, worker.role_rank, worker.rank, worker.world_size, worker.generation]

    @orrery.method
    def record(self, **kwargs):
        """NeMo-RL's test worker: remembers what it was called with, and returns it."""
        self.calls.append(kwargs)
        return {"rank": self.worker.role_rank, "kwargs": kwargs}

    @orrery.method
    def recorded(self):
        calls, self.calls = self.calls, []
        return calls

    @orrery.method
    def double_all(self, items, plus=0):
        return [item * 2 + plus for item in items]

    @orrery.method
    def fail(self, what):
        if what == "value":
            raise ValueError("this value is wrong")
        if what == "teapot":
            raise Teapot("short and stout")
        if what == "result":
            return object()
        if what == "lost":
            raise orrery.WorkerLost("some other worker was lost", worker="another")
        if what == "exit":
            sys.exit(9)
        if what == "base":
            raise asyncio.CancelledError("of something else")
        return None

    @orrery.method(concurrent=True)
    def fail_beside(self, what):
        return self.fail(what)

    @orrery.method
    async def fail_as_task(self):
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    @orrery.method
    def fail_on(self, rank, value=None):
        if self.worker.role_rank == rank:
            raise ValueError(f"rank {rank} fails")
        return value if value is not None else self.worker.role_rank

    @orrery.method
    def hold(self):
        """Runs until it is released or its caller is gone."""
        self.begun.set()
        while not self.released.wait(0.01):
            if orrery.context().cancelled:
                self.was_cancelled = True
                break
        self.begun.clear()
        self.released.clear()
        return "released"

    @orrery.method
    def hold_and_check(self):
        """Works in steps for as long as a caller waits, as docs/sdk_python.md has it."""
        self.begun.set()
        while True:
            orrery.context().wait_cancelled(0.01)
            orrery.context().check()

    @orrery.method(concurrent=True)
    def hold_beside(self):
        return self.hold_and_check()

    @orrery.method
    def hold_until_exists(self, path):
        """Whether a caller waits or not: its context alone."""
        self.begun.set()
        while not os.path.exists(path):
            threading.Event().wait(0.005)
        return orrery.context().cancelled

    @orrery.method
    def hold_until_draining(self):
        self.begun.set()
        while not self.worker.is_draining:
            orrery.context().wait_cancelled(0.01)
        return b"x" * (8 << 20)

    @orrery.method
    def exit_at_drain(self, code):
        self.begun.set()
        while not self.worker.is_draining:
            orrery.context().wait_cancelled(0.01)
        sys.exit(code)

    @orrery.method(concurrent=True)
    def start_and_stay(self, path):
        """How often it was begun by any incarnation; the first time it does not come to its end."""
        with open(path, "a+", encoding="utf-8") as file:
            file.write("begun\n")
            file.seek(0)
            times = len(file.readlines())
        if times == 1:
            threading.Event().wait(120)
        return times

    @orrery.method
    def lead(self):
        self.worker.lead(lambda word: self.worker.say_as_sub_master(word["role"], word["incident"], "ask_state"))

    @orrery.method
    def lead_badly(self):
        """As lead(), but for words of which the program did not think."""
        def on_word(word):
            if word["word"] == "exit":
                sys.exit(3)
            answer = {"recover": "ask_state"}[word["word"]]
            self.worker.say_as_sub_master(word["role"], word["incident"], answer)
        self.worker.lead(on_word)

    @orrery.method
    def change_replicas(self):
        self.worker.add_replicas(2)
        self.worker.remove_replicas(1)
        return self.worker.replicas()

    @orrery.method(concurrent=True)
    def await_begun(self):
        return self.begun.wait(30)

    @orrery.method(concurrent=True)
    def release(self):
        self.released.set()

    @orrery.method(concurrent=True)
    def seen(self):
        return {"produced": self.produced, "was_cancelled": self.was_cancelled,
                "memberships": self.memberships, "calls": len(self.calls)}

    @orrery.method(concurrent=True)
    def told_generation(self):
        """The newest that the agent has told, taken up or not."""
        return self.worker.told.generation

    @orrery.method
    def count(self, limit, size=0):
        self.produced = 0
        try:
            for number in range(limit):
                self.produced += 1
                yield bytes(size) if size else number
        finally:
            self.was_cancelled = self.produced < limit

    @orrery.method
    def count_and_fail(self, limit):
        yield from range(limit)
        raise ValueError("after the last")

    @orrery.method
    def count_together(self, limit, folder, ranks):
        """Yields an item only when all ranks are at it, as with collectives."""
        for number in range(limit):
            open(f"{folder}/{self.worker.role_rank}-{number}", "w", encoding="utf-8").close()
            for rank in ranks:
                while not os.path.exists(f"{folder}/{rank}-{number}"):
                    orrery.context().wait_cancelled(0.001)
                    orrery.context().check()
            yield [self.worker.role_rank, number]

    @orrery.method
    def count_and_check(self, limit):
        """An item, and then work in which it asks whether a caller waits."""
        yield from range(limit)
        self.hold_and_check()

    @orrery.method
    def count_and_hold(self, limit):
        yield from range(limit)
        while not orrery.context().wait_cancelled(0.01):
            pass

    @orrery.method(idempotent=True)
    def tally(self, key):
        self.tallies[key] = self.tallies.get(key, 0) + 1
        return self.tallies[key]

    @orrery.method
    def tally_once(self, key):
        return self.tally(key)

    @orrery.method(concurrent=True, idempotent=True)
    def call_of_mine(self):
        call = orrery.context()
        return [call.caller, call.method, call.attempt, call.generation, call.deadline_left > 0, call.cancelled]

    @orrery.method(idempotent=True)
    def die_first(self, path):
        """Kills its process the first time that any incarnation is called."""
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return [orrery.context().attempt, self.worker.name]
        os.kill(os.getpid(), 9)

    @orrery.method
    def die(self):
        os.kill(os.getpid(), 9)

    @orrery.method
    def nested(self, levels):
        value = []
        for _ in range(levels - 1):
            value = [value]
        return value

    @orrery.method
    def bytes_of(self, size):
        return bytes(size)

    @orrery.method
    def length(self, data):
        return len(data)

    @orrery.method(name="renamed")
    def other_name(self):
        return "renamed"

    @orrery.method
    async def coroutine(self, value):
        return value

    @orrery.method
    async def count_async(self, limit):
        """As count(), with an event loop of its own."""
        self.produced = 0
        try:
            for number in range(limit):
                await asyncio.sleep(0)
                self.produced += 1
                yield number
        finally:
            await asyncio.sleep(0)
            self.was_cancelled = self.produced < limit

    @orrery.method(concurrent=True)
    def ask_peer(self, role, rank, method, *args):
        return self.worker.peer(role, rank).call(method, *args, deadline=30)

    @orrery.method
    def report(self):
        self.worker.report_profiling(step_time_s=0.5, throughput=64, batch_size=32)
        self.worker.report_progress(12, 3.5, checkpointed=True)

    @orrery.method
    def report_without_checkpoint(self, done):
        self.worker.report_progress(done)

    @orrery.method
    def stop(self, code):
        self.worker.stop(code)
        return "stopping"

    @orrery.method(concurrent=True)
    def open_channel(self, name, capacity, weight_max=0):
        self.channel = self.worker.channel(name, capacity=capacity, weight_max=weight_max)
        return self.channel.state(30)

    @orrery.method(concurrent=True)
    def take(self, name, role, count):
        """Gets items and keeps the lease."""
        self.lease = self.worker.channel(name, owner=(role, 0)).get_batch(count, deadline=30)
        return self.lease.values

    @orrery.method(concurrent=True)
    def ask_at_next_membership(self, role, rank):
        """The next one is taken up once it is released and a peer has answered."""
        self.asks_at_membership = role, rank

    def on_membership(self, membership):
        asks, self.asks_at_membership = self.asks_at_membership, None
        if asks is not None:
            self.begun.set()
            self.released.wait(60)
            self.begun.clear()
            self.released.clear()
            self.worker.peer(*asks).call("add", 1, deadline=60)
        self.memberships.append(membership.generation)

    def on_drain(self):
        with open(f"drained-{self.worker.name}", "w", encoding="utf-8") as file:
            file.write("saved")


def main():
    worker = orrery.Worker.join(message_max=int(os.environ.get("PROBE_MESSAGE_MAX", 2 << 30)))
    return worker.serve(Probe(worker))


if __name__ == "__main__":
    sys.exit(main())
