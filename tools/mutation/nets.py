"""What may kill a mutant: programs in the order in which they run, and what each says of a kill.

The order is that of the nets, and of cost within each: unit tests of the mutant's own folder, the other unit tests by
the processor time that they take, scenarios with golden logs and expectations, storms. Slow
histories come after the first storms, for they seldom kill what those let live; they count as unit
tests.
"""

import dataclasses
import json
import pathlib
import re

# Test programs of core by their cost, measured: the first take tenths of a second, the last some.
UNIT = ("test_control", "test_agent", "test_leader", "test_driver", "test_nodecheck", "test_placer",
        "test_workers", "test_discovery", "test_status", "test_agent_property", "test_leader_memory",
        "test_vcluster", "test_placement", "test_core_plan", "test_queues")
LATE = ("test_control_histories",)
# A folder's own tests; of the core's others it is test_control.
OWN = {"core/agent": ("test_agent", "test_agent_property"), "core/leader": ("test_leader",),
       "core/driver": ("test_driver",), "core/queues": ("test_queues", "test_policies"),
       "core/plan": ("test_core_plan", "test_policies"), "policies": ("test_policies",),
       "policies/queues": ("test_policies",)}
# Every scenario of these folders, but one that reads a trace from beside the project.
SCENARIO_FOLDERS = ("lifecycle", "failover", "placement", "negative", "queues")
NEEDS_A_TRACE = "scenarios/failover/lanl_month.yaml"
# Seeds of the first storms, from..to; survivors get the rest in pieces.
FIRST_SEEDS = ((1, 100), (101, 1000), (1001, 3000))
LAST_SEEDS = ((3001, 8000), (8001, 14000), (14001, 20000))

STORM_TARGETS = ("orrery",)

FAILED_CASE = re.compile(r"^\[  FAILED  \] ([^\s,]+)", re.MULTILINE)
INVARIANT = re.compile(r"^.*\binvariant\b.*$", re.MULTILINE)
UNMET = re.compile(r"^FAIL +(\S+).*$", re.MULTILINE)
# As strsignal() names the ends by SIGPROF, which bounds a seed, and by SIGXCPU.
ENDED_BY_TIME = re.compile(r"timer expired|time limit exceeded")
SIGXCPU = 24


@dataclasses.dataclass(frozen=True)
class Step:
    """A program with its arguments.

    FOLDER among them stands for an empty folder of this run, SCENARIOS for those of the tree.
    """
    name: str
    net: str  # "unit", "scenario", "pins" or "storm".
    words: tuple

    def words_in(self, tree: pathlib.Path, folder: str) -> list:
        """The arguments, to be run in `tree`."""
        stands_for = {"FOLDER": [folder], "SCENARIOS": scenarios(tree)}
        return [one for word in self.words[1:] for one in stands_for.get(word, [word])]


def scenarios(tree: pathlib.Path) -> list:
    return sorted(path.relative_to(tree).as_posix() for folder in SCENARIO_FOLDERS
                  for path in (tree / "scenarios" / folder).glob("*.yaml")
                  if path != tree / NEEDS_A_TRACE)


@dataclasses.dataclass(frozen=True)
class Kill:
    """How a mutant was found: "test", "invariant", "crash" or "time", and by what."""
    how: str
    detail: str


def unit(program: str) -> Step:
    return Step(program, "unit", (program, "--gtest_brief=1", "--gtest_fail_fast"))


def storm(first: int, last: int) -> Step:
    return Step(f"storm {first}..{last}", "storm",
                ("orrery", "storm", "--seeds", f"{first}..{last}", "--parallel", "1",
                 "--no-shrink", "--json", "--out", "FOLDER"))


SCENARIO_STEPS = (
    Step("test_scenario", "scenario", ("test_scenario", "--gtest_brief=1", "--gtest_fail_fast")),
    Step("orrery test", "scenario", ("orrery", "test", "SCENARIOS")))
STORMS = tuple(storm(*seeds) for seeds in FIRST_SEEDS)
LAST_STORMS = tuple(storm(*seeds) for seeds in LAST_SEEDS)
# A net of regression and no judgement: what storms alone kill is told with and without it.
PINS = Step("pinned storms", "pins",
            ("orrery", "storm", "--pins", "tests/sim/storm/pins.txt", "--parallel", "1",
             "--no-shrink", "--json", "--out", "FOLDER"))


def folder_of(path: str) -> str:
    return pathlib.PurePath(path).parent.as_posix()


def own_tests(folder: str) -> tuple:
    return OWN.get(folder, ("test_control",))


def targets(folders) -> list:
    """What is built for mutants of `folders`."""
    own = [program for folder in folders for program in own_tests(folder)]
    return list(dict.fromkeys(["orrery", "test_scenario", *own, *UNIT, *LATE]))


def steps(path: str, *, storm_only: bool = False, quick: bool = False, pins: bool = True) -> list:
    """All that a mutant of the file at `path` goes through until something kills it; `quick`: but
    the slow steps at the end; without `pins`: but the pinned storms."""
    last = () if quick else (*map(unit, LATE), *LAST_STORMS)
    pinned = [PINS] if pins else []
    if storm_only:
        return [*STORMS[:1], *pinned, *STORMS[1:], *(step for step in last if step.net == "storm")]
    first = list(dict.fromkeys(own_tests(folder_of(path)) + UNIT))
    return [*map(unit, first), *SCENARIO_STEPS, *pinned, *STORMS, *last]


def every_step(paths, *, storm_only: bool = False, pins: bool = True) -> list:
    """Each step that is measured by a run without a mutant, of the files at `paths`."""
    return list(dict.fromkeys(step for path in paths
                              for step in steps(path, storm_only=storm_only, pins=pins)
                              if step not in LAST_STORMS))


def with_last_storms(took: dict) -> dict:
    """What each step takes, from what those of every_step() take: a storm by its seeds."""
    first, last = FIRST_SEEDS[-1]
    of_a_seed = took[STORMS[-1].name] / (last - first + 1)
    return took | {step.name: of_a_seed * (to - begin + 1)
                   for step, (begin, to) in zip(LAST_STORMS, LAST_SEEDS)}


def judged(step: Step, code: int, out: str, *, timed_out: bool) -> Kill | None:
    """What the end of a step means; nothing where it passed. `code` as subprocess gives it."""
    if timed_out or code in (-SIGXCPU, 128 + SIGXCPU):
        return Kill("time", "the limit on time was reached")
    if code == 0:
        return None
    if step.net in ("storm", "pins"):
        return storm_kill(code, out)
    broken = INVARIANT.search(out)
    if code == 3 and broken:
        return Kill("invariant", broken.group(0).strip()[:160])
    found = FAILED_CASE.search(out) or UNMET.search(out)
    if found:
        return Kill("test", found.group(1)[:160])
    return crash(code, out)


def crash(code: int, out: str) -> Kill:
    return Kill("crash", f"ended with {code}: {' '.join(out.split())[-120:]}")


def storm_kill(code: int, out: str) -> Kill:
    try:
        first = json.loads(out)["failures"][0]
    except (ValueError, KeyError, IndexError):
        return crash(code, out)
    text = f"seed {first['seed']}: {first['kind']}: {first['text']}"[:160]
    how = {"invariant": "invariant", "process_ended": "crash"}.get(first["kind"], "test")
    if how == "crash" and ENDED_BY_TIME.search(first["text"]):
        how = "time"
    return Kill(how, text)
