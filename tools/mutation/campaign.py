"""Runs a sample of mutants through the nets, and remembers each result as a line of JSON.

The first line of the file of results says what the others belong to: the list of mutants and the
seed. A run that is started again goes on behind what is there.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import nets

MEMORY_KIB = 6 << 20
# Limits of a step, from what it takes without a mutant: a loop without end is told from load.
TIMES_PROCESSOR, MORE_PROCESSOR_S = 10, 5
TIMES_WALL, MORE_WALL_S = 40, 60
LIMITED = 'ulimit -S -t "$1"; ulimit -v "$2"; shift 2; exec "$@"'


def drawn(count: int, seed: int, sample: int) -> list:
    """Numbers of 1..count in the order in which they are drawn; a larger sample begins alike."""
    numbers = list(range(1, count + 1))
    random.Random(seed).shuffle(numbers)
    return numbers[:sample]


class Results:
    """The file of results. Of two results of one mutant the later counts."""

    def __init__(self, path: pathlib.Path, digest: str, seed: int | None):
        self.path, self.guard, self.of = path, threading.Lock(), {}
        lines = []
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    lines.append(json.loads(line))
                except ValueError:
                    pass  # Torn by an interruption: that mutant is run again.
        if not lines:
            if seed is None:
                sys.exit(f"mutation.py: {path}: holds no results yet; mutation.py run writes them")
            path.write_text(json.dumps({"mutants": digest, "seed": seed}) + "\n", encoding="utf-8")
            lines = [{"mutants": digest, "seed": seed}]
        head = lines[0]
        if head["mutants"] != digest or seed not in (None, head["seed"]):
            sys.exit(f"mutation.py: {path}: is of seed {head['seed']} and of mutants "
                     f"{head['mutants']}, needed are seed {seed} and mutants {digest}; name another "
                     "file with --results, or remove this one")
        self.seed = head["seed"]
        for line in lines[1:]:
            self.of[line["number"]] = line

    def is_judged(self, number: int, *, quick: bool) -> bool:
        """Whether nothing more is to be learnt of a mutant: what survived quickly may be killed."""
        result = self.of.get(number)
        return result is not None and (bool(result["net"]) or quick or not result["quick"])

    def add(self, result: dict) -> None:
        with self.guard:
            self.of[result["number"]] = result
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(result) + "\n")


def run_step(tree, step, number: int, processor_s: float, wall_s: float) -> tuple:
    """Runs a step under a mutant, 0: none; its kill or None, and the processor time it took."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        words = [tree.program(step.words[0]), *step.words_in(tree.tree, folder)]
        environment = {name: value for name, value in os.environ.items() if name != "ORRERY_MUTANT"}
        if number:
            environment["ORRERY_MUTANT"] = str(number)
        process = subprocess.Popen(
            ["sh", "-c", LIMITED, "sh", str(int(processor_s) + 1), str(MEMORY_KIB), *words],
            cwd=tree.tree, env=environment, stdin=subprocess.DEVNULL, stdout=said,
            stderr=subprocess.STDOUT, start_new_session=True)
        late = threading.Event()

        def end() -> None:
            late.set()
            os.killpg(process.pid, 9)

        timer = threading.Timer(wall_s, end)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        out = said.read().decode(errors="replace")
    kill = nets.judged(step, process.returncode, out, timed_out=late.is_set())
    return kill, usage.ru_utime + usage.ru_stime


def measure(tree, *, storm_only: bool, pins: bool) -> dict:
    """What each step takes without a mutant, s of processor time; all of them must pass."""
    path = tree.folder / "measured.json"
    paths = sorted({mutant["path"] for mutant in tree.mutants()})
    programs = [tree.build / "bin" / name for name in nets.targets(map(nets.folder_of, paths))]
    binaries = sum(program.stat().st_mtime_ns for program in programs if program.exists())
    took = {}
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["binaries"] == binaries:
            took = kept["steps"]
    for step in nets.every_step(paths, storm_only=storm_only, pins=pins):
        if step.name in took:
            continue
        kill, took[step.name] = run_step(tree, step, 0, 3600, 7200)
        if kill:
            sys.exit(f"mutation.py: {step.name}: fails without a mutant: {kill.detail}; mend it "
                     "before mutants are judged by it")
        print(f"{step.name}: {took[step.name]:.1f} s without a mutant", flush=True)
    path.write_text(json.dumps({"binaries": binaries, "steps": took}), encoding="utf-8")
    return nets.with_last_storms(took)


def judge(tree, mutant: dict, took: dict, kinds: dict) -> dict:
    """The result of one mutant; `kinds` are those of nets.steps()."""
    used = 0.0
    result = {"number": mutant["number"], "net": None, "step": None, "how": None, "detail": "",
              "quick": kinds["quick"]}
    for step in nets.steps(mutant["path"], **kinds):
        kill, processor_s = run_step(
            tree, step, mutant["number"], TIMES_PROCESSOR * took[step.name] + MORE_PROCESSOR_S,
            TIMES_WALL * took[step.name] + MORE_WALL_S)
        used += processor_s
        if kill:
            result.update(net=step.net, step=step.name, how=kill.how, detail=kill.detail)
            break
    return {**result, "processor_s": round(used, 2), "at": time.strftime("%Y-%m-%d")}


def run(tree, results: Results, numbers: list, parallel: int, kinds: dict) -> None:
    """Judges the mutants of `numbers`, and prints a line for each."""
    took = measure(tree, storm_only=kinds["storm_only"], pins=kinds["pins"])
    by_number = {mutant["number"]: mutant for mutant in tree.mutants()}

    def one(number: int) -> None:
        mutant = by_number[number]
        result = judge(tree, mutant, took, kinds)
        results.add(result)
        fate = (f"killed by {result['step']} ({result['how']}): {result['detail']}"
                if result["net"] else "SURVIVED")
        print(f"{len(results.of)}: {number} {mutant['path']}:{mutant['line']} {mutant['kind']}: "
              f"{fate} [{result['processor_s']} s]", flush=True)

    with concurrent.futures.ThreadPoolExecutor(parallel) as pool:
        list(pool.map(one, numbers))
