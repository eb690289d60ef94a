#!/usr/bin/env python3
"""Calls of single workers: values, errors, deadlines, loss, second attempts, streams."""

import ctypes
import os
import signal
import threading
import unittest

import fakes
import orrery
from raw_caller import RawCallee, frame


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = fakes.FakeJob()
        cls.addClassCleanup(cls.job.close)
        cls.job.add("actor", count=2)
        cls.driver = cls.job.driver()
        cls.peer = cls.driver.peer("actor", 0)

    def test_values_arrive_as_they_were_sent(self):
        for value in (None, True, 0, -1, 2**63 - 1, -2**63, 2**64 - 1, 1.5, "", "häß \U0001f600 \0",
                      [], {}, [1, [2, {"a": None}]], {"": {"x y": [1.0]}}):
            with self.subTest(value=value):
                self.assertEqual(self.peer.call("echo", value, key=value), [[value], {"key": value}])

    def test_buffers_arrive_beside_the_header(self):
        small, large = b"abc", os.urandom(3 << 20)
        args, kwargs = self.peer.call("echo", small, b"", memoryview(large), data={"deep": [bytearray(large)]})
        self.assertEqual(args, [small, b"", large])
        self.assertEqual(kwargs, {"data": {"deep": [large]}})
        self.assertIsInstance(args[2], bytearray)

    def test_anything_with_the_buffer_protocol_is_a_buffer(self):
        import array
        numbers = array.array("d", [1.0, 2.5])
        (found,), _ = self.peer.call("echo", numbers)
        self.assertEqual(array.array("d", bytes(found)), numbers)

    def test_every_call_crosses_processes(self):
        pids = {self.driver.peer("actor", rank).call("pid") for rank in (0, 1)}
        self.assertEqual(pids, {worker.process.pid for worker in self.job.workers})
        self.assertNotIn(os.getpid(), pids)

    def test_a_worker_knows_its_place(self):
        self.assertEqual(self.driver.peer("actor", 1).call("place")[:3], ["actor", 1, 1])

    def test_workers_call_each_other(self):
        self.assertEqual(self.peer.call("ask_peer", "actor", 1, "pid"), self.job.workers[1].process.pid)
        caller = self.peer.call("ask_peer", "actor", 1, "call_of_mine")[0]
        self.assertEqual(caller, self.job.workers[0].name)

    def test_a_method_sees_its_call(self):
        self.assertEqual(self.peer.call("call_of_mine"), ["driver:test", "call_of_mine", 0, None, True, False])

    def test_other_names_coroutines_and_the_sdks_own_methods(self):
        self.assertEqual(self.peer.call("renamed"), "renamed")
        self.assertEqual(self.peer.call("coroutine", 7), 7)
        self.assertEqual(self.peer.call("orrery.ping"), {"rank": 0, "role_rank": 0, "generation": 1})
        methods = {each["name"]: each for each in self.peer.call("orrery.methods")}
        self.assertEqual(methods["tally"], {"name": "tally", "parameters": ["key"], "concurrent": False,
                                            "idempotent": True, "stream": False})
        self.assertTrue(methods["count"]["stream"])
        self.assertNotIn("on_drain", methods)

    def test_calls_run_in_the_order_of_their_arrival(self):
        self.peer.call("recorded")
        futures = [self.peer.submit("record", number=number) for number in range(200)]
        for future in futures:
            future.result(60)
        self.assertEqual([call["number"] for call in self.peer.call("recorded")], list(range(200)))

    def test_the_order_holds_from_the_first_call_on(self):
        for _ in range(5):
            peer = self.job.driver().peer("actor", 0)
            futures = [peer.submit("record", number=number) for number in range(50)]
            for future in futures:
                future.result(60)
            self.assertEqual([call["number"] for call in peer.call("recorded")], list(range(50)))

    def test_more_calls_than_may_be_open_wait_their_turn(self):
        futures = [self.peer.submit("add", number, 0) for number in range(5000)]
        self.assertEqual([future.result(120) for future in futures], list(range(5000)))

    def test_concurrent_methods_run_beside_others(self):
        held = self.peer.submit("hold")
        self.assertTrue(self.peer.call("await_begun", deadline=60))
        self.assertFalse(held.done())
        self.peer.call("release")
        self.assertEqual(held.result(60), "released")

    def test_futures_tell_their_callbacks(self):
        told, seen = threading.Event(), []

        def callback(future):
            seen.append(future.result())
            seen.append(self.peer.call("add", 2))  # A callback may wait.
            told.set()
        self.peer.submit("add", 1).add_done_callback(callback)
        self.assertTrue(told.wait(60))
        self.assertEqual(seen, [2, 3])

    # --- errors, one by one ---

    def test_remote_has_class_and_trace(self):
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("fail", "value")
        self.assertEqual(raised.exception.class_, "ValueError")
        self.assertIn("this value is wrong", str(raised.exception))
        self.assertIn("in fail", raised.exception.trace)
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("fail", "teapot")
        self.assertTrue(raised.exception.class_.endswith(".Teapot"))

    def test_what_is_no_exception_is_answered_as_well(self):
        """A task that was cancelled raises such a thing. Each call is answered, and the worker lives on."""
        pid = self.peer.call("pid")
        calls = [("fail", "base"), ("fail_beside", "base"), ("fail_as_task",)]
        for call in calls:
            with self.subTest(call=call), self.assertRaises(orrery.Remote) as raised:
                self.peer.call(*call, deadline=20)
            self.assertTrue(raised.exception.class_.endswith("CancelledError"))
        self.assertEqual(self.peer.call("pid", deadline=60), pid)

    def test_a_result_that_cannot_be_sent_is_the_methods_error(self):
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("fail", "result")
        self.assertEqual(raised.exception.class_, "TypeError")

    def test_a_loss_that_a_method_saw_is_not_the_callers(self):
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("fail", "lost")
        self.assertTrue(raised.exception.class_.endswith("WorkerLost"))

    def test_unknown_methods_are_told_with_those_that_there_are(self):
        for name in ("nothing", "on_drain", "__init__", "orrery.nothing"):
            with self.assertRaises(orrery.UnknownMethod) as raised:
                self.peer.call(name)
        with self.assertRaises(orrery.UnknownMethod) as raised:
            self.peer.call("nothing")
        self.assertIn("echo", raised.exception.methods)

    def test_arguments_that_do_not_fit(self):
        for args, kwargs in (((), {}), ((1, 2, 3), {}), ((1,), {"c": 2}), ((1,), {"a": 2})):
            with self.assertRaises(orrery.BadArguments):
                self.peer.call("add", *args, **kwargs)

    def test_values_that_cannot_be_sent(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        for value in (object(), {1}, {1: 2}, {"$x": 1}, 2**64, -2**63 - 1, float("nan"), float("inf"),
                      "\ud800", deep, (ctypes.py_object * 2)(1, 2)):
            with self.assertRaises(orrery.BadArguments):
                self.peer.submit("echo", value)

    def test_values_that_are_too_deep_end_their_own_call_alone(self):
        held = self.peer.submit("hold")
        self.peer.call("await_begun")
        for levels in (257, 300):
            deep = nested(levels)
            for args, kwargs in (((deep,), {}), ((), {"a": deep})):
                with self.assertRaises(orrery.BadArguments):
                    self.peer.submit("echo", *args, **kwargs)
        self.peer.call("release")
        self.assertEqual(held.result(60), "released")
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("nested", 300)
        self.assertEqual(raised.exception.class_, "TypeError")
        with self.assertRaises(orrery.Remote):
            list(self.peer.stream("nested", 300))
        self.assertEqual(self.peer.call("nested", 256), nested(256))
        self.assertEqual(self.peer.call("echo", nested(253)), [[nested(253)], {}])

    def test_what_the_job_does_not_have(self):
        for role, rank in (("nothing", 0), ("actor", 2)):
            with self.assertRaises(orrery.NoSuchWorker):
                self.driver.peer(role, rank).call("pid", deadline=60)
        with self.assertRaises(orrery.NoSuchWorker):
            orrery.Driver.connect(self.job.url, "other").peer("actor").call("pid", deadline=60)

    def test_the_deadline_passes_while_it_runs(self):
        held = self.peer.submit("hold", deadline=3)
        self.peer.call("await_begun")
        with self.assertRaises(orrery.Timeout):
            held.result()
        self.assertEqual(self.peer.call("add", 1), 2)  # Its caller was gone, so it has ended.
        self.assertTrue(self.peer.call("seen")["was_cancelled"])

    def test_the_deadline_passes_before_it_begins(self):
        held = self.peer.submit("hold")
        self.peer.call("await_begun")
        self.peer.call("ask_peer", "actor", 1, "pid")
        with self.assertRaises(orrery.Timeout):
            self.peer.call("record", never=True, deadline=0.1)
        self.peer.call("release")
        held.result(60)
        self.assertNotIn({"never": True}, self.peer.call("recorded"))

    def test_a_wait_that_ends_early_leaves_the_call(self):
        held = self.peer.submit("hold")
        with self.assertRaises(orrery.Timeout):
            held.result(0.01)
        self.peer.call("await_begun")
        self.peer.call("release")
        self.assertEqual(held.result(60), "released")

    def test_cancel_tells_the_method(self):
        held = self.peer.submit("hold")
        self.peer.call("await_begun")
        behind = self.peer.submit("record", cancelled=True)
        self.assertTrue(behind.cancel())
        self.assertTrue(held.cancel())
        self.assertFalse(held.cancel())
        with self.assertRaises(orrery.Cancelled):
            held.result()
        self.assertNotIn({"cancelled": True}, self.peer.call("recorded", deadline=60))

    def test_deadlines_are_seconds_above_zero(self):
        for deadline in (0, -1, None, "x", float("nan"), float("inf")):
            with self.assertRaises(orrery.BadArguments):
                self.peer.submit("pid", deadline=deadline)
        with self.assertRaises(orrery.BadArguments) as raised:
            self.peer.submit("pid", deadline=1e9)
        self.assertIn("315360000", raised.exception.message)
        self.assertIsInstance(self.peer.submit("pid", deadline=315360000).result(60), int)

    def test_what_is_no_number_is_told_at_once(self):
        for retries in ("3", None, -1, 1.5, True, [1]):
            with self.subTest(retries=retries), self.assertRaises(orrery.BadArguments):
                self.peer.submit("pid", retries=retries)
        for rank in ("0", -1, None, 0.0, True):
            with self.subTest(rank=rank), self.assertRaises(orrery.BadArguments):
                self.driver.peer("actor", rank)
        for role in ("", None, 1):
            with self.subTest(role=role), self.assertRaises(orrery.BadArguments):
                self.driver.peer(role)
        for deadline in ("x", 0, None):
            for ask in (self.driver.peers, self.driver.stop, lambda it: self.driver.scale("actor", 1, it),
                        lambda it: self.driver.group("actor", deadline=it),
                        lambda it: orrery.launch(self.job.url, {"name": "train"}, deadline=it)):
                with self.subTest(deadline=deadline), self.assertRaises(orrery.BadArguments):
                    ask(deadline)
        for timeout in ("x", float("nan"), []):
            with self.subTest(timeout=timeout), self.assertRaises(orrery.BadArguments):
                self.peer.submit("pid").result(timeout)
        for replicas in ("x", 0, 1.5):
            with self.subTest(replicas=replicas), self.assertRaises(orrery.BadArguments):
                self.driver.scale("actor", replicas)
        self.assertEqual(self.job.posts, [])
        self.assertEqual(self.peer.submit("add", 1).result(float("inf")), 2)

    # --- second attempts ---

    def submit_named(self, method, once, attempt, *args):
        client = self.driver.client
        sink = client.future_sink(self.peer)
        call = client.prepare(sink, method, args, {}, 60, once=once)
        call.attempt = attempt
        client.begin(call, self.peer)
        return sink.future

    def test_the_same_name_runs_once(self):
        self.assertEqual(self.submit_named("tally", "name-1", 0, "a").result(60), 1)
        self.assertEqual(self.submit_named("tally", "name-1", 1, "a").result(60), 1)
        self.assertEqual(self.submit_named("tally", "name-2", 1, "a").result(60), 2)

    def test_a_second_attempt_joins_the_first_that_still_runs(self):
        first = self.submit_named("hold", "name-3", 0)
        self.peer.call("await_begun")
        second = self.submit_named("hold", "name-3", 0)
        self.peer.call("release")
        self.assertEqual([first.result(60), second.result(60)], ["released"] * 2)

    def test_a_second_attempt_at_what_may_run_once(self):
        with self.assertRaises(orrery.NotIdempotent):
            self.submit_named("tally_once", "name-4", 1, "b").result(60)
        # The answer of the first is no second run.
        self.assertEqual([self.submit_named("tally_once", "name-5", attempt, "b").result(60) for attempt in (0, 1)],
                         [1, 1])

    # --- streams ---

    def test_items_come_in_order(self):
        self.assertEqual(list(self.peer.stream("count", 1000)), list(range(1000)))
        self.assertEqual(list(self.peer.stream("count", 3, credit=1)), [0, 1, 2])
        self.assertEqual(list(self.peer.stream("count", 0)), [])

    def test_async_generators_are_streams(self):
        self.assertEqual(list(self.peer.stream("count_async", 100, credit=3)), list(range(100)))
        self.assertEqual(self.peer.call("count_async", 4), [0, 1, 2, 3])
        self.assertFalse(self.peer.call("seen")["was_cancelled"])
        with self.peer.stream("count_async", 1_000_000, credit=4) as stream:
            self.assertEqual([next(stream), next(stream)], [0, 1])
        self.assertEqual(self.peer.call("add", 1, deadline=60), 2)  # The closed stream has let go, and cleaned up.
        self.assertTrue(self.peer.call("seen")["was_cancelled"])
        methods = {each["name"]: each for each in self.peer.call("orrery.methods")}
        self.assertTrue(methods["count_async"]["stream"])

    def test_no_more_than_the_credit_is_made(self):
        with self.peer.stream("count", 1_000_000, credit=4) as stream:
            self.assertEqual([next(stream), next(stream)], [0, 1])
            produced = self.peer.call("seen")["produced"]
            # 4 at first, 2 given back by now, and the one that waits for its turn.
            self.assertLessEqual(produced, 7)
        self.assertLess(self.peer.call("seen")["produced"], 16)
        self.assertEqual(self.peer.call("add", 1, deadline=60), 2)  # The closed stream has let go.
        self.assertTrue(self.peer.call("seen")["was_cancelled"])

    def test_a_stream_that_is_dropped_is_closed(self):
        stream = self.peer.stream("count", 1_000_000, credit=4)
        next(stream)
        del stream
        self.assertEqual(self.peer.call("add", 1, deadline=60), 2)

    def test_streams_end_with_their_error(self):
        stream = self.peer.stream("count_and_fail", 3)
        self.assertEqual([next(stream), next(stream), next(stream)], [0, 1, 2])
        with self.assertRaises(orrery.Remote):
            next(stream)
        with self.assertRaises(orrery.Remote):
            next(stream)

    def test_without_a_stream_the_answer_is_the_list(self):
        self.assertEqual(self.peer.call("count", 4), [0, 1, 2, 3])

    def test_a_value_is_a_stream_of_one(self):
        self.assertEqual(list(self.peer.stream("add", 1)), [2])

    def test_a_stream_has_a_deadline(self):
        stream = self.peer.stream("count_and_hold", 1, deadline=3)
        self.assertEqual(next(stream), 0)
        with self.assertRaises(orrery.Timeout):
            next(stream)
        self.assertEqual(self.peer.call("add", 1), 2)


class Losses(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "actor")
        self.worker, = self.job.workers
        self.driver = self.job.driver()
        self.peer = self.driver.peer("actor", 0)

    def test_kill_during_a_call_is_told_at_once(self):
        held = [self.peer.submit("hold", deadline=600) for _ in range(3)]
        stream = self.peer.stream("count", 5, deadline=600)
        self.peer.call("await_begun")
        self.job.kill(self.worker)
        for future in held:
            with self.assertRaises(orrery.WorkerLost) as raised:
                future.result(60)
        error = raised.exception
        self.assertEqual((error.rank, error.role, error.worker, error.generation), (0, "actor", self.worker.name, 1))
        with self.assertRaises(orrery.WorkerLost):
            next(stream)

    def test_a_lost_worker_is_lost_until_there_is_another(self):
        self.assertEqual(self.peer.call("add", 1), 2)
        self.job.kill(self.worker)
        with self.assertRaises(orrery.WorkerLost):
            self.peer.call("add", 1, deadline=60)
        self.job.start(self.worker)
        self.job.wait_listening()
        self.assertEqual(self.peer.call("add", 1), 2)
        self.assertEqual(self.peer.call("pid"), self.worker.process.pid)

    def test_nothing_is_kept_of_connections_that_have_ended(self):
        client = self.driver.client
        for _ in range(2):
            self.assertEqual(self.peer.call("add", 1, deadline=120, retries=1), 2)
            self.job.restart(self.worker)
            self.job.wait_listening()
        fakes.until(lambda: not client._connections and not client._connecting, "the end of both")

    def test_a_stopped_worker_is_a_timeout(self):
        self.peer.call("add", 1)
        self.worker.process.send_signal(signal.SIGSTOP)
        try:
            with self.assertRaises(orrery.Timeout):
                self.peer.call("add", 1, deadline=0.5)
            with self.assertRaises(orrery.Timeout):  # The same before the handshake.
                self.job.driver("second").peer("actor").call("add", 1, deadline=0.5)
        finally:
            self.worker.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.peer.call("add", 1), 2)

    def test_retries_go_to_the_next_incarnation(self):
        path = str(self.job.folder / "died")
        future = self.peer.submit("die_first", path, deadline=120, retries=3)
        self.worker.process.wait(fakes.PATIENCE_S)
        self.job.start(self.worker)
        self.assertEqual(future.result(), [1, self.worker.name])

    def test_retries_of_what_may_run_once_are_refused(self):
        future = self.peer.submit("die", deadline=120, retries=3)
        self.worker.process.wait(fakes.PATIENCE_S)
        self.job.start(self.worker)
        with self.assertRaises(orrery.NotIdempotent) as raised:
            future.result()
        self.assertIsInstance(raised.exception.__cause__, orrery.WorkerLost)

    def test_what_was_never_sent_is_no_attempt(self):
        self.job.kill(self.worker)
        future = self.peer.submit("tally_once", "a", deadline=120, retries=1)
        fakes.until(lambda: len(self.job.requests) > 3, "some questions to the directory")
        self.job.start(self.worker)
        self.assertEqual(future.result(), 1)

    def test_a_call_with_retries_outlives_a_drain(self):
        held = self.peer.submit("hold_until_draining")
        self.peer.call("await_begun")
        future = self.peer.submit("tally_once", "a", deadline=120, retries=1)
        self.worker.process.terminate()
        self.assertEqual(len(held.result(60)), 8 << 20)
        self.worker.process.wait(fakes.PATIENCE_S)
        self.job.start(self.worker)
        self.assertEqual(future.result(), 1)

    def test_what_was_begun_is_another_attempt_after_a_drain(self):
        """A worker that leaves a begun call behind does not say that it was not begun."""
        path = self.job.folder / "begun"
        self.peer.submit("exit_at_drain", 9)
        self.peer.call("await_begun")
        future = self.peer.submit("start_and_stay", str(path), deadline=120, retries=3)
        fakes.until(path.exists, "its begin")
        self.worker.process.terminate()
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 9)
        self.job.start(self.worker)
        with self.assertRaises(orrery.NotIdempotent) as raised:
            future.result()
        self.assertIsInstance(raised.exception.__cause__, orrery.WorkerLost)
        self.assertEqual(path.read_text(encoding="utf-8"), "begun\n")

    def callee(self, then):
        """Listens in the worker's place, for the driver."""
        found = RawCallee(self.worker.token, then)
        self.addCleanup(found.close)
        self.job.lies[self.worker.name] = {"port": found.port}
        return found

    def welcome(self):
        return frame({"t": "welcome", "worker": self.worker.name, "role": "actor", "rank": 0, "role_rank": 0,
                      "generation": 1, "message_max": 1 << 31})

    def test_a_connection_that_ends_right_behind_its_welcome(self):
        """The call that has asked for it is told, and does not wait for its deadline."""
        refused = frame({"t": "refused", "error": {"type": "Cancelled", "message": "being drained"}})
        for behind, kind in ((refused, orrery.Cancelled), (b"", orrery.WorkerLost)):
            for _ in range(5):  # Whether the end is known before the call is sent is chance.
                callee = self.callee(lambda raw, behind=behind: raw.socket.sendall(self.welcome() + behind))
                with self.subTest(kind=kind.type), self.assertRaises(kind):
                    self.job.driver().peer("actor").call("add", 1, deadline=40)
                self.assertEqual(callee.callers, 1)

    def test_retries_follow_a_connection_that_ends_right_behind_its_welcome(self):
        def leave(raw):
            self.job.lies.clear()  # The next finds the worker itself.
            raw.socket.sendall(self.welcome() + frame({"t": "refused", "error": {
                "type": "Cancelled", "message": "being drained"}}))
            raw.is_ended()
        self.callee(leave)
        self.assertEqual(self.peer.call("tally_once", "a", deadline=40, retries=1), 1)  # It was never begun.

    def test_a_connection_that_ends_right_behind_its_claim(self):
        refused = frame({"t": "refused", "error": {"type": "Cancelled", "message": "being drained"}})

        def claim_and_leave(raw):
            raw.socket.sendall(self.welcome())
            claim = raw.answer()
            raw.socket.sendall(frame({"t": "result", "id": claim["id"], "value": None}, buffers=[]) + refused)
        callee = self.callee(claim_and_leave)
        group = self.job.driver().group("actor", deadline=40)
        with self.assertRaises((orrery.Cancelled, orrery.WorkerLost)):
            group.call("add", 1, deadline=40).result()
        with self.assertRaises((orrery.Cancelled, orrery.WorkerLost)):
            group.call("add", 1, deadline=40).result()
        self.assertGreater(callee.callers, 1)

    def test_a_worker_that_does_not_listen_yet_is_waited_for(self):
        late, = self.job.add("late", waits=False)
        self.assertEqual(self.driver.peer("late").call("pid", deadline=120), late.process.pid)

    def test_it_is_a_timeout_where_it_never_listens(self):
        self.job.lies[self.worker.name] = {"port": 0, "key": ""}
        with self.assertRaises(orrery.Timeout) as raised:
            self.peer.call("add", 1, deadline=0.3)
        self.assertIn("does not listen yet", raised.exception.message)

    def test_it_is_told_that_the_job_has_no_such_worker_now(self):
        self.job.phase = "Restarting"
        self.assertEqual(self.peer.call("add", 1), 2)  # Those that are there are called.
        for call in (lambda: self.driver.peer("actor", 5).call("add", 1, deadline=0.3),
                     lambda: self.driver.channel("queue", ("actor", 5)).get(deadline=0.3)):
            with self.assertRaises(orrery.Timeout) as raised:
                call()
            self.assertIn("actor 5", raised.exception.message)
            self.assertIn("no such worker now, and is Restarting", raised.exception.message)

    def test_a_worker_that_left_the_directory(self):
        self.peer.call("add", 1)
        self.job.kill(self.worker)
        self.job.workers.clear()
        with self.assertRaises(orrery.WorkerLost):
            self.peer.call("add", 1, deadline=60)

    def test_the_exit_of_a_method_is_the_workers(self):
        with self.assertRaises(orrery.Remote) as raised:
            self.peer.call("fail", "exit")
        self.assertEqual(raised.exception.class_, "SystemExit")
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 9)


class Limits(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "actor", environment={"PROBE_MESSAGE_MAX": "100000"})
        self.driver = self.job.driver()
        self.peer = self.driver.peer("actor", 0)

    def test_payloads_over_the_workers_limit(self):
        self.assertEqual(self.peer.call("length", bytes(100_000)), 100_000)
        with self.assertRaises(orrery.TooLarge) as raised:
            self.peer.call("length", bytes(100_001))
        self.assertEqual((raised.exception.bytes, raised.exception.limit), (100_001, 100_000))
        self.assertEqual(self.peer.call("add", 1), 2)

    def test_results_over_the_callers_limit(self):
        submit = self.driver.client.submit
        self.assertEqual(len(submit(self.peer, "bytes_of", (5000,), {}, 60, result_max=5000).result()), 5000)
        with self.assertRaises(orrery.TooLarge) as raised:
            submit(self.peer, "bytes_of", (5001,), {}, 60, result_max=5000).result()
        self.assertEqual((raised.exception.bytes, raised.exception.limit), (5001, 5000))
        self.assertEqual(self.peer.call("add", 1), 2)

    def test_headers_over_a_mebibyte(self):
        with self.assertRaises(orrery.TooLarge) as raised:
            self.peer.call("echo", "x" * (1 << 20))
        self.assertEqual(raised.exception.limit, 1 << 20)
        with self.assertRaises(orrery.TooLarge):
            self.peer.call("count", 400_000)  # Its list is as long.
        self.assertEqual(self.peer.call("add", 1), 2)


if __name__ == "__main__":
    unittest.main()
