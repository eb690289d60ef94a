"""The text of a file with a run-time switch at each of its places.

`orrery_mutant` is the number that the environment variable ORRERY_MUTANT gives, 0 without it. A
place keeps its lines: what is written beside the original stands on one line.
"""

import dataclasses

SWITCH = """\
// The mutant that is switched on, by the environment variable ORRERY_MUTANT; 0: none.
#pragma once

#include <cstdlib>

inline const int orrery_mutant = [] {
  const char* const number = std::getenv("ORRERY_MUTANT");
  return number == nullptr ? 0 : std::atoi(number);
}();
"""
SWITCH_FOLDER = "core/base"
SWITCH_PATH = f"{SWITCH_FOLDER}/mutant_switch.hpp"
INCLUDE = f'#include "{SWITCH_PATH}"\n'.encode()


@dataclasses.dataclass
class Region:
    """Where a place stands in the text that was written."""
    begin: int
    end: int
    place: object


def rewritten(text: bytes, places: list, number_of) -> tuple:
    """The text with switches and its regions, outer ones first.

    `places`     nested or apart, outer ones first, as places.nested() leaves them
    `number_of`  the number, above 0, of a change of a place: number_of(place, index)
    """
    out, regions = bytearray(INCLUDE), []
    at = _write(text, 0, len(text), list(places), number_of, out, regions)
    assert at == len(places)
    return bytes(out), regions


def _write(text, begin, end, places, number_of, out, regions, first=0) -> int:
    """Writes text[begin:end] with the places from `first` on; the first place behind them."""
    while first < len(places) and places[first].begin >= begin and places[first].end <= end:
        place = places[first]
        out += text[begin:place.begin]
        region = Region(len(out), 0, place)
        regions.append(region)
        head, tail = _switch(place, number_of)
        out += head.encode()
        first = _write(text, place.begin, place.end, places, number_of, out, regions, first + 1)
        out += tail.encode()
        region.end = len(out)
        begin = place.end
    out += text[begin:end]
    return first


def _switch(place, number_of) -> tuple:
    """What stands before and behind the original."""
    numbers = [number_of(place, index) for index in range(len(place.changes))]
    form = place.changes[0].form
    if form == "drop":
        return f"{{ if (orrery_mutant != {numbers[0]}) {{ ", " } }"
    if form == "leave":
        return f"{{ if (orrery_mutant == {numbers[0]}) return; ", " }"
    if form == "negate":
        return f"((orrery_mutant == {numbers[0]}) != static_cast<bool>(", "))"
    arms = "".join(f"orrery_mutant == {number} ? ({change.text}) : "
                   for number, change in zip(numbers, place.changes))
    return f"({arms}(", "))"


def place_at(regions: list, offset: int):
    """The innermost place around an offset of the written text; None: none."""
    around = [region for region in regions if region.begin <= offset <= region.end]
    return min(around, key=lambda region: region.end - region.begin).place if around else None
