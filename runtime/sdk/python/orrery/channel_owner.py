"""The owner's side of channels: bounded queues in this process. All of it runs on the loop."""

import collections
import json
import secrets

from . import calls, errors, frames

# What an item's own text may have, so that an answer with it alone has room for the rest. The SDK
# in C++ has the same.
_ITEM_TEXT_MAX = frames.HEADER_MAX - 256 - 4096


class _Item:
    __slots__ = ("place", "key", "weight", "value")

    def __init__(self, place, key, weight, value):
        self.place, self.key, self.weight, self.value = place, key, weight, value


class _Channel:
    """Items by their place, which they keep: what comes back stands where it stood."""

    def __init__(self, name, capacity, weight_max):
        self.name, self.capacity, self.weight_max = name, capacity, weight_max
        self.epoch = secrets.token_hex(8)
        self.is_closed = False
        self.items = collections.OrderedDict()  # By place, ascending.
        self.by_key = {}  # The same of each key.
        self.weight = 0
        self.put_count = self.taken_count = 0
        self.leases = {}  # By lease: the connection, the get's id, and items.
        self.puts = collections.OrderedDict()  # Waiting, by call.
        self.gets = collections.OrderedDict()
        self._next_place = 0

    @property
    def leased_count(self):
        return sum(len(items) for _, _, items in self.leases.values())

    def has_room(self, items):
        weight = sum(weight for _, weight, _ in items)
        return (len(self.items) + len(items) <= self.capacity and
                (not self.weight_max or self.weight + weight <= self.weight_max))

    def why_no_room(self, items):
        """What a put is told that waited until its deadline."""
        is_full = len(self.items) >= self.capacity
        weight = f", of weight {self.weight} of {self.weight_max}" if self.weight_max else ""
        return (f"found channel {self.name} {'full' if is_full else 'without room'} "
                f"({len(self.items)} of {self.capacity} items{weight}), needed room for "
                f"{len(items)} by the deadline; get items, or give the put more time")

    def why_no_item(self, key):
        """What a get is told that waited until its deadline."""
        leased = self.leased_count
        held = f", {leased} with consumers that may give them back" if leased else ""
        if self.items:
            found = f"no item of key {key!r} in channel {self.name} ({len(self.items)} of others{held})"
        else:
            found = f"channel {self.name} empty (0 of {self.capacity} items{held})"
        return f"found {found}, needed one by the deadline; put items, or give the get more time"

    def why_not_anew(self):
        """What is told to who would make the channel anew, though it is closed with something left.
        A new one of its name would take from consumers what they may still give back."""
        holders = {}
        for connection, _, items in self.leases.values():
            holders[connection.caller] = holders.get(connection.caller, 0) + len(items)
        leases = ", ".join(f"{count} of {caller}" for caller, count in sorted(holders.items()))
        return (f"found channel {self.name} closed with {len(self.items)} items left and "
                f"{len(self.leases)} leases open (items: {leases or 'none'}), needed one that is "
                "done with or open; get and acknowledge what is left (a driver that has a lease may "
                "end, too), and open it without a capacity for that")

    def add(self, items):
        for key, weight, value in items:
            self._insert(_Item(self._next_place, key, weight, value))
            self._next_place += 1
        self.put_count += len(items)

    def give_back(self, items):
        """Items of a lease, ascending, to the places that they had."""
        later = []
        if self.items and items and next(reversed(self.items)) > items[0].place:
            first = items[0].place
            later = [item for place, item in self.items.items() if place > first]
            for item in later:
                self._remove(item)
        for item in sorted([*items, *later], key=lambda item: item.place):
            self._insert(item)

    def take(self, count, weight, key):
        """Items in order: up to `count`, or until their weights reach `weight`."""
        source = self.items if key is None else self.by_key.get(key, {})
        taken, sum_of_weights = [], 0
        while source and (len(taken) < count if weight is None else
                          not taken or sum_of_weights < weight):
            item = next(iter(source.values()))
            self._remove(item)
            taken.append(item)
            sum_of_weights += item.weight
        return taken

    def _insert(self, item):
        self.items[item.place] = item
        self.by_key.setdefault(item.key, collections.OrderedDict())[item.place] = item
        self.weight += item.weight

    def _remove(self, item):
        del self.items[item.place]
        of_key = self.by_key[item.key]
        del of_key[item.place]
        if not of_key:
            del self.by_key[item.key]
        self.weight = self.weight - item.weight if self.items else 0  # No rest of rounding.


class Channels:
    """The channels that this process owns."""

    def __init__(self, served):
        self._served = served
        self._channels = {}
        self._watched = set()  # Connections whose end is looked at.
        for name in ("create", "put", "get", "ack", "state", "close"):
            # A lease ends with its connection, so a get is never answered twice.
            served.add_own(f"orrery.channel.{name}", getattr(self, f"_{name}"),
                           is_kept=name != "get")
        served.on_late_cancel.append(self._late_cancel)
        served.on_end.append(self._end)

    def _create(self, call, name, capacity, weight_max=0):
        _check_text("name", name)
        _check_whole("capacity", capacity, 1)
        weight_max = _number("weight_max", weight_max)
        found = self._channels.get(name)
        if found is not None and not (found.is_closed and not found.items and not found.leases):
            if (found.capacity, found.weight_max) != (capacity, weight_max):
                raise errors.BadArguments(
                    f"found channel {name} of capacity {found.capacity} and weight_max "
                    f"{found.weight_max}, needed {capacity} and {weight_max}; let both ends ask "
                    "for the same")
            if found.is_closed:
                raise errors.ChannelClosed(found.why_not_anew(), channel=name)
        else:
            found = self._channels[name] = _Channel(name, capacity, weight_max)
        self._served.answer_own(call, {"epoch": found.epoch})

    def _put(self, call, name, items, epoch=None):
        channel = self._find(name, epoch)
        items = _items(items)
        if channel.is_closed:
            raise _closed(channel)
        weight = sum(weight for _, weight, _ in items)
        if len(items) > channel.capacity or channel.weight_max and weight > channel.weight_max:
            raise errors.ChannelFull(
                f"found {len(items)} items of weight {weight} at once, needed at most "
                f"{channel.capacity} "
                f"items{f' and weight {channel.weight_max}' if channel.weight_max else ''}, which "
                f"channel {name} holds; put fewer at once", channel=name)
        channel.puts[call] = items
        call.why_waits = lambda: channel.why_no_room(items)
        call.on_over.append(lambda: self._left(channel, channel.puts, call))
        self._settle(channel)

    def _get(self, call, name, count=None, weight=None, key=None, epoch=None, ack=None):
        channel = self._find(name, epoch)
        if ack is not None:  # First: its items are done with, whatever else is asked.
            self._acknowledge(channel, ack)
            if channel.is_closed:
                self._settle(channel)  # What could have come back does not any more.
        if count is not None and weight is not None:
            raise errors.BadArguments("found count and weight, needed one of them; write one")
        if weight is None:
            count = 1 if count is None else count
            _check_whole("count", count, 1)
        else:
            weight = _number("weight", weight)
        _check_key(key)
        channel.gets[call] = (count, weight, key)
        call.why_waits = lambda: channel.why_no_item(key)
        call.on_over.append(lambda: self._left(channel, channel.gets, call))
        self._settle(channel)

    def _left(self, channel, waiting, call):
        """A call is over. Where it still waited, those behind it may be next."""
        if waiting.pop(call, None) is not None:
            self._settle(channel)

    def _ack(self, call, name, lease):
        channel = self._find(name, None)
        self._acknowledge(channel, lease)
        self._served.answer_own(call, None)
        self._settle(channel)

    def _acknowledge(self, channel, lease):
        if not isinstance(lease, str) or lease not in channel.leases:
            raise errors.BadArguments(f"found the lease {str(lease)[:64]!r}, needed one that is "
                                      f"open in channel {channel.name}; it ended with its connection, and "
                                      "its items are given again")
        channel.taken_count += len(channel.leases.pop(lease)[2])

    def _state(self, call, name):
        channel = self._find(name, None)
        self._served.answer_own(call, {
            "items": len(channel.items), "weight": channel.weight,
            "by_key": {key or "": len(items) for key, items in channel.by_key.items()},
            "capacity": channel.capacity, "weight_max": channel.weight_max,
            "put": channel.put_count, "taken": channel.taken_count, "leased": channel.leased_count,
            "waiting_puts": len(channel.puts), "waiting_gets": len(channel.gets),
            "closed": channel.is_closed, "epoch": channel.epoch})

    def _close(self, call, name):
        channel = self._find(name, None)
        channel.is_closed = True
        for waiting in list(channel.puts):
            del channel.puts[waiting]
            self._served.fail_own(waiting, _closed(channel))
        self._served.answer_own(call, None)
        self._settle(channel)

    def _find(self, name, epoch):
        channel = self._channels.get(name) if isinstance(name, str) else None
        if channel is not None and epoch in (None, channel.epoch):
            return channel
        if epoch is not None:
            raise errors.ChannelClosed(f"found channel {str(name)[:64]} of epoch "
                                       f"{channel.epoch if channel else 'none'}, needed "
                                       f"{str(epoch)[:64]}; its owner has started anew and what "
                                       "was in it is lost: open the channel again",
                                       channel=str(name)[:64])
        names = ", ".join(sorted(self._channels)[:64]) or "none"
        raise errors.NoSuchChannel(f"found no channel {str(name)[:64]!r}, needed one of: {names}; "
                                   "make it with a capacity, or ask another owner",
                                   channel=str(name)[:64])

    def _settle(self, channel):
        """Lets puts and gets go on, each in the order of their arrival, until none can."""
        is_moving = True
        while is_moving:
            is_moving = self._settle_puts(channel) | self._settle_gets(channel)

    def _settle_puts(self, channel):
        has_moved = False
        while channel.puts:
            call, items = next(iter(channel.puts.items()))
            if not channel.has_room(items):
                break  # Those behind it wait as well, so that a large put has its turn.
            del channel.puts[call]
            channel.add(items)
            has_moved = True
            self._served.answer_own(call, len(channel.items))
        return has_moved

    def _settle_gets(self, channel):
        has_moved = False
        for call, (count, weight, key) in list(channel.gets.items()):
            if call not in channel.gets:
                continue
            items = channel.take(count, weight, key)
            if items:
                del channel.gets[call]
                has_moved = True
                self._lease(channel, call, items)
            elif channel.is_closed and not self._may_come_back(channel, call.connection, key):
                del channel.gets[call]
                self._served.fail_own(call, _closed(channel))
        return has_moved

    def _may_come_back(self, channel, connection, key):
        """Whether another consumer holds items of this key, which come back if it dies."""
        return any(holder is not connection and any(key in (None, item.key) for item in items)
                   for holder, _, items in channel.leases.values())

    def _lease(self, channel, call, items):
        lease = secrets.token_hex(8)
        answer = calls.value_answer("result", {
            "lease": lease, "items": [[item.key, item.weight, item.value] for item in items]},
            frames.LEVELS_OF_ITEMS_MAX)
        try:
            answer.pieces(call.id, call.result_max)
        except errors.TooLarge as error:
            channel.give_back(items)  # The consumer may ask for fewer.
            self._served.fail_own(call, error)
            return
        channel.leases[lease] = (call.connection, call.id, items)
        self._watch(call.connection)
        call.answer(answer)

    def _watch(self, connection):
        if connection not in self._watched:
            self._watched.add(connection)
            connection.on_lost.append(lambda: self._lost(connection))

    def _lost(self, connection):
        """A consumer has gone: what it has not acknowledged goes back."""
        self._watched.discard(connection)
        self._give_back(lambda holder, _: holder is connection)

    def _late_cancel(self, connection, call_id):
        """A get was given up after it had been answered: that answer is not looked at."""
        self._give_back(lambda holder, number: holder is connection and number == call_id)

    def _give_back(self, is_ended):
        for channel in self._channels.values():
            ended = [lease for lease, (holder, number, _) in channel.leases.items()
                     if is_ended(holder, number)]
            for lease in ended:
                channel.give_back(channel.leases.pop(lease)[2])
            if ended:
                self._settle(channel)

    def _end(self, error):
        """The owner is being drained: nothing waits any more."""
        for channel in self._channels.values():
            for waiting in (channel.puts, channel.gets):
                while waiting:
                    self._served.fail_own(waiting.popitem()[0], error)


def _closed(channel):
    return errors.ChannelClosed(f"found channel {channel.name} closed, needed an open one; end the "
                                "loop, or make the channel anew", channel=channel.name)


def _items(items):
    if not isinstance(items, list):
        raise errors.BadArguments("found items of another form, needed a list of [key, weight, "
                                  "value]")
    for item in items:
        if not isinstance(item, list) or len(item) != 3:
            raise errors.BadArguments(f"found the item {str(item)[:64]}, needed [key, weight, "
                                      "value]")
        _check_key(item[0])
        item[1] = _number("weight", item[1])
        _check_size(item[2])
    return items


def _check_key(key):
    """What a key may be, so that `state` can count by it: no key of an object begins with $."""
    if key is not None and not (isinstance(key, str) and 0 < len(key) <= 256 and key[0] != "$"):
        raise errors.BadArguments(f"found the key {str(key)[:64]!r}, needed None or a text of 1 to "
                                  "256 characters that does not begin with $; rename it")


# Quick, and not too little: a buffer's mark and its size elsewhere have no more text than this.
_SIZER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"),
                          default=lambda buffer: {"$buffer": 10**9, "size": 10**12})


def _check_size(value):
    """An item that no answer can have would block the channel for ever."""
    if len(_SIZER.encode(value).encode("utf-8")) <= _ITEM_TEXT_MAX:
        return
    buffers = []
    size = len(frames.to_json([frames.encode_value(value, buffers),
                               [buffer.nbytes for buffer in buffers]]))
    if size > _ITEM_TEXT_MAX:
        raise errors.TooLarge(f"found an item of {size} bytes of text, needed at most "
                              f"{_ITEM_TEXT_MAX}; put its bytes in buffers", bytes=size,
                              limit=_ITEM_TEXT_MAX)


def _check_text(name, value):
    if not isinstance(value, str) or not 0 < len(value) <= 256:
        raise errors.BadArguments(f"found the {name} {str(value)[:64]!r}, needed a text of 1 to "
                                  "256 characters")


def _check_whole(name, value, least):
    if type(value) is not int or value < least:
        raise errors.BadArguments(f"found the {name} {str(value)[:64]}, needed a whole number from "
                                  f"{least}")


def _number(name, value):
    """A number from 0, which nothing stands for as well."""
    if value is None:
        return 0
    if type(value) not in (int, float) or value < 0:
        raise errors.BadArguments(f"found the {name} {str(value)[:64]}, needed a number from 0")
    return value
