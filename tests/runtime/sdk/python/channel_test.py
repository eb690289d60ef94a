#!/usr/bin/env python3
"""Channels: bounds, weights, keys, both ends dying, epochs, closing."""

import concurrent.futures
import signal
import threading
import unittest

import fakes
import orrery
from raw_caller import RawCaller


class Channels(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "owner")
        self.owner, = self.job.workers
        self.driver = self.job.driver("producer")

    def channel(self, name="queue", capacity=4, weight_max=0, driver=None):
        return (driver or self.driver).channel(name, ("owner", 0), capacity, weight_max)

    def channel_of(self, driver):
        """The same channel, as it is."""
        return driver.channel("queue", ("owner", 0))

    def consumer(self, name="consumer"):
        return self.job.driver(name)

    def submit(self, channel, what, **kwargs):
        """A put or get that is not waited for."""
        channel.state()
        client = channel._client
        return client.submit(channel._owner, f"orrery.channel.{what}", (), {"name": channel.name, **kwargs}, 60)

    def await_state(self, channel, **wanted):
        """Waits until the channel's state has these values."""
        state = {}

        def has():
            state.update(channel.state())
            return all(state[key] == value for key, value in wanted.items())
        try:
            fakes.until(has, f"a channel with {wanted}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it has {state}") from None
        return state

    def test_items_come_in_order_and_are_counted(self):
        channel = self.channel()
        self.assertEqual([channel.put(number) for number in (1, 2, 3)], [1, 2, 3])
        with channel.get() as item:
            self.assertEqual((item.value, item.key, item.items), (1, None, [(None, 1, 1)]))
            self.assertEqual(channel.state()["leased"], 1)
        with channel.get_batch(10) as batch:
            self.assertEqual(list(batch), [2, 3])
        state = channel.state()
        self.assertEqual((state["put"], state["taken"], state["items"], state["leased"]), (3, 3, 0, 0))

    def test_a_get_acknowledges_the_lease_of_before(self):
        channel = self.channel()
        channel.put_many([(None, 1, number) for number in (1, 2, 3)])
        first = channel.get()
        second = channel.get(done=first)
        self.assertEqual(second.value, 2)
        self.assertEqual({key: channel.state()[key] for key in ("taken", "leased")}, {"taken": 1, "leased": 1})
        third = channel.get_batch(4, done=second)
        self.assertEqual(list(third), [3])
        second.ack()  # It is done with already.
        with self.assertRaises(orrery.BadArguments):
            channel.get(done=second)
        self.assertEqual({key: channel.state()[key] for key in ("taken", "leased", "waiting_gets")},
                         {"taken": 2, "leased": 1, "waiting_gets": 0})

    def test_a_lease_whose_acknowledgement_failed_is_acknowledged_again(self):
        channel = self.channel()
        channel.put_many([(None, 1, number) for number in (1, 2, 3)])

        def fails(kind, what, *args, **kwargs):
            with self.assertRaises(kind):
                what(*args, **kwargs)
        lease = channel.get()
        fails(orrery.BadArguments, lease.ack, deadline=0)
        fails(orrery.BadArguments, channel.get, done=lease, deadline=0)
        fails(orrery.BadArguments, channel.get, done=lease, key={1})
        lease.ack()
        self.await_state(channel, taken=1, leased=0)
        lease = channel.get()
        fails(orrery.BadArguments, channel.get_batch, count=0, done=lease)  # What its owner says.
        lease.ack()
        self.await_state(channel, taken=2, leased=0)
        lease = channel.get()
        fails(orrery.Timeout, channel.get, done=lease, deadline=0.2)  # There is nothing more.
        self.await_state(channel, taken=3, leased=0)
        channel.put(4)
        self.assertEqual(channel.get(done=lease, deadline=60).value, 4)
        lease.ack()  # It is done with already.

    def test_an_acknowledgement_without_an_answer_may_be_sent_again(self):
        channel = self.channel()
        channel.put_many([(None, 1, number) for number in (1, 2, 3)])
        leases = [channel.get() for _ in range(3)]
        self.job.freeze(self.owner)
        try:
            for ask in (leases[0].ack, lambda deadline: channel.get(done=leases[1], deadline=deadline)):
                with self.assertRaises(orrery.Timeout):
                    ask(deadline=0.2)
        finally:
            self.owner.process.send_signal(signal.SIGCONT)
        for lease in leases:
            lease.ack(deadline=60)
        self.await_state(channel, taken=3, leased=0)

    def test_a_lease_counts_as_done_though_its_get_makes_no_sense(self):
        channel = self.channel()
        channel.put(1)
        lease = channel.get()
        channel.close()
        waiting = self.submit(self.channel_of(self.consumer()), "get", count=1)
        self.await_state(channel, waiting_gets=1)
        with self.assertRaises(orrery.BadArguments):
            self.submit(channel, "get", count=0, ack=lease.close()).result(60)
        with self.assertRaises(orrery.ChannelClosed):  # Nothing comes back to it any more.
            waiting.result(60)
        self.assertEqual(channel.state()["taken"], 1)

    def test_an_acknowledgement_counts_while_its_get_waits(self):
        channel = self.channel()
        channel.put(1)
        first = channel.get()
        late = self.submit(channel, "get", ack=first.close())
        self.await_state(channel, taken=1, leased=0, waiting_gets=1)
        channel.put(2)
        self.assertEqual(late.result(60)["items"], [[None, 1, 2]])

    def test_puts_under_way_keep_their_order_and_wait_for_room(self):
        channel = self.channel()
        puts = [channel.submit_put([(None, 1, number)]) for number in range(10)]
        self.await_state(channel, items=4, waiting_puts=6)
        self.assertFalse(puts[4].done())
        got = []
        while len(got) < 10:
            with channel.get_batch(3) as batch:
                got += batch
        self.assertEqual(got, list(range(10)))
        self.assertTrue(all(isinstance(put.result(60), int) for put in puts))

    def test_values_are_those_of_calls(self):
        channel = self.channel()
        channel.put({"data": b"\0" * 100_000, "rows": [1, None, 2.5]})
        with channel.get() as item:
            self.assertEqual(item.value, {"data": b"\0" * 100_000, "rows": [1, None, 2.5]})

    def test_a_get_waits_for_the_first_item(self):
        channel = self.channel()
        channel.put(0)
        channel.get().ack()
        waiting = self.submit(channel, "get", count=5)
        self.await_state(channel, waiting_gets=1)
        channel.put("here")
        self.assertEqual(waiting.result(60)["items"], [[None, 1, "here"]])

    def test_a_put_waits_while_it_is_full(self):
        channel = self.channel(capacity=2)
        channel.put_many([(None, 1, "a"), (None, 1, "b")])
        waiting = self.submit(channel, "put", items=[[None, 1, "c"], [None, 1, "d"]])
        self.await_state(channel, waiting_puts=1, items=2)
        channel.get().ack()
        self.await_state(channel, waiting_puts=1, items=1)  # All of a list or none.
        channel.get().ack()
        self.assertEqual(waiting.result(60), 2)
        self.assertEqual(channel.get_batch(9).values, ["c", "d"])

    def test_a_large_put_has_its_turn(self):
        channel = self.channel(capacity=2)
        channel.put_many([(None, 1, 0), (None, 1, 1)])
        large = self.submit(channel, "put", items=[[None, 1, 2], [None, 1, 3]])
        self.await_state(channel, waiting_puts=1)
        small = self.submit(channel, "put", items=[[None, 1, 4]])
        self.await_state(channel, waiting_puts=2)
        channel.get().ack()
        self.await_state(channel, waiting_puts=2)  # There is room for the small one, behind the large one.
        channel.get().ack()
        large.result(60)
        channel.get_batch(2).ack()
        small.result(60)
        self.assertEqual(channel.get().value, 4)

    def test_what_waits_may_be_given_up(self):
        channel = self.channel(capacity=1)
        channel.put(0)
        with self.assertRaises(orrery.Timeout):
            channel.put(1, deadline=0.1)
        waiting = self.submit(channel, "put", items=[[None, 1, 2]])
        self.await_state(channel, waiting_puts=1)
        waiting.cancel()
        self.await_state(channel, waiting_puts=0)
        channel.get().ack()
        with self.assertRaises(orrery.Timeout):
            channel.get(deadline=0.1)
        self.await_state(channel, waiting_gets=0, items=0)

    def test_a_wait_in_vain_is_told_of_its_cause(self):
        """By the owner, which alone knows it."""
        empty, leased, one, full = [self.channel(name, capacity=2) for name in ("empty", "leased", "one", "full")]
        heavy = self.channel("heavy", capacity=9, weight_max=3)
        leased.put(1)
        lease = leased.get()
        one.put(1, key="a")
        full.put_many([(None, 1, 1), (None, 1, 2)])
        heavy.put(1, weight=2)
        wanted = {
            "channel empty empty (0 of 2 items), needed one": lambda: empty.get(deadline=4),
            "channel leased empty (0 of 2 items, 1 with consumers that may give them back)":
                lambda: leased.get_batch(weight=3, deadline=4),
            "no item of key 'b' in channel one (1 of others)": lambda: one.get("b", deadline=4),
            "channel one without room (1 of 2 items), needed room for 2":
                lambda: one.put_many([(None, 1, 2), (None, 1, 3)], deadline=4),
            "channel full full (2 of 2 items), needed room for 1": lambda: full.put(3, deadline=4),
            "channel full full (2 of 2 items)": lambda: full.submit_put([(None, 1, 3)], deadline=4).result(),
            "channel heavy without room (1 of 9 items, of weight 2 of 3)":
                lambda: heavy.put(2, weight=2, deadline=4)}
        with concurrent.futures.ThreadPoolExecutor(len(wanted)) as pool:
            errors = {words: pool.submit(ask).exception for words, ask in wanted.items()}
            for words, error in errors.items():
                with self.subTest(words=words):
                    self.assertIsInstance(error(), orrery.Timeout)
                    self.assertIn(words, error().message)
        lease.ack()

    def test_an_owner_that_stands_still_is_not_called_empty(self):
        channel = self.channel()
        self.job.freeze(self.owner)
        try:
            with self.assertRaises(orrery.Timeout) as raised:
                channel.get(deadline=0.2)
        finally:
            self.owner.process.send_signal(signal.SIGCONT)
        self.assertIn("found no answer of owner 0, needed an item of channel queue", raised.exception.message)

    def test_weights_bound_what_is_in_and_what_is_taken(self):
        channel = self.channel(capacity=10, weight_max=10)
        channel.put_many([(None, 4, "a"), (None, 4, "b")])
        waiting = self.submit(channel, "put", items=[[None, 4, "c"]])
        self.await_state(channel, waiting_puts=1, weight=8)
        batch = channel.get_batch(weight=5)
        self.assertEqual(batch.values, ["a", "b"])
        waiting.result(60)
        channel.put("heavy", weight=6)
        self.assertEqual(channel.get_batch(weight=1).values, ["c"])  # At least one.
        with self.assertRaises(orrery.ChannelFull) as raised:
            channel.put("never", weight=11)
        self.assertEqual(raised.exception.channel, "queue")
        with self.assertRaises(orrery.ChannelFull):
            self.channel("small", capacity=1).put_many([(None, 1, 1), (None, 1, 2)])

    def test_no_rest_of_rounding_fills_an_empty_channel(self):
        channel = self.channel(weight_max=0.7)
        channel.put_many([(None, 0.1, 1), (None, 0.2, 2), (None, 0.3, 3)])
        channel.get_batch(3).ack()
        self.assertEqual(channel.state()["weight"], 0)
        channel.put("whole", weight=0.7, deadline=20)
        self.assertEqual(channel.get().value, "whole")

    def test_keys(self):
        channel = self.channel(capacity=10)
        channel.put_many([("a", 1, 1), ("b", 1, 2), ("a", 1, 3), (None, 1, 4)])
        self.assertEqual(channel.state()["by_key"], {"a": 2, "b": 1, "": 1})
        self.assertEqual(channel.get_batch(9, key="a").values, [1, 3])
        waiting = self.submit(channel, "get", count=1, key="c")
        self.await_state(channel, waiting_gets=1)
        self.assertEqual(channel.get().value, 2)  # Passes by the one that waits for its key.
        channel.put(5, key="c")
        self.assertEqual(waiting.result(60)["items"], [["c", 1, 5]])

    def test_a_consumer_that_dies_gives_back_in_place(self):
        consumer, = self.job.add("consumer")
        channel = self.channel(capacity=10)
        channel.put_many([(None, 1, number) for number in range(6)])
        peer = self.driver.peer("consumer")
        self.assertEqual(peer.call("take", "queue", "owner", 2), [0, 1])
        mine = channel.get_batch(2)
        self.assertEqual(mine.values, [2, 3])
        self.job.kill(consumer)
        self.await_state(channel, items=4, leased=2)
        self.assertEqual(channel.get_batch(9).values, [0, 1, 4, 5])
        mine.ack()

    def test_leases_come_back_in_any_order(self):
        channel = self.channel(capacity=10)
        channel.put_many([(None, 1, number) for number in range(6)])
        first, second = self.consumer("one"), self.consumer("two")
        self.assertEqual(self.channel(capacity=10, driver=first).get_batch(2).values, [0, 1])
        self.assertEqual(self.channel(capacity=10, driver=second).get_batch(2).values, [2, 3])
        first.close()
        self.await_state(channel, items=4)
        second.close()
        self.await_state(channel, items=6, leased=0)
        self.assertEqual(channel.get_batch(9).values, list(range(6)))

    def test_a_producer_that_dies_leaves_what_it_put(self):
        other = self.consumer("other")
        self.channel(driver=other).put("mine")
        waiting = self.submit(self.channel(), "put", items=[[None, 1, "more"]])
        waiting.result(60)
        other.close()
        self.assertEqual(self.channel().get_batch(9).values, ["mine", "more"])

    def test_a_put_whose_answer_was_lost_counts_once(self):
        channel = self.channel()
        channel.put(0)
        client, peer = self.driver.client, channel._owner
        for attempt in (0, 1):
            sink = client.future_sink(peer)
            call = client.prepare(sink, "orrery.channel.put", (), {
                "name": "queue", "items": [[None, 1, "once"]], "epoch": channel.epoch}, 60, once="the-put")
            call.attempt = attempt
            client.begin(call, peer)
            self.assertEqual(sink.future.result(60), 2)
        self.assertEqual(channel.state()["put"], 2)

    def test_an_owner_that_dies_is_known_to_both_ends(self):
        consumer = self.consumer()
        mine, theirs = self.channel(), self.channel(driver=consumer)
        mine.put(1)
        waiting = self.submit(theirs, "get", count=1, key="never")
        epoch = mine.epoch
        self.job.kill(self.owner)
        with self.assertRaises(orrery.WorkerLost):
            waiting.result(60)
        self.job.start(self.owner)
        self.job.wait_listening()
        with self.assertRaises(orrery.ChannelClosed):  # No channel of that epoch lives.
            mine.put(2)
        mine.reopen()
        self.assertNotEqual(mine.epoch, epoch)
        mine.put(2)
        theirs._open(60)
        with self.assertRaises(orrery.ChannelClosed):
            theirs.epoch = epoch
            theirs.get()
        theirs.reopen()
        self.assertEqual(theirs.get().value, 2)  # What was in the old one is lost.

    def test_closing(self):
        channel = self.channel(capacity=2)
        channel.put_many([(None, 1, 1), (None, 1, 2)])
        waiting = self.submit(channel, "put", items=[[None, 1, 3]])
        self.await_state(channel, waiting_puts=1)
        channel.close()
        for put in (lambda: waiting.result(60), lambda: channel.put(4)):
            with self.assertRaises(orrery.ChannelClosed):
                put()
        self.assertEqual(channel.get().value, 1)
        self.assertEqual(channel.get().value, 2)
        with self.assertRaises(orrery.ChannelClosed) as raised:
            channel.get()
        self.assertEqual(raised.exception.channel, "queue")
        self.assertTrue(channel.state()["closed"])

    def test_a_closed_channel_is_made_anew_once_it_is_done_with(self):
        channel = self.channel()
        channel.put_many([(None, 1, 1), (None, 1, 2), (None, 1, 3)])
        with self.assertRaises(KeyError):
            with channel.get_batch(2) as lease:
                raise KeyError
        channel.close()

        def told(*words):
            for make in (channel.reopen, self.channel):
                with self.assertRaises(orrery.ChannelClosed) as raised:
                    make()
                for word in words:
                    self.assertIn(word, raised.exception.message)
            self.assertEqual(raised.exception.channel, "queue")
        told("1 items left", "1 leases open (items: 2 of driver:producer)")
        other = self.channel_of(self.consumer())  # Without a capacity: to take what is left.
        self.assertEqual(other.get().value, 3)
        told("0 items left", "2 leases open (items: 1 of driver:consumer, 2 of driver:producer)")
        other._client.close()
        with channel.get(deadline=60) as item:  # It came back, and is left to who asked in vain as well.
            self.assertEqual(item.value, 3)
        told("1 leases open (items: 2 of driver:producer)")
        with lease:
            self.assertEqual(lease.values, [1, 2])
        channel.reopen()
        self.assertEqual([channel.state()[key] for key in ("closed", "put")], [False, 0])
        self.assertEqual(channel.put(4), 1)

    def test_a_closed_channel_waits_for_what_may_come_back(self):
        channel = self.channel()
        channel.put(1)
        other = self.consumer()
        lease = self.channel(driver=other).get()
        channel.close()
        waiting = self.submit(channel, "get", count=1)
        self.await_state(channel, waiting_gets=1)
        other.close()
        self.assertEqual(waiting.result(60)["items"], [[None, 1, 1]])
        self.assertEqual(lease.value, 1)

    def test_a_deadline_is_kept_while_another_thread_opens_the_channel(self):
        self.channel()
        found = self.job.driver("other").channel("queue", ("owner", 0))
        outcomes, both = [], threading.Condition()

        def put(value, deadline):
            try:
                found.put(value, deadline=deadline)
            except orrery.CallError as error:
                value = error
            with both:
                outcomes.append(value)
                both.notify_all()
        self.owner.process.send_signal(signal.SIGSTOP)
        try:
            threads = [threading.Thread(target=put, args=("first", 120))]
            threads[0].start()
            fakes.until(found._lock.locked, "the first to open it")
            threads.append(threading.Thread(target=put, args=("second", 0.2)))
            threads[1].start()
            fakes.wait_for(both, "the deadline of the second", lambda: outcomes, 30)
        finally:
            self.owner.process.send_signal(signal.SIGCONT)
        for thread in threads:
            thread.join()
        self.assertIsInstance(outcomes[0], orrery.Timeout)
        self.assertEqual(outcomes[1:], ["first"])

    def test_what_is_not_there_or_does_not_fit(self):
        with self.assertRaises(orrery.NoSuchChannel) as raised:
            self.driver.channel("nothing", ("owner", 0)).get()
        self.assertEqual(raised.exception.channel, "nothing")
        channel = self.channel()
        channel.put(1)
        with self.assertRaises(orrery.BadArguments):
            self.channel(capacity=5)
        lease = channel.get()
        lease.ack()
        lease.ack()  # Once is enough.
        for kwargs in ({"count": 0}, {"count": 1, "weight": 1}, {"weight": -1}, {"count": 1, "key": 5}):
            with self.assertRaises(orrery.BadArguments):
                self.submit(channel, "get", **kwargs).result(60)
        self.assertEqual(self.submit(channel, "put", items=[]).result(60), 0)
        for owner in ("owner", ("owner",), None, ("owner", "0")):
            with self.assertRaises(orrery.BadArguments):
                self.driver.channel("queue", owner)
        for items in ([1], 5, [(None, 1)], ["abc"], None):
            for put in (channel.put_many, channel.submit_put):
                with self.assertRaises(orrery.BadArguments):
                    put(items)
        for items in ([1], [[None, 1]], [[None, -1, 1]], [[5, 1, 1]], "x"):
            with self.assertRaises(orrery.BadArguments):
                self.submit(channel, "put", items=items).result(60)
        with self.assertRaises(orrery.BadArguments):
            self.driver.peer("owner").call("orrery.channel.ack", name="queue", lease="nothing")
        with self.assertRaises(orrery.BadArguments):
            self.channel("bad", capacity=-1)

    def test_an_exception_acknowledges_nothing(self):
        channel = self.channel()
        channel.put(1)
        with self.assertRaises(KeyError):
            with channel.get():
                raise KeyError
        self.assertEqual(channel.state()["leased"], 1)

    def test_an_answer_that_came_too_late_is_not_lost(self):
        """Gets that are given up at any moment, also while their answer is on its way."""
        channel = self.channel()
        channel.put(1)
        for number in range(60):
            future = channel._client.submit(channel._owner, "orrery.channel.get", (), {"name": "queue", "count": 1},
                                            0.001 if number % 2 else 60)
            if number % 2 == 0:
                future.cancel()
            if future.exception() is None:  # It was quicker.
                channel._ask("ack", {"lease": future.result()["lease"]}, 60)
                channel.put(1)
        self.await_state(channel, items=1, leased=0, waiting_gets=0)

    def test_a_drain_of_the_owner_ends_what_waits(self):
        channel = self.channel()
        waiting = self.submit(channel, "get", count=1)
        self.await_state(channel, waiting_gets=1)
        held = self.driver.peer("owner").submit("hold")
        self.owner.process.terminate()
        with self.assertRaises(orrery.Cancelled):
            waiting.result(60)
        held.cancel()
        self.assertEqual(self.owner.process.wait(fakes.PATIENCE_S), 143)

    def test_a_batch_that_is_too_large_stays(self):
        channel = self.channel(capacity=100)
        channel.put_many([(None, 1, "x" * 20_000) for _ in range(50)])
        channel.put_many([(None, 1, "x" * 20_000) for _ in range(50)])
        with self.assertRaises(orrery.TooLarge):
            channel.get_batch(100)
        state = channel.state()
        self.assertEqual((state["items"], state["leased"]), (100, 0))
        self.assertEqual(len(channel.get_batch(40)), 40)

    def test_what_could_not_be_given_out_is_not_taken(self):
        """By keys that `state` cannot tell, or for its length."""
        channel = self.channel()
        for key in ("$a", "", "x" * 257):
            with self.subTest(key=key), self.assertRaises(orrery.BadArguments):
                channel.put(1, key=key)
            with self.subTest(key=key), self.assertRaises(orrery.BadArguments):
                self.submit(channel, "get", count=1, key=key).result(60)
        with self.assertRaises(orrery.TooLarge) as raised:
            channel.put("x" * 1_045_000, key="\u00e4" * 256)
        self.assertLess(raised.exception.limit, 1 << 20)
        self.assertEqual((channel.state()["items"], channel.state()["put"]), (0, 0))
        most = raised.exception.limit - 10
        channel.put("x" * most, key="\u00e4" * 256)
        channel.put([b"x"] * 35_000)
        self.assertEqual(len(channel.get().value), most)
        self.assertEqual(channel.get().value, [b"x"] * 35_000)

    def test_items_of_many_levels(self):
        """What could be put can be got: both have the same levels around an item."""
        def nested(levels):
            value = []
            for _ in range(levels - 1):
                value = [value]
            return value
        channel = self.channel()
        for levels in (257, 300):
            with self.assertRaises(orrery.BadArguments):
                channel.put(nested(levels))
        channel.put(nested(254))
        with RawCaller(self.owner.agent.endpoint["port"]) as raw:
            key = bytes.fromhex(self.job.key(self.owner, "driver:raw"))
            raw.shake_hands(self.owner.name, key, "driver:raw")
            raw.send({"t": "call", "id": 1, "method": "orrery.channel.put", "deadline_ms": 60000, "args": [],
                      "kwargs": {"name": "queue", "items": [[None, 1, nested(256)]]}})
            self.assertEqual(raw.answer()["value"], 2)
        self.assertEqual(channel.get_batch(2).values, [nested(254), nested(256)])

    def test_the_owner_makes_its_own(self):
        state = self.driver.peer("owner").call("open_channel", "mine", 3)
        self.assertEqual((state["capacity"], state["items"], state["closed"]), (3, 0, False))
        found = self.driver.channel("mine", ("owner", 0))
        found.put("x")
        self.assertEqual(found.get().value, "x")


if __name__ == "__main__":
    unittest.main()
