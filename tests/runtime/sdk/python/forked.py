"""Processes of the interpreter at hand that have imported the SDK already.

One interpreter starts and imports the package; each process is a fork of it and so costs a
tenth of what an interpreter does that starts anew.
"""

import atexit
import gc
import importlib
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import sys
import threading
import types


class Process:
    """What the tests use of a subprocess.Popen, of a fork of the starter's interpreter."""

    def __init__(self, pid, status_of):
        self.pid, self.returncode = pid, None
        self._handle = os.pidfd_open(pid)
        self._status_of, self._lock = status_of, threading.Lock()

    def __del__(self):
        os.close(self._handle)

    def poll(self):
        self._await(0)
        return self.returncode

    def wait(self, timeout):
        if not self._await(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def terminate(self):
        self.send_signal(signal.SIGTERM)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    def _await(self, timeout_s):
        """Whether it has ended."""
        end = select.poll()
        end.register(self._handle, select.POLLIN)
        if not end.poll(timeout_s * 1000):
            return False
        with self._lock:
            if self.returncode is None:
                self.returncode = os.waitstatus_to_exitcode(self._status_of(self.pid))
        return True


class Starter:
    """Starts programs in forks of one interpreter, whose children they are."""

    def __init__(self, package):
        self._lock = threading.Lock()
        own, other = socket.socketpair()
        with own, other:
            self._interpreter = subprocess.Popen(
                [sys.executable, __file__, str(other.fileno())], pass_fds=[other.fileno()],
                env={**os.environ, "PYTHONPATH": str(package)})
            self._lines = own.makefile("rw", encoding="utf-8")
        atexit.register(self._close)

    def start(self, program, environment, folder):
        return Process(self._ask("start", str(program), environment, str(folder)),
                       lambda pid: self._ask("status", pid))

    def _ask(self, *words):
        with self._lock:
            print(json.dumps(words), file=self._lines, flush=True)
            return int(self._lines.readline())

    def _close(self):
        self._lines.close()
        self._interpreter.wait()


def main():
    """Does what the lines of the socket ask for. In a fork it returns: the program and its code."""
    importlib.import_module("orrery")
    gc.freeze()  # Collections in the forks copy no page of what has been imported.
    codes = {}
    with socket.socket(fileno=int(sys.argv[1])) as connection, \
            connection.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            asked, *words = json.loads(line)
            if asked == "status":
                _, answer = os.waitpid(*words, 0)
            else:
                program, environment, folder = words
                if program not in codes:
                    codes[program] = compile(pathlib.Path(program).read_bytes(), program, "exec")
                answer = os.fork()
                if answer == 0:
                    os.environ.clear()
                    os.environ.update(environment)
                    os.chdir(folder)
                    return program, codes[program]
            print(answer, file=lines, flush=True)
    sys.exit(0)


def run(program, code):
    """Runs it as the interpreter would. One that exits by itself does so without the interpreter's last work,
    which frees all that was imported: that copies each page of it, and takes longer than most tests."""
    module = types.ModuleType("__main__")
    module.__file__ = program
    sys.argv, sys.modules["__main__"] = [program], module
    try:
        exec(code, module.__dict__)
    except SystemExit as exit_:
        if not isinstance(exit_.code, int):
            raise
        status = exit_.code
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    else:
        return
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status & 0xff)


if __name__ == "__main__":
    run(*main())
