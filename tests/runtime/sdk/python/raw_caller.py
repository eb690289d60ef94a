"""A caller and a callee that speak the protocol by hand, and may lie: written from docs/calls.md alone, so
that they are a second opinion of what goes over the wire."""

import hashlib
import hmac
import json
import socket
import struct
import threading

PATIENCE_S = 60


def frame(header, payload=b"", buffers=None):
    if buffers is not None:
        header = {**header, "buffers": buffers}
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">IQ", len(text), len(payload)) + text + payload


class Ended(Exception):
    """The other side has closed the connection."""


class _Raw:
    """Frames over a socket."""

    def __init__(self, connection):
        self.socket = connection

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, header, payload=b"", buffers=None):
        self.socket.sendall(frame(header, payload, buffers))

    def read(self):
        """The next header and payload."""
        header, payload = struct.unpack(">IQ", self._exactly(12))
        return json.loads(self._exactly(header)), self._exactly(payload)

    def answer(self):
        return self.read()[0]

    def is_ended(self):
        """Reads until the other side has closed, and says whether it did."""
        try:
            while True:
                self.read()
        except Ended:
            return True
        except (socket.timeout, ValueError, struct.error):
            return False

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except ConnectionError:
                more = b""
            if not more:
                raise Ended
            data += more
        return data


class RawCaller(_Raw):
    def __init__(self, port, tls=None):
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        super().__init__(connection if tls is None else tls.wrap_socket(connection))

    def shake_hands(self, worker, key, caller, to=None, certificate="", lie=None):
        """The handshake with this key (32 bytes); the welcome, or what came in its place."""
        self.nonce = "0123456789abcdef" * 2
        hello = {"t": "hello", "protocol": 1, "caller": caller, "to": to or worker, "nonce": self.nonce}
        self.send({**hello, **(lie or {})})
        challenge = self.answer()
        if challenge["t"] != "challenge":
            return challenge
        assert challenge["proof"] == self.proof(key, "server", challenge["nonce"], certificate), challenge
        self.send({"t": "proof", "proof": self.proof(key, "client", challenge["nonce"], certificate)})
        return self.answer()

    def proof(self, key, who, nonce, certificate):
        return _proof(key, who, self.nonce, nonce, certificate)


class RawCallee:
    """Listens in the place of a worker, and does `then(connection)` with each caller after its proof."""

    def __init__(self, token, then):
        self._token, self._then = token, then
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self.callers = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self):
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        connection.settimeout(PATIENCE_S)
        with _Raw(connection) as raw:
            hello, nonce = raw.answer(), "fedcba9876543210" * 2
            key = hmac.new(self._token.encode(), f"orrery-call/1 {hello['caller']}".encode(), hashlib.sha256).digest()
            raw.send({"t": "challenge", "nonce": nonce, "proof": _proof(key, "server", hello["nonce"], nonce, "")})
            assert raw.answer()["proof"] == _proof(key, "client", hello["nonce"], nonce, "")
            self.callers += 1
            self._then(raw)


def _proof(key, who, caller_nonce, callee_nonce, certificate):
    text = "\n".join([who, caller_nonce, callee_nonce, certificate])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
