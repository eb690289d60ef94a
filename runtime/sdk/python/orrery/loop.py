"""The one event loop of a process, on a thread of its own, and connections that carry frames."""

import asyncio
import collections
import os
import socket
import threading

from . import errors, frames

# So much is handed to the system at once: less copying where it takes only a part.
_CHUNK = 256 << 10
# A connection that was refused is kept so long for the reason to be read.
_LINGER_S = 2.0

_lock = threading.Lock()
_running = None  # (process id, loop)


def get():
    """The loop, started at the first call. A forked child gets one of its own."""
    global _running
    running = _running  # Without the lock first: handlers of signals ask as well.
    if running is not None and running[0] == os.getpid():
        return running[1]
    with _lock:
        if _running is None or _running[0] != os.getpid():
            loop = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(loop,), name="orrery-loop", daemon=True).start()
            _running = (os.getpid(), loop)
        return _running[1]


def _run(loop):
    asyncio.set_event_loop(loop)
    loop.run_forever()


def is_current():
    """Whether the caller is on the loop's thread, where nothing may wait."""
    try:
        return _running is not None and asyncio.get_running_loop() is _running[1]
    except RuntimeError:
        return False


def run(coroutine, timeout=None):
    """Runs a coroutine on the loop and waits for it, from any other thread."""
    if is_current():
        coroutine.close()
        raise RuntimeError("found a wait on the loop's own thread, which would never end; wait on "
                           "another thread")
    future = asyncio.run_coroutine_threadsafe(coroutine, get())
    try:
        return future.result(timeout)
    except BaseException:
        future.cancel()
        raise


_tasks = set()


def spawn(coroutine):
    """Starts a coroutine from the loop; it is kept until it is done."""
    task = asyncio.ensure_future(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def tune(sock):
    """No delay for small frames; a peer whose machine is gone is found out within a minute."""
    if sock is None or sock.family == getattr(socket, "AF_UNIX", None):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4),
                        ("TCP_USER_TIMEOUT", 40_000)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Connection(asyncio.BufferedProtocol):
    """Frames over a transport. Subclasses implement opened(), took() and lost(); all of it on the
    loop."""

    def __init__(self):
        self.reader = frames.Reader(self._took)
        self.transport = None
        self.is_over = False  # Nothing is taken or sent any more.
        self._outgoing = collections.deque()
        self._is_paused = False

    # What subclasses do.

    def opened(self):
        """The connection is there."""

    def took(self, header, buffers, too_large):
        """A frame has arrived. May raise CallError, which ends the connection with `refused`."""
        raise NotImplementedError

    def lost(self, error):
        """The connection has ended; called once."""

    # What they use.

    def send(self, pieces):
        """Sends a frame: the pieces that frames.frame gave."""
        if self.is_over:
            return
        self._outgoing.extend(pieces)
        self._pump()

    def send_message(self, message):
        self.send(frames.frame(frames.to_json(message)))

    def refuse(self, error):
        """Ends the connection with the reason, which the other side has a moment to read."""
        if self.is_over:
            return
        self.send_message({"t": "refused", "error": errors.to_wire(error)})
        self.is_over = True
        loop = asyncio.get_running_loop()
        loop.call_later(_LINGER_S, self.transport.abort)
        # What still arrives is read and dropped: unread bytes would turn the end into a reset,
        # which throws the reason away.
        if not self._outgoing and self.transport.can_write_eof():
            self.transport.write_eof()
        self.lost_once(error)

    def close(self):
        self.is_over = True
        if self.transport is not None:
            self.transport.abort()

    def lost_once(self, error):
        lost, self.lost = self.lost, lambda _: None
        lost(error)

    # What asyncio calls.

    def connection_made(self, transport):
        self.transport = transport
        tune(transport.get_extra_info("socket"))
        self.opened()

    def get_buffer(self, sizehint):
        return self.reader.get_buffer()

    def buffer_updated(self, nbytes):
        if self.is_over:
            return
        try:
            self.reader.updated(nbytes)
        except errors.CallError as error:
            self.refuse(error)

    def eof_received(self):
        return False

    def connection_lost(self, exception):
        self.is_over = True
        self._outgoing.clear()
        self.lost_once(exception)

    def pause_writing(self):
        self._is_paused = True

    def resume_writing(self):
        self._is_paused = False
        self._pump()

    def _took(self, header, buffers, too_large):
        if not self.is_over:
            self.took(header, buffers, too_large)

    def _pump(self):
        outgoing, transport = self._outgoing, self.transport
        while outgoing and not self._is_paused:
            piece = outgoing.popleft()
            if len(piece) > _CHUNK:
                view = memoryview(piece)
                outgoing.appendleft(view[_CHUNK:])
                piece = view[:_CHUNK]
            transport.write(piece)
