"""A pool of threads that never keeps a process from ending."""

import os
import queue
import sys
import threading
import traceback


class Pool:
    """Runs functions on up to `most` threads, or as many as are needed where that is infinite.
    They start as they are needed."""

    def __init__(self, most, name):
        self._most, self._name = most, name
        self._begin()
        os.register_at_fork(after_in_child=self._begin)  # Which has none of these threads.

    def _begin(self):
        self._queue = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._idle = 0

    def submit(self, function, *arguments):
        with self._lock:
            self._queue.put((function, arguments))
            if self._idle:
                self._idle -= 1
            elif self._threads < self._most:
                threading.Thread(target=self._work, name=f"{self._name}-{self._threads + 1}",
                                 daemon=True).start()
                self._threads += 1  # Not where the system has no more threads.

    def _work(self):
        while True:
            function, arguments = self._queue.get()
            try:
                function(*arguments)
            except BaseException:  # It must not end the thread of the next, by sys.exit() either.
                _complain()
            del function, arguments
            with self._lock:
                self._idle += 1


def _complain():
    try:
        traceback.print_exc(file=sys.stderr)
    except Exception:
        pass  # Whoever read it is gone.
