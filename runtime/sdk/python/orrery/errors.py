"""Errors of calls: one class for each type of the protocol's table, with its fields.

Every message says what was found, what was needed, and what to do. An error that came from another
process has the class that it would have had here, and keeps fields that this version does not know.
"""

import traceback

# Longer texts would push an error over the limit of a header.
_TEXT_MAX = 64 << 10


class CallError(Exception):
    """What a call may end with. `fields` has what the type adds."""

    type = "Protocol"
    added = ()

    def __init__(self, message, **fields):
        super().__init__(message)
        self.message = message
        self.fields = fields

    def __getattr__(self, name):
        # Fields of the wire are attributes. `class` and `is` are words of Python: class_ and is_.
        fields = self.__dict__.get("fields", {})
        name = name[:-1] if name in ("class_", "is_") else name
        if name in fields:
            return fields[name]
        if name in self.added:
            return None
        raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has "
                             f"{', '.join(sorted({*fields, *self.added})) or 'none'}")

    def __str__(self):
        return f"{self.type}: {self.message}"

    def __reduce__(self):
        return _rebuilt, (type(self), self.message, self.fields)


def _rebuilt(kind, message, fields):
    return kind(message, **fields)


class WorkerLost(CallError):
    """The connection ended, or the directory has no such worker any more."""
    type = "WorkerLost"
    added = ("rank", "role", "role_rank", "worker", "generation")


class Timeout(CallError, TimeoutError):
    """The deadline passed."""
    type = "Timeout"


class Cancelled(CallError):
    """The caller cancelled, or the worker is being drained."""
    type = "Cancelled"


class GenerationChanged(CallError):
    """The membership is another one than the call was made for: `was` and `is_`."""
    type = "GenerationChanged"
    added = ("was", "is")


class Remote(CallError):
    """The method raised; `class_` names what, `trace` says where."""
    type = "Remote"
    added = ("class", "trace")


class UnknownMethod(CallError):
    """The worker has no such method; `methods` lists those that there are."""
    type = "UnknownMethod"
    added = ("methods",)


class BadArguments(CallError, ValueError):
    """Arguments that do not fit the method, or data that does not fit the group."""
    type = "BadArguments"


class TooLarge(CallError):
    """A message over a limit."""
    type = "TooLarge"
    added = ("bytes", "limit")


class NotIdempotent(CallError):
    """A second attempt at a method that may run once."""
    type = "NotIdempotent"


class SecondDriver(CallError):
    """Another driver holds this worker's group: `driver`."""
    type = "SecondDriver"
    added = ("driver",)


class NotAuthorised(CallError):
    """Unknown caller, wrong proof, or the wrong worker behind an address."""
    type = "NotAuthorised"


class NoSuchWorker(CallError, LookupError):
    """A role, rank or job that is not there."""
    type = "NoSuchWorker"


class ChannelFull(CallError):
    """Items that can never fit into the channel at once."""
    type = "ChannelFull"
    added = ("channel",)


class ChannelClosed(CallError):
    """The channel was closed, or is another one than the caller knew."""
    type = "ChannelClosed"
    added = ("channel",)


class NoSuchChannel(CallError):
    """No channel of this name lives in that worker."""
    type = "NoSuchChannel"
    added = ("channel",)


class Protocol(CallError):
    """The other side broke a rule of the protocol."""
    type = "Protocol"


TYPES = {kind.type: kind for kind in (
    WorkerLost, Timeout, Cancelled, GenerationChanged, Remote, UnknownMethod, BadArguments,
    TooLarge, NotIdempotent, SecondDriver, NotAuthorised, NoSuchWorker, ChannelFull,
    ChannelClosed, NoSuchChannel, Protocol)}


def short(text):
    """`text`, cut in the middle where it is too long for a message."""
    # Half of a surrogate pair is no UTF-8 and could not be sent.
    text = text.encode("utf-8", "replace").decode()
    if len(text) <= _TEXT_MAX:
        return text
    half = _TEXT_MAX // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def class_name(kind):
    """Builtins by their bare name, others with their module."""
    name = kind.__qualname__
    return name if kind.__module__ == "builtins" else f"{kind.__module__}.{name}"


def remote(exception):
    """What a method raised, as the caller shall see it."""
    trace = "".join(traceback.format_exception(type(exception), exception, exception.__traceback__))
    try:
        text = str(exception)
    except Exception:  # A __str__ of the user's that raises must not hide the error itself.
        text = "its text cannot be had, since __str__ raised as well"
    name = class_name(type(exception))
    return Remote(short(f"{name}: {text}"), **{"class": name, "trace": short(trace)})


def to_wire(error):
    """The object `error` of a message."""
    wire = {"type": error.type, "message": short(error.message)}
    wire.update((key, value) for key, value in error.fields.items() if value is not None)
    return wire


def from_wire(wire):
    """The exception that the object `error` of a message stands for."""
    if not isinstance(wire, dict) or not isinstance(wire.get("type"), str):
        return Protocol(f"found the error {str(wire)[:200]}, needed an object with type and "
                        "message; the other side speaks another protocol")
    message = wire.get("message")
    fields = {key: value for key, value in wire.items() if key not in ("type", "message")}
    kind = TYPES.get(wire["type"], CallError)
    error = kind(message if isinstance(message, str) else "", **_free(fields))
    if kind is CallError:
        error.type = wire["type"]
    return error


def _free(fields):
    """Without names that would meet the exception's own arguments."""
    return {key: value for key, value in fields.items() if key != "self"}
