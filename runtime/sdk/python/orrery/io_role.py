"""Which thread does the I/O now: the I/O role, which goes round.

All that the SDK does with sockets and timers happens on one thread at a time. One thread has the
role: it waits for what comes and acts on it. A background thread has it by default and runs
asyncio's loop. A thread that waits for a call takes it where it is free, and reads what comes on
connections that are there, so that no other thread has to be woken for it. While the one with the
role waits in the selector any thread may act in its place, and sends its own frames. Whatever else is to be done (timers, tasks, new
connections, TLS) it leaves to the background thread; so an exception of a handler of a signal, which
may come at any line of the main thread, ends one connection at worst. The SDK in C++ hands the role
round, too (ADR 0024).
"""

import asyncio
import collections
import math
import os
import queue
import selectors
import sys
import threading
import time

from . import buffer_memory

# How long the role stays free for the next thread that waits. Longer than the pause between two
# calls of a loop, shorter than what a peer that waits for us would notice.
_FREE_S = 0.004
# A thread that waits longer leaves the role to the background thread and sleeps.
_IDLE_S = 0.005
# The background thread has its turn so often, for timers.
_TURN_S = 0.02
# It looks so often even where nothing tells it to: a handler of a signal that raises may have kept
# the main thread from telling it.
_LOOK_S = 1.0

_here = threading.local()


class _Selector(selectors.DefaultSelector):
    """While it waits other threads may act for the loop."""

    role = None

    def select(self, timeout=None):
        self.role.open(timeout)
        try:
            return super().select(timeout)
        finally:
            self.role.close()


class _Loop(asyncio.SelectorEventLoop):
    """Tasks that are posted while no thread has the role wake the background thread."""

    role = None

    def call_soon_threadsafe(self, *arguments, **keywords):
        handle = super().call_soon_threadsafe(*arguments, **keywords)
        self.role.posted()
        return handle

    def call_at(self, when, *arguments, **keywords):
        if when < self.role.waits_until:
            self.role.is_early = True
        return super().call_at(when, *arguments, **keywords)

    def __del__(self):
        """It lives as long as the process; in a forked child it is the parent's."""


class Parker:
    """Where one thread waits until another one notifies it."""

    def __init__(self, role):
        self.role = role
        self._lock = threading.Lock()
        self._lock.acquire()

    def notify(self):
        """From any thread, also in handlers of signals."""
        if self._lock.locked():
            try:
                self._lock.release()
            except RuntimeError:
                pass  # Another thread was quicker.

    def wait(self, seconds):
        """Until it is notified, or so long; None: without a bound."""
        self._lock.acquire(timeout=-1 if seconds is None else max(0.0, seconds))


class Role:
    """The loop of a process, and who does its work. Its background thread starts with it."""

    def __init__(self):
        self.waits_until = 0.0  # The selector; 0 where it does not.
        self.is_early = False  # A timer was set that is due before.
        self._selector = _Selector()
        self._selector.role = self
        _Loop.role = self  # Which asks in its constructor.
        self.loop = _Loop(self._selector)
        self.loop.role = self
        self._connections = {}  # By descriptor: those that any thread with the role may read.
        # The thread that has it, as the only entry: taken and left in one step each, which no
        # handler of a signal can cut in two.
        self._holder = {}
        self._actor = {}  # Likewise, the thread that acts: all but waiting in the selector.
        self._waiting = collections.deque()  # Parkers of threads that want to act.
        self._left = 0  # How often it was left.
        self._candidates = collections.deque()  # Parkers of threads that would take it.
        self._is_due = False  # The background thread is next.
        self._turn_at = 0.0
        self._is_in_background = False
        self._is_watching = False  # Memory, by a timer.
        self._sleeps = False  # The background thread, until something is put into _urges.
        self._urges = queue.SimpleQueue()  # Its put may be called in handlers of signals.
        self._background = threading.Thread(target=self._serve, name="orrery-loop", daemon=True)
        self._background.start()

    # --- on the loop ---

    def add(self, descriptor, connection):
        """Any thread with the role may read this connection from now on."""
        self._connections[descriptor] = connection

    def remove(self, descriptor):
        self._connections.pop(descriptor, None)

    def watch_memory(self):
        """Lets go of memory of buffers that is not used, after a while."""
        if not self._is_watching:
            self._is_watching = True
            self.loop.call_later(buffer_memory.KEPT_FOR_S, self._look_at_memory)

    def _look_at_memory(self):
        self._is_watching = False
        if buffer_memory.memory.drop_older(buffer_memory.KEPT_FOR_S):
            self.watch_memory()

    # --- in a forked child ---

    def leave_to_parent(self):
        """What is open is the parent's: nothing of it is closed there, whoever closes it here, and it
        ends when the parent ends it."""
        nothing = os.open(os.devnull, os.O_RDWR)
        for key in list(self._selector.get_map().values()):
            os.dup2(nothing, key.fd, inheritable=False)
        os.close(nothing)
        self._selector.close()  # It is the parent's as well, so what is thrown away here must find
        self._selector.__init__()  # another one, in which nothing is.

    # --- from any thread ---

    def posted(self):
        """A task: the background thread runs it, where no other thread has the role."""
        if not self._holder:
            self._urge()

    def perform(self, function, *arguments):
        """Runs a function as the loop would, after all that was posted: at once unless another
        thread acts just now, which then does it."""
        try:
            if not self._has_loop() and self._may_act() and not self.loop._ready:
                self._as_loop(function, *arguments)
                if self.loop._ready or self.is_early:
                    self.is_early = False
                    self.loop.call_soon_threadsafe(_nothing)
                return
        finally:
            if not self._has_loop():
                self._end_act()
        self.loop.call_soon_threadsafe(function, *arguments)

    def wait(self, parker, is_done, end=None):
        """Waits until is_done(), which `parker` is notified of, or until the clock's `end`; whether
        it is done. Does I/O meanwhile where no other thread does. `parker` is this thread's."""
        is_idle = False
        try:
            while not is_done():
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                if is_idle:
                    parker.wait(left)
                    continue
                is_idle = self._read_until(is_done, left)
                if is_idle is None:
                    self._park(parker, is_done, left)
            return True
        finally:
            # What it was offered and does not need goes to the next.
            if not self._holder:
                self._pass_on()

    def is_loop(self):
        """Whether this thread runs what belongs to the loop."""
        return asyncio._get_running_loop() is self.loop and self._has_loop()

    # --- acting ---

    def open(self, timeout):
        """The thread with the role waits in the selector from now on, so long at most."""
        self.waits_until = math.inf if timeout is None else time.monotonic() + timeout
        self._end_act()

    def close(self):
        """It acts again."""
        self._act()
        self.waits_until, self.is_early = 0.0, False

    def _may_act(self):
        me = threading.get_ident()
        return not self._actor and self._actor.setdefault(0, me) == me

    def _act(self):
        """Waits until no other thread acts, which takes as long as one message."""
        me, tries = threading.get_ident(), 0
        while self._actor.setdefault(0, me) != me:
            parker = parker_of(self)
            self._waiting.append(parker)
            if self._actor:
                parker.wait(0.001)
            try:
                self._waiting.remove(parker)
            except ValueError:
                pass  # It was notified.
            tries += 1
            if tries % 1000 == 0:
                self._free_forgotten()

    def _end_act(self):
        if self._actor.get(0) != threading.get_ident():
            return
        self._actor.clear()
        if self._waiting:
            try:
                self._waiting.popleft().notify()
            except IndexError:
                pass  # It goes on by itself.

    # --- taking and leaving it ---

    def _try_enter(self):
        """Takes the role where it is free; False also on threads that run a loop already. Frames
        of `perform` and `_read_until` enclose all that its holder does: see _free_forgotten."""
        if self._holder or self._is_due or self._has_loop():
            return False
        me = threading.get_ident()
        return self._holder.setdefault(0, me) == me

    def _has_loop(self):
        running = asyncio._get_running_loop()
        if running is self.loop and threading.get_ident() not in self._actor.values() and \
                not self._is_background():
            asyncio._set_running_loop(None)  # A handler of a signal kept it from being taken back.
            return False
        return running is not None

    def _is_background(self):
        return threading.get_ident() == self._background.ident

    def _leave(self):
        """Leaves the role where this thread has it."""
        if self._has_loop() or self._holder.get(0) != threading.get_ident():
            return
        self._end_act()
        self._left += 1
        if self.loop._ready:
            self._is_due = True  # What has been brought about.
        self._holder.clear()
        if self._is_due:
            self._urge()
        else:
            self._pass_on()

    def _free_forgotten(self):
        """An exception of a handler of a signal may keep the main thread from leaving the role."""
        main = threading.main_thread().ident
        frame = sys._current_frames().get(main)
        if main not in (self._holder.get(0), self._actor.get(0)):
            return
        while frame is not None:
            if frame.f_code in (Role.perform.__code__, Role._read_until.__code__):
                return
            frame = frame.f_back
        for held in (self._holder, self._actor):
            if held.get(0) == main:
                held.clear()

    def _urge(self):
        self._sleeps = False
        self._urges.put(True)

    def _pass_on(self):
        if self._candidates and not self._is_due:
            try:
                self._candidates.popleft().notify()
                return
            except IndexError:
                pass  # Another thread was quicker.
        if self._sleeps:
            self._sleeps = False
            self._urges.put(False)

    def _park(self, parker, is_done, seconds):
        """Waits to be notified, of the end or that the role may be taken."""
        if self._has_loop():  # The program's own: it reads nothing beside.
            if not self._holder:
                self._urge()
            parker.wait(seconds)
            return
        self._candidates.append(parker)
        try:
            # Whoever left it before does not offer it.
            if (self._holder or self._is_due) and not is_done():
                if self._is_in_background:
                    self.loop.call_soon_threadsafe(self._yield)
                parker.wait(seconds)
        finally:
            try:
                self._candidates.remove(parker)
            except ValueError:
                pass  # It was offered.

    # --- the thread that has it ---

    def _as_loop(self, function, *arguments):
        try:
            asyncio._set_running_loop(self.loop)
            function(*arguments)
        finally:
            asyncio._set_running_loop(None)

    def _read_until(self, is_done, seconds):
        """Reads connections until is_done(), or until the background thread is to go on; whether
        this thread shall sleep meanwhile, since nothing comes. None: it cannot have the role."""
        patience = _IDLE_S if seconds is None else min(seconds, _IDLE_S)
        try:
            if not self._try_enter():
                return None
            self._act()
            while not is_done():
                if self.loop._ready or time.monotonic() >= self._turn_at:
                    self._is_due = True
                    return False
                events = self._selector.select(patience)
                if not events:
                    self._is_due = True
                    return True
                for key, mask in events:
                    connection = self._connections.get(key.fd)
                    if connection is None or mask != selectors.EVENT_READ:
                        self._is_due = True
                    else:
                        self._as_loop(connection.read_now)
                if self._is_due:
                    return False
            return False
        finally:
            self._leave()

    # --- the background thread ---

    def _yield(self):
        """On the loop: the background thread gives way."""
        if self._is_in_background:
            self.loop.stop()

    def _serve(self):
        asyncio.set_event_loop(self.loop)
        is_urged, seen = True, -1
        while True:
            left = self._left
            if not self._holder and (is_urged or seen == left or self._is_due):
                if self._candidates and not is_urged and not self._is_due:
                    self._pass_on()  # It was offered to one that did not take it.
                else:
                    self._run()
                    left = self._left
            is_urged = self._look_again(seen == left)
            seen = left

    def _run(self):
        me = threading.get_ident()
        if self._holder.setdefault(0, me) != me:
            return
        self._act()
        self._is_in_background = True
        self._is_due = False
        try:
            # Those who came before do not ask it to give way. This does all that is due.
            if self._candidates:
                self.loop.call_soon(self.loop.stop)
            self.loop.run_forever()
        finally:
            self._turn_at = time.monotonic() + _TURN_S
            self._is_in_background = False
            self._leave()

    def _look_again(self, has_looked):
        """Waits until it is urged, or until the role was free for a moment. Where calls follow each
        other it looks now and then, and is not woken at each of their ends."""
        seconds = _FREE_S
        if has_looked and self._holder:
            self._sleeps = True
            if self._holder:
                seconds = _LOOK_S
        try:
            is_urged = self._urges.get(timeout=seconds)
            while not self._urges.empty():
                is_urged |= self._urges.get()
            return is_urged
        except queue.Empty:
            if seconds == _LOOK_S:
                self._free_forgotten()
            return False
        finally:
            self._sleeps = False


def _nothing():
    """Wakes the thread that waits in the selector."""


def parker_of(role):
    """This thread's."""
    found = getattr(_here, "parker", None)
    if found is None or found.role is not role:
        found = _here.parker = Parker(role)
    return found
