"""What of an object can be called from other processes, and what a method can know of its call."""

import inspect
import threading
import time

from . import errors

_MARK = "__orrery_method__"


def method(function=None, *, concurrent=False, idempotent=False, name=None):
    """Lets other processes call a method of a class.

    `concurrent`  it may run beside other calls, on a thread of a pool; else calls run one by one
    `idempotent`  it may run again after a lost answer, so callers may ask for retries
    `name`        another name for callers
    """
    def mark(marked):
        setattr(marked, _MARK, {"concurrent": concurrent, "idempotent": idempotent,
                                "name": name or marked.__name__})
        return marked
    return mark if function is None else mark(function)


class Method:
    """One method of an instance."""

    def __init__(self, function, concurrent, idempotent, name):
        self.function, self.name = function, name
        self.is_concurrent, self.is_idempotent = concurrent, idempotent
        self.is_stream = (inspect.isgeneratorfunction(function) or
                          inspect.isasyncgenfunction(function))
        self._signature = inspect.signature(function)

    @property
    def parameters(self):
        return list(self._signature.parameters)

    def bind(self, args, kwargs):
        """Raises BadArguments where they do not fit."""
        try:
            self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise errors.BadArguments(f"found arguments that do not fit {self.name}: {error}; "
                                      f"needed {self.name}{self._signature}") from None


def methods_of(instance):
    """The methods that its class marks, by the name that callers use."""
    found = {}
    for attribute in dir(type(instance)):
        marked = getattr(getattr(type(instance), attribute, None), _MARK, None)
        if marked is None:
            continue
        name = marked["name"]
        if name.startswith("orrery.") or name in found:
            raise ValueError(f"found the method name {name!r} "
                             f"{'twice' if name in found else 'which is of the SDK itself'} in "
                             f"{type(instance).__qualname__}, needed another one; choose name=...")
        found[name] = Method(getattr(instance, attribute), **marked)
    return found


class Context:
    """The call that this thread runs: see context()."""

    def __init__(self, caller, method_name, deadline, attempt, generation):
        self.caller = caller
        self.method = method_name
        self.attempt = attempt
        self.generation = generation
        self._deadline = deadline
        self._is_given_up = threading.Event()

    @property
    def deadline_left(self):
        """Seconds until the caller gives up; 0 after that."""
        return max(0.0, self._deadline - time.monotonic())

    @property
    def cancelled(self):
        """Whether no caller waits any more: cancelled, past its deadline, or gone; or the worker
        is being drained, so that none will."""
        return self.is_given_up or time.monotonic() >= self._deadline

    @property
    def is_given_up(self):
        """For the SDK: the same, whatever the time is."""
        return self._is_given_up.is_set()

    def check(self):
        """Raises Cancelled where no caller waits any more."""
        if self.cancelled:
            raise errors.Cancelled("found a call that no caller waits for any more; the work is "
                                   "left")

    def wait_cancelled(self, timeout):
        """Waits up to so many seconds; whether the call was cancelled."""
        self._is_given_up.wait(min(timeout, self.deadline_left))
        return self.cancelled

    def cancel(self):
        self._is_given_up.set()

    def revive(self):
        """The same caller has come back for the answer."""
        self._is_given_up.clear()


_current = threading.local()


def context():
    """The call that this thread runs: caller, method, attempt, generation, deadline_left,
    cancelled."""
    found = getattr(_current, "context", None)
    if found is None:
        raise RuntimeError("found no call on this thread; context() is for methods while they are "
                           "called")
    return found


class running:
    """Sets the context of this thread while a call runs on it."""

    def __init__(self, entered):
        self._entered = entered

    def __enter__(self):
        self._before = getattr(_current, "context", None)
        _current.context = self._entered

    def __exit__(self, *_):
        _current.context = self._before
