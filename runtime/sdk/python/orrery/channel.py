"""Channels, as producers and consumers use them."""

import threading
import time

from . import checks, errors, forks, futures


class Lease:
    """Items that this process got. Acknowledge them once they are done with: ack(), or `with`.

    What is not acknowledged goes back to its place when the connection to the owner ends. An
    exception inside `with` acknowledges nothing: its items stay with this process, for ack() or a
    later `with` of the same lease, until then.
    """

    def __init__(self, channel, answer):
        self._channel, self._lease = channel, answer["lease"]
        self.items = [tuple(item) for item in answer["items"]]
        self._is_open = True
        self._is_in_doubt = False  # A request that failed may have acknowledged it.

    @property
    def values(self):
        return [value for _, _, value in self.items]

    @property
    def value(self):
        """Of the first item."""
        return self.items[0][2]

    @property
    def key(self):
        """Of the first item."""
        return self.items[0][0]

    def ack(self, deadline=futures.DEADLINE_DEFAULT):
        """May be called again where it failed."""
        if not self._is_open:
            return
        checks.seconds(deadline)
        try:
            self._channel._ask("ack", {"lease": self._lease}, deadline)
        except errors.BadArguments:  # The owner has no such lease.
            self._is_open = False
            if not self._is_in_doubt:
                raise
        except BaseException:
            self._is_in_doubt = True
            raise
        self._is_open = False

    def close(self):
        """For the SDK: its name, to be acknowledged beside another request."""
        self._is_open = False
        return self._lease

    def get_with(self, ask, deadline):
        """For the SDK: the answer of ask(lease, deadline), which acknowledges this lease, too.
        Where it fails the lease may be acknowledged again."""
        end = time.monotonic() + checks.seconds(deadline)
        if self._is_open and self._is_in_doubt:
            self.ack(deadline)
            return ask(None, max(0.001, end - time.monotonic()))
        was_open = self._is_open
        try:
            return ask(self.close(), deadline)
        except BaseException:
            self._is_open = self._is_in_doubt = was_open
            raise

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.ack()

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.values)


def opened(client, name, owner, capacity, weight_max):
    """A channel, which is made in its owner at once where a capacity is given."""
    found = Channel(client, name, owner, capacity, weight_max)
    if capacity is not None:
        found.reopen()
    return found


class Channel:
    """A bounded queue that lives in the worker `owner`, a role and a rank in it."""

    def __init__(self, client, name, owner, capacity=None, weight_max=0):
        self.name = name
        self.epoch = None
        self._client = client
        if not isinstance(owner, (list, tuple)) or len(owner) != 2:
            raise errors.BadArguments(f"found the owner {owner!r} of channel {name}, needed a role "
                                      "and a rank in it; write owner=(\"role\", 0)")
        self._owner = client.peer(*owner)
        self._capacity, self._weight_max = capacity, weight_max
        self.forget()
        forks.forgets(self)

    def forget(self):
        """In a forked child no thread opens it."""
        self._lock = threading.Lock()

    def put(self, value, key=None, weight=1, deadline=futures.DEADLINE_DEFAULT, retries=0):
        """Waits while the channel is full; the number of items in it then."""
        return self.put_many([(key, weight, value)], deadline, retries)

    def put_many(self, items, deadline=futures.DEADLINE_DEFAULT, retries=0):
        """All of a list of (key, weight, value), or none of it. `retries`: after a lost answer
        the put is sent again under its name, and counts once."""
        return self._ask("put", {"items": _items(items)}, deadline, retries=retries)

    def submit_put(self, items, deadline=futures.DEADLINE_DEFAULT):
        """As put_many, without waiting: a Future. Several may be under way, and are carried out in
        their order."""
        items = _items(items)
        epoch = self._open(deadline)
        return self._client.submit(self._owner, "orrery.channel.put", (), {
            "name": self.name, "epoch": epoch, "items": items}, deadline=deadline,
            wanted=self._wanted("put"))

    def get(self, key=None, deadline=futures.DEADLINE_DEFAULT, done=None):
        """A Lease of one item, of this key or of any; waits for it. `done`: the Lease of before,
        which is acknowledged in the same message."""
        return Lease(self, self._get({"count": 1, "key": key}, done, deadline))

    def get_batch(self, count=None, weight=None, key=None, deadline=futures.DEADLINE_DEFAULT,
                  done=None):
        """A Lease of what is there, up to `count` items, or until their weights reach `weight`;
        waits for the first item. `done` as in get()."""
        asked = {"key": key}
        if weight is None:
            asked["count"] = 1 if count is None else count
        elif count is None:
            asked["weight"] = weight
        else:
            raise errors.BadArguments("found count and weight, needed one of them; write one")
        return Lease(self, self._get(asked, done, deadline))

    def _get(self, asked, done, deadline):
        def ask(lease, deadline):
            return self._ask("get", asked if lease is None else {**asked, "ack": lease}, deadline)
        return ask(None, deadline) if done is None else done.get_with(ask, deadline)

    def state(self, deadline=futures.DEADLINE_DEFAULT):
        return self._owner.call("orrery.channel.state", deadline=deadline, name=self.name)

    def close(self, deadline=futures.DEADLINE_DEFAULT):
        """Puts are refused from now on; gets take what is left."""
        self._ask("close", {}, deadline)

    def reopen(self, deadline=futures.DEADLINE_DEFAULT):
        """After ChannelClosed or WorkerLost: takes the channel of now, and makes it where it is
        not. With a capacity, raises ChannelClosed while a closed one has items or leases left."""
        self._open(deadline, is_new=True)

    def _open(self, deadline, is_new=False):
        """The epoch, which is asked for once. `is_new`: whichever it was before."""
        end = time.monotonic() + checks.seconds(deadline)
        known = self.epoch
        if known is not None and not is_new:
            return known
        # Another thread may be asking, with more time than this one has.
        if not self._lock.acquire(timeout=max(0.0, end - time.monotonic())):
            raise errors.Timeout(f"found channel {self.name} still being opened by another thread, "
                                 "needed it open by the deadline; give it more")
        try:
            before, self.epoch = self.epoch, None if is_new else self.epoch
            if self.epoch is None:
                self.epoch = self._ask_epoch(max(0.001, end - time.monotonic()))
            return self.epoch
        except errors.ChannelClosed:
            self.epoch = before  # What is left of it can be taken.
            raise
        finally:
            self._lock.release()

    def _ask_epoch(self, deadline):
        if self._capacity is None:
            return self.state(deadline)["epoch"]
        return self._owner.call("orrery.channel.create", deadline=deadline, name=self.name,
                                capacity=self._capacity, weight_max=self._weight_max)["epoch"]

    def _wanted(self, what):
        """What a put or a get waits for."""
        return {"put": f"room in channel {self.name}",
                "get": f"an item of channel {self.name}"}.get(what)

    def _ask(self, what, kwargs, deadline, retries=0):
        end = time.monotonic() + checks.seconds(deadline)
        epoch = self._open(deadline)
        kwargs = {"name": self.name, **kwargs}
        if what in ("put", "get"):
            kwargs["epoch"] = epoch
        future = self._client.submit(self._owner, f"orrery.channel.{what}", (), kwargs,
                                     deadline=max(0.001, end - time.monotonic()), retries=retries,
                                     wanted=self._wanted(what))
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _items(items):
    """As they are sent."""
    try:
        found = [item if isinstance(item, (list, tuple)) else None for item in items]
    except TypeError:
        found = [None]
    if any(item is None or len(item) != 3 for item in found):
        raise errors.BadArguments(f"found the items {str(items)[:100]}, needed a list of (key, "
                                  "weight, value); write [(None, 1, value)]")
    return [list(item) for item in found]
