#!/usr/bin/env python3
"""The grammar of the placement language, as EBNF and as railroad diagrams.

GRAMMAR is the one description; docs/placement.md shows both forms of it, and a test holds the
parser to it.

Usage: railroad.py          prints the EBNF
       railroad.py --svg    prints the diagrams
"""

import dataclasses
import sys

from svg import Drawing


@dataclasses.dataclass(frozen=True)
class Word:
    """Characters as they are written."""
    text: str


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of the grammar, by its name."""
    name: str


@dataclasses.dataclass(frozen=True)
class Row:
    """One after the other."""
    parts: tuple


@dataclasses.dataclass(frozen=True)
class Either:
    """One of them; the first is the straight way."""
    parts: tuple


@dataclasses.dataclass(frozen=True)
class Maybe:
    """It, or nothing."""
    part: object


@dataclasses.dataclass(frozen=True)
class Again:
    """Any number of times, also none."""
    part: object


@dataclasses.dataclass(frozen=True)
class Listed:
    """At least once, with `between` between two of them."""
    part: object
    between: Word


GRAMMAR = {
    "key": Listed(Rule("component"), Word(",")),
    "value": Either((Rule("placement"),
                     Row((Word("{"), Maybe(Row((Word("node_group:"), Rule("labels"), Word(",")))),
                          Word("placement:"), Rule("placement"), Word("}"))))),
    "labels": Listed(Rule("label"), Word(",")),
    "placement": Row((Again(Word(",")), Rule("entry"), Again(Row((Word(","), Maybe(Rule("entry"))))))),
    "entry": Row((Rule("resources"), Maybe(Row((Word(":"), Rule("processes")))))),
    "resources": Either((Rule("ranks"), Word("all"))),
    "processes": Rule("ranks"),
    "ranks": Row((Rule("number"), Maybe(Row((Word("-"), Rule("number")))))),
    "number": Row((Rule("digit"), Again(Rule("digit")))),
}


def ebnf(part) -> str:
    """The right side of a rule in the notation of ISO 14977."""
    match part:
        case Word(text):
            return f'"{text}"'
        case Rule(name):
            return name
        case Row(parts):
            return " , ".join(f"( {ebnf(p)} )" if isinstance(p, Either) else ebnf(p) for p in parts)
        case Either(parts):
            return " | ".join(map(ebnf, parts))
        case Maybe(inner):
            return f"[ {ebnf(inner)} ]"
        case Again(inner):
            return f"{{ {ebnf(inner)} }}"
        case Listed(inner, between):
            return f"{ebnf(inner)} , {{ {ebnf(between)} , {ebnf(inner)} }}"
    raise TypeError(part)


def grammar_text() -> str:
    width = max(map(len, GRAMMAR))
    return "".join(f"{name:<{width}} = {ebnf(part)} ;\n" for name, part in GRAMMAR.items())


GAP = 12          # Between neighbours on a line.
ROUND = 8         # Radius of curves.
HALF = 14         # Half the height of a box.
LETTER = 8.4      # Width of a letter in a box.


class Track:
    """A part of a diagram: a line enters at its left end and leaves at its right end, both at
    height 0; it reaches `up` above that and `down` below it."""

    def __init__(self, width, up, down, draw):
        self.width, self.up, self.down, self.draw = width, up, down, draw


def box(text: str, css: str) -> Track:
    width = round(len(text) * LETTER) + 22

    def draw(d, x, y):
        d.box(x, y - HALF, width, 2 * HALF, css, HALF if css == "word" else 3)
        d.text(x + width / 2, y + 5, text, css + "-text")
    return Track(width, HALF, HALF, draw)


def row(tracks: list) -> Track:
    width = sum(t.width for t in tracks) + GAP * (len(tracks) - 1)

    def draw(d, x, y):
        for i, track in enumerate(tracks):
            if i > 0:
                d.path(f"M{x:g} {y:g}h{GAP}")
                x += GAP
            track.draw(d, x, y)
            x += track.width
    return Track(width, max(t.up for t in tracks), max(t.down for t in tracks), draw)


def fork(straight: Track, below: list) -> Track:
    """`straight` on the line and the others under it."""
    inner = max([straight.width] + [t.width for t in below])
    drops, drop = [], straight.down
    for track in below:
        drop += 10 + track.up
        drops.append(drop)
        drop += track.down
    width = inner + 4 * ROUND

    def draw(d, x, y):
        left = x + 2 * ROUND
        d.path(f"M{x:g} {y:g}H{left:g}")
        straight.draw(d, left, y)
        d.path(f"M{left + straight.width:g} {y:g}H{x + width:g}")
        for track, at in zip(below, drops):
            d.path(f"M{x:g} {y:g}q{ROUND} 0 {ROUND} {ROUND}V{y + at - ROUND:g}q0 {ROUND} {ROUND} {ROUND}")
            track.draw(d, left, y + at)
            d.path(f"M{left + track.width:g} {y + at:g}H{x + width - 2 * ROUND:g}"
                   f"q{ROUND} 0 {ROUND} {-ROUND}V{y + ROUND:g}q0 {-ROUND} {ROUND} {-ROUND}")
    return Track(width, straight.up, drop, draw)


def loop(forward: Track, back: Track) -> Track:
    """`forward`, then as often as wanted back through `back` and forward again."""
    inner = max(forward.width, back.width)
    at = forward.down + 10 + back.up
    width = inner + 4 * ROUND

    def draw(d, x, y):
        left = x + 2 * ROUND
        d.path(f"M{x:g} {y:g}H{left:g}")
        forward.draw(d, left, y)
        d.path(f"M{left + forward.width:g} {y:g}H{x + width:g}")
        back_left = left + (inner - back.width) / 2
        right = left + inner
        d.path(f"M{right:g} {y:g}q{ROUND} 0 {ROUND} {ROUND}V{y + at - ROUND:g}q0 {ROUND} {-ROUND} {ROUND}"
               f"H{back_left + back.width:g}")
        back.draw(d, back_left, y + at)
        d.path(f"M{back_left:g} {y + at:g}H{left:g}q{-ROUND} 0 {-ROUND} {-ROUND}V{y + ROUND:g}"
               f"q0 {-ROUND} {ROUND} {-ROUND}")
        d.arrow(back_left - 2, y + at, -1)
    return Track(width, forward.up, at + back.down, draw)


def line() -> Track:
    return Track(2 * ROUND, 0, 0, lambda d, x, y: d.path(f"M{x:g} {y:g}h{2 * ROUND}"))


def track_of(part) -> Track:
    match part:
        case Word(text):
            return box(text, "word")
        case Rule(name):
            return box(name, "rule")
        case Row(parts):
            return row([track_of(p) for p in parts])
        case Either(parts):
            return fork(track_of(parts[0]), [track_of(p) for p in parts[1:]])
        case Maybe(inner):
            return fork(line(), [track_of(inner)])
        case Again(inner):
            return fork(line(), [loop(track_of(inner), line())])
        case Listed(inner, between):
            return loop(track_of(inner), track_of(between))
    raise TypeError(part)


def diagrams() -> str:
    """All rules but the ones that everybody knows, one below the other."""
    drawing = Drawing("Railroad diagrams of the placement language: "
                      "follow the lines from left to right")
    y, left = 16, 20
    for name, part in GRAMMAR.items():
        if name == "number":
            continue
        track = track_of(part)
        drawing.text(left, y + 12, name, "name")
        y += 24 + max(track.up, HALF)
        drawing.path(f"M{left} {y - 6}v12M{left} {y}h{2 * ROUND}")
        track.draw(drawing, left + 2 * ROUND, y)
        end = left + 2 * ROUND + track.width
        drawing.path(f"M{end:g} {y}h{2 * ROUND}M{end + 2 * ROUND:g} {y - 6}v12")
        drawing.widen(end + 2 * ROUND + left)
        y += track.down + 18
    return drawing.svg(y)


if __name__ == "__main__":
    print(diagrams() if "--svg" in sys.argv[1:] else grammar_text(), end="")
