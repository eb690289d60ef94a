#!/usr/bin/env python3
"""Worker groups: which workers run with which data, futures, claims, changes of the membership.

The cases called N are behaviours that NeMo-RL's own tests hold (9 to 20), those called D are DLRover's.
"""

import asyncio
import signal
import tempfile
import unittest
import unittest.mock

import fakes
import orrery

GRID = orrery.NamedSharding([[0, 1], [2, 3]], ["dp", "tp"])


class FourWorkers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.job = fakes.FakeJob()
        cls.addClassCleanup(cls.job.close)
        cls.job.add("policy", count=4)
        cls.job.add("pair", count=2)
        cls.driver = cls.job.driver()
        cls.group = cls.driver.group("policy", GRID)
        cls.pair = cls.driver.group("pair")

    def setUp(self):
        for group in (self.group, self.pair):
            group.call("recorded").result(60)

    def counts(self, group):
        """Calls that each worker has recorded, by rank."""
        return [len(calls) for calls in group.call("recorded").result(60)]

    def ranks(self, future):
        return [answer["rank"] for answer in future.result(60)]

    # --- N9 to N15 ---

    def test_n9_single_worker(self):
        with self.assertRaises(orrery.BadArguments):
            self.pair.run_single_worker_single_data("record", 0, 1)
        for rank in (0, 1):
            answer = self.pair.run_single_worker_single_data("record", worker_idx=rank, data=rank).result(60)
            self.assertEqual(answer, {"rank": rank, "kwargs": {"data": rank}})
        self.assertEqual(self.pair.call("recorded").result(60), [[{"data": 0}], [{"data": 1}]])
        for rank in (2, -1, "0"):
            with self.assertRaises(orrery.BadArguments):
                self.pair.run_single_worker_single_data("record", rank)

    def test_n10_single_data(self):
        with self.assertRaises(orrery.BadArguments):
            self.pair.run_all_workers_single_data("record", 1)
        self.assertEqual(self.ranks(self.pair.run_all_workers_single_data("record", a=1, b="x")), [0, 1])
        self.assertEqual(self.pair.call("recorded").result(60), [[{"a": 1, "b": "x"}]] * 2)

    def test_n11_single_data_on_a_grid(self):
        self.assertEqual(self.ranks(self.group.run_all_workers_single_data("record", a=1)), [0, 1, 2, 3])

    def test_n12_single_data_on_the_first_of_an_axis(self):
        future = self.group.run_all_workers_single_data("record", run_rank_0_only_axes=["tp"], a=1)
        self.assertEqual((self.ranks(future), future.called, len(future)), ([0, 2], [0, 2], 2))
        self.assertEqual(self.counts(self.group), [1, 0, 1, 0])

    def test_n13_single_data_on_the_first_worker(self):
        future = self.group.run_all_workers_single_data("record", run_rank_0_only_axes=["dp", "tp"], a=1)
        self.assertEqual(self.ranks(future), [0])
        self.assertEqual(self.counts(self.group), [1, 0, 0, 0])

    def test_n14_multiple_data(self):
        with self.assertRaises(orrery.BadArguments):
            self.pair.run_all_workers_multiple_data("record", [1, 2])
        answers = self.pair.run_all_workers_multiple_data(
            "record", data=["a", "b"], common_kwargs={"common": 7}).result(60)
        self.assertEqual([answer["kwargs"] for answer in answers],
                         [{"common": 7, "data": "a"}, {"common": 7, "data": "b"}])

    def test_n15_multiple_data_of_another_length(self):
        for lists in ({"data": [1, 2]}, {"data": [1, 2, 3, 4], "more": [1]}, {"data": 4}, {}):
            with self.assertRaises(orrery.BadArguments):
                self.group.run_all_workers_multiple_data("record", **lists)
        with self.assertRaises(orrery.BadArguments):
            self.group.run_all_workers_multiple_data("record", data=[1, 2, 3, 4], run_rank_0_only_axes=["tp"])
        self.assertEqual(self.counts(self.group), [0, 0, 0, 0])  # Nothing had been sent.
        self.assertEqual(self.ranks(self.group.run_all_workers_multiple_data(
            "record", data=[1, 2], run_rank_0_only_axes=["tp"])), [0, 2])

    # --- N16 to N20 ---

    def sharded(self, **options):
        future = self.group.run_all_workers_sharded_data("record", data=["a", "b"], **options)
        answers = future.result(60)
        recorded = [[call["data"] for call in calls] for calls in self.group.call("recorded").result(60)]
        return future, [answer["rank"] for answer in answers], recorded

    def test_n16_sharded_along_one_axis(self):
        line = self.driver.group("policy", orrery.NamedSharding.grid(dp=4))
        answers = line.run_all_workers_sharded_data("record", in_sharded_axes=["dp"], data=list("abcd")).result(60)
        self.assertEqual([answer["kwargs"]["data"] for answer in answers], list("abcd"))

    def test_n17_replicated(self):
        future, returned, recorded = self.sharded(in_sharded_axes=["dp"], replicate_on_axes=["tp"])
        self.assertEqual((future.called, returned), ([0, 1, 2, 3], [0, 1, 2, 3]))
        self.assertEqual(recorded, [["a"], ["a"], ["b"], ["b"]])

    def test_n18_free(self):
        future, returned, recorded = self.sharded(in_sharded_axes=["tp"])
        self.assertEqual((future.called, returned), ([0, 1], [0, 1]))
        self.assertEqual(recorded, [["a"], ["b"], [], []])

    def test_n19_free_with_dummy_calls(self):
        future, returned, recorded = self.sharded(in_sharded_axes=["tp"], make_dummy_calls_to_free_axes=True)
        self.assertEqual((future.called, returned), ([0, 1, 2, 3], [0, 1]))
        self.assertEqual(recorded, [["a"], ["b"], [None], [None]])

    def test_n20_output_is_replicated(self):
        future, returned, recorded = self.sharded(in_sharded_axes=["dp"], replicate_on_axes=["tp"],
                                                  output_is_replicated=["tp"])
        self.assertEqual((future.called, future.returned, returned), ([0, 1, 2, 3], [0, 2], [0, 2]))
        self.assertEqual(recorded, [["a"], ["a"], ["b"], ["b"]])

    def test_two_sharded_axes_and_common_arguments(self):
        answers = self.group.run_all_workers_sharded_data(
            "record", in_sharded_axes=["tp", "dp"], data=[["00", "10"], ["01", "11"]],
            common_kwargs={"common": True}).result(60)
        self.assertEqual([answer["kwargs"]["data"] for answer in answers], ["00", "01", "10", "11"])
        self.assertTrue(all(answer["kwargs"]["common"] for answer in answers))

    def test_what_is_wrong_is_told_at_once_and_nothing_is_sent(self):
        for options, needed in (
                ({"in_sharded_axes": ["xx"]}, 1), ({"in_sharded_axes": ["dp", "dp"]}, 1),
                ({"in_sharded_axes": ["dp"], "replicate_on_axes": ["dp"]}, 1),
                ({"in_sharded_axes": ["dp"], "output_is_replicated": ["no"]}, 1),
                ({"in_sharded_axes": ["x"], "replicate_on_axes": ["y"], "output_is_replicated": ["z"]}, 3),
                ({"in_sharded_axes": ["dp", "tp"]}, 1), ({"in_sharded_axes": ["dp"],
                                                           "common_kwargs": {"data": 1}}, 1)):
            with self.assertRaises(orrery.BadArguments) as raised:
                self.sharded(**options)
            self.assertEqual(len(raised.exception.message.splitlines()), needed, raised.exception)
        with self.assertRaises(orrery.BadArguments):
            self.group.run_all_workers_sharded_data("record", in_sharded_axes=["dp"], data=["a", "b", "c"])
        with self.assertRaises(orrery.BadArguments):
            self.group.run_all_workers_single_data("record", run_rank_0_only_axes=["xx"])
        with self.assertRaises(orrery.BadArguments):
            self.pair.run_all_workers_single_data("record", run_rank_0_only_axes=["dp"])
        with self.assertRaises(orrery.BadArguments):
            self.pair.run_all_workers_sharded_data("record", in_sharded_axes=["dp"], data=[1, 2])
        with self.assertRaises(orrery.BadArguments):
            self.group.run_all_workers_multiple_data("record", data=[1, 2, 3, object()])
        self.assertEqual(self.counts(self.group) + self.counts(self.pair), [0] * 6)

    def test_a_sharding_of_other_ranks(self):
        with self.assertRaises(orrery.BadArguments):
            self.driver.group("pair", GRID)

    def test_streams_are_flattened_or_handed_back(self):
        def count():
            return self.group.run_all_workers_single_data("count", run_rank_0_only_axes=["tp"], limit=3, stream=True)
        self.assertEqual(count().result(), [0, 1, 2, 0, 1, 2])
        self.assertEqual({rank: list(stream) for rank, stream in count().streams().items()},
                         {0: [0, 1, 2], 2: [0, 1, 2]})

    def test_streams_of_workers_that_meet_for_each_item(self):
        """Whether their items are wanted, are read later or not at all."""
        pair = self.driver.group("pair", orrery.NamedSharding.grid(tp=2))
        for options, ranks in (({}, [0, 1]), ({"output_is_replicated": ["tp"]}, [0])):
            with self.subTest(ranks=ranks), tempfile.TemporaryDirectory() as folder:
                streams = pair.run_all_workers_sharded_data(
                    "count_together", stream=True, replicate_on_axes=["tp"], deadline=40,
                    common_kwargs={"limit": 100, "folder": folder, "ranks": [0, 1]}, **options)
                self.assertEqual(streams.result(), [[rank, number] for rank in ranks for number in range(100)])
        with tempfile.TemporaryDirectory() as folder:
            streams = pair.run_all_workers_sharded_data(
                "count_together", stream=True, replicate_on_axes=["tp"], output_is_replicated=["tp"], deadline=40,
                common_kwargs={"limit": 100, "folder": folder, "ranks": [0, 1]})
            self.assertEqual(len(list(streams.streams()[0])), 100)

    # --- futures of groups ---

    def test_no_result_is_lost_because_another_failed(self):
        future = self.group.run_all_workers_single_data("fail_on", rank=2)
        with self.assertRaises(orrery.Remote) as raised:
            future.result(60)
        self.assertEqual(raised.exception.rank, 2)
        outcomes = future.outcomes()
        self.assertEqual([outcome.value for outcome in outcomes], [0, 1, None, 3])
        self.assertEqual([outcome.rank for outcome in outcomes if outcome.error], [2])

    def test_cancel_reaches_all(self):
        future = self.pair.call("hold")
        for worker in self.pair:
            self.assertTrue(worker.call("await_begun"))
        self.assertTrue(future.cancel())
        with self.assertRaises(orrery.Cancelled):
            future.result(60)
        self.assertEqual(self.pair.call("add", 1, deadline=60).result(), [2, 2])

    def test_a_group_has_one_deadline(self):
        future = self.pair.call("hold", deadline=0.2)
        self.assertEqual([type(outcome.error) for outcome in future.outcomes(60)], [orrery.Timeout] * 2)

    # --- D4 to D7 ---

    def test_d4_call_scatter_and_the_first(self):
        self.assertEqual(self.group.call("add", 1, b=2).result(60), [3] * 4)
        self.assertEqual(self.group.call("add", [1, 2, 3, 4], b=[0, 10, 20, 30], scatter=True).result(60),
                         [1, 12, 23, 34])
        for args in (([1, 2],), (1,), ("abcd",)):
            with self.assertRaises(orrery.BadArguments):
                self.group.call("add", *args, scatter=True)
        self.assertEqual(self.group.call_rank0("pid").result(60), self.job.workers[0].process.pid)
        self.assertEqual(self.group.call("renamed").result(60), ["renamed"] * 4)

    def test_d5_an_optional_role_that_is_not_there(self):
        empty = self.driver.group("critic", optional=True)
        self.assertEqual((len(empty), empty.call("pid").result(), list(empty)), (0, [], []))

    def test_d6_empty_groups(self):
        with self.assertRaises(orrery.NoSuchWorker):
            self.driver.group("critic")
        empty = self.driver.group("critic", optional=True)
        for call in (lambda: empty.call_rank0("pid"), lambda: empty.call_batch("double_all", 1, [1])):
            with self.assertRaises(ValueError):
                call()

    def test_d7_batches(self):
        batch = self.pair.call_batch("double_all", 4, [1, 2, 3, 4], plus=1)
        self.assertIs(batch.wait(60), batch)
        self.assertEqual((list(batch), len(batch), batch[-1], batch[1:3]), ([3, 5, 7, 9], 4, 9, [5, 7]))
        self.assertIn("called=[0, 1]", repr(batch))

    def test_batches_are_cut_evenly(self):
        """5 items over 4 workers are 2, 1, 1, 1; a text is no list; workers without an item rest."""
        self.assertEqual(list(self.group.call_batch("double_all", 5, [1, 2, 3, 4, 5])), [2, 4, 6, 8, 10])
        batch = self.group.call_batch("double_all", 2, ["a", "b"], plus="!!")
        self.assertEqual((list(batch), batch.called), (["aa!!", "bb!!"], [0, 1]))
        self.assertEqual(list(self.group.call_batch("double_all", 0, [])), [])
        for arguments in ((3, [1, 2]), (-1, []), ("2", [1, 2])):
            with self.assertRaises(orrery.BadArguments):
                self.group.call_batch("double_all", *arguments)
        with self.assertRaises(orrery.BadArguments):
            self.group.call_batch("length", 4, [1, 2, 3, 4]).result(60)

    def test_payloads_for_all_are_the_same(self):
        self.assertEqual(self.group.call("length", bytes(1 << 20)).result(60), [1 << 20] * 4)


class Changes(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "policy", count=2)
        self.workers = list(self.job.workers)
        self.driver = self.job.driver("first")
        self.group = self.driver.group("policy")

    def test_a_second_driver_is_refused_until_the_first_ends(self):
        second = self.job.driver("second")
        with self.assertRaises(orrery.SecondDriver) as raised:
            second.group("policy")
        self.assertEqual(raised.exception.driver, "driver:first")
        self.assertEqual(second.peer("policy", 1).call("add", 1), 2)  # Needs no claim.
        self.driver.close()
        for worker in self.workers:  # Ends once each worker has seen the end of the connection.
            fakes.until(lambda: self.is_free(second), "a claim that is given up")
        self.assertEqual(second.group("policy").call("add", 1).result(60), [2, 2])

    def is_free(self, driver):
        try:
            return driver.group("policy")
        except orrery.SecondDriver:
            return None

    def test_the_same_driver_may_claim_twice(self):
        self.assertEqual(self.driver.group("policy").call("add", 1).result(60), [2, 2])

    def test_a_killed_worker_is_told_with_its_rank_and_the_next_call_goes_on(self):
        future = self.group.call("hold")
        for worker in self.group:
            worker.call("await_begun")
        self.job.kill(self.workers[1])
        self.group[0].call("release")
        with self.assertRaises(orrery.WorkerLost) as raised:
            future.result(60)
        self.assertEqual(raised.exception.rank, 1)
        self.assertEqual(future.outcomes()[0].value, "released")
        self.job.start(self.workers[1])
        self.assertEqual(self.group.call("pid").result(60), [worker.process.pid for worker in self.workers])

    def test_a_group_waits_for_workers_that_come_back(self):
        self.job.kill(self.workers[0])
        with self.assertRaises(orrery.WorkerLost):
            self.group.call("pid").result(60)
        with self.assertRaises(orrery.Timeout):
            self.group.call("pid", deadline=0.5)
        self.job.start(self.workers[0])
        self.assertEqual(self.group.call("pid", deadline=120).result()[0], self.workers[0].process.pid)

    def test_what_a_group_waits_for_is_told(self):
        self.job.kill(self.workers[1])
        with self.assertRaises(orrery.WorkerLost):
            self.group.call("pid").result(60)
        for lie, needed in (({}, r"not listening: 1 \((found worker 7-0-1 .* lost|no answer in time)"), ({"port": 0}, "not listening: 1 on n0")):
            self.job.lies[self.workers[1].name] = lie
            with self.subTest(needed=needed), self.assertRaises(orrery.Timeout) as raised:
                self.group.refresh(2)
            self.assertIn("found group policy not whole by the deadline (2 workers", raised.exception.message)
            self.assertRegex(raised.exception.message, needed)

    def test_a_call_and_its_wait_for_the_group_have_one_deadline(self):
        waited_s, deadlines = 0.05, []

        async def refresh(deadline):
            await asyncio.sleep(waited_s)

        def prepare(sink, method, args, kwargs, deadline, **options):
            deadlines.append(deadline)
            raise orrery.BadArguments("that is all")
        ways = (lambda: self.group.call("pid", deadline=9), lambda: self.group.call_rank0("pid", deadline=9),
                lambda: self.group.call_batch("pid", 1, [1], deadline=9),
                lambda: self.group.run_single_worker_single_data("pid", 0, deadline=9),
                lambda: self.group.run_all_workers_single_data("pid", deadline=9),
                lambda: self.group.run_all_workers_single_data("pid", deadline=9, stream=True),
                lambda: self.group.run_all_workers_multiple_data("pid", a=[1, 2], deadline=9))
        with unittest.mock.patch.object(self.group, "_refresh", refresh), \
                unittest.mock.patch.object(self.group._client, "prepare", prepare):
            for call in ways:
                self.group._is_stale = True
                with self.assertRaises(orrery.BadArguments):
                    call()
        self.assertEqual(len(deadlines), len(ways))
        self.assertLessEqual(max(deadlines), 9 - waited_s)

    def test_retries_claim_the_next_incarnation(self):
        path = str(self.job.folder / "died")
        future = self.group.run_single_worker_single_data("die_first", 1, path=path, deadline=120, retries=2)
        self.workers[1].process.wait(fakes.PATIENCE_S)
        self.job.start(self.workers[1])
        self.assertEqual(future.result(), [1, self.workers[1].name])
        with self.assertRaises(orrery.SecondDriver):
            self.job.driver("second").group("policy")

    def test_a_change_of_the_generation_is_thrown_once(self):
        self.assertEqual(self.group.generation, 1)
        self.job.next_generation()
        for worker in self.group:
            fakes.until(lambda: worker.call("seen")["memberships"] == [2], "the next membership")
        with self.assertRaises(orrery.GenerationChanged) as raised:
            self.group.call("record", changed=True).result(60)
        self.assertEqual((raised.exception.was, raised.exception.is_), (1, 2))
        self.assertEqual(self.group.call("recorded").result(60), [[], []])
        self.assertEqual(self.group.generation, 2)

    def test_a_call_that_waits_is_not_run_in_another_generation(self):
        held = self.group[0].submit("hold")
        self.group[0].call("await_begun")
        behind = self.group.run_single_worker_single_data("record", 0, late=True)
        self.job.next_generation()
        fakes.until(lambda: self.job.workers[0].agent.lines, "the agent")
        # The membership is with the worker before the release is: it reads both in this order.
        self.group[0].call("ask_peer", "policy", 1, "add", 1)
        self.job.workers[0].agent.send({"membership": self.job.membership(self.job.workers[0])})
        self.await_told(self.group[0])
        self.group[0].call("release")
        self.assertEqual(held.result(60), "released")
        with self.assertRaises(orrery.GenerationChanged):
            behind.result(60)

    def await_told(self, worker):
        fakes.until(lambda: worker.call("told_generation") == self.job.generation, "the membership")

    def test_after_a_rescale_the_group_has_the_members_of_now(self):
        self.job.add("policy")
        self.job.next_generation()
        for worker in (*self.group, self.driver.peer("policy", 2)):
            fakes.until(lambda: worker.call("place")[-1] == 2, "the next membership")
        self.assertEqual(len(self.group), 2)
        with self.assertRaises(orrery.GenerationChanged):
            self.group.call("pid").result(60)
        self.assertEqual(len(self.group.call("pid").result(60)), 3)
        self.group.refresh()
        self.assertEqual(len(self.group), 3)

    def test_a_stopped_worker_is_the_only_timeout(self):
        self.workers[1].process.send_signal(signal.SIGSTOP)
        try:
            outcomes = self.group.call("add", 1, deadline=4).outcomes()
            self.assertEqual(outcomes[0].value, 2)
            self.assertIsInstance(outcomes[1].error, orrery.Timeout)
        finally:
            self.workers[1].process.send_signal(signal.SIGCONT)

    def test_a_driver_inside_the_job(self):
        environment = {"ORRERY_SERVER_URL": self.job.url, "ORRERY_JOB": self.job.job,
                       "ORRERY_TOKEN": self.workers[0].token}
        inside = orrery.Driver.from_environment(environment)
        self.assertEqual(inside.peer("policy", 1).call("call_of_mine")[0], self.workers[0].name)


if __name__ == "__main__":
    unittest.main()
