#!/usr/bin/env python3
"""Random and mutated frames at a worker: it lives on, and no connection hangs.

Usage: fuzz_test.py [SEED [ROUNDS]]. The seed is printed; the same one sends the same bytes.
"""

import json
import random
import socket
import struct
import sys
import unittest

import fakes
import raw_caller

SEED = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else random.SystemRandom().randrange(2**32)
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2].isdigit() else 300
sys.argv = sys.argv[:1]

TEXTS = ["", "echo", "add", "count", "orrery.ping", "orrery.channel.create", "orrery.channel.put",
         "orrery.channel.get", "orrery.claim", "$buffer", "\0", "ä" * 40, "x" * 300]


class Words:
    """Random values and messages."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, depth=0):
        kind = self.random.randrange(9 if depth < 4 else 6)
        if kind == 0:
            return self.random.choice([None, True, False])
        if kind == 1:
            return self.random.choice([0, -1, 1, 16, 2**31, 2**63 - 1, -2**63, 2**64 - 1, 2**64, -2**70])
        if kind == 2:
            return self.random.choice([0.0, -1.5, 1e308])
        if kind in (3, 4):
            return self.random.choice(TEXTS)
        if kind == 5:
            return {"$buffer": self.random.choice([0, 1, -1, "0", None])}
        if kind in (6, 7):
            return [self.value(depth + 1) for _ in range(self.random.randrange(4))]
        return {self.random.choice(TEXTS): self.value(depth + 1) for _ in range(self.random.randrange(4))}

    def good_call(self, number):
        method = self.random.choice(["echo", "add", "count", "seen", "orrery.ping", "orrery.claim", "orrery.methods",
                                     "orrery.channel.create", "orrery.channel.put", "orrery.channel.get",
                                     "orrery.channel.state"])
        call = {"t": "call", "id": number, "method": method, "args": [1], "kwargs": {},
                "deadline_ms": self.random.choice([0, 1, 50, 1000])}
        if self.random.random() < 0.3:
            call.update(stream=True, credit=self.random.choice([0, 1, 16]))
        if self.random.random() < 0.3:
            call["once"] = self.random.choice(TEXTS[1:6])
        if method.startswith("orrery.channel"):
            call["args"], call["kwargs"] = [], {"name": "fuzz"}
            call["kwargs"].update({"create": {"capacity": 3}, "put": {"items": [["k", 1, self.value()]]},
                                   "get": {"count": 2}}.get(method.rpartition(".")[2], {}))
        return call

    def mutated(self, header):
        """Some field is gone, another or new."""
        header = dict(header)
        for _ in range(self.random.randrange(3)):
            field = self.random.choice([*header, "t", "id", "buffers", "generation", "attempt", "result_max"])
            if self.random.random() < 0.3:
                header.pop(field, None)
            else:
                header[field] = self.value()
        return header

    def frame(self, number):
        """One frame, whole or broken."""
        payload = self.random.randbytes(self.random.choice([0, 0, 1, 100, 70_000]))
        header = self.mutated(self.good_call(number)) if self.random.random() < 0.7 else \
            {"t": self.random.choice(["cancel", "credit", "proof", "hello", "result"]), "id": number, "count": 1}
        if self.random.random() < 0.8:
            cut = self.random.randrange(len(payload) + 1)
            header.setdefault("buffers", [cut, len(payload) - cut])
        data = bytearray(raw_caller.frame(json.dumps(header).encode(), payload))
        kind = self.random.randrange(10)
        if kind == 0:
            data = data[:self.random.randrange(len(data))]
        elif kind == 1:
            for _ in range(self.random.randrange(1, 5)):
                data[self.random.randrange(len(data))] = self.random.randrange(256)
        elif kind == 2:
            data[:12] = struct.pack(">IQ", self.random.randrange(2**32), self.random.randrange(2**64))
        elif kind == 3:
            data = bytearray(self.random.randbytes(self.random.randrange(200)))
        return bytes(data)


class Fuzz(unittest.TestCase):
    def setUp(self):
        print(f"seed {SEED}, {ROUNDS} rounds", flush=True)
        self.job = fakes.FakeJob()
        self.addCleanup(self.job.close)
        self.worker, = self.job.add("actor")
        self.port = self.worker.agent.endpoint["port"]
        self.key = bytes.fromhex(self.job.key(self.worker, "driver:fuzz"))
        self.peer = self.job.driver().peer("actor")

    def test_the_worker_lives_on(self):
        pid = self.peer.call("pid")
        for number in range(ROUNDS):
            with self.subTest(seed=SEED, round=number):
                words = Words(SEED * 1_000_003 + number)
                self.connection(words)
                if number % 10 == 0:
                    self.assertEqual(self.peer.call("pid", deadline=60), pid)
        self.assertEqual(self.peer.call("pid", deadline=60), pid)
        self.assertIsNone(self.worker.process.poll())
        self.assertIn("echo", [each["name"] for each in self.peer.call("orrery.methods")])

    def connection(self, words):
        """One connection: garbage before or after the handshake, then its end. Whatever was answered
        comes in whole frames, and the end comes in time."""
        with raw_caller.RawCaller(self.port) as caller:
            try:
                if words.random.random() < 0.8:
                    self.assertEqual(caller.shake_hands(self.worker.name, self.key, "driver:fuzz")["t"], "welcome")
                for number in range(1, words.random.randrange(2, 12)):
                    caller.socket.sendall(words.frame(number))
                caller.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(caller.is_ended(), "the connection hangs")
            except (ConnectionError, raw_caller.Ended):
                pass  # Refused while more was on its way.


if __name__ == "__main__":
    unittest.main()
