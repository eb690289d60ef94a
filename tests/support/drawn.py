"""The short form of a test of many things looks at some, drawn by the last commit's hash: other ones
after each commit, the same ones in all processes of a run. The long form looks at all: ORRERY_LONG is
set, as by `tools/soak tests`.
"""

import os
import pathlib
import random
import subprocess

IS_LONG = "ORRERY_LONG" in os.environ
ROOT = pathlib.Path(__file__).resolve().parents[2]


def _seed():
    done = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "none"


def drawn(things, every, kinds_in=lambda _: ()):
    """One of `every` of the things, in their order, and as many more as it takes for each kind that any holds."""
    things = list(things)
    if IS_LONG:
        return things
    seed = _seed()
    order = list(range(len(things)))
    random.Random(seed).shuffle(order)
    seen, chosen, others = set(), [], []
    for place in order:
        kinds = set(kinds_in(things[place]))
        (others if kinds <= seen else chosen).append(place)
        seen |= kinds
    chosen += others[:max(0, -(-len(things) // every) - len(chosen))]
    print(f"{len(chosen)} of {len(things)}, drawn with seed {seed}", flush=True)
    return [things[place] for place in sorted(chosen)]
