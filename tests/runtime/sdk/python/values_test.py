#!/usr/bin/env python3
"""What needs no process: frames and values, errors on the wire, keys and proofs, sharding, plans."""

import contextlib
import enum
import io
import json
import pickle
import random
import struct
import threading
import time
import unittest
import unittest.mock

import fakes  # Puts the package on the path.
import orrery
from orrery import callee, calls, directory, errors, frames, futures, group, handshake, loop, plan, threads

NamedSharding = orrery.NamedSharding


def joined(pieces):
    return b"".join(bytes(piece) for piece in pieces)


class Frames(unittest.TestCase):
    def read(self, data, cuts, **limits):
        """Feeds a reader piece by piece; what it gave."""
        found = []
        reader = frames.Reader(lambda header, buffers, too_large: found.append(
            (header, [bytes(buffer) for buffer in buffers], too_large)))
        reader.header_max, reader.may_have_payload = frames.HEADER_MAX, True
        reader.message_max = limits.get("message_max", frames.MESSAGE_MAX)
        view, at = memoryview(data), 0
        while at < len(data):
            target = reader.get_buffer()
            count = min(len(target), next(cuts), len(data) - at)
            target[:count] = view[at:at + count]
            reader.updated(count)
            at += count
        return found

    def test_frames_survive_any_cut(self):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        sent = []
        for number in range(40):
            sizes = [draw.choice([0, 1, 1000, 70_000, 200_000]) for _ in range(draw.randrange(4))]
            sent.append(({"t": "x", "id": number, "buffers": sizes}, [draw.randbytes(size) for size in sizes]))
        data = b"".join(joined(frames.frame(frames.to_json(header), [memoryview(each) for each in buffers]))
                        for header, buffers in sent)
        for cuts in (lambda: 1 << 30, lambda: draw.randrange(1, 40_000), lambda: draw.randrange(1, 300_000)):
            found = self.read(data, iter(cuts, 0))
            self.assertEqual([(header, buffers) for header, buffers, _ in found], sent)

    def test_what_is_too_large_is_skipped(self):
        frame = joined(frames.frame(b'{"id":1,"buffers":[200000]}', [memoryview(bytes(200_000))]))
        small = joined(frames.frame(b'{"id":2,"buffers":[3]}', [memoryview(b"abc")]))
        found = self.read(frame + small + frame + small, iter(lambda: 1000, 0), message_max=199_999)
        self.assertEqual([(header["id"], buffers, too_large) for header, buffers, too_large in found],
                         [(1, [], 200_000), (2, [b"abc"], 0)] * 2)

    def test_the_form_of_a_frame(self):
        buffers = []
        value = frames.encode_value({"a": b"xy", "b": [memoryview(b"z"), "t"]}, buffers)
        self.assertEqual(value, {"a": {"$buffer": 0}, "b": [{"$buffer": 1}, "t"]})
        self.assertEqual(joined(frames.frame(b"{}", buffers)), struct.pack(">IQ", 2, 3) + b"{}xyz")

    def test_buffers_of_more_dimensions(self):
        view = memoryview(bytearray(range(24))).cast("B", (2, 3, 4))
        buffers = []
        frames.encode_value(view, buffers)
        frames.encode_value(memoryview(b"abcdef")[::2], buffers)
        self.assertEqual([bytes(buffer) for buffer in buffers], [bytes(range(24)), b"ace"])

    def test_scalars_of_array_libraries_are_numbers(self):
        class Scalar(bytearray):
            """As NumPy's: it has the buffer protocol as well."""
            ndim = 0

            def item(self):
                return 7
        buffers = []
        self.assertEqual((frames.encode_value([Scalar(b"raw")], buffers), buffers), ([7], []))

    def test_subclasses_are_what_they_extend(self):
        class Phase(str, enum.Enum):
            TRAIN = "train"

        class Size(enum.IntEnum):
            SMALL = 3

        class Text(str):
            def __str__(self):
                return "another"

        class Number(int):
            def __int__(self):
                return 8
            __index__ = __int__

        class Ratio(float):
            def __float__(self):
                return 8.0
        value = [Phase.TRAIN, Size.SMALL, Text("a"), Number(3), Ratio(0.5), (1, 2),
                 {Phase.TRAIN: Phase.TRAIN, Text("b"): Text("c")}]
        found = frames.encode_value(value, [])
        self.assertEqual(found, ["train", 3, "a", 3, 0.5, [1, 2], {"train": "train", "b": "c"}])
        self.assertEqual(frames.to_json(found), json.dumps(value, separators=(",", ":")).encode())
        self.assertEqual([type(each) for each in found[:5]], [str, int, str, int, float])
        with self.assertRaises(orrery.BadArguments):
            frames.encode_value({Text("$buffer"): 1}, [])

    def test_integers_beyond_64_bits_are_told_with_the_bounds(self):
        for value in (-2**63, 2**64 - 1):
            self.assertEqual(frames.encode_value(value, []), value)
        for value, found in ((-2**63 - 1, "an integer below 0 of 64 bits"), (2**64, "an integer of 65 bits")):
            with self.assertRaises(orrery.BadArguments) as raised:
                frames.encode_value(value, [])
            self.assertIn(f"{found}, needed one from -2**63 to 2**64 - 1", raised.exception.message)

    def test_values_own_their_memory_once_they_are_answers(self):
        data = bytearray(b"before")
        answer = calls.value_answer("result", data).own()
        data[:] = b"after!"
        self.assertIn(b"before", joined(answer.pieces(1, 100)))


class Levels(unittest.TestCase):
    """Values are nested at most 256 levels deep, as the SDK in C++ counts them."""

    @staticmethod
    def nested(levels, innermost=()):
        value = list(innermost)
        for _ in range(levels - 1):
            value = [value]
        return value

    def test_what_is_deeper_is_not_sent(self):
        for value in (self.nested(257), self.nested(256, [1]), {"a": self.nested(256)}):
            self.assertEqual(frames.encode_value(value, []), value)
            with self.assertRaises(orrery.BadArguments) as raised:
                frames.encode_value([value], [])
            self.assertIn("256", raised.exception.message)
        with self.assertRaises(orrery.BadArguments):
            calls.value_answer("result", self.nested(300))

    def test_what_is_deeper_breaks_a_rule(self):
        """A channel puts three levels around what was put, within the header."""
        value = frames.decode_value(self.nested(259), [])
        self.assertEqual(value, self.nested(259))
        for value in (self.nested(260), {"a": self.nested(259)}, self.nested(259, [{"$buffer": 0}])):
            with self.assertRaises(orrery.Protocol) as raised:
                frames.decode_value(value, [bytearray()])
            self.assertIn("256", raised.exception.message)


class Errors(unittest.TestCase):
    def test_every_type_travels_with_its_fields(self):
        values = {"rank": 3, "role": "actor", "role_rank": 1, "worker": "7-0-1", "generation": 2, "was": 1, "is": 2,
                  "class": "ValueError", "trace": "...", "methods": ["a"], "bytes": 9, "limit": 8,
                  "driver": "driver:a", "channel": "c"}
        self.assertEqual(len(errors.TYPES), 16)
        for kind in errors.TYPES.values():
            sent = kind("text", **{name: values[name] for name in kind.added})
            found = errors.from_wire(frames.parse_header(frames.to_json(errors.to_wire(sent))))
            self.assertIs(type(found), kind)
            self.assertEqual((found.message, found.fields, found.type), ("text", sent.fields, kind.type))
            again = pickle.loads(pickle.dumps(found))
            self.assertEqual((type(again), again.fields), (kind, found.fields))

    def test_types_and_fields_of_other_versions(self):
        found = errors.from_wire({"type": "Newer", "message": "text", "more": 1, "self": 2})
        self.assertEqual((found.type, found.message, found.more), ("Newer", "text", 1))
        self.assertIsNone(orrery.WorkerLost("x").rank)
        with self.assertRaises(AttributeError):
            found.absent
        self.assertIsInstance(errors.from_wire(5), orrery.Protocol)

    def test_they_are_what_python_calls_them(self):
        self.assertTrue(issubclass(orrery.Timeout, TimeoutError))
        self.assertTrue(issubclass(orrery.BadArguments, ValueError))
        self.assertTrue(issubclass(orrery.NoSuchWorker, LookupError))

    def test_long_texts_are_cut(self):
        class Silent(Exception):
            def __str__(self):
                raise KeyError
        error = errors.remote(ValueError("x" * (2 << 20)))
        self.assertLess(len(frames.to_json(errors.to_wire(error))), frames.HEADER_MAX)
        self.assertIn("Silent", errors.remote(Silent()).message)
        self.assertTrue(frames.to_json(errors.to_wire(errors.remote(ValueError("\ud800")))))


class Handshake(unittest.TestCase):
    def test_keys_and_proofs_are_those_of_the_page(self):
        """Values of `openssl dgst -sha256 -hmac`, so that both SDKs agree."""
        key = handshake.key_of("orrery_worker_abc", "driver:test")
        self.assertEqual(key.hex(), "806bfc85399a1b081718ca2e26662ef759388899420b4e2b711508d4284a259f")
        self.assertEqual(handshake.proof(key, "server", "00112233445566778899aabbccddeeff",
                                         "ffeeddccbbaa99887766554433221100", ""),
                         "808674b47a7e966ed06eb6851165b631d3f5ac39e33e0a0fc6fcf62ae928481a")


class Futures(unittest.TestCase):
    def test_settles_once(self):
        future = futures.Future()
        self.assertTrue(future.settle(1))
        self.assertFalse(future.settle(2))
        self.assertFalse(future.cancel())
        self.assertEqual((future.result(), future.exception(), future.done()), (1, None, True))


    def test_what_a_callback_raises_ends_no_later_one(self):
        for raised in (KeyError, SystemExit, GeneratorExit, KeyboardInterrupt):
            with self.subTest(raised=raised.__name__):
                first, second, told = futures.Future(), futures.Future(), threading.Event()

                def fail(_, raised=raised):
                    raise raised("a callback's")
                first.add_done_callback(fail)
                second.add_done_callback(lambda _, told=told: told.set())
                with contextlib.redirect_stderr(io.StringIO()) as printed:
                    first.settle(1)
                    second.settle(2)
                    self.assertTrue(told.wait(20))
                self.assertIn("a callback's", printed.getvalue())


    def test_a_complaint_that_nobody_reads_ends_no_later_callback(self):
        class Closed(io.StringIO):
            def write(self, text):
                raise BrokenPipeError
        first, second, told = futures.Future(), futures.Future(), threading.Event()
        first.add_done_callback(lambda _: {}["absent"])
        second.add_done_callback(lambda _: told.set())
        with contextlib.redirect_stderr(Closed()):
            first.settle(1)
            second.settle(2)
            self.assertTrue(told.wait(20))


class Batches(unittest.TestCase):
    def test_items_are_joined_once(self):
        answer = futures.Future()
        answer.settle(list(range(1000)))
        batch = group.BatchFuture([0], [answer], [(0, 1000)], 1000)
        with unittest.mock.patch.object(batch, "outcomes", wraps=batch.outcomes) as asked:
            self.assertEqual(list(batch), list(range(1000)))
            self.assertEqual([batch[index] for index in range(1000)], list(range(1000)))
            self.assertEqual(batch[-2:], [998, 999])
            batch.result().clear()  # Its own.
            self.assertEqual(len(batch.result()), 1000)
        self.assertEqual(asked.call_count, 1)


class Pools(unittest.TestCase):
    def test_a_thread_that_could_not_start_is_not_counted(self):
        pool, told = threads.Pool(1, "test"), []
        done = threading.Event()
        with unittest.mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no more threads")):
            with self.assertRaises(RuntimeError):
                pool.submit(told.append, 1)
        pool.submit(done.set)
        self.assertTrue(done.wait(20))
        self.assertEqual(told, [1])


class Answers(unittest.TestCase):
    def test_what_the_method_changes_later_is_sent_as_it_was(self):
        memory, whole = bytearray(b"first"), bytes(b"whole")
        for view in (memory, memoryview(memory), memoryview(memory).toreadonly(), whole, memoryview(whole)[1:]):
            memory[:] = b"first"
            answer = calls.value_answer("result", view)
            wanted, owned = joined(answer.pieces(1, 100)), answer.own()
            memory[:] = b"later"
            self.assertEqual(joined(owned.pieces(1, 100)), wanted)
        answer = calls.value_answer("result", [whole, memoryview(whole)[1:]])
        self.assertIs(answer.own(), answer)  # Nobody can change them, so they are not copied.


class OnceTable(unittest.TestCase):
    class Connection:
        caller = "driver:a"
        sent = 0

        def forget(self, call):
            """As a connection does."""

        def send_answer(self, call, answer):
            self.sent += 1

    def call(self, number, once):
        return calls.Call(self.Connection(), {"id": number, "method": "m", "deadline_ms": 60000, "once": once}, [])

    def test_it_is_bounded_by_number_and_by_bytes(self):
        table = calls.Once()
        for number in range(1, 3000):
            call = self.call(number, f"name-{number}")
            self.assertFalse(table.meets(call))
            table.begin(call)
            table.finish(call, calls.value_answer("result", number), has_run=True)
        self.assertEqual(len(table._answers), 1024)
        self.assertTrue(table.meets(self.call(1, "name-2999")))
        self.assertFalse(table.meets(self.call(1, "name-1000")))
        for number in range(10):
            call = self.call(number + 1, f"large-{number}")
            table.begin(call)
            table.finish(call, calls.value_answer("result", bytes(20 << 20)), has_run=True)
        self.assertLessEqual(table._bytes, 64 << 20)
        self.assertEqual(len(table._answers), 3)


class OpenCalls(unittest.TestCase):
    """Calls on a connection without a worker behind it, and more of them than it may have open."""

    class Sink:
        call, is_over, error = None, False, None

        def is_done(self):
            return self.is_over

        def fail(self, error):
            self.error = error

    class Connection(callee.CalleeConnection):
        def __init__(self, peer):
            super().__init__(peer, "driver:a", 1, lambda connection: None)
            self.welcome = {"message_max": 100}
            self.sent = []

        def send(self, pieces):
            self.sent.append(frames.parse_header(joined(pieces)[12:]))

    def test_what_comes_after_its_end_is_told_of_it(self):
        worker = directory.Peer("7-0-0", "actor", 0, 0, "n0", "127.0.0.1", 1, "", b"")

        async def run():
            for error in (orrery.Cancelled("being drained"), None):
                connection = self.Connection(worker)
                connection.is_over = True
                if error is not None:
                    connection.lost_once(error)
                call = callee.Outgoing("late", (), {}, time.monotonic() + 60, self.Sink(), retries=1)
                connection.send_call(call)
                self.assertIsInstance(call.sink.error, type(error) if error else orrery.WorkerLost)
                self.assertEqual((call.was_sent, connection.sent), (False, []))
        loop.run(run())

    def test_a_call_that_cannot_be_told_of_the_end_keeps_no_other_from_it(self):
        worker = directory.Peer("7-0-0", "actor", 0, 0, "n0", "127.0.0.1", 1, "", b"")

        class Broken(self.Sink):
            def fail(self, error):
                raise KeyError("in a sink")

        async def run():
            connection = self.Connection(worker)
            outgoing = [callee.Outgoing("m", (), {}, time.monotonic() + 60, sink) for sink in (Broken(), self.Sink())]
            for call in outgoing:
                connection.send_call(call)
            with self.assertLogs("orrery", "ERROR"):
                connection.lost_once(None)
            self.assertIsInstance(outgoing[1].sink.error, orrery.WorkerLost)
        loop.run(run())

    def test_what_waits_here_for_its_turn_is_no_other_call(self):
        two = unittest.mock.patch.object(callee, "OPEN_MAX", 2)
        two.start()
        self.addCleanup(two.stop)
        worker = directory.Peer("7-0-0", "actor", 0, 0, "n0", "127.0.0.1", 1, "", b"")

        def outgoing(method):
            return callee.Outgoing(method, (), {}, time.monotonic() + 60, self.Sink(), retries=1)

        async def run():
            lost, now = self.Connection(worker), self.Connection(worker)
            retried = outgoing("retried")
            lost.send_call(retried)
            self.assertEqual(retried.id, 1)
            others = [outgoing("first"), outgoing("second"), outgoing("third")]
            for call in (*others[:2], retried, others[2]):
                now.send_call(call)
            now.add_credit(retried, 1)
            now.give_up(retried)
            retried.sink.is_over = True
            self.assertEqual([message.get("method") for message in now.sent], ["first", "second"])
            now.give_up(others[0])
            self.assertEqual([(message["t"], message["id"]) for message in now.sent[2:]],
                             [("cancel", 1), ("call", 3)])
            self.assertEqual(now.sent[-1]["method"], "third")
        loop.run(run())


class Sharding(unittest.TestCase):
    CUBE = NamedSharding([[[0, 1], [2, 3]], [[4, 5], [6, 7]]], ["dp", "pp", "tp"])

    def test_what_cannot_be_a_grid(self):
        for layout, names in (([[0, 1], [2]], ["a", "b"]), ([0, 1], ["a", "b"]), ([[0, 1]], ["a"]), ([0, 0], ["a"]),
                              ([0, 1.5], ["a"]), ([0, "1"], ["a"]), ([True], ["a"]), ([], ["a"]), (3, ["a"]),
                              ([[0, 1], [2, 3]], ["a", "a"]), ([0, -1], ["a"]), ([0], [3]), ([[0], 1], ["a", "b"])):
            with self.assertRaises(ValueError, msg=f"{layout} {names}"):
                NamedSharding(layout, names)
        self.assertEqual(NamedSharding([0.0, 1.0], ["a"]).ranks, [0, 1])  # Whole numbers, if floats.
        for sizes in ({}, {"a": 0}, {"a": 1.5}):
            with self.assertRaises(ValueError):
                NamedSharding.grid(**sizes)

    def test_accessors_copy(self):
        layout = [[0, 1], [2, 3]]
        sharding = NamedSharding(layout, ["a", "b"])
        layout[0][0] = 9
        sharding.layout[0][0] = sharding.names[0] = sharding.ranks[0] = 9
        self.assertEqual((sharding.layout, sharding.names, sharding.ranks, sharding.shape, sharding.ndim, sharding.size),
                         ([[0, 1], [2, 3]], ["a", "b"], [0, 1, 2, 3], {"a": 2, "b": 2}, 2, 4))

    def test_equality_and_text(self):
        same = NamedSharding.grid(dp=2, pp=2, tp=2)
        self.assertEqual(same, self.CUBE)
        self.assertEqual(hash(same), hash(self.CUBE))
        self.assertNotEqual(NamedSharding([0, 1], ["a"]), NamedSharding([0, 1], ["b"]))
        self.assertNotEqual(NamedSharding([0, 1], ["a"]), NamedSharding([1, 0], ["a"]))
        self.assertNotEqual(self.CUBE, [[0, 1]])
        for part in ("'dp': 2", "'tp'", "[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]"):
            self.assertIn(part, repr(self.CUBE))

    def test_coordinates(self):
        self.assertEqual(self.CUBE.get_worker_coords(6), {"dp": 1, "pp": 1, "tp": 0})
        with self.assertRaises(ValueError):
            self.CUBE.get_worker_coords(8)
        self.assertEqual(self.CUBE.get_ranks_by_coord(pp=1), [2, 3, 6, 7])
        self.assertEqual(self.CUBE.get_ranks_by_coord(dp=1, tp=0), [4, 6])
        self.assertEqual(self.CUBE.get_ranks_by_coord(), list(range(8)))
        self.assertEqual(self.CUBE.get_ranks_by_coord(dp=2), [])
        with self.assertRaises(ValueError):
            self.CUBE.get_ranks_by_coord(xx=0)
        four = NamedSharding.grid(a=2, b=3, c=2, d=2)
        for rank in four.ranks:
            self.assertEqual(four.get_ranks_by_coord(**four.get_worker_coords(rank)), [rank])

    def test_slices(self):
        self.assertEqual(self.CUBE.get_ranks(dp=1), NamedSharding([[4, 5], [6, 7]], ["pp", "tp"]))
        self.assertEqual(self.CUBE.get_ranks(tp=1, dp=0), NamedSharding([1, 3], ["pp"]))
        self.assertEqual(self.CUBE.get_ranks(dp=1, pp=0, tp=1), 5)
        self.assertEqual(self.CUBE.get_ranks(), self.CUBE)
        with self.assertRaises(ValueError):
            self.CUBE.get_ranks(xx=0)
        for index in (2, -1):
            with self.assertRaises(IndexError):
                self.CUBE.get_ranks(dp=index)

    def test_axes(self):
        self.assertEqual((self.CUBE.get_axis_index("tp"), self.CUBE.get_axis_size("pp")), (2, 2))
        for ask in (self.CUBE.get_axis_index, self.CUBE.get_axis_size, self.CUBE.get_groups):
            with self.assertRaises(ValueError):
                ask("xx")
        self.assertTrue(self.CUBE.is_axis_zero({"tp": 0, "dp": 1}, ["tp", "cp"]))
        self.assertFalse(self.CUBE.is_axis_zero({"tp": 0, "dp": 1}, ["tp", "dp"]))
        self.assertEqual(self.CUBE.get_groups("pp"), [[0, 2], [1, 3], [4, 6], [5, 7]])


class Plans(unittest.TestCase):
    """The table of docs/virtual_clusters.md, against a model that says it in other words."""

    def test_sharded_calls_on_random_grids(self):
        seed = random.SystemRandom().randrange(2**32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        for _ in range(300):
            names = draw.sample(["dp", "pp", "tp", "cp"], draw.randrange(1, 4))
            sizes = {name: draw.randrange(1, 4) for name in names}
            grid = NamedSharding.grid(**sizes)
            kinds = {name: draw.choice(["sharded", "replicated", "free"]) for name in names}
            sharded = draw.sample([name for name in names if kinds[name] == "sharded"],
                                  sum(kind == "sharded" for kind in kinds.values()))
            output = draw.sample(names, draw.randrange(len(names) + 1))
            dummy = draw.random() < 0.5

            def nest(axes, path=()):
                return [nest(axes[1:], (*path, index)) for index in range(sizes[axes[0]])] if axes else path
            planned = plan.sharded_data(
                grid.size, grid, (), {"data": nest(sharded)}, in_sharded_axes=sharded,
                replicate_on_axes=[name for name in names if kinds[name] == "replicated"],
                output_is_replicated=output, make_dummy_calls_to_free_axes=dummy)
            expected = []
            for rank in range(grid.size):
                at = grid.get_worker_coords(rank)
                is_real = all(at[name] == 0 for name in names if kinds[name] == "free")
                if is_real or dummy:
                    data = tuple(at[name] for name in sharded) if is_real else None
                    expected.append((rank, data, is_real and all(at[name] == 0 for name in output)))
            self.assertEqual([(call.rank, call.kwargs["data"], call.returns) for call in planned], expected)

    def test_batches_are_balanced(self):
        for size in range(30):
            for parts in range(1, 9):
                cuts = plan.balanced(size, parts)
                lengths = [end - begin for begin, end in cuts]
                self.assertEqual((cuts[0][0], cuts[-1][1], sum(lengths)), (0, size, size))
                self.assertLessEqual(max(lengths) - min(lengths), 1)


if __name__ == "__main__":
    unittest.main()
