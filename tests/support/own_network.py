"""Runs a program in a network of its own, where loopback is all there is: no other program of this
machine holds a port there. Without the right to make one the program runs in the machine's, and is told.

Usage: own_network.py PROGRAM [ARGUMENT ...]      one that ends in .py runs in this interpreter
       own_network.py                             exits 0 where it can be made, else 1
"""

import ctypes
import fcntl
import os
import runpy
import socket
import struct
import sys

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def leave_network():
    """This process is in a network of its own from here on. Raises OSError where that may not be."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def main(command):
    try:
        leave_network()
    except OSError as error:
        print(f"own_network: the machine's network is used: {error.strerror}", flush=True)
        if not command:
            return 1
    if command and command[0].endswith(".py"):
        sys.argv, sys.path[0] = command, os.path.dirname(os.path.abspath(command[0]))
        runpy.run_path(command[0], run_name="__main__")
    elif command:
        os.execvp(command[0], command)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
