#!/usr/bin/env python3
"""Who may call whom: wrong keys, names, proofs and certificates, on both sides; the wire by hand."""

import gc
import hashlib
import hmac
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

import fakes
import orrery
import raw_caller
from raw_caller import RawCaller, frame


class Wire(unittest.TestCase):
    """The protocol by hand."""

    @classmethod
    def setUpClass(cls):
        cls.job = fakes.FakeJob()
        cls.addClassCleanup(cls.job.close)
        cls.worker, = cls.job.add("actor")
        cls.port = cls.worker.agent.endpoint["port"]

    def key(self, caller="driver:raw"):
        return bytes.fromhex(self.job.key(self.worker, caller))

    def connect(self):
        caller = RawCaller(self.port)
        self.addCleanup(caller.socket.close)
        return caller

    def open(self, **options):
        caller = self.connect()
        welcome = caller.shake_hands(self.worker.name, self.key(), "driver:raw", **options)
        return caller, welcome

    def refused(self, caller, kind):
        answer = caller.answer()
        self.assertEqual((answer["t"], answer["error"]["type"]), ("refused", kind), answer)
        self.assertTrue(caller.is_ended())
        self.assertEqual(self.job.driver().peer("actor").call("add", 1), 2)  # It lives on.

    def test_welcome_has_the_workers_place(self):
        _, welcome = self.open()
        self.assertEqual(welcome, {"t": "welcome", "worker": self.worker.name, "role": "actor", "rank": 0,
                                   "role_rank": 0, "generation": 1, "message_max": 2 << 30})

    def test_a_call_by_hand(self):
        caller, _ = self.open()
        caller.send({"t": "call", "id": 1, "method": "echo", "args": [{"$buffer": 1}, 7],
                     "kwargs": {"a": {"$buffer": 0}}, "deadline_ms": 60000, "unknown": "field"}, b"xxyyy", [2, 3])
        header, payload = caller.read()
        self.assertEqual(header, {"t": "result", "id": 1, "buffers": [3, 2],
                                  "value": [[{"$buffer": 0}, 7], {"a": {"$buffer": 1}}]})
        self.assertEqual(payload, b"yyyxx")

    def test_a_stream_by_hand(self):
        caller, _ = self.open()
        caller.send({"t": "call", "id": 1, "method": "count", "args": [3], "kwargs": {}, "buffers": [],
                     "deadline_ms": 60000, "stream": True, "credit": 1})
        self.assertEqual(caller.answer(), {"t": "item", "id": 1, "value": 0, "buffers": []})
        caller.send({"t": "credit", "id": 1, "count": 2})
        self.assertEqual([caller.answer()["value"], caller.answer()["value"]], [1, 2])
        answer = caller.answer()
        self.assertEqual((answer["t"], answer["id"]), ("end", 1))

    def test_errors_by_hand(self):
        caller, _ = self.open()
        for number, (fields, kind) in enumerate((
                ({"method": "fail", "args": ["value"]}, "Remote"), ({"method": "no"}, "UnknownMethod"),
                ({"method": "add"}, "BadArguments"), ({"method": "tally_once", "args": ["x"], "attempt": 1},
                                                      "NotIdempotent"),
                ({"method": "add", "args": [1], "generation": 7}, "GenerationChanged"),
                ({"method": "bytes_of", "args": [11], "result_max": 10}, "TooLarge")), 1):
            caller.send({"t": "call", "id": number, "args": [], "kwargs": {}, "deadline_ms": 60000, **fields})
            answer = caller.answer()
            self.assertEqual((answer["t"], answer["id"], answer["error"]["type"]), ("error", number, kind), answer)
        caller.send({"t": "call", "id": 9, "method": "hold", "args": [], "kwargs": {}, "deadline_ms": 60000})
        caller.send({"t": "call", "id": 10, "method": "add", "args": [1], "kwargs": {}, "deadline_ms": 1})
        answer = caller.answer()
        self.assertEqual((answer["id"], answer["error"]["type"]), (10, "Timeout"))
        caller.send({"t": "cancel", "id": 9})
        answer = caller.answer()
        self.assertEqual((answer["id"], answer["error"]["type"]), (9, "Cancelled"))

    def test_what_has_no_time_left_is_not_run(self):
        caller, _ = self.open()
        call = {"t": "call", "args": [], "kwargs": {}, "deadline_ms": 60000}
        channel = {"name": "late", "capacity": 1}
        caller.send({**call, "id": 1, "method": "recorded"})
        self.assertEqual(caller.answer()["t"], "result")
        for number, fields in enumerate(({"method": "record", "kwargs": {"late": True}},
                                         {"method": "count", "args": [3], "stream": True}, {"method": "await_begun"},
                                         {"method": "orrery.channel.create", "kwargs": channel}), 2):
            caller.send({**call, "id": number, **fields, "deadline_ms": 0})
            answer = caller.answer()
            self.assertEqual((answer["id"], answer["error"]["type"]), (number, "Timeout"))
        caller.send({**call, "id": 8, "method": "recorded"})
        self.assertEqual(caller.answer()["value"], [])
        caller.send({**call, "id": 9, "method": "orrery.channel.state", "kwargs": {"name": "late"}})
        self.assertEqual(caller.answer()["error"]["type"], "NoSuchChannel")

    def test_a_payload_over_the_limit_is_skipped(self):
        self.small, = self.job.add("small", environment={"PROBE_MESSAGE_MAX": "10"})
        with RawCaller(self.small.agent.endpoint["port"]) as caller:
            key = bytes.fromhex(self.job.key(self.small, "driver:raw"))
            self.assertEqual(caller.shake_hands(self.small.name, key, "driver:raw")["message_max"], 10)
            call = {"t": "call", "method": "length", "args": [{"$buffer": 0}], "kwargs": {}, "deadline_ms": 60000}
            caller.send({**call, "id": 1}, bytes(200_000), [200_000])
            error = caller.answer()["error"]
            self.assertEqual((error["type"], error["bytes"], error["limit"]), ("TooLarge", 200_000, 10))
            caller.send({**call, "id": 2}, bytes(10), [10])
            self.assertEqual(caller.answer()["value"], 10)

    # --- what callers may not do ---

    def test_lies_in_the_hello(self):
        for lie, kind in (({"protocol": 2}, "Protocol"), ({"to": "7-0-99"}, "NotAuthorised"),
                          ({"caller": "a b"}, "Protocol"), ({"caller": ""}, "Protocol"),
                          ({"caller": "x" * 65}, "Protocol"), ({"caller": 5}, "Protocol"),
                          ({"nonce": "xyz"}, "Protocol"), ({"nonce": None}, "Protocol"),
                          ({"t": "call"}, "Protocol")):
            with self.subTest(lie=lie):
                _, answer = self.open(lie=lie)
                self.assertEqual((answer["t"], answer["error"]["type"]), ("refused", kind))

    def test_a_wrong_key_and_another_callers_key(self):
        for key in (bytes(32), self.key("driver:other")):
            caller = self.connect()
            caller.send({"t": "hello", "protocol": 1, "caller": "driver:raw", "to": self.worker.name,
                         "nonce": "0" * 32})
            caller.nonce = "0" * 32
            challenge = caller.answer()
            self.assertNotEqual(challenge["proof"], caller.proof(key, "server", challenge["nonce"], ""))
            caller.send({"t": "proof", "proof": caller.proof(key, "client", challenge["nonce"], "")})
            self.refused(caller, "NotAuthorised")

    def test_the_servers_own_proof_is_no_clients_proof(self):
        caller = self.connect()
        caller.send({"t": "hello", "protocol": 1, "caller": "driver:raw", "to": self.worker.name, "nonce": "0" * 32})
        caller.send({"t": "proof", "proof": caller.answer()["proof"]})
        self.refused(caller, "NotAuthorised")

    def test_calls_before_the_proof(self):
        caller = self.connect()
        caller.send({"t": "hello", "protocol": 1, "caller": "driver:raw", "to": self.worker.name, "nonce": "0" * 32})
        caller.answer()
        caller.send({"t": "call", "id": 1, "method": "pid", "args": [], "kwargs": {}, "deadline_ms": 1000})
        self.refused(caller, "Protocol")

    def test_long_frames_before_the_proof(self):
        for data in (struct.pack(">IQ", 4097, 0), struct.pack(">IQ", 10, 1), struct.pack(">IQ", 0, 0),
                     struct.pack(">IQ", 2**32 - 1, 2**64 - 1)):
            caller = self.connect()
            caller.socket.sendall(data)
            self.refused(caller, "Protocol")

    def test_frames_that_break_a_rule(self):
        call = {"t": "call", "id": 1, "method": "echo", "args": [], "kwargs": {}, "deadline_ms": 60000}
        for data in (
                frame(b"{"), frame(b"[]"), frame(b"\xff{}"), frame(b'{"t":"call","id":NaN}'),
                frame(b'{"t":"call","id":1e999}'), frame(b"[" * 100_000), frame({}), frame({"t": "nothing"}),
                frame({"t": "hello"}), frame({"t": "result", "id": 1}), frame({"t": "cancel"}),
                frame({"t": "credit", "id": 1, "count": -1}), frame({**call, "id": 0}), frame({**call, "id": "1"}),
                frame({**call, "id": True}), frame({**call, "id": 2**70}), frame({**call, "args": {}}),
                frame({**call, "kwargs": []}), frame({**call, "kwargs": {"$buffer": 0}}, b"x", [1]),
                frame({**call, "deadline_ms": -1}), frame({**call, "deadline_ms": None}), frame({**call, "method": 1}),
                frame({**call, "once": "x" * 65}), frame({**call, "once": ""}), frame({**call, "stream": 1}),
                frame({**call, "attempt": -1}), frame({**call, "generation": "1"}), frame({**call, "args": [2**64]}),
                frame(b'{"t":"call","id":1,"method":"echo","deadline_ms":60000,"args":' + b"[" * 260 + b"]" * 260 + b"}"),
                frame({**call, "args": [{"$x": 1}]}), frame({**call, "args": [{"$buffer": 0}]}),
                frame({**call, "args": [{"$buffer": -1}]}, b"x", [1]),
                frame({**call, "args": [{"$buffer": 0}, {"$buffer": 0}]}, b"x", [1]),
                frame({**call, "args": [{"$buffer": 0}], "kwargs": {"a": {"$buffer": 0}}}, b"x", [1]),
                frame(call, b"x", [1]), frame({**call, "args": [{"$buffer": 1}]}, b"x", [0, 1]),
                frame(b'{"t":"call","id":1,"method":"echo","method":"add","args":[1],"deadline_ms":60000}'),
                frame(b'{"t":"call","id":1,"method":"echo","args":[{"a":1,"b":2,"a":1}],"deadline_ms":60000}'),
                frame({**call, "args": [{"$buffer": 0, "a": 1}]}, b"x", [1]), frame(call, b"xx", [1]),
                frame(call, b"xx"), frame(call, b"", [1]), frame(call, b"x", [2, -1]), frame(call, b"x", [True]),
                frame(call, b"x", {"0": 1}), frame(b'{"t":"call","id":1,"method":"\\ud800"}'),
                frame(call) + frame(call), struct.pack(">IQ", (1 << 20) + 1, 0)):
            with self.subTest(data=data[:120]):
                caller, _ = self.open()
                caller.socket.sendall(data)
                answer = caller.answer()
                if answer["t"] == "result":  # Two calls of one id: the first is answered.
                    answer = caller.answer()
                self.assertEqual((answer["t"], answer["error"]["type"]), ("refused", "Protocol"), answer)
                self.assertTrue(caller.is_ended())
        self.assertEqual(self.job.driver().peer("actor").call("add", 1), 2)

    def test_more_than_4096_open_calls(self):
        caller, _ = self.open()
        call = {"t": "call", "method": "hold", "args": [], "kwargs": {}, "deadline_ms": 60000}
        caller.socket.sendall(b"".join(frame({**call, "id": number}) for number in range(1, 4098)))
        self.refused(caller, "Protocol")

    def test_cancel_and_credit_of_what_is_over_say_nothing(self):
        caller, _ = self.open()
        caller.send({"t": "cancel", "id": 77})
        caller.send({"t": "credit", "id": 77, "count": 1})
        caller.send({"t": "call", "id": 1, "method": "add", "args": [1], "kwargs": {}, "deadline_ms": 60000})
        self.assertEqual(caller.answer()["value"], 2)


class FakeCallee(threading.Thread):
    """Listens in a worker's place and answers as the test says."""

    def __init__(self, serve):
        super().__init__(daemon=True)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._serve = serve
        self.start()

    def run(self):
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                caller = RawCaller.__new__(RawCaller)
                caller.socket = connection
                try:
                    self._serve(caller)
                except (raw_caller.Ended, OSError):
                    pass

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


class Lies(unittest.TestCase):
    """Callees that lie, and a directory that does."""

    def setUp(self):
        self.job = fakes.kept_job(self, "actor", count=2)
        self.workers = list(self.job.workers)
        self.worker = self.workers[0]
        self.driver = self.job.driver()

    def assert_not_authorised(self, kind=orrery.NotAuthorised):
        with self.assertRaises(kind):
            self.driver.peer("actor").call("add", 1, deadline=60)

    def impostor(self, serve):
        callee = FakeCallee(serve)
        self.addCleanup(callee.close)
        self.job.lies[self.worker.name] = {"port": callee.port}

    def proof(self, who, hello, nonce, key=None):
        key = key or bytes.fromhex(self.job.key(self.worker, hello["caller"]))
        return hmac.new(key, "\n".join([who, hello["nonce"], nonce, ""]).encode(), hashlib.sha256).hexdigest()

    def test_a_directory_with_a_wrong_key(self):
        self.job.lies[self.worker.name] = {"key": "00" * 32}
        self.assert_not_authorised()

    def test_a_worker_behind_anothers_address(self):
        self.job.lies[self.worker.name] = {"port": self.workers[1].agent.endpoint["port"]}
        self.assert_not_authorised()

    def test_a_worker_that_claims_anothers_rank(self):
        """The entry of rank 0 names worker 1, whose token is not that of rank 0's key."""
        self.job.lies[self.worker.name] = {"port": self.workers[1].agent.endpoint["port"],
                                           "worker": self.workers[1].name}
        self.assert_not_authorised()

    def test_an_impostor_without_the_key_learns_no_proof(self):
        seen = []

        def serve(caller):
            hello = caller.answer()
            seen.append(hello)
            caller.send({"t": "challenge", "nonce": "1" * 32, "proof": self.proof("server", hello, "1" * 32, bytes(32))})
            seen.append(caller.answer())
        self.impostor(serve)
        self.assert_not_authorised()
        self.assertEqual({message["t"] for message in seen}, {"hello"})

    def test_an_impostor_that_returns_what_it_got(self):
        def serve(caller):
            hello = caller.answer()
            caller.send({"t": "challenge", "nonce": hello["nonce"],
                         "proof": self.proof("client", hello, hello["nonce"])})
            caller.answer()
        self.impostor(serve)
        self.assert_not_authorised()

    def welcomed(self, after, **welcome):
        def serve(caller):
            hello = caller.answer()
            caller.send({"t": "challenge", "nonce": "1" * 32, "proof": self.proof("server", hello, "1" * 32)})
            caller.answer()
            caller.send({"t": "welcome", "worker": self.worker.name, "role": "actor", "rank": 0, "role_rank": 0,
                         "generation": 1, "message_max": 1 << 30, **welcome})
            after(caller)
        self.impostor(serve)

    def test_another_workers_welcome(self):
        self.welcomed(lambda caller: None, worker="7-0-99")
        self.assert_not_authorised()

    def test_answers_that_break_a_rule(self):
        for data in (frame({"t": "nothing"}), frame(b"["), frame({"t": "result", "id": "1", "value": 1}),
                     frame({"t": "result", "id": 1, "value": [{"$buffer": 0}] * 2}, b"x", [1]),
                     frame({"t": "result", "id": 1, "value": 1}, b"x", [1]),
                     frame(b'{"t":"result","id":1,"value":1,"value":2}'),
                     frame({"t": "result", "id": 1, "value": {"$buffer": 3}}), frame({"t": "result", "id": 1}, b"x"),
                     frame({"t": "item", "id": 1, "value": 1}), frame({"t": "end", "id": 1}),
                     frame({"t": "error", "id": 1}), frame({"t": "error", "id": 1, "error": 5})):
            with self.subTest(data=data[:100]):
                def after(caller, data=data):
                    caller.answer()
                    caller.socket.sendall(data)
                    caller.is_ended()
                self.welcomed(after)
                self.driver = self.job.driver()
                self.assert_not_authorised(orrery.Protocol)

    def test_an_answer_of_another_call_is_ignored(self):
        def after(caller):
            number = caller.answer()["id"]
            caller.send({"t": "result", "id": number + 1, "value": "wrong"})
            caller.send({"t": "result", "id": number, "value": "right"})
            caller.is_ended()
        self.welcomed(after)
        self.assertEqual(self.driver.peer("actor").call("add", 1, deadline=60), "right")

    def test_a_refusal_of_later(self):
        def after(caller):
            caller.answer()
            caller.send({"t": "refused", "error": {"type": "Protocol", "message": "no more"}})
        self.welcomed(after)
        self.assert_not_authorised(orrery.Protocol)

    def test_a_callee_that_is_no_worker(self):
        self.impostor(lambda caller: caller.socket.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        self.assert_not_authorised(orrery.Protocol)

    def test_a_callee_that_says_nothing(self):
        self.impostor(lambda caller: caller.is_ended())
        with self.assertRaises(orrery.Timeout) as raised:
            self.driver.peer("actor").call("add", 1, deadline=0.3)
        self.assertIn("handshake", raised.exception.message)

    def test_no_plaintext_beyond_one_machine(self):
        """0.0.0.0 is reached on this machine, and is no loopback: whoever listens there hears nothing."""
        heard = []

        def serve(caller):
            heard.append(caller)
            caller.is_ended()
        self.impostor(serve)
        for address in ("0.0.0.0", "10.255.255.1", "::ffff:0.0.0.0", "worker.example"):
            with self.subTest(address=address):
                self.job.lies[self.worker.name]["address"] = address
                with self.assertRaises(orrery.NotAuthorised) as raised:
                    self.job.driver().peer("actor").call("add", 1, deadline=20)
                self.assertIn("certificate", raised.exception.message)
                self.assertIn(address, raised.exception.message)
        self.assertEqual(heard, [])

    def test_names_of_drivers(self):
        for name in ("a b", "x" * 65, "driver:x", "ä"):
            with self.assertRaises(orrery.BadArguments):
                orrery.Driver.connect(self.job.url, self.job.job, name=name)

    def test_a_listener_without_tls_stays_on_its_machine(self):
        for address in ("0.0.0.0", "10.0.0.1", "::"):
            environment = {**self.job.environment(self.worker), "ORRERY_CALL_ADDRESS": address}
            done = subprocess.run([sys.executable, str(fakes.HERE / "probe.py")], env=environment, timeout=60,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn("NotAuthorised", done.stderr)


@unittest.skipIf(shutil.which("openssl") is None, "needs the openssl command line to make "
                                                  "certificates")
class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.files = [fakes.certificate(pathlib.Path(folder.name), name) for name in ("one", "two")]

    def setUp(self):
        self.job = fakes.kept_job(self, "actor", environment={"ORRERY_CALL_CERTIFICATE": self.files[0]})
        self.worker, = self.job.workers
        self.peer = self.job.driver().peer("actor")

    def fingerprint(self, path):
        text = pathlib.Path(path).read_text(encoding="ascii")
        pem = text[:text.index("-----END CERTIFICATE-----")] + "-----END CERTIFICATE-----\n"
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()

    def test_calls_over_tls(self):
        self.assertEqual(self.worker.agent.endpoint["certificate"], self.fingerprint(self.files[0]))
        self.assertEqual(self.peer.call("add", 1), 2)
        data = bytes(range(256)) * (40 << 10)
        self.assertEqual(self.peer.call("echo", data)[0], [data])
        self.assertEqual(list(self.peer.stream("count", 100)), list(range(100)))

    def test_a_forked_child_says_nothing_on_its_parents_connections(self):
        peer = self.job.driver().peer("actor")
        self.assertEqual(peer.call("add", 1), 2)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                gc.collect()
                code = 0 if peer.call("add", 2, deadline=60) == 3 else 2
                gc.collect()
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertEqual(peer.call("add", 3, deadline=60), 4)

    def test_another_certificate_than_the_directorys(self):
        self.job.lies[self.worker.name] = {"certificate": self.fingerprint(self.files[1])}
        with self.assertRaises(orrery.NotAuthorised):
            self.peer.call("add", 1, deadline=60)

    def test_no_certificate_in_the_directory(self):
        self.job.lies[self.worker.name] = {"certificate": ""}
        with self.assertRaises((orrery.WorkerLost, orrery.Protocol)):
            self.peer.call("add", 1, deadline=60)

    def test_the_proof_is_bound_to_the_certificate(self):
        """One who has broken TLS between both passes no proof on: each side proves what it was shown."""
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with RawCaller(self.worker.agent.endpoint["port"], tls=context) as caller:
            caller.nonce = "0" * 32
            caller.send({"t": "hello", "protocol": 1, "caller": "driver:raw", "to": self.worker.name,
                         "nonce": caller.nonce})
            challenge = caller.answer()
            key = bytes.fromhex(self.job.key(self.worker, "driver:raw"))
            wrong = self.fingerprint(self.files[1])
            self.assertNotEqual(challenge["proof"], caller.proof(key, "server", challenge["nonce"], wrong))
            caller.send({"t": "proof", "proof": caller.proof(key, "client", challenge["nonce"], wrong)})
            self.assertEqual(caller.answer()["error"]["type"], "NotAuthorised")

    def test_plaintext_at_a_tls_listener(self):
        with RawCaller(self.worker.agent.endpoint["port"]) as caller:
            caller.send({"t": "hello"})
            self.assertTrue(caller.is_ended())
        self.assertEqual(self.peer.call("add", 1), 2)

    def test_old_versions_are_refused(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        except ValueError:
            self.skipTest("this Python has no TLS 1.1")
        with self.assertRaises((ssl.SSLError, ConnectionError)):
            RawCaller(self.worker.agent.endpoint["port"], tls=context)


if __name__ == "__main__":
    unittest.main()
