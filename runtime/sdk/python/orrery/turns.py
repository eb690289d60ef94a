"""The turn on a worker's devices, which one worker of the job at a time has on each of them."""

import logging
import threading

from . import errors, loop

_log = logging.getLogger("orrery")


class Turns:
    """Asks the agent for the turn, keeps it alive while it is held, and asks again after a restart
    of the agent. All but `wait` and `give_back` run on the loop."""

    def __init__(self, say):
        self._say = say
        self._lease_s = None  # None: it neither holds nor wants the turn.
        self._has = False
        self._refusal = ""
        self._changed = threading.Condition()
        self._renewal = None

    def wait(self, lease_s, deadline_s):
        """Until the turn is granted. Raises Timeout, and BadArguments where the agent refuses."""
        with self._changed:
            if self._lease_s is not None:
                raise errors.BadArguments(
                    "found a turn that this worker has or waits for already, one at a time is "
                    "possible; leave the first one before")
            self._lease_s, self._has, self._refusal = lease_s, False, ""
            loop.get().call_soon_threadsafe(self._say, self._word("ask"))
            self._changed.wait_for(lambda: self._has or self._refusal, deadline_s)
            if self._has:
                loop.get().call_soon_threadsafe(self._renew)
                return
        refusal = self._refusal
        self.give_back()
        if refusal:
            raise errors.BadArguments(refusal)
        raise errors.Timeout(
            f"found the devices still in use by another worker of the job after {deadline_s} s, "
            "needed the turn; wait longer, or let the other leave its turn earlier")

    def give_back(self):
        with self._changed:
            if self._lease_s is None:
                return
            self._lease_s, self._has = None, False
            loop.get().call_soon_threadsafe(self._say, self._word("release"))

    def greeted(self):
        """The agent is there again: what is said once more after hello."""
        with self._changed:
            return None if self._lease_s is None else self._word("ask")

    def granted(self):
        with self._changed:
            if self._lease_s is not None:
                self._has = True
                self._changed.notify_all()

    def refused(self, message):
        with self._changed:
            if self._has:
                _log.warning("%s", message)
                return
            self._refusal = message
            self._changed.notify_all()

    def _renew(self):
        with self._changed:
            if not self._has:
                return
            self._say(self._word("renew"))
            if self._renewal is not None:
                self._renewal.cancel()
            self._renewal = loop.get().call_later(self._lease_s / 3, self._renew)

    def _word(self, word):
        return {"turn": {"word": word, "lease_s": self._lease_s or 30.0}}


class Turn:
    """`with worker.turn(): ...`: inside, no other worker of the job has the turn on these
    devices."""

    def __init__(self, turns, lease_s, deadline_s):
        self._turns, self._lease_s, self._deadline_s = turns, lease_s, deadline_s

    def __enter__(self):
        self._turns.wait(self._lease_s, self._deadline_s)
        return self

    def __exit__(self, *_):
        self._turns.give_back()
