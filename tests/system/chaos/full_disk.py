"""File systems that are full and free again: that of the controller's journal, and that of a node's state.
What runs goes on, nothing that was acknowledged is lost, and nothing starts again. Beside that, what
stands on the full one is killed and comes back to it."""

import ctypes
import errno
import os
import subprocess
import time

from trial import LOOK_EVERY_S, Skipped, Trial

AGENTS = ["n1", "n2"]
LEASE_S, MARGIN_S = 15, 3
JOURNAL_MIB, STATE_MIB = 16, 32
# Also beyond a lease, and beyond what a shim tries to tell an end for.
FULL_S, LONG_FULL_S = (2.0, 16.0), (2.0, 30.0)
FULL_AGAIN_S = (2.0, 5.0)  # In the short form, which waits for one long time alone.
KILLED_S = (0.5, 4.0)   # Well within a lease: nobody renews it where a controller finds no room to begin.
CLONE_NEWNS = 0x00020000


def leave_mounts_behind():
    """Mounts of this process are its own from here on, and gone with it."""
    if os.geteuid() != 0:
        raise Skipped("mounting needs root")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise Skipped(f"no mount namespace: {os.strerror(ctypes.get_errno())}")
    done = subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Skipped(f"no private mounts: {done.stderr}")


class FileSystem:
    """A small one in memory, which can be filled up."""

    def __init__(self, folder, mebibytes):
        self.folder = folder
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", folder],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Skipped(f"no tmpfs: {done.stderr}")

    def fill(self):
        """Until no block is left; what others free meanwhile is taken too."""
        with open(self.folder / "ballast", "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error

    def free(self):
        (self.folder / "ballast").unlink(missing_ok=True)


class FullDisk(Trial):
    STEPS = (3, 20)

    def __init__(self, program, seed, number, is_long):
        super().__init__(program, seed, number, is_long)
        self.full_s = LONG_FULL_S if is_long else FULL_S
        self.systems = {}  # By the name of the daemon whose it is.
        self.full = None
        self.refused = 0   # Times that a full journal was told of.

    def build(self):
        leave_mounts_behind()
        folder = self.daemons.folder
        self.systems["ctl"] = FileSystem(folder / "journal", JOURNAL_MIB)
        self.journal = folder / "journal/orrery.db"
        self.daemons.add_controller("ctl", f"{{sqlite: {self.journal}}}",
                                    f"{{node_lease: {LEASE_S}s, fence_margin: {MARGIN_S}s, "
                                    f"takeover_grace: {LEASE_S}s, retain_finished_max: 20}}")
        for name in AGENTS:
            self.systems[name] = FileSystem(folder / f"state-{name}", STATE_MIB)
            self.daemons.add_agent(name)

    def while_it_lasts(self):
        if self.full:
            self.systems[self.full].fill()

    def pause(self):
        """What becomes free is taken at once."""
        for _ in range(4):
            time.sleep(LOOK_EVERY_S / 4)
            self.while_it_lasts()

    def disturb(self):
        self.full = self.random.choice(["ctl", "ctl", *AGENTS])
        is_killed = self.random.random() < 0.4
        kind = ("journal" if self.full == "ctl" else "state") + (", killed" if is_killed else "")
        length = self.random.uniform(*(KILLED_S if is_killed else self.full_s))
        if not is_killed and not self.is_long:
            self.full_s = FULL_AGAIN_S
        self.systems[self.full].fill()
        self.note(f"{kind} of {self.full} full for {length:.1f} s")
        ranks = self.running_ranks()
        go_on = self.progress_of_all(ranks)
        if is_killed:
            self.daemons.kill(self.full)
        self.watch_until("all that runs to go on beside a full disk", go_on)
        self.watch(length)
        if self.full == "ctl" and self.daemons.admission("ctl") != "open":
            self.refused += 1
        self.systems[self.full].free()
        self.note("free again")
        self.full = None
        self.watch_until("all to be ready with room again", self.daemons_ready)
        submitted = len(self.jobs.submitted)
        self.watch_until("a job to be taken with room again",
                         lambda: len(self.jobs.submitted) > submitted)
        self.done[kind] += 1

    def clear(self):
        for system in self.systems.values():
            subprocess.run(["umount", system.folder], check=False)

    def heal(self):
        print(f"a full journal was told of {self.refused} times")
