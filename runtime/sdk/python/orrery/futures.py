"""What a call that has been sent will answer."""

import threading

from . import checks, errors, io_role, loop, threads

DEADLINE_DEFAULT = 300.0

_callbacks = threads.Pool(1, "orrery-callbacks")


class Future:
    """The answer of one call. Every call has a deadline, so every future is done in time."""

    def __init__(self):
        self._lock = threading.Lock()
        self._is_done = False
        self._value = self._error = None
        self._callbacks, self._waiters = [], []
        self.on_cancel = None  # Set by who sends: called from any thread.

    def done(self):
        """Whether the answer is there."""
        return self._is_done

    def result(self, timeout=None):
        """The value; raises what the call ended with. `timeout` bounds this wait alone: after it
        the call goes on, and result() may be asked again."""
        self._wait(timeout)
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self, timeout=None):
        """What the call ended with; None where it has a value."""
        self._wait(timeout)
        return self._error

    def cancel(self):
        """Gives the answer up; whether it was not there yet. The worker is told that no caller
        waits."""
        error = errors.Cancelled("this program cancelled the call")
        if not self.settle(None, error):
            return False
        if self.on_cancel is not None:
            self.on_cancel()
        return True

    def add_done_callback(self, function):
        """Calls function(future) once the answer is there, on a thread of the SDK."""
        with self._lock:
            if not self._is_done:
                self._callbacks.append(function)
                return
        _callbacks.submit(function, self)

    def settle(self, value, error=None):
        """For the SDK: sets the answer; False where there is one."""
        with self._lock:
            if self._is_done:
                return False
            self._value, self._error = value, error
            self._is_done = True
            callbacks, self._callbacks = self._callbacks, []
            waiters = list(self._waiters)
        for parker in waiters:
            parker.notify()
        for function in callbacks:
            _callbacks.submit(function, self)
        return True

    def _wait(self, timeout):
        end = checks.end_of(timeout)
        if self._is_done:
            return
        if loop.is_current():
            raise RuntimeError("found a wait on the loop's own thread, which would never end; wait "
                               "on another thread")
        role = loop.role()
        parker = io_role.parker_of(role)
        self._waiters.append(parker)
        if not role.wait(parker, self.done, end):
            raise errors.Timeout(f"found no answer after {timeout} s of this wait, needed one; the "
                                 "call goes on, wait again or cancel it")
