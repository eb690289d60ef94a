"""The callee's side of connections: a listener, and the handshake and messages of each caller."""

import asyncio
import socket

from . import calls, errors, forks, frames, handshake, loop

OPEN_MAX = 4096
_UNKNOWN_MAX = 256  # Connections whose caller is not known yet.
_FLUSH_S = 5.0


class CallerConnection(loop.Connection):
    """One caller, as the callee sees it."""

    def __init__(self, listener):
        super().__init__()
        self._listener = listener
        self._step = self._take_hello
        self.caller = None
        self._open = {}
        self._last_id = 0
        self.on_lost = []  # Of claims and leases: called once when the connection has ended.

    def opened(self):
        self._ended = asyncio.Event()
        self._timer = asyncio.get_running_loop().call_later(handshake.PATIENCE_S, self._too_late)
        self._listener.add(self)

    def _too_late(self):
        self.refuse(errors.NotAuthorised(f"found no caller within {handshake.PATIENCE_S} s, needed "
                                         "hello and proof; connect again"))

    def took(self, header, buffers, too_large):
        self._step(header, buffers, too_large)

    def _take_hello(self, header, buffers, too_large):
        _expect(header, "hello")
        if header.get("protocol") != handshake.PROTOCOL:
            raise frames.broken(f"protocol {str(header.get('protocol'))[:40]}",
                                str(handshake.PROTOCOL))
        caller, nonce = header.get("caller"), header.get("nonce")
        if type(caller) is not str or not handshake.CALLER_NAME.fullmatch(caller):
            raise frames.broken(f"the caller {str(caller)[:100]!r}", "a name of 1 to 64 letters")
        if type(nonce) is not str or not handshake.NONCE.fullmatch(nonce):
            raise frames.broken("a nonce of another form", "32 hexadecimal digits")
        listener = self._listener
        if header.get("to") != listener.worker:
            raise errors.NotAuthorised(
                f"found worker {listener.worker} here, needed {str(header.get('to'))[:100]}; ask "
                "the directory again")
        self._key = handshake.key_of(listener.token, caller)
        self._nonces = nonce, handshake.nonce()
        self._claimed = caller
        self.send_message({"t": "challenge", "nonce": self._nonces[1],
                           "proof": handshake.proof(self._key, "server", *self._nonces,
                                                    listener.certificate)})
        self._step = self._take_proof

    def _take_proof(self, header, buffers, too_large):
        _expect(header, "proof")
        needed = handshake.proof(self._key, "client", *self._nonces, self._listener.certificate)
        if not handshake.is_proof(header.get("proof"), needed):
            raise errors.NotAuthorised(f"found a wrong proof of caller {self._claimed}, needed "
                                       "that of its key for this worker; ask the directory for the "
                                       "key")
        self._timer.cancel()
        self.caller = self._claimed
        self.reader.header_max = frames.HEADER_MAX
        self.reader.message_max = self._listener.message_max
        self.reader.may_have_payload = True
        self._listener.known(self)
        self.send_message({"t": "welcome", **self._listener.served.identity(),
                           "message_max": self._listener.message_max})
        self._step = self._take_message

    def _take_message(self, header, buffers, too_large):
        kind = header.get("t")
        if kind == "call":
            self._take_call(header, buffers, too_large)
        elif kind == "cancel":
            number = calls.whole(header, "id", 1)
            if number in self._open:
                self._listener.served.cancel(self._open[number],
                                             errors.Cancelled("the caller cancelled the call"))
            else:
                self._listener.served.late_cancel(self, number)
        elif kind == "credit":
            call = self._open.get(calls.whole(header, "id", 1))
            count = calls.whole(header, "count", 0)
            if call is not None:
                call.add_credit(count)
        else:
            raise frames.broken(f"the message {str(kind)[:40]!r}", "call, cancel or credit")

    def _take_call(self, header, buffers, too_large):
        number = calls.whole(header, "id", 1)
        if number <= self._last_id:
            raise frames.broken(f"the call {number} after {self._last_id}", "ids that count up")
        self._last_id = number
        if too_large:
            limit = self._listener.message_max
            error = errors.TooLarge(f"found a payload of {too_large} bytes, needed at most "
                                    f"{limit}; send less at once", bytes=too_large, limit=limit)
            self.send(calls.error_answer(error).pieces(number, 0))
            return
        if len(self._open) >= OPEN_MAX:
            raise frames.broken(f"{OPEN_MAX + 1} open calls", f"{OPEN_MAX} at most")
        call = calls.Call(self, header, buffers)
        self._open[number] = call
        self._listener.served.arrived(call)

    # What calls use.

    def send_answer(self, call, answer):
        if self.is_over:
            return
        try:
            self.send(answer.pieces(call.id, call.result_max))
        except errors.TooLarge as error:
            self.send(calls.error_answer(error).pieces(call.id, 0))

    def send_item(self, call, answer):
        """One item of a stream; False where it was too large, which ends the call."""
        if call.state is calls.State.OVER or self.is_over:
            return
        try:
            self.send(answer.pieces(call.id, call.result_max))
        except errors.TooLarge as error:
            call.fail(error)

    def forget(self, call):
        self._open.pop(call.id, None)

    def connection_lost(self, exception):
        super().connection_lost(exception)
        self._ended.set()

    def lost(self, error):
        self._timer.cancel()
        self._listener.remove(self)
        for call in list(self._open.values()):
            self._listener.served.caller_lost(call)
        for function in self.on_lost:
            function()
        self.on_lost = []

    async def flush(self):
        """Ends once the caller has all that was answered. What it still sends is read and
        dropped: unread bytes would turn the end into a reset, which throws away what is on its
        way."""
        while not self.is_over and (self._outgoing or self.transport.get_write_buffer_size()):
            await asyncio.sleep(0.005)
        if not self.is_over:
            # What waited is answered. A call that is open still was begun, and the program leaves it
            # behind: its caller may not take it for one that was not, so it sees a loss.
            if self._listener.served.ending is not None and self.caller is not None and \
                    not self._open:
                # Whatever is on its way here was not begun.
                self.send_message({"t": "refused",
                                   "error": errors.to_wire(self._listener.served.ending)})
            self.is_over = True
            if self.transport.can_write_eof():
                self.transport.write_eof()
            else:
                self.transport.close()
        await self._ended.wait()


def _expect(header, kind):
    if header.get("t") != kind:
        raise frames.broken(f"the message {str(header.get('t'))[:40]!r}", kind)


class Listener:
    """Listens for callers of one worker. `served` takes what they say: see serving.Served."""

    def __init__(self, served, worker, token, message_max):
        self.served = served
        self.worker, self.token = worker, token
        self.message_max = message_max
        self.forget()
        forks.forgets(self)

    def forget(self):
        """A forked child does not listen."""
        self.certificate = ""
        self.port = 0
        self._connections = set()
        self._unknown = {}  # In the order of their arrival.
        self._server = None

    async def listen(self, address, certificate_path):
        """Listens at `address`, on a port of the system's choice."""
        tls = None
        if certificate_path:
            tls, self.certificate = handshake.callee_context(certificate_path)
        elif not handshake.is_loopback(address):
            raise errors.NotAuthorised(
                f"found the address {address} and no certificate, needed TLS wherever calls leave "
                "the machine; turn TLS on in the cluster, or let ORRERY_CALL_ADDRESS be 127.0.0.1")
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._server = await asyncio.get_running_loop().create_server(
            lambda: CallerConnection(self), address, 0, family=family, ssl=tls, backlog=1024,
            **({"ssl_handshake_timeout": handshake.PATIENCE_S} if tls else {}))
        self.port = self._server.sockets[0].getsockname()[1]

    def add(self, connection):
        self._connections.add(connection)
        self._unknown[connection] = None
        if len(self._unknown) > _UNKNOWN_MAX:
            next(iter(self._unknown)).close()

    def known(self, connection):
        self._unknown.pop(connection, None)

    def remove(self, connection):
        self._connections.discard(connection)
        self._unknown.pop(connection, None)

    async def close(self):
        """Ends after all answers have been sent, or a few seconds."""
        if self._server is not None:
            self._server.close()
        waits = [asyncio.ensure_future(each.flush()) for each in self._connections]
        if waits:
            await asyncio.wait(waits, timeout=_FLUSH_S)
        for connection in list(self._connections):
            connection.close()
