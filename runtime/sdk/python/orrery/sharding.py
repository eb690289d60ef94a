"""Ranks of a worker group as a grid with named axes, the last of which runs fastest."""

import collections
import itertools


class NamedSharding:
    """Which rank is at which coordinates.

    NamedSharding([[0, 1], [2, 3]], ["dp", "tp"]) has rank 2 at dp 1, tp 0.
    """

    def __init__(self, layout, names):
        self._names = list(names)
        shape, ranks = _flatten(layout)
        faults = []
        if len(shape) != len(self._names):
            faults.append(f"found {len(self._names)} names for a layout of {len(shape)} "
                          "dimensions, needed one for each; name every axis")
        for name in self._names:
            if not isinstance(name, str) or not name:
                faults.append(f"found the axis name {name!r}, needed a text; name it by a word")
        for name in sorted({str(name) for name in self._names if self._names.count(name) > 1}):
            faults.append(f"found axis {name} twice, needed it once; name axes differently")
        for rank in sorted(rank for rank, count in collections.Counter(ranks).items() if count > 1):
            faults.append(f"found rank {rank} twice, needed each rank once; number the ranks 0, 1, "
                          "2, ...")
        if any(rank < 0 for rank in ranks):
            faults.append(f"found rank {min(ranks)}, needed 0 or more; number the ranks 0, 1, 2, "
                          "...")
        if faults:
            raise ValueError("\n".join(faults))
        self._shape, self._ranks = shape, ranks
        self._coordinates = dict(zip(ranks, itertools.product(*(range(size) for size in shape))))
        self._by_place = {place: rank for rank, place in self._coordinates.items()}

    @classmethod
    def grid(cls, **sizes):
        """Ranks 0, 1, 2, ... row by row: NamedSharding.grid(dp=2, tp=4)."""
        if not sizes or any(type(size) is not int or size < 1 for size in sizes.values()):
            raise ValueError(f"found the sizes {sizes}, needed whole numbers from 1 by axis; write "
                             "NamedSharding.grid(dp=2, tp=4)")
        numbers = itertools.count()

        def nest(left):
            return [nest(left[1:]) for _ in range(left[0])] if left else next(numbers)
        return cls(nest(list(sizes.values())), list(sizes))

    @property
    def names(self):
        return list(self._names)

    @property
    def shape(self):
        """Sizes by axis."""
        return dict(zip(self._names, self._shape))

    @property
    def ndim(self):
        return len(self._names)

    @property
    def size(self):
        return len(self._ranks)

    @property
    def ranks(self):
        """Row by row."""
        return list(self._ranks)

    @property
    def layout(self):
        """Nested lists, a copy."""
        return self._nest(self._ranks, self._shape)

    def get_axis_index(self, name):
        """Position of an axis among the names."""
        if name not in self._names:
            raise ValueError(f"found axis {name!r}, needed one of {', '.join(self._names)}; choose "
                             "among these")
        return self._names.index(name)

    def get_axis_size(self, name):
        return self._shape[self.get_axis_index(name)]

    def get_worker_coords(self, rank):
        """Index by axis."""
        if rank not in self._coordinates:
            raise ValueError(f"found rank {rank!r}, needed one of {sorted(self._ranks)[:64]}; ask "
                             "for a rank of the layout")
        return dict(zip(self._names, self._coordinates[rank]))

    def get_ranks_by_coord(self, **at):
        """The ranks at these coordinates, ascending; axes that are not named match all. None
        where an index is out of range."""
        fixed = {self.get_axis_index(name): index for name, index in at.items()}
        return sorted(rank for rank, place in self._coordinates.items()
                      if all(place[axis] == index for axis, index in fixed.items()))

    def get_ranks(self, **at):
        """The sharding over the axes that are left; where all are named, the rank."""
        fixed = {self.get_axis_index(name): index for name, index in at.items()}
        for axis, index in fixed.items():
            if type(index) is not int or not 0 <= index < self._shape[axis]:
                raise IndexError(f"found index {index!r} on axis {self._names[axis]}, needed 0 to "
                                 f"{self._shape[axis] - 1}; choose one of these")
        left = [axis for axis in range(self.ndim) if axis not in fixed]
        chosen = [rank for rank, place in self._coordinates.items()
                  if all(place[axis] == index for axis, index in fixed.items())]
        if not left:
            return chosen[0]
        return NamedSharding(self._nest(chosen, [self._shape[axis] for axis in left]),
                             [self._names[axis] for axis in left])

    def is_axis_zero(self, coordinates, axes):
        """Whether coordinates are 0 on all of these axes that they have."""
        return all(coordinates.get(axis, 0) == 0 for axis in axes)

    def get_groups(self, axis):
        """The lines along an axis, by the others' coordinates: its process groups."""
        position = self.get_axis_index(axis)
        lines = {}
        for rank, place in self._coordinates.items():
            lines.setdefault(place[:position] + place[position + 1:], []).append(rank)
        return list(lines.values())

    def __eq__(self, other):
        if not isinstance(other, NamedSharding):
            return NotImplemented
        return (self._names, self._shape, self._ranks) == (other._names, other._shape, other._ranks)

    def __hash__(self):
        return hash((tuple(self._names), tuple(self._shape), tuple(self._ranks)))

    def __repr__(self):
        return f"NamedSharding(shape={self.shape}, names={self._names}, layout={self.layout})"

    @staticmethod
    def _nest(ranks, shape):
        out = list(ranks)
        for size in reversed(shape[1:]):
            out = [out[first:first + size] for first in range(0, len(out), size)]
        return out


def _flatten(layout):
    """Sizes of a nested list, and its numbers row by row; ValueError where it is ragged."""
    tolist = getattr(layout, "tolist", None)
    level, shape = (tolist() if callable(tolist) else layout), []
    if not isinstance(level, (list, tuple)):
        raise ValueError(f"found the layout {layout!r}, needed nested lists of ranks; write [0, 1, "
                         "...]")
    level = [level]
    while level and isinstance(level[0], (list, tuple)):
        sizes = {len(each) if isinstance(each, (list, tuple)) else -1 for each in level}
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(f"found the ragged or empty layout {str(layout)[:200]}, needed lists "
                             "of one length on each level; fill or cut them")
        shape.append(sizes.pop())
        level = [item for each in level for item in each]
    ranks = []
    for rank in level:
        if isinstance(rank, bool) or not isinstance(rank, (int, float)) or rank != int(rank):
            raise ValueError(f"found {rank!r} in the layout, needed whole numbers; write ranks 0, "
                             "1, 2, ...")
        ranks.append(int(rank))
    return shape, ranks
