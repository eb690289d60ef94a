"""The caller's side of a connection to one worker."""

import asyncio
import collections
import copy
import logging
import math
import time

from . import errors, frames, handshake, loop

OPEN_MAX = 4096
_ANSWER_S, _ANSWER_SHARE = 0.25, 0.1

_log = logging.getLogger("orrery")


class Outgoing:
    """One call on its way. `sink` takes what it answers: see client.py."""

    def __init__(self, method, args, kwargs, deadline, sink, retries=0, once=None, generation=None,
                 credit=None, result_max=None, wanted=None):
        self.buffers = []
        body = {"method": method,
                "args": frames.encode_value(args, self.buffers),
                "kwargs": frames.encode_value(kwargs, self.buffers)}
        body["buffers"] = [buffer.nbytes for buffer in self.buffers]
        if once is not None:
            body["once"] = once
        if generation is not None:
            body["generation"] = generation
        if credit is not None:
            body.update(stream=True, credit=credit)
        if result_max is not None:
            body["result_max"] = result_max
        self.method = method
        # What of a channel it waits for. Its owner knows why it waited in vain: it is given so much
        # less time that its answer arrives by the deadline.
        self.wanted = wanted
        self._tail = frames.to_json(body)[1:]
        self.payload = sum(body["buffers"])
        self.deadline = deadline
        self.sink = sink
        self.retries, self.attempt = retries, 0
        self.timer = None
        self.connection, self.id = None, 0
        self.was_sent = False  # It may have run, so the next one is another attempt.
        self.tries = 0
        self.group = None  # Which has to be claimed on the connection before.

    def for_sink(self, sink):
        """The same call, for another worker."""
        other = copy.copy(self)
        other.sink, sink.call = sink, other
        return other

    @property
    def left(self):
        return self.deadline - time.monotonic()

    def pieces(self, number):
        """Its frame, sent now."""
        left = self.left
        if self.wanted is not None:
            left -= min(_ANSWER_S, left * _ANSWER_SHARE)
        head = f'{{"t":"call","id":{number},"deadline_ms":{max(1, math.ceil(left * 1000))},'
        if self.attempt:
            head += f'"attempt":{self.attempt},'
        return frames.frame(head.encode() + self._tail, self.buffers)


class CalleeConnection(loop.Connection):
    """A connection to the worker `peer`, on which calls can be sent once `ready` is done."""

    def __init__(self, peer, caller, generation, on_lost):
        super().__init__()
        self.peer = peer
        self.ready = asyncio.get_running_loop().create_future()
        self.ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())
        self.welcome = {}
        self.claimed = set()  # Groups that this process may drive on it.
        self._caller, self._generation = caller, generation
        self._on_lost = on_lost
        self._step = self._take_challenge
        self._open = {}
        self._waiting = collections.deque()
        self._last_id = 0
        self._end = None  # What it ended with.

    # --- handshake ---

    def opened(self):
        try:
            handshake.check_certificate(self.transport, self.peer.certificate)
        except errors.CallError as error:
            self.refuse(error)
            return
        self._nonce = handshake.nonce()
        self.send_message({"t": "hello", "protocol": handshake.PROTOCOL, "caller": self._caller,
                           "to": self.peer.worker, "nonce": self._nonce})

    def took(self, header, buffers, too_large):
        if header.get("t") == "refused":
            raise errors.from_wire(header.get("error"))
        self._step(header, buffers, too_large)

    def _take_challenge(self, header, buffers, too_large):
        nonce = header.get("nonce")
        if header.get("t") != "challenge" or type(nonce) is not str or \
                not handshake.NONCE.fullmatch(nonce):
            raise frames.broken(f"the message {str(header.get('t'))[:40]!r}",
                                "challenge with a nonce of 32 hexadecimal digits")
        nonces = self._nonce, nonce, self.peer.certificate
        if not handshake.is_proof(header.get("proof"),
                                  handshake.proof(self.peer.key, "server", *nonces)):
            raise errors.NotAuthorised(f"found a wrong proof of worker {self.peer.worker}, needed "
                                       "that of its key; another process answers at its address")
        self.send_message({"t": "proof",
                           "proof": handshake.proof(self.peer.key, "client", *nonces)})
        self._step = self._take_welcome
        # Results come right behind the welcome at the earliest, so headers may be long from here.
        self.reader.header_max = frames.HEADER_MAX

    def _take_welcome(self, header, buffers, too_large):
        if header.get("t") != "welcome" or type(header.get("message_max")) is not int:
            raise frames.broken(f"the message {str(header.get('t'))[:40]!r}", "welcome")
        if header.get("worker") != self.peer.worker:
            raise errors.NotAuthorised(f"found worker {str(header.get('worker'))[:100]}, needed "
                                       f"{self.peer.worker}; ask the directory again")
        self.welcome = header
        self.reader.may_have_payload = True
        self.reader.message_max = frames.MESSAGE_MAX
        self._step = self._take_answer
        if not self.ready.done():
            self.ready.set_result(None)

    # --- calls ---

    @property
    def is_usable(self):
        return not self.is_over and self.ready.done() and not self.ready.cancelled() \
            and self.ready.exception() is None

    def send_call(self, call):
        """Sends a call, as soon as fewer than 4,096 are open. What cannot be sent fails here."""
        call.connection = self
        if self.is_over:  # Since it was asked for: nothing would tell the call of the end again.
            call.sink.fail(self._end or self.worker_lost("its connection ended"))
            return
        if len(self._open) >= OPEN_MAX:
            self._waiting.append(call)
            return
        if call.left <= 0 or call.sink.is_done():
            return  # Its timer says so, or has said it.
        try:
            limit = self.welcome["message_max"]
            if call.payload > limit:
                raise errors.TooLarge(f"found a payload of {call.payload} bytes, needed at most "
                                      f"{limit}, which worker {self.peer.worker} takes; send less "
                                      "at once",
                                      bytes=call.payload, limit=limit)
            pieces = call.pieces(self._last_id + 1)
        except errors.CallError as error:
            call.sink.fail(error)
            return
        self._last_id += 1
        call.id = self._last_id
        self._open[call.id] = call
        call.was_sent = True
        self.send(pieces)

    def give_up(self, call):
        """Nothing waits for its answer any more, which the worker is told: what a get has taken
        out of a channel goes back, even where its answer is on its way."""
        if not self._has_open(call):
            return
        del self._open[call.id]
        self.tell_cancelled(call)
        self._send_waiting()

    def tell_cancelled(self, call):
        self.send_message({"t": "cancel", "id": call.id})

    def add_credit(self, call, count):
        if self._has_open(call):
            self.send_message({"t": "credit", "id": call.id, "count": count})

    def _has_open(self, call):
        """Whether it was sent on this connection: one that waits here may have an id of another."""
        return self._open.get(call.id) is call

    def _send_waiting(self):
        while self._waiting and len(self._open) < OPEN_MAX:
            self.send_call(self._waiting.popleft())

    def _take_answer(self, header, buffers, too_large):
        kind, number = header.get("t"), header.get("id")
        if kind not in ("result", "item", "end", "error") or type(number) is not int:
            raise frames.broken(f"the message {str(kind)[:40]!r}",
                                "result, item, end or error with an id")
        value = None
        if kind in ("result", "item") and not too_large:
            value = frames.decode_value(header.get("value"), buffers)
            frames.all_taken(buffers)
        call = self._open.get(number)
        if call is None:
            return  # Given up.
        if too_large:
            self.give_up(call)
            call.sink.fail(errors.TooLarge(
                f"found a result of {too_large} bytes, needed at most {frames.MESSAGE_MAX}; let "
                "the method return less, or a stream", bytes=too_large, limit=frames.MESSAGE_MAX))
            return
        if kind == "item":
            call.sink.item(value)
            return
        # It is open until it has been answered, so that it ends with the connection at the latest.
        if kind == "result":
            call.sink.result(value)
            self._open.pop(number, None)
        else:
            del self._open[number]
            if kind == "error":
                call.sink.fail(errors.from_wire(header.get("error")))
            else:
                call.sink.end()
        if self._waiting:
            self._send_waiting()

    # --- its end ---

    def refuse(self, error):
        self.close()
        self.lost_once(error)

    def lost(self, error):
        self._on_lost(self)
        if not isinstance(error, errors.CallError):
            error = self.worker_lost("its connection ended" if error is None else
                                     f"its connection ended ({error})")
        self._end = error
        if not self.ready.done():
            self.ready.set_exception(error)
        calls, self._open = [*self._open.values(), *self._waiting], {}
        self._waiting.clear()
        for call in calls:
            try:
                call.sink.fail(error)
            except Exception:  # The others have ended as well.
                _log.exception("the end of a connection could not be told to a call")

    def worker_lost(self, reason):
        return worker_lost(self.peer, self._generation, reason)


def worker_lost(peer, generation, reason):
    return errors.WorkerLost(
        f"found worker {peer.worker} ({peer.role} {peer.role_rank}) lost: {reason}; call again "
        "once the job has recovered, or let the call have retries", rank=peer.rank, role=peer.role,
        role_rank=peer.role_rank, worker=peer.worker, generation=generation)
