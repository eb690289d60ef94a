"""The mutated tree: a copy of the repository with a switch at each place, and its build.

    FOLDER/tree          the copy; files are written where they differ, so a build goes on
    FOLDER/build         its build
    FOLDER/mutants.json  every mutant: number, place, kind, original and what it becomes
"""

import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import re
import subprocess
import sys

import places
import rewrite
import standalone

ROOT = places.ROOT
FOLDERS = ("core/control", "core/recovery", "core/membership", "core/leader", "core/agent",
           "core/cluster", "core/driver")
GCC_ERROR = re.compile(r"^(\S+?):(\d+):(\d+): (?:fatal )?error: (.*)$", re.MULTILINE)
ROUNDS = 12
# What decides which mutants there are.
FINDS = [ROOT / "tools/mutation" / name for name in ("places.py", "rewrite.py")]


@dataclasses.dataclass
class Mutated:
    """A file with its places; those that did not compile are left out."""
    path: str
    text: bytes
    places: list
    left_out: int = 0

    def numbered(self, first: int):
        """A numbering from `first` on, in the order of the text."""
        numbers = {}
        for place in self.places:
            for index in range(len(place.changes)):
                numbers[id(place), index] = first + len(numbers)
        return lambda place, index: numbers[id(place), index]

    def written(self, first: int) -> tuple:
        return rewrite.rewritten(self.text, self.places, self.numbered(first))

    def leave_out(self, place) -> None:
        self.left_out += len(place.changes)
        self.places = [one for one in self.places if one is not place]


def sources(root: pathlib.Path, folders) -> list:
    """The files that are mutated, from the root."""
    return sorted(path.relative_to(root).as_posix() for folder in folders
                  for path in (root / folder).iterdir()
                  if path.suffix in (".cpp", ".hpp"))


def mutate(root: pathlib.Path, path: str, arguments: list) -> Mutated:
    """The places of a file under which it compiles by itself, as libclang sees it."""
    at, text = str(root / path), (root / path).read_bytes()
    finder = places.Finder(at, text, places.parse(at, arguments, {}))
    mutated = Mutated(path, text, finder.find())
    switch = {str(root / rewrite.SWITCH_PATH): rewrite.SWITCH}
    for _ in range(ROUNDS):
        out, regions = mutated.written(1)
        unit = places.parse(at, arguments, {**switch, at: out.decode()})
        wrong = places.errors(unit, at)
        if not wrong:
            return mutated
        for offset in wrong:
            place = rewrite.place_at(regions, offset) if offset is not None else None
            if place in mutated.places:
                mutated.leave_out(place)
    mutated.left_out += sum(len(place.changes) for place in mutated.places)
    mutated.places = []
    return mutated


def copy(root: pathlib.Path, tree: pathlib.Path, instead: dict) -> None:
    """Brings `tree` to what git knows and does not ignore below `root`; `instead`: bytes by path."""
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True).stdout.split("\0")
    wanted = {path for path in listed if path and (root / path).is_file()} | set(instead)
    for path in wanted:
        data = instead[path] if path in instead else (root / path).read_bytes()
        target = tree / path
        if not target.exists() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        if path not in instead:
            target.chmod((root / path).stat().st_mode)
    for target in list(tree.rglob("*")):
        if target.is_file() and target.relative_to(tree).as_posix() not in wanted:
            target.unlink()


def digest_of(paths: list) -> str:
    """Of the bytes of files."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


class Tree:
    """The mutated tree below `folder`."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.tree, self.build = folder, folder / "tree", folder / "build"
        self.list = folder / "mutants.json"

    def program(self, name: str) -> str:
        return str(self.build / "bin" / name)

    def mutants(self) -> list:
        return json.loads(self.list.read_text(encoding="utf-8"))["mutants"]

    def digest(self) -> str:
        """Of the list: results of other mutants are not mixed with these."""
        return digest_of([self.list])

    def make(self, folders, parallel: int, targets: list) -> None:
        """Finds the mutants of `folders`, writes the tree and builds `targets`."""
        if not (self.build / "build.ninja").exists():
            copy(ROOT, self.tree, {})
            self.configure()
        found_in = digest_of([ROOT / path for path in sources(ROOT, folders)] + FINDS)
        if self.is_found(found_in):
            self.write_the_rest()
            if self.built(parallel, targets).returncode == 0:
                return
        mutated = self.find(folders, parallel)
        for _ in range(ROUNDS):
            self.write(mutated, found_in)
            done = self.built(parallel, targets)
            if done.returncode == 0:
                return
            if not self.leave_out(mutated, done.stdout):
                sys.exit(f"mutation.py: the mutated tree does not build:\n{done.stdout[-4000:]}")

    def built(self, parallel: int, targets: list):
        return subprocess.run(
            ["cmake", "--build", str(self.build), "--parallel", str(parallel), "--target", *targets,
             "--", "-k", "0"], capture_output=True, text=True, check=False)

    def is_found(self, found_in: str) -> bool:
        """Whether the list is of these sources: finding takes minutes, and a new test changes none."""
        return self.list.exists() and json.loads(
            self.list.read_text(encoding="utf-8")).get("found_in") == found_in

    def write_the_rest(self) -> None:
        """Brings all but the mutated files to what they are."""
        paths = {mutant["path"] for mutant in self.mutants()} | {rewrite.SWITCH_PATH}
        copy(ROOT, self.tree, {path: (self.tree / path).read_bytes() for path in paths})

    def configure(self) -> None:
        subprocess.run(
            ["cmake", "-S", str(self.tree), "-B", str(self.build), "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DORRERY_BENCH=OFF", "-DCMAKE_CXX_FLAGS=-w"],
            check=True, stdout=subprocess.DEVNULL)

    def find(self, folders, parallel: int) -> list:
        known = standalone.entries(self.build.resolve(), self.tree.resolve())
        if any(path not in known for path in sources(ROOT, folders)):  # Files are new since.
            copy(ROOT, self.tree, {})
            self.configure()
            known = standalone.entries(self.build.resolve(), self.tree.resolve())
        here, there = str(self.tree.resolve()), str(ROOT)
        jobs = {}
        for path in sources(ROOT, folders):
            words = [word.replace(here, there) for word in known[path]["arguments"][1:-2]
                     if not word.startswith("-W")]
            jobs[path] = [*words, "-x", "c++", "-w", "-ferror-limit=0"]
        with concurrent.futures.ProcessPoolExecutor(parallel) as pool:
            return list(pool.map(mutate, [ROOT] * len(jobs), jobs, jobs.values()))

    def write(self, mutated: list, found_in: str) -> None:
        instead, mutants = {rewrite.SWITCH_PATH: rewrite.SWITCH.encode()}, []
        for file in mutated:
            if file.places:
                instead[file.path], _ = file.written(len(mutants) + 1)
            for place in file.places:
                line = file.text.count(b"\n", 0, place.begin) + 1
                column = place.begin - file.text.rfind(b"\n", 0, place.begin)
                text = file.text.splitlines()[line - 1].decode().strip()
                for change in place.changes:
                    mutants.append({
                        "number": len(mutants) + 1, "path": file.path, "line": line,
                        "column": column, "text": text, "function": place.function, "kind": change.kind,
                        "original": place.original, "mutant": change.shown(place.original)})
        copy(ROOT, self.tree, instead)
        left_out = sum(file.left_out for file in mutated)
        self.list.write_text(
            json.dumps({"found_in": found_in, "left_out": left_out, "mutants": mutants}, indent=1),
            encoding="utf-8")
        print(f"{len(mutants)} mutants in {len(instead) - 1} files; {left_out} that do not compile "
              "are left out", flush=True)

    def leave_out(self, mutated: list, said: str) -> bool:
        """Leaves out what the compiler stumbled over; whether there was any."""
        first, found = 1, False
        for file in mutated:
            out, regions = file.written(first) if file.places else (b"", [])
            first += sum(len(place.changes) for place in file.places)
            starts = [0] + [match.end() for match in re.finditer(b"\n", out)]
            for match in GCC_ERROR.finditer(said):
                if not match.group(1).endswith(file.path) or int(match.group(2)) > len(starts):
                    continue
                offset = starts[int(match.group(2)) - 1] + int(match.group(3)) - 1
                place = rewrite.place_at(regions, offset)
                if place in file.places:
                    print(f"left out: {match.group(0)}", flush=True)
                    file.leave_out(place)
                    found = True
        return found
