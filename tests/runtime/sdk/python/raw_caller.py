"""A caller that speaks the protocol by hand, and may lie: written from docs/calls.md alone, so that it
is a second opinion of what goes over the wire."""

import hashlib
import hmac
import json
import socket
import struct

PATIENCE_S = 60


def frame(header, payload=b"", buffers=None):
    if buffers is not None:
        header = {**header, "buffers": buffers}
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack(">IQ", len(text), len(payload)) + text + payload


class Ended(Exception):
    """The other side has closed the connection."""


class RawCaller:
    def __init__(self, port, tls=None):
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket)

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

    def is_ended(self):
        """Reads until the other side has closed, and says whether it did."""
        try:
            while True:
                self.read()
        except Ended:
            return True
        except (socket.timeout, ValueError, struct.error):
            return False

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
        text = "\n".join([who, self.nonce, nonce, certificate])
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
