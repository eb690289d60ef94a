"""The turn on a worker's devices, which one worker of the job at a time has on each of them."""

import logging
import threading

from . import errors, loop

_log = logging.getLogger("orrery")


_NOT_HELD = "turn: this worker does not have the turn"


class _Wish:
    """One turn that is wanted, or had."""

    def __init__(self, lease_s):
        self.lease_s = lease_s
        self.is_granted = False
        self.refusal = ""


class Turns:
    """Asks the agent for the turn, keeps it alive while it is held, and asks again after a restart
    of the agent. All but `wait` and `give_back` run on the loop."""

    def __init__(self, say_now):
        """`say_now(line)` sends over the connection that there is, and is false where there is none."""
        self._say_now = say_now
        self._changed = threading.Condition()
        self._taken = None  # The wish of the caller's side.
        # The loop's.
        self._wish = None
        self._has_asked = False  # Ever: an agent that restarted may believe that it has the turn.
        self._unanswered = 0  # Asks of this connection.
        self._fences = 0  # Answers of this connection before which a grant is of an older ask.
        self._renewal = None

    def wait(self, lease_s, deadline_s):
        """Until the turn is granted. Raises Timeout, and BadArguments where the agent refuses."""
        with self._changed:
            if self._taken is not None:
                raise errors.BadArguments(
                    "found a turn that this worker has or waits for already, one at a time is "
                    "possible; leave the first one before")
            wish = _Wish(lease_s)
            is_granted = False
            try:
                self._taken = wish
                loop.get().call_soon_threadsafe(self._ask, wish)
                self._changed.wait_for(lambda: wish.is_granted or wish.refusal, deadline_s)
                is_granted = wish.is_granted
            finally:  # Also where a handler of a signal raises: the turn would be held for ever.
                if not is_granted:
                    self.give_back()
        if is_granted:
            return
        if wish.refusal:
            raise errors.BadArguments(wish.refusal)
        raise errors.Timeout(
            f"found the devices still in use by another worker of the job after {deadline_s} s, "
            "needed the turn; wait longer, or let the other leave its turn earlier")

    def give_back(self):
        with self._changed:
            if self._taken is None:
                return
            loop.get().call_soon_threadsafe(self._release, self._taken)
            self._taken = None

    def greeted(self):
        """The agent is there again: what is said once more after hello."""
        self._unanswered, self._fences = int(self._wish is not None), 0
        if self._wish is not None:
            return self._word("ask", self._wish)
        # The release may have been lost with the connection.
        return self._word("release") if self._has_asked else None

    def granted(self):
        if self._fences:
            return
        self._unanswered = max(0, self._unanswered - 1)
        wish = self._wish
        if wish is None or wish.is_granted:
            return
        with self._changed:
            wish.is_granted = True
            self._changed.notify_all()
        self._renew_later(wish)

    def refused(self, message):
        if self._fences:
            self._fences -= message.startswith(_NOT_HELD)
            return
        if self._wish is None or self._wish.is_granted:
            _log.warning("%s", message)
            return
        self._unanswered = 0
        with self._changed:
            self._wish.refusal = message
            self._changed.notify_all()

    def _ask(self, wish):
        self._wish, self._has_asked = wish, True
        self._unanswered += self._say_now(self._word("ask", wish))

    def _release(self, wish):
        if self._wish is not wish:
            return
        self._wish = None
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if self._say_now(self._word("release")) and self._unanswered:
            # A grant may be on its way that the next ask must not take for its own. What comes before
            # the refusal of this renewal is older than the release.
            self._unanswered = 0
            self._fences += self._say_now(self._word("renew"))

    def _renew_later(self, wish):
        self._renewal = loop.get().call_later(wish.lease_s / 3, self._renew, wish)

    def _renew(self, wish):
        if self._wish is wish:
            self._say_now(self._word("renew"))
            self._renew_later(wish)

    def _word(self, word, wish=None):
        return {"turn": {"word": word} if wish is None else {"word": word, "lease_s": wish.lease_s}}


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
