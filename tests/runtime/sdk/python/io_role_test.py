#!/usr/bin/env python3
"""The I/O role: whichever thread waits does the I/O, and what comes while none waits is done as well."""

import asyncio
import gc
import os
import random
import signal
import threading
import time
import traceback
import unittest

import fakes
import orrery
from orrery import loop


class Interrupted(Exception):
    """Raised by a handler of a signal."""


class IoRole(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = fakes.FakeJob()
        cls.addClassCleanup(cls.job.close)
        cls.job.add("actor", count=2)
        cls.driver = cls.job.driver()
        cls.peer = cls.driver.peer("actor", 0)

    def test_a_thread_that_waits_reads_its_own_answer(self):
        self.peer.call("add", 1)
        threads = set()

        def settled():
            threads.add(threading.current_thread())
        role = loop.role()
        for _ in range(20):
            future = self.peer.submit("add", 1)
            before = future.settle
            future.settle = lambda *outcome, before=before: (settled(), before(*outcome))[1]
            self.assertEqual(future.result(60), 2)
        self.assertIn(threading.current_thread(), threads)
        self.assertFalse(role.loop.is_running() and threading.get_ident() in role._holder.values())

    def test_an_answer_comes_while_no_thread_waits(self):
        done = threading.Event()
        future = self.peer.submit("add", 1)
        future.add_done_callback(lambda _: done.set())
        self.assertTrue(done.wait(60))
        self.assertEqual(future.result(), 2)

    def test_many_threads_wait_at_once(self):
        failures = []

        def call(number):
            random_ = random.Random(number)
            peer = self.driver.peer("actor", number % 2)
            try:
                for i in range(100):
                    if random_.random() < 0.3:
                        futures = [peer.submit("add", i, k) for k in range(random_.randrange(5))]
                        random_.shuffle(futures)
                        sums = sorted(future.result(60) for future in futures)
                        if sums != [i + k for k in range(len(futures))]:
                            failures.append(sums)
                    elif peer.call("add", i, number, deadline=60) != i + number:
                        failures.append(i)
            except orrery.CallError as error:
                failures.append(error)
        threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_two_threads_wait_for_one_future(self):
        for _ in range(50):
            future, found = self.peer.submit("add", 2), []
            threads = [threading.Thread(target=lambda: found.append(future.result(60))) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(found, [3, 3, 3, 3])

    def test_a_wait_with_a_bound_ends_and_the_call_goes_on(self):
        holder = self.driver.peer("actor", 1)
        holding = holder.submit("hold")
        holder.call("await_begun")
        for _ in range(3):
            with self.assertRaises(orrery.Timeout):
                holding.result(0.01)
        self.assertEqual(self.peer.call("add", 4), 5)
        holder.call("release")
        holding.result(60)

    def test_a_deadline_is_kept_though_no_thread_waits(self):
        """The background thread waits for later timers when it is set."""
        stopped, process = self.driver.peer("actor", 1), self.job.workers[1].process
        stopped.call("add", 1)
        process.send_signal(signal.SIGSTOP)
        try:
            role = loop.role()
            fakes.until(lambda: role._is_in_background and role.waits_until > time.monotonic() + 1,
                        "the background thread to wait for long")
            done = threading.Event()
            future = stopped.submit("add", 1, deadline=0.05)
            future.add_done_callback(lambda _: done.set())
            self.assertTrue(done.wait(0.5 * fakes.PATIENCE_S))
            self.assertIsInstance(future.exception(), orrery.Timeout)
        finally:
            process.send_signal(signal.SIGCONT)

    def test_a_thread_with_a_loop_of_its_own_may_wait(self):
        async def calls():
            return [self.peer.call("add", number, deadline=60) for number in range(20)]
        self.assertEqual(asyncio.run(calls()), [number + 1 for number in range(20)])
        self.assertEqual(self.peer.call("add", 1), 2)

    def test_threads_with_and_without_loops_wait_at_once(self):
        failures = []

        async def with_loop():
            for number in range(100):
                if self.peer.call("add", number, deadline=60) != number + 1:
                    failures.append(number)

        def without():
            for number in range(100):
                if self.peer.call("add", number, deadline=60) != number + 1:
                    failures.append(number)
        threads = [threading.Thread(target=lambda: asyncio.run(with_loop())), threading.Thread(target=without)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_another_thread_cancels_what_one_waits_for(self):
        holder = self.driver.peer("actor", 1)
        for _ in range(5):
            future = holder.submit("hold")
            holder.call("await_begun")
            canceller = threading.Timer(0.0, future.cancel)
            canceller.start()
            with self.assertRaises(orrery.Cancelled):
                future.result(60)
            canceller.join()
            self.assertEqual(holder.call("add", 1), 2)  # Once the method has seen it.

    def test_what_a_handler_raises_reaches_the_thread_that_waits(self):
        """At whatever line of the SDK it is raised, later calls work: on this connection, or on
        another one where it had cut a frame in two."""
        def interrupt(*_):
            raise Interrupted()
        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        seed = int.from_bytes(os.urandom(4), "big")
        print(f"seed {seed}")
        random_ = random.Random(seed)
        interrupts = 0
        for _ in range(300):
            try:
                signal.setitimer(signal.ITIMER_REAL, random_.uniform(0.00002, 0.0008))
                try:
                    self.peer.call("add", 1, deadline=60)
                    self.peer.call("add", 1, deadline=60)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                interrupts += 1
            except orrery.WorkerLost:
                pass
        self.assertGreater(interrupts, 0)
        fakes.until(self._answers, "an answer")

    def _answers(self):
        try:
            return self.peer.call("add", 5, deadline=20) == 6
        except orrery.WorkerLost:
            return False

    def in_child(self, ask):
        """The exit code of a forked child in which ask() is true: 0."""
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if ask() else 2
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_a_forked_child_calls_with_what_it_inherited(self):
        """By connections of its own: those of the parent go on."""
        self.assertEqual(self.peer.call("add", 1), 2)
        group = self.driver.group("actor")
        channel = self.driver.channel("of_children", ("actor", 0), capacity=4)
        self.assertEqual(group.call("add", 1).result(60), [2, 2])
        held = self.peer.submit("hold")
        self.peer.call("await_begun")

        def ask():
            gc.collect()  # What is thrown away here is the parent's.
            channel.put("child", deadline=60)
            return (self.peer.call("await_begun", deadline=60) and self.driver.peers(60).peers
                    and len(group.call("seen", deadline=60).result()) == 2
                    and self.peer.call("release", deadline=60) is None)
        for _ in range(2):
            self.assertEqual(self.in_child(ask), 0)
            self.assertEqual(held.result(60), "released")
            held = self.peer.submit("hold")
            self.peer.call("await_begun")
        self.peer.call("release")
        self.assertEqual(held.result(60), "released")
        self.assertEqual(group.call("add", 1).result(60), [2, 2])
        self.assertEqual(channel.get_batch(4).values, ["child", "child"])

    def test_a_connection_ends_with_the_parent_though_a_child_lives(self):
        job = fakes.FakeJob()
        self.addCleanup(job.close)
        job.add("actor")
        first, second = job.driver("first"), job.driver("second")
        first.group("actor")
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.read(reads, 1)
            os._exit(0)
        try:
            first.close()

            def is_free():
                try:
                    return second.group("actor", deadline=60)
                except orrery.SecondDriver:
                    return None
            fakes.until(is_free, "a claim that is given up")
        finally:
            os.write(writes, b"x")
            os.waitpid(pid, 0)
            os.close(reads)
            os.close(writes)

    def test_a_forked_child_has_a_role_of_its_own(self):
        self.assertEqual(self.peer.call("add", 1), 2)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                code = 0 if self.job.driver("child").peer("actor", 0).call("add", 1, deadline=60) == 2 else 2
            except orrery.CallError as error:
                print(error)
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(self.peer.call("add", 1), 2)


if __name__ == "__main__":
    unittest.main()
