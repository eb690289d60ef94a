"""Ports for the workers of a test's agents that no other test on this host gives to its own."""

import errno
import os
import re
import socket

# First, end, and how many together; below those that daemons and jobs get by default.
SINGLE, OF_WORKERS = (7000, 9000, 40), (9000, 20000, 500)
_claims = {}  # By their first port; held until they are given back, or the process ends.
_singles = []


def _last_held_below(end):
    """The highest port below `end` that an agent holds for a worker: of a test that is over, too,
    whose last processes are about to end. 0 where there is none."""
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as sockets:
        held = re.findall(r"@orrery/port/(\d+)$", sockets.read(), re.MULTILINE)
    return max((int(port) for port in held if int(port) < end), default=0)


def _claim(first, end, length):
    """The first port of a slice that is no other test's."""
    slices = range(first, end, length)
    begin = os.getpid() % len(slices)  # What ended a moment ago had others, as a rule.
    for port in [*slices[begin:], *slices[:begin]]:
        if port <= _last_held_below(port + length):
            continue
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0orrery/test/ports/{port}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        _claims[port] = claim
        return port
    raise AssertionError("all ports for tests are claimed; are earlier tests still running?")


def own_ports():
    """"A-B", both included."""
    first = _claim(*OF_WORKERS)
    return f"{first}-{first + OF_WORKERS[2] - 1}"


def own_port():
    """A port of loopback for a daemon that is killed and comes back: while it is away, nobody who asks the
    kernel for any port gets it."""
    while True:
        if not _singles:
            first = _claim(*SINGLE)
            _singles.extend(range(first, first + SINGLE[2]))
        port = _singles.pop(0)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise


def give_back(ports):
    """What own_ports() gave is for another test again."""
    _claims.pop(int(ports.partition("-")[0])).close()
