"""Calls that have arrived, their answers, and the answers that are kept for second attempts."""

import collections
import enum
import threading
import time

from . import errors, frames, methods

ONCE_MAX = 1024
ONCE_BYTES_MAX = 64 << 20
ONCE_NAME_MAX = 64
CREDIT_DEFAULT = 16
# Longer than any program runs; keeps timers within what the system's clocks take.
DEADLINE_MS_MAX = 10 * 365 * 24 * 3600 * 1000


class Answer:
    """`result`, `item` or `error`, of which only the id is left to be put in."""

    def __init__(self, kind, tail, buffers=()):
        self._kind, self._tail, self._buffers = kind, tail, buffers
        self.payload = sum(buffer.nbytes for buffer in buffers)
        self.size = len(tail) + self.payload

    def pieces(self, call_id, result_max):
        if self.payload > result_max:
            raise errors.TooLarge(f"found a result of {self.payload} bytes, needed at most "
                                  f"{result_max}, which the caller takes; return less, or a stream",
                                  bytes=self.payload, limit=result_max)
        head = f'{{"t":"{self._kind}","id":{call_id},'.encode()
        return frames.frame(head + self._tail, self._buffers)

    def own(self):
        """One whose buffers the method cannot change any more while they are being sent."""
        # A view that is read-only may be of memory that changes.
        if all(isinstance(buffer.obj, bytes) for buffer in self._buffers):
            return self
        return Answer(self._kind, self._tail,
                      [buffer if isinstance(buffer.obj, bytes) else memoryview(bytes(buffer))
                       for buffer in self._buffers])


def value_answer(kind, value, levels=frames.LEVELS_MAX):
    """Raises BadArguments for a value that cannot be sent."""
    buffers = []
    body = {"value": frames.encode_value(value, buffers, levels)}
    body["buffers"] = [buffer.nbytes for buffer in buffers]
    return Answer(kind, frames.to_json(body)[1:], buffers)


def error_answer(error):
    try:
        return Answer("error", frames.to_json({"error": errors.to_wire(error)})[1:])
    except errors.BadArguments:  # JSON has no form for one of its fields.
        bare = {"type": error.type, "message": errors.short(error.message)}
        return Answer("error", frames.to_json({"error": bare})[1:])


END = Answer("end", b'"buffers":[]}')


class State(enum.Enum):
    WAITING = 0
    RUNNING = 1
    OVER = 2  # Answered, or no caller waits for an answer.


class Call:
    """One call. Its state changes on the loop, but for begin(), which its thread calls."""

    def __init__(self, connection, header, buffers):
        self.connection = connection
        self.id = whole(header, "id", 1)
        self.method = _text(header, "method")
        args, kwargs = header.get("args", []), header.get("kwargs", {})
        if type(args) is not list or type(kwargs) is not dict:
            raise frames.broken("args or kwargs of another kind", "a list and an object")
        self.args = frames.decode_value(args, buffers)
        if "$buffer" in kwargs:
            raise frames.broken("kwargs that are a buffer", "an object")
        self.kwargs = frames.decode_value(kwargs, buffers)
        frames.all_taken(buffers)
        self.deadline = time.monotonic() + min(whole(header, "deadline_ms", 0),
                                               DEADLINE_MS_MAX) / 1000
        self.generation = whole(header, "generation", 0) if _given(header, "generation") else None
        self.once = _text(header, "once") if _given(header, "once") else None
        if self.once is not None and not 0 < len(self.once.encode()) <= ONCE_NAME_MAX:
            raise frames.broken(f"a name once of {len(self.once.encode())} bytes",
                                f"1 to {ONCE_NAME_MAX}")
        self.attempt = whole(header, "attempt", 0) if _given(header, "attempt") else 0
        self.stream = header.get("stream", False)
        if type(self.stream) is not bool:
            raise frames.broken("a field stream of another kind", "true or false")
        self.credit = whole(header, "credit", 0) if _given(header, "credit") else CREDIT_DEFAULT
        self.result_max = (whole(header, "result_max", 0) if _given(header, "result_max")
                           else frames.MESSAGE_MAX)
        self.context = methods.Context(connection.caller, self.method, self.deadline, self.attempt,
                                       self.generation)
        self.state = State.WAITING
        self.condition = threading.Condition()
        self.why_waits = None  # Of calls that wait in a channel: gives what a Timeout says.
        self.on_over = []  # Called on the loop once it is over; for calls that wait in a channel.
        self.timer = None
        self.target = None  # The Method that it is for.

    def begin(self, may_begin):
        """Whether it may run: it waits still, and so says may_begin(). On the thread that would
        run it."""
        with self.condition:
            if self.state is not State.WAITING or not may_begin():
                return False
            self.state = State.RUNNING
            return True

    def over(self):
        """The state that it had; None where it was over already. On the loop."""
        with self.condition:
            before = self.state
            if before is State.OVER:
                return None
            self.state = State.OVER
            self.condition.notify_all()
        if self.timer is not None:
            self.timer.cancel()
        for function in self.on_over:
            function()
        self.on_over = ()
        self.connection.forget(self)
        return before

    def answer(self, answer):
        """Sends the last message of the call, unless it is over; the state that it had. On the
        loop."""
        before = self.over()
        if before is not None:
            self.connection.send_answer(self, answer)
        return before

    def fail(self, error):
        self.answer(error_answer(error))

    def add_credit(self, count):
        with self.condition:
            self.credit += count
            self.condition.notify_all()

    def abandon(self):
        """Where it runs: tells its context that no caller waits, which ends a stream at its next
        item. Whether it was begun."""
        with self.condition:
            if self.state is State.WAITING:
                return False
            self.context.cancel()
            self.condition.notify_all()
            return True

    def take_credit(self):
        """Waits until one more item may go out; whether it may. On the thread that runs the
        call."""
        with self.condition:
            while self.credit == 0 and self._may_go_on():
                if not self.condition.wait(self.context.deadline_left):
                    return False
            if not self._may_go_on():
                return False
            self.credit -= 1
            return True

    def _may_go_on(self):
        return self.state is State.RUNNING and not self.context.is_given_up


def _given(header, key):
    return header.get(key) is not None


def whole(header, key, least):
    value = header.get(key)
    if type(value) is not int or value < least:
        raise frames.broken(f"{key} {str(value)[:40]}", f"a whole number from {least}")
    return value


def _text(header, key):
    value = header.get(key)
    if type(value) is not str:
        raise frames.broken(f"{key} {str(value)[:40]}", "a text")
    return value


class Once:
    """The answers of calls that have a name `once`, and the calls that will give one. On the loop.

    Names are kept by caller, so that one caller cannot read the answers of another.
    """

    def __init__(self):
        self._running = {}  # By caller and name: the call that runs, and those that wait for it.
        self._answers = collections.OrderedDict()
        self._bytes = 0

    def meets(self, call):
        """Whether there is an answer for it, or will be; it then needs nothing more."""
        if call.once is None or call.stream:
            return False
        key = call.connection.caller, call.once
        if key in self._answers:
            call.answer(self._answers[key])
            return True
        if key in self._running:
            first, followers = self._running[key]
            first.context.revive()
            followers.append(call)
            return True
        return False

    def begin(self, call):
        """It will give the answer for its name."""
        if call.once is not None and not call.stream:
            self._running[call.connection.caller, call.once] = (call, [])

    def finish(self, call, answer, has_run):
        """Keeps the answer where the method has run, and gives it to second attempts."""
        key = call.connection.caller, call.once
        if self._running.get(key, (None,))[0] is not call:
            return
        for follower in self._running.pop(key)[1]:
            follower.answer(answer)
        if has_run and answer.size <= ONCE_BYTES_MAX:
            self._answers[key] = answer.own()
            self._bytes += answer.size
        while len(self._answers) > ONCE_MAX or self._bytes > ONCE_BYTES_MAX:
            self._bytes -= self._answers.popitem(last=False)[1].size
