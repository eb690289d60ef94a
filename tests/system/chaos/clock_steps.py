"""Steps of the time of day, by seconds to hours, forward and back, of each daemon by itself: a library
that is loaded into it adds an offset. The host's clock is never touched. Nothing starts again for a step,
also where a controller or an agent dies and comes back under another time."""

import pathlib

from trial import Skipped, Trial

AGENTS = ["n1", "n2", "n3"]
LEASE_S, MARGIN_S = 12, 3
STEPS_S = (2, 30, 600, 3 * 3600, 24 * 3600)
BETWEEN_S = (0.2, 4.0)


class ClockSteps(Trial):
    STEPS = (3, 15)

    def __init__(self, program, seed, number, is_long, preloaded):
        super().__init__(program, seed, number, is_long)
        self.preloaded = preloaded
        self.offsets = {name: 0 for name in ("ctl", *AGENTS)}

    def offset_file(self, name):
        return self.daemons.folder / f"{name}.offset"

    def write_offset(self, name):
        """In one write of eight bytes, in place: the daemon has mapped the file."""
        with open(self.offset_file(name), "r+b", buffering=0) as file:
            file.write(self.offsets[name].to_bytes(8, "little", signed=True))

    def build(self):
        if not self.preloaded or not pathlib.Path(self.preloaded).exists():
            raise Skipped("the library that steps clocks was not built")
        self.journal = self.daemons.folder / "orrery.db"
        for name in self.offsets:
            self.offset_file(name).write_bytes(bytes(8))
            if name == "ctl":
                self.daemons.add_controller(name, f"{{sqlite: {self.journal}}}",
                                            f"{{node_lease: {LEASE_S}s, fence_margin: {MARGIN_S}s, "
                                            f"takeover_grace: {LEASE_S}s, retain_finished_max: 100, "
                                            # A clock that goes forward by a day ages what has ended.
                                            "retain_finished: 3000h}",
                                            environment=self.preload(name))
            else:
                self.daemons.add_agent(name, environment=self.preload(name))

    def preload(self, name):
        return {"LD_PRELOAD": str(pathlib.Path(self.preloaded).resolve()),
                "STEPPED_CLOCK": str(self.offset_file(name))}

    def daemons_ready(self):
        """Each has the library: one that is linked statically would not, and show nothing."""
        for name in self.offsets:
            maps = pathlib.Path(f"/proc/{self.daemons.running[name].pid}/maps")
            try:
                if self.daemons.runs(name) and pathlib.Path(self.preloaded).name not in maps.read_text():
                    return False
            except OSError:
                return False
        return super().daemons_ready()

    def disturb(self):
        names = self.random.sample(list(self.offsets), self.random.randint(1, len(self.offsets)))
        for name in names:
            step = self.random.choice(STEPS_S) * self.random.choice((-1, 1)) * self.random.uniform(0.5, 1)
            self.offsets[name] += int(step * 1e9)
            self.write_offset(name)
            self.note(f"clock of {name} stepped by {step:.0f} s")
            self.done["forward" if step > 0 else "back"] += 1
        for name in names:
            if self.random.random() < 0.3:
                self.daemons.kill(name)
                self.note(f"{name} killed")
                self.done["killed after it"] += 1
        self.watch(self.random.uniform(*BETWEEN_S))
        self.watch_until("all to be ready after a step", self.daemons_ready)
        self.watch_until("all that runs to go on", self.progress_of_all(self.running_ranks()))
