#!/usr/bin/env python3
"""Compiles sources and headers each alone, as if nothing were compiled together.

The build joins the sources of a folder (tools/cmake/OrreryUnity.cmake), where an include that is
missing in one file is made up for by another. This takes the flags of the build and checks the
syntax of each file by itself; nothing is written.

Usage: standalone.py BUILD [FOLDER|FILE ...]      all files there, from the root of the repository
       standalone.py BUILD --sample N             N files: those of the last commits first, the rest
                                                  drawn by the hash of the last commit
       standalone.py BUILD --database FOLDER      write compile_commands.json with a line per file,
                                                  for clang-tidy and editors; check nothing

Exit: 0 all compile, 1 some do not, 2 bad arguments.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

HEADER_SET = "_verify_interface_header_sets/"
INCLUDED = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def words_of(entry: dict) -> list[str]:
    """The compiler's command line, without a cache before it and without input and output."""
    words = shlex.split(entry["command"])
    while len(words) > 1 and not re.search(r"(\+\+|clang|gcc|cc|nvcc)[-.\d]*$", words[0]):
        words.pop(0)
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ", "-include"):  # The last: precompiled headers.
            skip = True
        elif word not in ("-c", "-MD", "-MMD", entry["file"]):
            kept.append(word)
    return kept


def entries(build: pathlib.Path, root: pathlib.Path) -> dict[str, dict]:
    """A compile command for each source and header of the project, by its path from the root."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = pathlib.Path(entry["file"])
        if file.suffix == ".cu":
            continue
        # The path to compile, and the project's file that it stands for.
        pairs = [(file, file)]
        if "/Unity/unity_" in entry["file"]:
            if not file.exists():
                continue
            pairs = [(pathlib.Path(path),) * 2 for path in INCLUDED.findall(file.read_text())]
        elif HEADER_SET in entry["file"]:
            header = entry["file"].split(HEADER_SET, 1)[1].removesuffix(".cxx")
            pairs = [(file, root / header)]
        words = words_of(entry)
        for source, stands_for in pairs:
            if not stands_for.is_relative_to(root) or stands_for.is_relative_to(build):
                continue
            path = stands_for.relative_to(root).as_posix()
            # Tests that link a library's sources again are the second to name them.
            found.setdefault(path, {"directory": entry["directory"], "file": str(source),
                                    "arguments": [*words, "-c", str(source)]})
    return found


def compiles(path: str, entry: dict) -> tuple[str, str]:
    """The path, and what the compiler says against the file: nothing where it compiles."""
    words = [word for word in entry["arguments"] if word != "-c"]
    done = subprocess.run([*words, "-fsyntax-only", "-O0"], cwd=entry["directory"],
                          capture_output=True, text=True, check=False)
    return path, done.stderr if done.returncode else ""


def git(root: pathlib.Path, *words: str) -> list[str]:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True,
                          check=False)
    return done.stdout.split() if done.returncode == 0 else []


def sample(root: pathlib.Path, known: list[str], count: int) -> list[str]:
    """`count` of the paths: changed in the last ten commits first, then drawn by the last's hash."""
    recent = [path for path in dict.fromkeys(
        git(root, "log", "--max-count=10", "--name-only", "--format=")) if path in known]
    seed = (git(root, "rev-parse", "HEAD") or ["none"])[0]
    drawn = sorted(known)
    random.Random(seed).shuffle(drawn)
    print(f"standalone: {count} of {len(known)} files, drawn with seed {seed}")
    return list(dict.fromkeys(recent[:count * 2 // 3] + drawn))[:count]


def main() -> int:
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(__file__).resolve().parents[2]
    build = pathlib.Path(words[0]).resolve()
    if not (build / "compile_commands.json").exists():
        print(f"standalone.py: {build}: has no compile_commands.json, a configured build folder is "
              "needed; run tools/build", file=sys.stderr)
        return 2
    known = entries(build, root)
    if words[1:2] == ["--database"] and len(words) == 3:
        folder = pathlib.Path(words[2])
        folder.mkdir(parents=True, exist_ok=True)
        database = json.dumps([known[path] for path in sorted(known)], indent=1)
        (folder / "compile_commands.json").write_text(database, encoding="utf-8")
        return 0
    if words[1:2] == ["--sample"] and len(words) == 3 and words[2].isdigit():
        chosen = sample(root, list(known), int(words[2]))
    else:
        wanted = [word.rstrip("/") for word in words[1:]]
        chosen = [path for path in sorted(known)
                  if not wanted or any(path == w or path.startswith(w + "/") for w in wanted)]
        if not chosen:
            print(f"standalone.py: {' '.join(wanted)}: the build compiles no file there; name "
                  "folders or files from the root of the repository", file=sys.stderr)
            return 2
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, said in pool.map(lambda path: compiles(path, known[path]), chosen):
            if said:
                failed += 1
                print(f"{path}:1: file: does not compile alone; include what it uses:\n{said}")
    print(f"standalone: {len(chosen) - failed} of {len(chosen)} files compile alone")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
