"""Ports for the workers of a test's agents that no other test on this host gives to its own."""

import errno
import socket

FIRST, END, SLICE = 9000, 22000, 500  # Below those that daemons and jobs get by default.
_claims = {}  # By their first port; held until they are given back, or the process ends.


def own_ports():
    """"A-B", both included."""
    for first in range(FIRST, END, SLICE):
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
