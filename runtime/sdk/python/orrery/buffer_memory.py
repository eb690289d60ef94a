"""Memory of large buffers, which is used again.

The system gives fresh memory page by page, which takes longer than to receive what is put into it. So
large buffers that were received are remembered, and received into again once nothing else in the
process refers to them: CPython counts that. Other interpreters get fresh memory each time.
"""

import collections
import sys
import sysconfig
import time

LARGE = 1 << 20
KEPT_BYTES_MAX = 256 << 20
KEPT_FOR_S = 5.0

_REMEMBERED_MAX = 1024
# Only there is an object that has no other reference known to be unused.
_COUNTS = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")


def _references(kept, index):
    return sys.getrefcount(kept[index][0])


# The number depends on the interpreter's version.
_UNUSED = _references(collections.deque([(bytearray(1), 0.0)]), 0) if _COUNTS else -1


class Memory:
    """On the loop."""

    def __init__(self, bytes_max=KEPT_BYTES_MAX):
        self._bytes_max = bytes_max
        self._kept = collections.deque()  # Buffers and when each was taken last, earliest first.

    def take(self, size):
        """A bytearray of so many bytes, of any content, that nobody else has."""
        if size < LARGE or not _COUNTS:
            return bytearray(size)
        found = self._unused_of(size)
        if found is None:
            self._drop_surplus()
            found = bytearray(size)
        else:
            del found[size:]
        self._kept.append((found, time.monotonic()))
        return found

    def unused(self):
        """Bytes that are kept for later alone."""
        return sum(len(self._kept[index][0]) for index in self._unused())

    def drop_older(self, seconds):
        """Forgets what was taken longer ago. Whether anything is remembered still."""
        end = time.monotonic() - seconds
        while self._kept and self._kept[0][1] < end:
            self._kept.popleft()
        return bool(self._kept)

    def _unused(self):
        return [index for index in range(len(self._kept))
                if _references(self._kept, index) == _UNUSED]

    def _unused_of(self, size):
        for index in reversed(self._unused()):  # The processor may have the last one in its caches.
            # Not a much larger one, of which the rest would be wasted.
            if size <= len(self._kept[index][0]) <= size + size // 2:
                found = self._kept[index][0]
                del self._kept[index]
                return found
        return None

    def _drop_surplus(self):
        surplus = self.unused() - self._bytes_max
        for index in self._unused():
            if surplus > 0:
                surplus -= len(self._kept[index][0])
                self._kept[index] = None
        self._kept = collections.deque(each for each in self._kept if each is not None)
        while len(self._kept) >= _REMEMBERED_MAX:
            self._kept.popleft()


memory = Memory()
