"""Calls to other workers: connections as they are needed, retries, futures and streams."""

import asyncio
import queue
import secrets
import time

from . import callee, calls, checks, directory, errors, forks, futures, handshake, loop

# Phases in which a worker that is not listed may still come.
COMING = frozenset(("Pending", "Starting", "Restarting", "Rescheduling", "Unknown", ""))
_OVER = frozenset(("Succeeded", "Failed"))


class _FutureSink:
    """Hands the answer of a call to its future, or has the call sent again."""

    def __init__(self, client, target, future):
        self._client, self._target, self.future = client, target, future
        self.call = None
        self.on_error = None
        self._cause = None

    def _may_try_again(self, error):
        """A Cancelled that this side has not asked for comes of a worker that is being drained."""
        call = self.call
        if call.retries <= 0 or call.left <= 0 or self.future.done():
            return False
        may_be_attempted = call.attempt < call.retries or not call.was_sent
        return (isinstance(error, errors.Cancelled) or
                isinstance(error, errors.WorkerLost) and may_be_attempted)

    def is_done(self):
        return self.future.done()

    def result(self, value):
        if not self._settle(value, None) and self.call.connection is not None:
            # It was cancelled while the answer came.
            self.call.connection.tell_cancelled(self.call)

    def item(self, value):
        self.call.connection.give_up(self.call)
        self._settle(None, errors.Protocol("found an item of a stream, needed one result, since no "
                                           "stream was asked for; both sides must speak the same "
                                           "protocol"))

    def end(self):
        self.item(None)

    def fail(self, error):
        """On the loop."""
        call = self.call
        if self._may_try_again(error):
            # A worker that is being drained has not begun the call, nor one that was never reached.
            call.attempt += call.was_sent and isinstance(error, errors.WorkerLost)
            call.was_sent = False
            call.tries += 1
            self._cause = error
            loop.spawn(self._client.again(call, self._target))
            return
        if self._cause is not None:
            error.__cause__ = self._cause
        if self.on_error is not None:
            self.on_error(error)
        self._settle(None, error)

    def _settle(self, value, error):
        if self.call.timer is not None:
            self.call.timer.cancel()
        return self.future.settle(value, error)


class _LoopSink:
    """For calls of the SDK itself: the answer of a call, to be awaited on the loop."""

    def __init__(self):
        self.answer = asyncio.get_running_loop().create_future()
        self.call = None

    def is_done(self):
        return self.answer.done()

    def result(self, value):
        if not self.answer.done():
            self.answer.set_result(value)

    def item(self, value):
        self.fail(errors.Protocol("found an item of a stream, needed one result"))

    def end(self):
        self.item(None)

    def fail(self, error):
        if not self.answer.done():
            self.answer.set_exception(error)


class _StreamSink:
    """Hands the items of a call to its stream. On the loop, but for what is said otherwise.
    `drops`: they are wanted by nobody."""

    def __init__(self, credit, on_error=None, drops=False):
        self.items = queue.SimpleQueue()
        self._credit, self._drops = credit, drops
        self._owed = 0  # Items that came and for which no credit was given back.
        self._flows = drops
        self._on_error = on_error
        self.call = None
        self._is_done = False

    def is_done(self):
        return self._is_done

    def item(self, value):
        if not self._drops:
            self.items.put((True, value))
        self._owed += 1
        if self._flows and self._owed * 2 >= self._credit:
            self.more(self._owed)

    def result(self, value):
        self.item(value)
        self.end()

    def end(self):
        self.fail(StopIteration())

    def flow(self):
        """From now on items come however few were read."""
        self._flows = True
        self.more(self._owed)

    def fail(self, error):
        if not self._is_done:
            self._is_done = True
            if self.call.timer is not None:
                self.call.timer.cancel()
            if self._on_error is not None:
                self._on_error(error)
            self.items.put((False, error))

    def more(self, count):
        self._owed -= count
        if count and not self._is_done and self.call.connection is not None:
            self.call.connection.add_credit(self.call, count)

    def give_up(self):
        if not self._is_done:
            if self.call.connection is not None:
                self.call.connection.give_up(self.call)
            self.fail(errors.Cancelled("this program closed the stream"))


class Stream:
    """The items of one call, in order. To leave before the last: close(), or `with`."""

    def __init__(self, sink, credit):
        self._sink, self._credit = sink, credit
        self._flows = False
        self._consumed = 0
        self._end = None  # What __next__ raises from now on.

    def __iter__(self):
        return self

    def __next__(self):
        if self._end is not None:
            raise self._end
        if loop.is_current():
            raise RuntimeError("found a wait on the loop's own thread, needed another thread")
        is_item, value = self._sink.items.get()  # Bounded: the call's deadline puts an end here.
        if not is_item:
            self._end = value
            raise value
        self._consumed += not self._flows
        if self._consumed * 2 >= self._credit:
            loop.get().call_soon_threadsafe(self._sink.more, self._consumed)
            self._consumed = 0
        return value

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def flow(self):
        """For the SDK: the worker does not wait for items to be read; they are kept here."""
        self._flows, self._consumed = True, 0
        loop.get().call_soon_threadsafe(self._sink.flow)

    def close(self):
        """The rest is not wanted; the worker is told."""
        if self._end is None:
            self._end = StopIteration()
            loop.get().call_soon_threadsafe(self._sink.give_up)

    def __del__(self):
        try:
            self.close()
        except Exception:  # The interpreter ends, and parts of it are gone.
            pass


class RemoteWorker:
    """The worker that has a role and a rank in it, whichever process that is at the moment."""

    def __init__(self, client, role, rank):
        self._client = client
        self.role, self.rank = role, rank
        self.peer = None  # As the directory had it last.
        self.lost_at = None
        self.trouble = ""  # Why there is no connection to it, as far as is known.
        self.forget()
        forks.forgets(self)

    def forget(self):
        """In a forked child no call waits yet."""
        self.waiting = 0  # Calls that wait for a connection; those behind them keep the order.
        self.order = None

    def __repr__(self):
        return f"RemoteWorker({self.role!r}, {self.rank})"

    def call(self, method, /, *args, deadline=futures.DEADLINE_DEFAULT, retries=0, **kwargs):
        """Calls a method and waits for what it returns."""
        future = self.submit(method, *args, deadline=deadline, retries=retries, **kwargs)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Where this wait was interrupted the worker shall know.
            raise

    def submit(self, method, /, *args, deadline=futures.DEADLINE_DEFAULT, retries=0, **kwargs):
        """Calls a method; the answer comes into the Future. Arrays among the arguments are sent
        from where they are, so let them be until it is done."""
        return self._client.submit(self, method, args, kwargs, deadline=deadline, retries=retries)

    def stream(self, method, /, *args, deadline=futures.DEADLINE_DEFAULT,
               credit=calls.CREDIT_DEFAULT,
               **kwargs):
        """Calls a method that yields; at most `credit` items wait here or on their way."""
        return self._client.stream(self, method, args, kwargs, deadline=deadline, credit=credit)


class Client:
    """Everything that this process calls in one job."""

    def __init__(self, job_directory):
        self.directory = job_directory
        self._tls = handshake.caller_context()
        self.forget()
        forks.forgets(self)

    def forget(self):
        """A forked child makes connections of its own."""
        self._connections = {}
        self._connecting = {}

    def peer(self, role, rank=0):
        if not isinstance(role, str) or not role:
            raise errors.BadArguments(f"found the role {role!r}, needed its name; write it as text")
        return RemoteWorker(self, role, checks.whole(f"the rank in {role}", rank))

    # --- from any thread ---

    def submit(self, target, method, args, kwargs, deadline, retries=0, once=None, generation=None,
               result_max=None, wanted=None):
        future = futures.Future()
        sink = _FutureSink(self, target, future)
        if retries and once is None:
            once = once_name()
        call = self.prepare(sink, method, args, kwargs, deadline, retries=retries, once=once,
                            generation=generation, result_max=result_max, wanted=wanted)
        self.begin(call, target)
        return future

    def prepare(self, sink, method, args, kwargs, deadline, retries=0, **options):
        """A call that can be sent: everything about it is checked here."""
        if type(method) is not str:
            raise errors.BadArguments(f"found the method {method!r}, needed its name; write it as "
                                      "text")
        call = callee.Outgoing(method, args, kwargs, time.monotonic() + checks.seconds(deadline),
                               sink, retries=checks.whole("retries", retries), **options)
        sink.call = call
        return call

    def future_sink(self, target):
        return _FutureSink(self, target, futures.Future())

    def begin(self, call, target):
        if isinstance(call.sink, _FutureSink):
            call.sink.future.on_cancel = lambda: loop.get().call_soon_threadsafe(
                self._cancelled, call)
        loop.perform(self._begin, call, target)

    def stream(self, target, method, args, kwargs, deadline, credit, generation=None, group=None,
               on_error=None, drops=False):
        if type(credit) is not int or credit < 1:
            raise errors.BadArguments(f"found the credit {credit!r}, needed a whole number from 1")
        sink = _StreamSink(credit, on_error, drops)
        call = self.prepare(sink, method, args, kwargs, deadline, credit=credit,
                            generation=generation)
        call.group = group
        self.begin(call, target)
        return Stream(sink, credit)

    def close(self):
        def close():
            for connection in list(self._connections.values()):
                connection.close()
        loop.get().call_soon_threadsafe(close)

    # --- on the loop ---

    def _cancelled(self, call):
        if call.timer is not None:
            call.timer.cancel()
        if call.connection is not None:
            call.connection.give_up(call)

    def _begin(self, call, target):
        if call.sink.is_done():
            return
        call.timer = asyncio.get_running_loop().call_later(max(0.0, call.left), self._expire, call,
                                                           target)
        if target.waiting or not self._send_if_connected(call, target):
            loop.spawn(self._send_in_order(call, target))

    async def _send_in_order(self, call, target):
        if target.order is None:
            target.order = asyncio.Lock()  # Its waiters go on in the order of their arrival.
        target.waiting += 1
        try:
            async with target.order:
                if not call.sink.is_done():
                    await self._connect_and_send(call, target)
        finally:
            target.waiting -= 1

    def _send_if_connected(self, call, target):
        connection = self._connections.get(target.peer.worker) if target.peer is not None else None
        if connection is None or not connection.is_usable:
            return False
        if call.group is not None and call.group not in connection.claimed:
            return False
        connection.send_call(call)
        return True

    def _expire(self, call, target):
        error = self._timeout(call, target)
        if call.connection is not None:
            call.connection.give_up(call)
        call.retries = 0
        call.sink.fail(error)

    def _timeout(self, call, target):
        """Says what kept the call: the worker, or all that comes before it."""
        name = f"{target.role} {target.rank}"
        if call.connection is None:
            return errors.Timeout(f"found no connection to {name} for {call.method}: "
                                  f"{self._why_none(target)}; needed one by the deadline; see to "
                                  "that, or give it more")
        if call.wanted is not None:
            return errors.Timeout(f"found no answer of {name}, needed {call.wanted} by the "
                                  "deadline; look at what the worker does, which did not even say "
                                  "that there is none")
        return errors.Timeout(f"found no answer of {name} to {call.method}, needed one by the "
                              "deadline; give it more, or look at what the worker does")

    def _why_none(self, target):
        """Why there is no connection to the target, as far as is known."""
        controller = self.directory.controller
        if controller.trouble or not target.trouble and self.directory.is_asking():
            return controller.why_away()
        return target.trouble or "it was not reached yet"

    async def again(self, call, target):
        """Sends a call that was lost once more, after a pause."""
        call.connection = None
        pauses = directory.pauses()
        for _ in range(min(call.tries, 10)):
            pause = next(pauses)
        await asyncio.sleep(min(pause, max(0.0, call.left)))
        target.lost_at = time.monotonic()
        if not call.sink.is_done() and not self._send_if_connected(call, target):
            await self._connect_and_send(call, target)

    async def _connect_and_send(self, call, target):
        try:
            connection = await self.connection(target, call.deadline, is_expected=call.tries > 0)
            if call.group is not None:
                target.trouble = f"it does not answer who may drive group {call.group}"
                await self.claim(connection, call.group, call.deadline)
        except errors.Timeout:
            return  # Its timer says so, with what was called.
        except errors.CallError as error:
            call.sink.fail(error)
            return
        if not call.sink.is_done():
            connection.send_call(call)

    async def connection(self, target, deadline, is_expected=False):
        """A connection to the worker that has the target's role and rank now. `is_expected`: one
        that is not there may come."""
        began = time.monotonic()
        newer_than = target.lost_at
        target.trouble = ""
        for pause in directory.pauses():
            listing = await self.directory.listing(deadline, newer_than)
            peer = listing.find(target.role, target.rank)
            if peer is None and (listing.phase in _OVER or
                                 not is_expected and listing.phase not in COMING):
                if listing.asked <= began:  # An old listing proves nothing.
                    newer_than = began
                    continue
                raise self._absent(target, listing)
            target.trouble = _trouble(target, listing, peer)
            if peer is not None and peer.port:
                target.peer = peer
                try:
                    return await self._connected(peer, listing, deadline)
                except errors.Timeout:
                    pass  # It accepts and does not speak: another try, until the deadline.
                except errors.CallError as error:
                    target.trouble = error.message
                    is_coming = is_expected and isinstance(error, errors.WorkerLost)
                    if listing.asked > began and not is_coming:
                        target.lost_at = time.monotonic()
                        raise
            left = deadline - time.monotonic()
            if left <= 0:
                raise errors.Timeout(f"found no worker that listens as {target.role} "
                                     f"{target.rank} ({target.trouble}), needed one by the "
                                     "deadline; look whether the job runs")
            newer_than = time.monotonic()
            await asyncio.sleep(min(pause, left))

    async def claim(self, connection, group, deadline):
        """Holds a group's worker for this process as long as the connection lives."""
        if group in connection.claimed:
            return
        sink = _LoopSink()
        connection.send_call(self.prepare(sink, "orrery.claim", (), {"group": group},
                                          max(0.001, deadline - time.monotonic())))
        try:
            await asyncio.wait_for(sink.answer, max(0.0, deadline - time.monotonic()))
        except asyncio.TimeoutError as error:
            if isinstance(error, errors.CallError):
                raise
            raise errors.Timeout("found no answer to the claim by the deadline") from None
        connection.claimed.add(group)

    def _absent(self, target, listing):
        if target.peer is not None:
            return callee.worker_lost(target.peer, listing.generation,
                                      "the directory has it no more")
        ranks = [peer.role_rank for peer in listing.role(target.role)]
        roles = sorted({peer.role for peer in listing.peers})
        has = f"{target.role} has {len(ranks)} workers" if ranks else \
            f"it has {', '.join(roles) or 'no workers'}"
        return errors.NoSuchWorker(f"found no {target.role} {target.rank} in job {listing.job}, "
                                   f"needed a worker of it: {has} and is {listing.phase}; choose "
                                   "another, or grow the role")

    async def _connected(self, peer, listing, deadline):
        connection = self._connections.get(peer.worker)
        if connection is not None and connection.is_usable:
            return connection
        task = self._connecting.get(peer.worker)
        if task is None or task.done():
            task = self._connecting[peer.worker] = loop.spawn(self._connect(peer, listing))
            task.add_done_callback(lambda done: self._has_connected(peer.worker, done))
        try:
            return await asyncio.wait_for(asyncio.shield(task),
                                          max(0.0, deadline - time.monotonic()))
        except asyncio.TimeoutError:
            raise errors.Timeout("found no connection by the deadline") from None

    def _has_connected(self, worker, task):
        if self._connecting.get(worker) is task:
            del self._connecting[worker]  # It would keep the connection after its end.
        return task.cancelled() or task.exception()

    async def _connect(self, peer, listing):
        if not peer.certificate and not handshake.is_loopback(peer.address):
            raise errors.NotAuthorised(
                f"found worker {peer.worker} at {peer.address} without a certificate, needed TLS "
                "wherever calls leave the machine; turn TLS on in the cluster")

        def connection_of():
            return callee.CalleeConnection(peer, listing.caller, listing.generation, self._lost)
        tls = {"ssl": self._tls, "server_hostname": peer.address} if peer.certificate else {}
        connection = None
        try:
            _, connection = await asyncio.wait_for(asyncio.get_running_loop().create_connection(
                connection_of, peer.address, peer.port, **tls), handshake.PATIENCE_S)
            self._connections[peer.worker] = connection
            await asyncio.wait_for(asyncio.shield(connection.ready), handshake.PATIENCE_S)
            return connection
        except errors.CallError:
            raise
        except asyncio.TimeoutError:
            if connection is not None:
                connection.close()
            raise errors.Timeout("found no end of the handshake in time") from None
        except (OSError, ValueError, OverflowError) as error:  # Or it is no address.
            raise callee.worker_lost(peer, listing.generation,
                                     f"it cannot be reached ({error})") from None

    def _lost(self, connection):
        if self._connections.get(connection.peer.worker) is connection:
            del self._connections[connection.peer.worker]


def _trouble(target, listing, peer):
    """Why there is no connection to the target yet, as the directory has it."""
    if peer is None:
        return f"job {listing.job} has no such worker now, and is {listing.phase or 'not known'}"
    if not peer.port:
        return f"worker {peer.worker} does not listen yet"
    return f"worker {peer.worker} at {peer.address}:{peer.port} has not ended the handshake"


def once_name():
    """A name for one call, however often it is sent."""
    return secrets.token_hex(16)
