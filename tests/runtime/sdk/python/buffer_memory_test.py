#!/usr/bin/env python3
"""Memory of large buffers is used again, within bounds, and never while anything refers to it."""

import random
import threading
import unittest

import fakes
from orrery import buffer_memory

MEBIBYTE = 1 << 20


class Memory(unittest.TestCase):
    def setUp(self):
        self.memory = buffer_memory.Memory(bytes_max=16 * MEBIBYTE)

    def test_what_nobody_refers_to_is_taken_again(self):
        first = self.memory.take(2 * MEBIBYTE)
        first[:3] = b"abc"
        del first
        again = self.memory.take(2 * MEBIBYTE)
        self.assertEqual(bytes(again[:3]), b"abc")

    def test_what_anything_refers_to_is_not(self):
        for hold in (lambda buffer: buffer, memoryview, lambda buffer: {"deep": [buffer]},
                     lambda buffer: memoryview(buffer)[5:].cast("B")):
            with self.subTest(hold=hold):
                memory = buffer_memory.Memory()
                buffer = memory.take(2 * MEBIBYTE)
                buffer[:3] = b"abc"
                held = hold(buffer)
                del buffer
                others = [memory.take(2 * MEBIBYTE) for _ in range(3)]
                self.assertNotIn(b"abc", [bytes(other[:3]) for other in others])
                del held
                self.assertEqual(bytes(memory.take(2 * MEBIBYTE)[:3]), b"abc")

    def test_sizes_are_those_that_were_asked_for(self):
        self.memory.take(3 * MEBIBYTE)[:1] = b"x"
        taken = self.memory.take(2 * MEBIBYTE)
        self.assertEqual((len(taken), bytes(taken[:1])), (2 * MEBIBYTE, b"x"))
        del taken
        other = self.memory.take(MEBIBYTE)
        self.assertEqual((len(other), bytes(other[:1])), (MEBIBYTE, b"\0"), "not half of a larger one")
        self.assertEqual(len(self.memory.take(100)), 100)

    def test_no_more_than_its_bound_is_kept(self):
        held = [self.memory.take(3 * MEBIBYTE) for _ in range(10)]
        self.assertEqual(self.memory.unused(), 0)
        del held
        self.assertEqual(self.memory.unused(), 30 * MEBIBYTE)
        other = self.memory.take(10 * MEBIBYTE)  # What is too much goes before there is more.
        self.assertEqual(self.memory.unused(), 15 * MEBIBYTE)
        self.assertTrue(self.memory.drop_older(60.0))
        self.assertFalse(self.memory.drop_older(-1.0))
        self.assertEqual((self.memory.unused(), len(other)), (0, 10 * MEBIBYTE))


class Items(unittest.TestCase):
    def test_items_in_memory_that_is_used_again_stay_whole(self):
        """A consumer that keeps some items finds them as they were; sizes come in turn."""
        with fakes.FakeJob() as job:
            job.add("owner")
            producer, consumer = job.driver("producer"), job.driver("consumer")
            out = producer.channel("large", ("owner", 0), 3)
            into = consumer.channel("large", ("owner", 0), 3)
            random_ = random.Random(7)
            sizes = [random_.choice((1, 2, 2, 3)) * MEBIBYTE + number for number in range(40)]

            def produce():
                for number, size in enumerate(sizes):
                    out.put(bytes((number,)) * size)
            thread = threading.Thread(target=produce)
            thread.start()
            kept, lease = [], None
            for number, size in enumerate(sizes):
                lease = into.get(done=lease)
                self.assertEqual(len(lease.value), size)
                self.assertEqual(lease.value.count(number), size)
                if number % 5 == 0:
                    kept.append((number, lease.value))
            lease.ack()
            thread.join()
            for number, value in kept:
                self.assertEqual(value.count(number), sizes[number])


if __name__ == "__main__":
    unittest.main()
