"""The connection to the node's agent: lines of JSON at the Unix socket ORRERY_SOCKET."""

import asyncio
import collections
import json
import logging

from . import directory, forks, loop, membership, turns

_LINE_MAX = 4 << 20
_WAITING_MAX = 64

_log = logging.getLogger("orrery")


class Agent:
    """Says hello, where the worker listens, whom it blames and how far it is, again after each
    restart of the agent, and hears of memberships and of a sub-master's words."""

    def __init__(self, path, worker, token, on_membership, on_sub_master=None):
        self._path = path
        self._hello = {"hello": {"worker": worker, "token": token}}
        self._on_membership = on_membership
        self.on_sub_master = on_sub_master
        self.forget()
        forks.forgets(self)

    def forget(self):
        """A forked child connects where it says something itself."""
        self._endpoint = None
        self._diagnosis = None
        self._progress = {}  # The latest report with a checkpoint, and the latest after it.
        self._generation = None  # That the agent told last; how far the worker was is of it.
        self.turns = turns.Turns(self._say_now)
        self._writer = None
        self._waiting = collections.deque(maxlen=_WAITING_MAX)
        self._task = None
        self._has_hello = None

    def start(self):
        """Connects, and stays connected. From any thread."""
        loop.get().call_soon_threadsafe(self._start)

    def flush(self, timeout):
        """Waits until what was said has gone to the agent, but not longer than so many seconds."""
        async def wait():
            is_away = self._writer is None and self._has_hello is not None
            if is_away and (self._waiting or self._progress or self._diagnosis is not None):
                await asyncio.wait_for(self._has_hello.wait(), timeout)
        try:
            loop.run(wait())
        except asyncio.TimeoutError:
            pass

    def set_endpoint(self, port, certificate):
        """Where the worker listens. On the loop."""
        self._endpoint = {"endpoint": {"port": port, "certificate": certificate}}
        if self._writer is not None:
            self._write(self._endpoint)

    def set_diagnosis(self, line):
        """The line that says whose fault the worker's end will be. From any thread."""
        json.dumps(line, allow_nan=False)  # Raises here, not on the loop.
        loop.get().call_soon_threadsafe(self._set_diagnosis, line)

    def say(self, line):
        """Sends a line, or the latest of them once the agent is there again. From any thread."""
        json.dumps(line, allow_nan=False)  # Raises here, not on the loop.
        loop.get().call_soon_threadsafe(self._say, line)

    def close(self):
        loop.get().call_soon_threadsafe(self._close)

    def _start(self):
        if self._task is None:
            self._has_hello = asyncio.Event()
            self._task = loop.spawn(self._stay_connected())

    def _close(self):
        if self._task is not None:
            self._task.cancel()
            self._task = None  # What is said after this connects anew.
        if self._writer is not None:
            # Not when the task has ended: what is said until then would go where nothing is read.
            self._writer.close()
            self._writer = None

    def _set_diagnosis(self, line):
        self._diagnosis = line
        if self._writer is not None:
            self._write(line)

    def _say(self, line):
        if "progress" in line:
            # What is written while the agent goes is lost with the connection; it cannot be told.
            if line["progress"].get("checkpointed"):
                self._progress.clear()
            self._progress[bool(line["progress"].get("checkpointed"))] = line
        elif self._writer is None:
            self._waiting.append(line)
        if self._writer is not None:
            self._write(line)

    def _say_now(self, line):
        if self._writer is None:
            return False
        self._write(line)
        return True

    def _write(self, line):
        self._writer.write(json.dumps(line, allow_nan=False).encode() + b"\n")

    async def _stay_connected(self):
        pauses = directory.pauses()
        has_hello = self._has_hello
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_unix_connection(self._path, limit=_LINE_MAX)
                self._writer = writer
                self._write(self._hello)
                if self._endpoint is not None:
                    self._write(self._endpoint)
                if self._diagnosis is not None:
                    self._write(self._diagnosis)
                for line in self._progress.values():
                    self._write(line)
                while self._waiting:
                    self._write(self._waiting.popleft())
                wish = self.turns.greeted()
                if wish is not None:
                    self._write(wish)
                has_hello.set()
                while True:
                    line = await reader.readline()
                    if not line:
                        break
                    pauses = directory.pauses()  # It answers, so the next loss is a new one.
                    self._take_safely(line)
            except (OSError, ValueError) as error:
                _log.debug("agent at %s: %s", self._path, error)
            finally:
                if writer is not None:
                    writer.close()
                if self._writer is writer:  # Else another task has connected since close().
                    self._writer = None
                has_hello.clear()
            await asyncio.sleep(next(pauses))

    def _take_safely(self, text):
        try:
            self._take(text)
        except Exception:  # Nothing of one line may end what is heard and said later.
            _log.exception("the agent's line %.200r could not be taken", text)

    def _take(self, text):
        try:
            line = json.loads(text)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            _log.warning("the agent sent a line that is no JSON object: %.200r", text)
        elif "membership" in line:
            told = membership.from_line(line)
            if told is not None and told.generation != self._generation:
                if self._generation is not None:
                    self._progress.clear()
                self._generation = told.generation
            self._on_membership(told)
        elif "sub_master" in line:
            if self.on_sub_master is not None:
                self._tell_sub_master(line["sub_master"])
        elif "turn" in line:
            self.turns.granted()
        elif str(line.get("error", "")).startswith("turn: "):
            self.turns.refused(line["error"])
        elif "error" in line:
            _log.warning("the agent refused what this worker said: %s", line["error"])

    def _tell_sub_master(self, word):
        try:
            self.on_sub_master(word)
        except BaseException:  # Of the program; a SystemExit would end the loop of this process.
            _log.exception("what the program does on the word %.200r failed", word)
