"""The membership of a worker: its place among the workers of its job, by generation."""

import dataclasses
import json
import os
import threading
from typing import Any, Dict, Mapping, Optional, Tuple


@dataclasses.dataclass(frozen=True)
class Membership:
    """`members` in rank order, each with rank, role, local_rank (inside the role), node, address
    and first_port; empty where only the environment is known. `master` has address and port."""

    generation: int
    rank: int
    world_size: int
    members: Tuple[Mapping[str, Any], ...] = ()
    master: Optional[Mapping[str, Any]] = None

    def of_role(self, role) -> Tuple[Mapping[str, Any], ...]:
        """The members of a role, in the order of their rank in it."""
        return tuple(sorted((member for member in self.members if member.get("role") == role),
                            key=lambda member: member.get("local_rank", 0)))


def from_environment(environment: Mapping[str, str]) -> Membership:
    """As of the start of this process."""
    master = None
    if environment.get("MASTER_ADDR"):
        master = {"address": environment["MASTER_ADDR"],
                  "port": int(environment.get("MASTER_PORT") or 0)}
    return Membership(generation=int(environment.get("ORRERY_GENERATION") or 0),
                      rank=int(environment.get("ORRERY_RANK") or 0),
                      world_size=int(environment.get("ORRERY_WORLD_SIZE") or 1),
                      master=master)


def from_line(line: Dict[str, Any]) -> Optional[Membership]:
    """Of a line of the agent, or of the file ORRERY_MEMBERSHIP; None where it has none."""
    found = line.get("membership") if isinstance(line, dict) else None
    try:
        return Membership(generation=int(found["generation"]), rank=int(found["rank"]),
                          world_size=int(found["world_size"]),
                          members=tuple(sorted(found.get("members", ()),
                                               key=lambda member: member["rank"])),
                          master=found.get("master"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def from_file(path) -> Optional[Membership]:
    try:
        with open(path, encoding="utf-8") as file:
            return from_line(json.loads(file.readline()))
    except (OSError, ValueError):
        return None


def newest(*memberships: Optional[Membership]) -> Optional[Membership]:
    """The one of the highest generation; of equals the first."""
    found = None
    for each in memberships:
        if each is not None and (found is None or each.generation > found.generation):
            found = each
    return found


class Followed:
    """The membership that a worker has taken up, and the newest that it was told of.

    A new one is taken up at a safe point: between two calls, or where the program says so. Then
    `on_taken` is called, on the thread that has reached the safe point.
    """

    def __init__(self, first, path=""):
        self.taken = first
        self.on_taken = None
        self.on_told = lambda: None  # Wakes the thread that serves.
        self.only_by_program = False  # Safe points are only where the program says.
        self.told = first
        self._seen = first.generation  # By the program's own loop.
        self._path, self._path_time = path, None
        self._lock = threading.RLock()
        self._taking = threading.RLock()  # Held while on_taken runs; tell() does not want it.

    def tell(self, found):
        """A membership has come; an older one, or one that is known, says nothing new."""
        with self._lock:
            if found is None or found.generation <= self.told.generation:
                return
            self.told = found
        self.on_told()

    def look_at_file(self):
        """For workers without a socket: the file is replaced at each change."""
        if not self._path:
            return
        try:
            changed = os.stat(self._path).st_mtime_ns
        except OSError:
            return
        if changed != self._path_time:
            self._path_time = changed
            self.tell(from_file(self._path))

    def take_up(self):
        """The new membership; None where there is none."""
        with self._taking:
            with self._lock:
                if self.told.generation <= self.taken.generation:
                    return None
                taken = self.taken = self.told
            # It may take long and call other workers, so the loop must not wait for it.
            if self.on_taken is not None:
                self.on_taken(taken)
            return taken

    def take_up_between_calls(self):
        self.look_at_file()
        if not self.only_by_program:
            self.take_up()

    def safe_point(self):
        """The membership that the program's loop has not seen yet; None where there is none."""
        self.look_at_file()
        self.take_up()
        with self._lock:
            if self.taken.generation <= self._seen:
                return None
            self._seen = self.taken.generation
            return self.taken
