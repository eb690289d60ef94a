"""The one event loop of a process, which one thread runs at a time, and connections that carry
frames."""

import asyncio
import collections
import itertools
import os
import socket
import threading

from . import buffer_memory, errors, frames, io_role

# So much is handed to the system at once: less copying where it takes only a part.
_CHUNK = 256 << 10
_PIECES_MAX = 64  # Of one write.
# A connection that was refused is kept so long for the reason to be read.
_LINGER_S = 2.0

_lock = threading.Lock()
_role = None


def role():
    """The I/O role of this process, made at the first call. A forked child gets one of its own."""
    global _role
    if _role is None:  # Without the lock first: handlers of signals ask as well.
        with _lock:
            if _role is None:
                _role = io_role.Role()
    return _role


def _forget():
    global _role, _lock
    if _role is not None:
        _role.leave_to_parent()
    _role, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def get():
    """The loop."""
    return role().loop


def perform(function, *arguments):
    """Runs a function on the loop, at once where no other thread runs it. From any thread."""
    role().perform(function, *arguments)


def is_current():
    """Whether the caller is on the loop's thread, where nothing may wait."""
    return _role is not None and _role.is_loop()


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
        self._descriptor = -1  # Of a plain connection.
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
        try:
            self._pump()
        except BaseException:
            self.is_over = True  # As in read_now.
            self.transport.abort()
            raise

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

    def read_now(self):
        """Takes what has come. For threads that have the I/O role; the end of the connection is
        left to asyncio."""
        try:
            if self.transport.is_closing():
                return
            size = os.readv(self._descriptor, (self.reader.get_buffer(),))
            if size:
                self.buffer_updated(size)
            else:
                role().remove(self._descriptor)
        except BlockingIOError:
            pass
        except OSError:
            role().remove(self._descriptor)
        except BaseException:
            # Of a handler of a signal: a frame may be cut in two.
            self.is_over = True
            self.transport.abort()
            raise

    # What asyncio calls.

    def connection_made(self, transport):
        self.transport = transport
        tune(transport.get_extra_info("socket"))
        if transport.get_extra_info("sslcontext") is None:
            self._descriptor = transport.get_extra_info("socket").fileno()
            role().add(self._descriptor, self)
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
        role().remove(self._descriptor)
        self._descriptor = -1
        self.is_over = True
        self._outgoing.clear()
        self.lost_once(exception)

    def pause_writing(self):
        self._is_paused = True

    def resume_writing(self):
        self._is_paused = False
        self._pump()

    def _took(self, header, buffers, too_large):
        if buffers and any(len(buffer) >= buffer_memory.LARGE for buffer in buffers):
            role().watch_memory()
        if not self.is_over:
            self.took(header, buffers, too_large)

    def _write_now(self):
        """Hands the system what it takes at once; why it does not is left to asyncio."""
        outgoing = self._outgoing
        try:
            size = os.writev(self._descriptor, list(itertools.islice(outgoing, _PIECES_MAX)))
        except OSError:
            return
        while size:
            piece = outgoing.popleft()
            if len(piece) > size:
                outgoing.appendleft(memoryview(piece)[size:])
                return
            size -= len(piece)

    def _pump(self):
        outgoing, transport = self._outgoing, self.transport
        if self._descriptor >= 0 and outgoing and not transport.get_write_buffer_size() and \
                not transport.is_closing():
            self._write_now()
        while outgoing and not self._is_paused:
            piece = outgoing.popleft()
            if len(piece) > _CHUNK:
                view = memoryview(piece)
                outgoing.appendleft(view[_CHUNK:])
                piece = view[:_CHUNK]
            transport.write(piece)
