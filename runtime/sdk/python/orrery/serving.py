"""How calls run: one after the other, concurrent ones beside them, and the SDK's own on the
loop."""

import asyncio
import collections
import collections.abc
import inspect
import threading
import time

from . import calls, errors, io_role, loop, methods, threads

CONCURRENT_MAX = 64
# What ends a call and not the worker. A task that was cancelled raises what is no Exception.
_OF_METHODS = (Exception, asyncio.CancelledError, GeneratorExit)


class _Inbox:
    """What the serving thread has to do. It runs the loop while there is nothing."""

    def __init__(self):
        self._calls = collections.deque()
        self._parker = None  # Of the thread that waits.

    def put(self, call):
        """From any thread."""
        self._calls.append(call)
        if self._parker is not None:
            self._parker.notify()

    def get(self):
        role = loop.role()
        self._parker = io_role.parker_of(role)
        while True:
            if self._calls:
                return self._calls.popleft()
            role.wait(self._parker, self._calls.__len__)


def _told(call, error):
    """What the caller is told where a method raises. A stream that stops since no caller waits is
    ended Cancelled; another call is not, since its caller would take it for one that was not begun
    and make it again."""
    if call.stream and isinstance(error, errors.Cancelled) and call.context.is_given_up:
        return error
    return errors.remote(error)


def _items_of(call, iterator):
    """The list that a method gives item by item; raises Cancelled once no caller waits for it."""
    items = []

    def take(item):
        call.context.check()
        items.append(item)
        return True
    _each(iterator, take)
    return items


def _each(iterator, take):
    """Hands each item to take(), until it says that no more is wanted; whether all were. A
    generator that is left before its end cleans up."""
    if inspect.isasyncgen(iterator):
        return asyncio.run(_each_of_async(iterator, take))
    try:
        return all(take(item) for item in iterator)
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


async def _each_of_async(iterator, take):
    """take() may wait, and tasks that the generator has begun wait with it."""
    try:
        async for item in iterator:
            if not take(item):
                return False
        return True
    finally:
        await iterator.aclose()


class Served:
    """Takes the calls of a worker's listener and has them run.

    Calls arrive on the loop. Those of methods run on the thread that is in serve(), in the order
    of their arrival; concurrent ones on a pool; `orrery.*` at once on the loop. Before serve()
    they wait.
    """

    def __init__(self, worker, role, role_rank, memberships, concurrent_max=CONCURRENT_MAX):
        self._identity = {"worker": worker, "role": role, "role_rank": role_rank}
        self._memberships = memberships
        self._methods = None
        self._early = []
        self._waiting = set()
        self._inbox = _Inbox()
        self._pool = threads.Pool(concurrent_max, "orrery-concurrent")
        self._once = calls.Once()
        self._own = {}  # The SDK's own methods.
        self.on_late_cancel = []  # Of calls that were answered: called with connection and id.
        self.on_end = []  # Called with the error once nothing is begun any more.
        self.ending = None  # Why nothing more is begun: an error.
        self._is_ending = False  # The same, before the loop knows.
        self._concurrent = 0  # Concurrent calls that run.
        self._idle = threading.Condition()
        self.add_own("orrery.ping", self._ping)
        self.add_own("orrery.methods", self._list_methods)

    # --- on the loop ---

    def identity(self):
        membership = self._memberships.taken
        return {**self._identity, "rank": membership.rank, "generation": membership.generation}

    def add_own(self, name, function, is_kept=True):
        """A method of the SDK: function(call, **arguments) answers the call, now or later.
        `is_kept`: a second attempt gets the answer of the first."""
        self._own[name] = (function, inspect.signature(function), is_kept)

    def arrived(self, call):
        now = asyncio.get_running_loop()
        call.timer = now.call_later(max(0.0, call.deadline - time.monotonic()), self._expire, call)
        if self.ending is not None:
            call.fail(self.ending)
        elif time.monotonic() >= call.deadline:
            self._expire(call)
        elif call.method.startswith("orrery."):
            self._run_own(call)
        elif self._methods is None:
            self._waiting.add(call)
            self._early.append(call)
        else:
            self._admit(call)

    def _expire(self, call):
        if call.state is calls.State.WAITING:
            self._end(call, errors.Timeout(
                "found the deadline passed while the call waited for its turn, needed a free "
                "worker; give it more time" if call.why_waits is None else call.why_waits()))
        else:
            # What it answers is dropped.
            call.context.cancel()
            call.fail(errors.Timeout("found the deadline passed while the method ran, needed more "
                                     "time; give the call more"))
        self._waiting.discard(call)

    def cancel(self, call, error):
        """The caller does not want it any more."""
        call.context.cancel()
        self._end(call, error)

    def late_cancel(self, connection, call_id):
        """The caller has given up a call that was answered already."""
        for function in self.on_late_cancel:
            function(connection, call_id)

    def caller_lost(self, call):
        """Its connection has ended. With a name `once` the caller may come back for the answer."""
        if call.once is not None and not call.stream and call.target is not None:
            call.connection.forget(call)
            return
        call.context.cancel()
        self._end(call, errors.Cancelled("the caller's connection ended"))

    def _end(self, call, error):
        answer = calls.error_answer(error)
        before = call.answer(answer)
        self._waiting.discard(call)
        # A method that runs will come to its end, and a second attempt shall find its answer.
        if before is calls.State.WAITING:
            self._once.finish(call, answer, has_run=False)

    def _admit(self, call):
        """Everything about the call is checked before it waits for its turn."""
        if self._once.meets(call):
            return
        target = self._methods.get(call.method)
        try:
            if target is None:
                names = sorted(self._methods)
                raise errors.UnknownMethod(
                    f"found the method {errors.short(call.method)!r}, needed one of "
                    f"{', '.join(names) or 'none'}; register it by @orrery.method", methods=names)
            if call.attempt and not target.is_idempotent:
                raise errors.NotIdempotent(
                    f"found attempt {call.attempt} of {call.method}, which may run once; declare "
                    "it by @orrery.method(idempotent=True), or call without retries")
            target.bind(call.args, call.kwargs)
        except errors.CallError as error:
            call.fail(error)
            return
        self._once.begin(call)
        call.target = target
        self._waiting.add(call)
        if target.is_concurrent:
            self._pool.submit(self._run_concurrent, call)
        else:
            self._inbox.put(call)

    def _run_own(self, call):
        try:
            if call.method not in self._own:
                names = sorted(self._own)
                raise errors.UnknownMethod(f"found the method {errors.short(call.method)!r}, "
                                           f"needed one of {', '.join(names)}", methods=names)
            function, signature, is_kept = self._own[call.method]
            try:
                bound = signature.bind(call, *call.args, **call.kwargs)
            except TypeError as error:
                raise errors.BadArguments(f"found arguments that do not fit {call.method}: "
                                          f"{error}; look at docs/calls.md") from None
            if is_kept:
                if self._once.meets(call):
                    return
                self._once.begin(call)
            function(*bound.args, **bound.kwargs)
        except errors.CallError as error:
            self._end(call, error)

    def answer_own(self, call, value):
        """The answer of one of the SDK's own methods, kept for second attempts."""
        answer = calls.value_answer("result", value)
        call.answer(answer)
        self._once.finish(call, answer, has_run=True)

    def fail_own(self, call, error):
        self._end(call, error)

    def _ping(self, call):
        self.answer_own(call, {name: value for name, value in self.identity().items()
                               if name in ("rank", "role_rank", "generation")})

    def _list_methods(self, call):
        self.answer_own(call, [
            {"name": name, "parameters": each.parameters, "concurrent": each.is_concurrent,
             "idempotent": each.is_idempotent, "stream": each.is_stream}
            for name, each in sorted((self._methods or {}).items())])

    def _begin_end(self, error):
        """What waits is answered `error`; what has begun is told that no caller waits, so that it
        may end before the worker is killed."""
        if self.ending is not None:
            return
        self.ending = error
        for call in list(self._waiting):
            if not call.abandon():
                self._end(call, error)
        self._early = []
        for function in self.on_end:
            function(error)
        self._inbox.put(None)

    # --- on the threads that run calls ---

    def open(self, found):
        """The methods are known from now on. On any thread."""
        def admit():
            self._methods = found
            early, self._early = self._early, []
            for call in early:
                self._waiting.discard(call)
                if call.state is calls.State.WAITING:
                    self._admit(call)
        loop.get().call_soon_threadsafe(admit)

    def wake(self):
        """Has the serving thread look for memberships and for its end."""
        self._inbox.put(None)

    def end(self, error):
        """No call is begun from now on, and those that wait are answered `error`. From any
        thread, and in handlers of signals."""
        self._is_ending = True
        loop.get().call_soon_threadsafe(self._begin_end, error)

    def serve(self):
        """Runs calls until end(); returns when the last of them has."""
        while not self._is_ending:
            self._memberships.take_up_between_calls()
            call = self._inbox.get()
            if call is not None and not self._is_ending:
                self._memberships.take_up_between_calls()
                self._run(call)
            del call
        with self._idle:
            while self._concurrent:
                self._idle.wait()

    def _run_concurrent(self, call):
        with self._idle:
            self._concurrent += 1
        try:
            self._run(call)
        except BaseException:
            pass  # Answered; a thread of the pool cannot end the process.
        finally:
            with self._idle:
                self._concurrent -= 1
                self._idle.notify_all()

    def _run(self, call):
        generation = self._memberships.taken.generation
        if call.generation is not None and call.generation != generation:
            error = errors.GenerationChanged(
                f"found generation {generation}, needed {call.generation}, which the call was made "
                "for; ask the directory for the members of now", was=call.generation,
                **{"is": generation})
            loop.get().call_soon_threadsafe(self._end, call, error)
            return
        # Asked as it begins: what is answered Cancelled at the end, or Timeout by its timer, must not
        # have begun.
        if not call.begin(lambda: not self._is_ending and time.monotonic() < call.deadline):
            return
        ends = None
        try:
            with methods.running(call.context):
                answer = self._answer_of(call)
        except BaseException as error:
            ends = None if isinstance(error, _OF_METHODS) else error
            answer = calls.error_answer(_told(call, error))
        loop.perform(self._done, call, answer)
        if ends is not None:
            raise ends

    def _done(self, call, answer):
        self._waiting.discard(call)
        self._once.finish(call, answer, has_run=True)
        if time.monotonic() >= call.deadline:
            self._expire(call)  # A method that saw its deadline has come before the timer.
        else:
            call.answer(answer)

    def _answer_of(self, call):
        value = call.target.function(*call.args, **call.kwargs)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        is_iterator = isinstance(value, collections.abc.Iterator) or inspect.isasyncgen(value)
        if call.stream:
            return self._stream(call, value if is_iterator else iter((value,)))
        try:
            value = _items_of(call, value) if is_iterator else value
            return calls.value_answer("result", value).own()
        except errors.BadArguments as error:
            raise TypeError(f"{call.method} returned what cannot be sent: "
                            f"{error.message}") from None

    def _stream(self, call, iterator):
        """Sends items as credit allows; returns the last message."""
        def take(item):
            if not call.take_credit():
                return False
            loop.perform(call.connection.send_item, call, calls.value_answer("item", item).own())
            return True
        if _each(iterator, take):
            return calls.END
        return calls.error_answer(errors.Cancelled(
            "the stream was ended before its last item" if self.ending is None
            else self.ending.message))
