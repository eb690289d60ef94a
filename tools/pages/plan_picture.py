#!/usr/bin/env python3
"""A plan as a picture: a row a node, a box a device, a stripe each process that sits on it.

Reads what `orrery place FILE --json` prints.

Usage: orrery place FILE --json | plan_picture.py TITLE > plan.svg
"""

import json
import sys

from svg import Drawing

# Dark enough for white letters, apart in lightness as well as in hue.
COLOURS = ("#1f5fa8", "#a8481f", "#2f6f4f", "#7a3b8f", "#8a6d12", "#9b2c4d", "#3d4f5f")
CELL, OTHER, STRIPE, LEFT, TOP = 46, 74, 22, 84, 34


class Cells:
    """What stands in each box: by node and box, the (component, first rank, last rank) in it."""

    def __init__(self):
        self.of = {}

    def put(self, where, component, rank):
        stripes = self.of.setdefault(where, [])
        if stripes and stripes[-1][0] == component and stripes[-1][2] == rank - 1:
            stripes[-1][2] = rank
        else:
            stripes.append([component, rank, rank])


def boxes_of(record) -> list:
    """The boxes of a process: devices by number, hardware by type and number, or the node."""
    node = record["node_rank"]
    kind = record["hardware_type"]
    if kind == "Accelerator":
        return [(node, 0, "", i) for i in record["local_hardware_ranks"]]
    if kind == "Node":
        return [(node, 2, "node", 0)]
    return [(node, 1, kind, i) for i in record["local_hardware_ranks"]]


def draw(plan: dict, title: str, sizes=()) -> str:
    """`sizes`: devices of each node, where more is known than the plan says."""
    cells, devices = Cells(), dict(enumerate(sizes))
    for component, records in plan.items():
        for record in records:
            node = record["node_rank"]
            seen = record["visible_devices"] + record["local_accelerator_ids"]
            devices[node] = max(devices.get(node, 0), max(seen, default=-1) + 1)
            for where in boxes_of(record):
                cells.put(where, component, record["rank"])
    wide = max(devices.values(), default=0)
    others = sorted({where[1:] for where in cells.of if where[1] > 0})
    drawing = Drawing(title)
    for i in range(wide):
        drawing.text(LEFT + i * CELL + CELL / 2, TOP - 12, str(i), "note")
    for i, (_, kind, number) in enumerate(others):
        name = kind if kind == "node" else f"{kind} {number}"
        drawing.text(LEFT + column(wide, i) + OTHER / 2, TOP - 12, name, "note")
    names = list(plan)
    y = TOP
    for node in range(max(devices, default=0) + 1):
        high = max([len(stripes) for where, stripes in cells.of.items() if where[0] == node] + [1])
        drawing.text(20, y + high * STRIPE / 2 + 5, f"node {node}", "name")
        places = [((node, 0, "", i), LEFT + i * CELL, CELL) for i in range(devices.get(node, 0))]
        places += [((node,) + other, LEFT + column(wide, i), OTHER) for i, other in enumerate(others)]
        for where, x, width in places:
            stripes = cells.of.get(where, [])
            if not stripes and where[1] > 0:
                continue
            for i, (component, first, last) in enumerate(stripes):
                drawing.box(x, y + i * STRIPE, width, STRIPE, "cell", 3,
                            COLOURS[names.index(component) % len(COLOURS)])
                text = str(first) if first == last else f"{first}-{last}"
                drawing.text(x + width / 2, y + i * STRIPE + 15, text, "own")
            if not stripes:
                drawing.box(x + 2, y + 2, width - 4, STRIPE - 4, "free", 3)
        y += high * STRIPE + 10
    x = 20
    for i, name in enumerate(names):
        drawing.box(x, y + 6, 14, 14, "cell", 3, COLOURS[i % len(COLOURS)])
        drawing.text(x + 20, y + 18, name, "key")
        x += 44 + 8.4 * len(name)
    drawing.widen(max(x, LEFT + column(wide, len(others))) + 8)
    return drawing.svg(y + 32)


def column(wide: int, other: int) -> int:
    """Where the column of custom hardware or nodes begins, behind the devices."""
    return wide * CELL + (14 if wide else 0) + other * OTHER


if __name__ == "__main__":
    print(draw(json.load(sys.stdin), sys.argv[1]), end="")
