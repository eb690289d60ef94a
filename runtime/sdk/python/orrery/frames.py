"""Frames and values: what travels on a connection.

A frame is two lengths, a header (one JSON object) and a payload made of buffers. A value is what
JSON has, and buffers: bytes, bytearray, memoryview and whatever else has Python's buffer
protocol, such as arrays. A buffer arrives as a bytearray of its own, into which it was received
without a copy.
"""

import json
import math
import struct

from . import buffer_memory, errors

HEADER_MAX = 1 << 20
HEADER_MAX_UNKNOWN = 4 << 10  # Until the caller is known.
MESSAGE_MAX = 2 << 30
LEVELS_MAX = 256  # Of a value.
# A channel has three levels around an item, which itself may have as many as a value.
LEVELS_OF_ITEMS_MAX = LEVELS_MAX + 3

_PREFIX = struct.Struct(">IQ")
_SCRATCH = 64 << 10
_INTEGER_MIN, _INTEGER_MAX = -(1 << 63), (1 << 64) - 1


# What the other side does wrong. The connection ends with it.
def broken(found, needed):
    return errors.Protocol(f"found {found}, needed {needed}; both sides must speak the same "
                           "protocol")


# --- values --------------------------------------------------------------------------------------


def encode_value(value, buffers, levels=LEVELS_MAX):
    """`value` as JSON can have it; its buffers are appended to `buffers` as flat views. Nothing in it
    may lie deeper than so many levels."""
    try:
        return _encode(value, buffers, levels)
    except RecursionError:
        raise _too_deep() from None


def _too_deep():
    return errors.BadArguments(f"found a value nested too deeply, needed at most {LEVELS_MAX} levels "
                               "of lists and dicts; flatten it, or send it as bytes")


def _encode(value, buffers, levels):
    if levels < 0:
        raise _too_deep()
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return _integer(value)
    if kind is float:
        return _finite(value)
    if kind is list or kind is tuple:
        return [_encode(item, buffers, levels - 1) for item in value]
    if kind is dict:
        return {_key(key): _encode(item, buffers, levels - 1) for key, item in value.items()}
    return _encode_other(value, buffers, levels)


def _encode_other(value, buffers, levels):
    """Subclasses of what JSON has, as json.dumps has them, and buffers."""
    # Not str(value), int(value), float(value): these ask what the subclass makes of it. That of an
    # enumeration of texts is its name.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer(int.__int__(value))
    if isinstance(value, float):
        return _finite(float.__float__(value))
    if isinstance(value, (list, tuple)):
        return [_encode(item, buffers, levels - 1) for item in value]
    if isinstance(value, dict):
        return {_key(key): _encode(item, buffers, levels - 1) for key, item in value.items()}
    plain = _plain_scalar(value)
    if plain is not None:
        return _encode(plain, buffers, levels)
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        raise errors.BadArguments(
            f"found a value of type {errors.class_name(type(value))}, needed None, bool, int, "
            "float, str, list, dict or something with the buffer protocol; turn it into these "
            "before the call") from None
    buffers.append(_flat(view))
    return {"$buffer": len(buffers) - 1}


def _plain_scalar(value):
    """What a scalar of an array library stands for; such scalars are buffers too. None of all
    else."""
    item = getattr(value, "item", None)
    if not callable(item) or getattr(value, "ndim", None) != 0:
        return None
    plain = item()
    return plain if isinstance(plain, (bool, int, float, str)) else None


def _flat(view):
    """Its bytes, row by row; a copy only where they do not lie so."""
    if "O" in view.format:
        raise errors.BadArguments("found an array of Python objects, needed one of numbers; send a "
                                  "list")
    if view.nbytes == 0:
        return memoryview(b"")
    return view.cast("B") if view.c_contiguous else memoryview(view.tobytes())


def _integer(value):
    if _INTEGER_MIN <= value <= _INTEGER_MAX:
        return value
    sign = " below 0" if value < 0 else ""
    raise errors.BadArguments(f"found an integer{sign} of {value.bit_length()} bits, needed one from "
                              "-2**63 to 2**64 - 1; send it as text or bytes")


def _finite(value):
    if math.isfinite(value):
        return value
    raise errors.BadArguments(f"found the number {value}, needed a finite one; send None or a text")


def _key(key):
    if not isinstance(key, str):
        raise errors.BadArguments(f"found the key {key!r} of a dict, needed a text; turn keys into "
                                  "str")
    key = str.__str__(key)
    if key.startswith("$"):
        raise errors.BadArguments(f"found the key {key!r}, needed one that does not begin with $, "
                                  "which marks buffers; rename it")
    return key


def decode_value(value, buffers):
    """The value of which `value` is the JSON; raises Protocol where it breaks a rule. What it takes
    of `buffers` is None there afterwards, as each may stand at one place: see all_taken()."""
    try:
        if type(value) is list or type(value) is dict:
            # Levels are counted with this one, and may be those of items.
            return _decode(value, buffers, LEVELS_OF_ITEMS_MAX - 1)
        return value
    except RecursionError:
        raise _found_deep() from None


def _found_deep():
    return broken("a value nested too deeply", f"at most {LEVELS_MAX} levels")


def _decode(value, buffers, levels):
    """Of a list or a dict."""
    if levels < 0:
        raise _found_deep()
    if type(value) is list:
        for index, item in enumerate(value):
            if type(item) is list or type(item) is dict:
                value[index] = _decode(item, buffers, levels - 1)
        return value
    if "$buffer" in value:
        return _buffer_of(value, buffers)
    for key, item in value.items():
        if key.startswith("$"):
            raise broken(f"the key {key[:64]!r}", "no key that begins with $ but $buffer")
        if type(item) is list or type(item) is dict:
            value[key] = _decode(item, buffers, levels - 1)
    return value


def _buffer_of(value, buffers):
    index = value["$buffer"]
    if len(value) != 1 or type(index) is not int or not 0 <= index < len(buffers):
        raise broken(f"the buffer {str(value)[:200]}",
                     f'{{"$buffer": i}} alone, with i below {len(buffers)}')
    if buffers[index] is None:
        raise broken(f"the buffer {index} at two places", "each at one")
    taken, buffers[index] = buffers[index], None
    return taken


def all_taken(buffers):
    """Raises Protocol where one of the buffers stands in no value."""
    for index, buffer in enumerate(buffers):
        if buffer is not None:
            raise broken(f"the buffer {index} at no place", "each at one")


# --- JSON, as strictly as the protocol has it ----------------------------------------------------


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def to_json(value):
    """JSON text in UTF-8; raises BadArguments for what cannot be sent."""
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        raise errors.BadArguments("found a text that is no UTF-8 (half a surrogate pair), needed "
                                  "whole characters; send it as bytes") from None
    except RecursionError:
        raise _too_deep() from None


def _strict_int(text):
    value = int(text) if len(text) <= 20 else _INTEGER_MAX + 1
    if _INTEGER_MIN <= value <= _INTEGER_MAX:
        return value
    raise broken(f"the integer {text[:40]}", "one of 64 bits")


def _strict_float(text):
    value = float(text)
    if math.isfinite(value):
        return value
    raise broken(f"the number {text[:40]}", "a finite one")


def _no_constant(text):
    raise broken(f"the number {text}", "a finite one")


def _object(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise broken(f"the key {twice[:64]!r} twice in an object", "each once")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_strict_int, parse_float=_strict_float,
                            parse_constant=_no_constant)


def parse_header(data):
    """The object of a header; raises Protocol."""
    try:
        text = str(data, "utf-8")
        header = _DECODER.decode(text)
        if "\\u" in text:
            # An escape may be half a pair, which no UTF-8 has.
            json.dumps(header, ensure_ascii=False).encode("utf-8")
    except errors.Protocol:
        raise
    except (ValueError, RecursionError) as error:
        raise broken(f"a header that is no JSON ({str(error)[:200]})",
                     "one object in UTF-8") from None
    if type(header) is not dict:
        raise broken("a header that is no object", "one object")
    return header


def buffer_sizes(header, payload):
    """Checks `buffers` against the payload's length and returns the list."""
    sizes = header.get("buffers", [])
    if type(sizes) is not list or any(type(size) is not int or size < 0 for size in sizes):
        raise broken(f"buffers {str(sizes)[:200]}", "a list of sizes")
    if sum(sizes) != payload:
        raise broken(f"buffers of {sum(sizes)} bytes in a payload of {payload}", "the same number")
    return sizes


# --- frames --------------------------------------------------------------------------------------


def frame(header, buffers=()):
    """The pieces of a frame, to be sent in this order. `header` is JSON text already."""
    payload = sum(buffer.nbytes for buffer in buffers)
    if len(header) > HEADER_MAX:
        raise errors.TooLarge(
            f"found a header of {len(header)} bytes, needed at most {HEADER_MAX}; send what is "
            "large as bytes or arrays, which travel beside the header", bytes=len(header),
            limit=HEADER_MAX)
    return [_PREFIX.pack(len(header), payload) + header, *(b for b in buffers if b.nbytes)]


class Reader:
    """Cuts what arrives into frames. Large buffers are received where they will stay.

    `on_frame(header, buffers, too_large)` is called for each; `too_large` is the number of bytes
    of a payload that was skipped since it is over `message_max`, and 0 otherwise. Raises
    Protocol, after which nothing more may be fed.
    """

    def __init__(self, on_frame):
        self.header_max = HEADER_MAX_UNKNOWN
        self.message_max = 0
        self.may_have_payload = False
        self._on_frame = on_frame
        self._scratch = bytearray(_SCRATCH)
        self._view = memoryview(self._scratch)
        self._direct = False
        self._expect_prefix()

    def get_buffer(self):
        """Where the next bytes shall be received."""
        left = self._target.nbytes - self._filled
        self._direct = left > _SCRATCH
        return self._target[self._filled:] if self._direct else self._view

    def updated(self, count):
        """So many bytes were received there."""
        if self._direct:
            self._filled += count
            if self._filled == self._target.nbytes:
                self._next(self._target)
            return
        data = self._view[:count]
        while data.nbytes:
            if self._skip:
                cut = min(self._skip, data.nbytes)
                self._skip -= cut
                data = data[cut:]
                if not self._skip:
                    self._emit()
                continue
            cut = min(self._target.nbytes - self._filled, data.nbytes)
            self._target[self._filled:self._filled + cut] = data[:cut]
            self._filled += cut
            data = data[cut:]
            if self._filled == self._target.nbytes:
                self._next(self._target)

    def _expect(self, size, then):
        self._target, self._filled, self._next = memoryview(bytearray(size)), 0, then

    def _expect_buffer(self, size):
        self._target = memoryview(buffer_memory.memory.take(size))
        self._filled, self._next = 0, self._take_buffer

    def _expect_prefix(self):
        self._skip = self._too_large = 0
        self._header, self._buffers = None, []
        self._expect(_PREFIX.size, self._take_prefix)

    def _take_prefix(self, data):
        header, self._payload = _PREFIX.unpack(data)
        if not 0 < header <= self.header_max:
            raise broken(f"a header of {header} bytes", f"1 to {self.header_max}")
        if self._payload and not self.may_have_payload:
            raise broken(f"a payload of {self._payload} bytes", "none before the caller is known")
        self._expect(header, self._take_header)

    def _take_header(self, data):
        self._header = parse_header(data)
        sizes = buffer_sizes(self._header, self._payload)
        if self._payload > self.message_max:
            self._too_large = self._skip = self._payload
            self._expect(1, self._emit)  # Never filled: what comes is skipped.
            return
        self._sizes = iter(sizes)
        self._take_buffers()

    def _take_buffer(self, data):
        self._buffers.append(data.obj)
        self._take_buffers()

    def _take_buffers(self):
        for size in self._sizes:
            if size:
                self._expect_buffer(size)
                return
            self._buffers.append(bytearray())
        self._emit()

    def _emit(self, _=None):
        header, buffers, too_large = self._header, self._buffers, self._too_large
        self._expect_prefix()
        self._on_frame(header, buffers, too_large)
