"""Ports for the workers of a test's agents that no other test on this host gives to its own."""

import errno
import os
import re
import socket

FIRST, END, SLICE = 9000, 20000, 500  # Below those that daemons and jobs get by default.
_claims = {}  # By their first port; held until they are given back, or the process ends.


def _last_held_below(end):
    """The highest port below `end` that an agent holds for a worker: of a test that is over, too,
    whose last processes are about to end. 0 where there is none."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
        held = re.findall(r"@orrery/port/(\d+)$", sockets.read(), re.MULTILINE)
    return max((int(port) for port in held if int(port) < end), default=0)


def own_ports():
    """"A-B", both included."""
    slices = range(FIRST, END, SLICE)
    begin = os.getpid() % len(slices)  # What ended a moment ago had others, as a rule.
    for first in [*slices[begin:], *slices[:begin]]:
        if first <= _last_held_below(first + SLICE):
            continue
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0orrery/test/ports/{first}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        _claims[first] = claim
        return f"{first}-{first + SLICE - 1}"
    raise AssertionError("all ports for tests are claimed; are earlier tests still running?")


def give_back(ports):
    """What own_ports() gave is for another test again."""
    _claims.pop(int(ports.partition("-")[0])).close()
