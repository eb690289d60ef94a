"""Calls of a method on a worker group: which workers run, with which data, and which results
return.

The rules of docs/virtual_clusters.md, "Calls of a worker group". Nothing is called here.
Whatever is wrong with a call is told at once, as BadArguments, before the first worker is
called.
"""

import dataclasses
from typing import Any, Dict, Tuple

from . import errors


@dataclasses.dataclass(frozen=True)
class WorkerCall:
    """One worker's part of a call. `part` names its share: workers of one part get the same."""
    rank: int
    kwargs: Dict[str, Any]
    returns: bool = True
    part: Any = None


def _raise(faults):
    if faults:
        raise errors.BadArguments("\n".join(faults))


def _check(size, sharding, args, faults):
    if args:
        faults.append(f"arguments: found {len(args)} positional, needed keywords only; name each "
                      "argument")
    if sharding is not None and sorted(sharding.ranks) != list(range(size)):
        faults.append(f"named sharding: found {sharding!r}, needed a place for each of the {size} "
                      "workers; number its ranks 0 to workers - 1")


def _axes(sharding, axes, name, faults):
    """The axes that a list names; what is wrong with it goes to `faults`."""
    axes = [axes] if isinstance(axes, str) else list(axes or ())
    if sharding is None:
        if axes:
            faults.append(f"{name}: found axis {axes[0]} for a group without named sharding, "
                          "needed no axes; give the group a sharding or leave the axes out")
        return []
    for axis in dict.fromkeys(axes):
        if axis not in sharding.names:
            faults.append(f"{name}: found axis {axis!r}, needed one of "
                          f"{', '.join(sharding.names)}; choose among these")
        elif axes.count(axis) > 1:
            faults.append(f"{name}: found axis {axis} twice, needed it once; name it once")
    return list(dict.fromkeys(axis for axis in axes if axis in sharding.names))


def _at_zero(size, sharding, axes):
    if sharding is None:
        return list(range(size))
    return [rank for rank in range(size)
            if sharding.is_axis_zero(sharding.get_worker_coords(rank), axes)]


def _common(common, kwargs, faults):
    common = dict(common or {})
    for name in sorted(common.keys() & kwargs.keys()):
        faults.append(f"argument {name}: found it among the common ones too, needed one of both; "
                      "take it out of common_kwargs")
    return common


def single_worker(size, sharding, rank, args, kwargs) -> Tuple[WorkerCall, ...]:
    faults = []
    _check(size, sharding, args, faults)
    if type(rank) is not int or not 0 <= rank < size:
        faults.append(f"worker {rank}: found no such worker, needed 0 to {size - 1}; choose a "
                      "worker of the group")
    _raise(faults)
    return (WorkerCall(rank, kwargs),)


def single_data(size, sharding, args, kwargs, run_rank_0_only_axes=None) -> Tuple[WorkerCall, ...]:
    faults = []
    _check(size, sharding, args, faults)
    axes = _axes(sharding, run_rank_0_only_axes, "run_rank_0_only_axes", faults)
    _raise(faults)
    return tuple(WorkerCall(rank, kwargs, part="all") for rank in _at_zero(size, sharding, axes))


def multiple_data(size, sharding, args, kwargs, run_rank_0_only_axes=None,
                  common_kwargs=None) -> Tuple[WorkerCall, ...]:
    faults = []
    _check(size, sharding, args, faults)
    axes = _axes(sharding, run_rank_0_only_axes, "run_rank_0_only_axes", faults)
    common = _common(common_kwargs, kwargs, faults)
    _raise(faults)
    ranks = _at_zero(size, sharding, axes)
    if not kwargs:
        faults.append("arguments: found none, needed at least one list with an item per worker; "
                      "call with single data instead")
    for name, items in kwargs.items():
        found = len(items) if _is_list(items) else "no list"
        if found != len(ranks):
            faults.append(f"argument {name}: found "
                          f"{found}{'' if found == 'no list' else ' items'}, needed {len(ranks)}, "
                          "one per worker that is started; give each its item")
    _raise(faults)
    return tuple(WorkerCall(rank,
                            {**common, **{name: items[index] for name, items in kwargs.items()}})
                 for index, rank in enumerate(ranks))


def sharded_data(size, sharding, args, kwargs, in_sharded_axes=None, replicate_on_axes=None,
                 output_is_replicated=None, make_dummy_calls_to_free_axes=False,
                 common_kwargs=None) -> Tuple[WorkerCall, ...]:
    faults = []
    if sharding is None:
        _raise(["group: found no named sharding, needed one for sharded data; give the group its "
                "axes or call with multiple data"])
    _check(size, sharding, args, faults)
    sharded = _axes(sharding, in_sharded_axes, "in_sharded_axes", faults)
    replicated = _axes(sharding, replicate_on_axes, "replicate_on_axes", faults)
    output = _axes(sharding, output_is_replicated, "output_is_replicated", faults)
    for axis in sharded:
        if axis in replicated:
            faults.append(f"replicate_on_axes: found axis {axis}, which is sharded too, needed one "
                          "of both; take it out of one list")
    common = _common(common_kwargs, kwargs, faults)
    for name, value in kwargs.items():
        _check_extents(name, value, [(axis, sharding.get_axis_size(axis)) for axis in sharded],
                       faults)
    _raise(faults)
    free = [axis for axis in sharding.names if axis not in sharded and axis not in replicated]
    out = []
    for rank in range(size):
        at = sharding.get_worker_coords(rank)
        if sharding.is_axis_zero(at, free):
            path = tuple(at[axis] for axis in sharded)
            share = {name: _at(value, path) for name, value in kwargs.items()}
            out.append(WorkerCall(rank, {**common, **share}, part=path,
                                  returns=sharding.is_axis_zero(at, output)))
        elif make_dummy_calls_to_free_axes:
            out.append(WorkerCall(rank, {**common, **dict.fromkeys(kwargs)}, returns=False,
                                  part="dummy"))
    return tuple(out)


def _is_list(value):
    return isinstance(value, (list, tuple))


def _check_extents(name, value, needed, faults):
    """Lists nested as deep as there are sharded axes, each as long as its axis."""
    level = [value]
    for axis, size in needed:
        for each in level:
            found = len(each) if _is_list(each) else 0
            if found != size:
                faults.append(f"argument {name}: found {found} elements along axis {axis}, needed "
                              f"{size}; split the data into one element per index of the axis")
                return
        level = [item for each in level for item in each]


def _at(value, path):
    for index in path:
        value = value[index]
    return value


def balanced(size, parts):
    """Cuts of a batch: (begin, end) for each part; lengths differ by one at most."""
    least, more = divmod(size, parts)
    ends = [least * (index + 1) + min(index + 1, more) for index in range(parts)]
    return list(zip([0, *ends], ends))
