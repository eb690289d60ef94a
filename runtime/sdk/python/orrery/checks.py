"""Checks of what programs give: numbers that are none are told where they are given, with a remedy, and
not on the loop, where other calls would suffer."""

import math
import operator
import threading
import time

from . import calls, errors


def seconds(deadline):
    """A deadline as a number; raises BadArguments."""
    try:
        number = float(deadline)
    except (TypeError, ValueError, OverflowError):
        number = -1.0
    most = calls.DEADLINE_MS_MAX // 1000
    if not 0 < number <= most:
        raise errors.BadArguments(f"found the deadline {deadline!r}, needed seconds above 0, and "
                                  f"{most} (ten years) at most; every call has one, 300 unless said "
                                  "otherwise")
    return number


def end_of(timeout):
    """The monotonic time when a wait of so many seconds is over; None where it has no bound."""
    if timeout is None:
        return None
    try:
        number = float(timeout)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise errors.BadArguments(f"found the timeout {timeout!r} of a wait, needed seconds; leave "
                                  "it out to wait until the call's own deadline")
    return time.monotonic() + min(number, threading.TIMEOUT_MAX / 2)


def whole(name, value, least=0):
    """A whole number, also of an array library; raises BadArguments."""
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise errors.BadArguments(f"found {name} {value!r}, needed a whole number from {least}")
    return number


def number(name, value):
    """A number, also of an array library; None where it is not finite. Raises BadArguments."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise errors.BadArguments(f"found {name} {value!r}, needed a number") from None
    if not math.isfinite(found):
        return None
    return value if type(value) is int else found
