#!/usr/bin/env python3
"""What the compiler lets pass and the house style does not.

Bans in the deterministic folders, names of drawers, sizes of files, machine paths, scenarios that
no test runs, sources that the build does not know, links of documents to files that are gone,
silenced tidy checks without a reason; strangers at the top level and tests that mirror no source
(layout.py); paths, programs and names in comments and pages that do not exist (references.py).
Prints `file:line: subject: found, needed` for each offence, and lists long files.

Usage: check_style.py ROOT
"""

import dataclasses
import pathlib
import re
import sys

import layout
import references
import source_tree

LINES_TO_LIST = 600
LINES_TO_FAIL = 800


@dataclasses.dataclass(frozen=True)
class Ban:
    """A pattern that must not occur in the code of some folders, and what to write instead."""
    pattern: re.Pattern
    instead: str
    folders: tuple[str, ...]
    but_not: tuple[str, ...] = ()


PURE = ("core", "policies")
# Folders whose results must be equal on every processor.
REPEATABLE = ("core", "policies", "scenarios", "sim")

BANS = [
    Ban(re.compile(r"\bunordered_(?:multi)?(?:map|set)\b"),
        "iteration order differs between runs; use std::map, a sorted vector or dense ids", PURE),
    Ban(re.compile(r"\b(?:map|set)\s*<\s*(?:const\s+)?[\w:]+\s*(?:const\s*)?\*"),
        "addresses order differently between runs; key by id", PURE),
    Ban(re.compile(r"\bthrow\b"),
        "return Result<T> for bad input, call invariant() for a bug", PURE, ("core/driver",)),
    Ban(re.compile(r"\bstd::(?:jthread|thread|mutex|recursive_mutex|shared_mutex|condition_variable"
                   r"|async|future|atomic\w*)\b"
                   r"|#include <(?:thread|mutex|shared_mutex|condition_variable|future|atomic)>"),
        "threads live in runtime/ and end at one queue", PURE),
    Ban(re.compile(r"\b(?:system_clock|steady_clock|high_resolution_clock|clock_gettime"
                   r"|gettimeofday)\b|\bstd::time\b"),
        "time is an argument, of type Instant", PURE),
    Ban(re.compile(r"#include <(?:iostream|fstream|cstdio|filesystem|print)>"
                   r"|\bstd::(?:cout|cerr|clog|cin)\b|\b(?:printf|fopen)\s*\("),
        "no I/O here: return the fact and let the world print it", PURE, ("core/base/invariant.cpp",)),
    Ban(re.compile(r"\b(?:std::|secure_)?getenv\b"),
        "configuration is passed in", REPEATABLE),
    Ban(re.compile(r"\bstd::\w+_distribution\b"),
        "libraries implement it differently; use core/base/random.hpp", REPEATABLE),
    Ban(re.compile(r"\brandom_device\b|\bs?rand\s*\(|\bmt19937(?:_64)?\b|\brandom_shuffle\b"
                   r"|\bstd::(?:ranges::)?(?:shuffle|sample)\b"),
        "use a seeded stream of core/base/random.hpp", REPEATABLE),
    Ban(re.compile(r"(?:\bstd::|(?<![\w:.>])(?:::)?)"
                   r"(?:exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|hypot|sin|cos|tan|a?sinh?|a?cosh?"
                   r"|a?tanh?|atan2|l?gamma|tgamma|erfc?)\s*\("),
        "glibc's result depends on the processor; use math:: of core/base/math.hpp",
        REPEATABLE, ("core/base/math.cpp", "core/base/math.hpp", "sim/simgrid")),
    Ban(re.compile(r"(?<!\w)assert\s*\("),
        "use invariant(), which is on in every build", ("core", "policies", "scenarios", "sim",
                                                        "runtime", "tools")),
    Ban(re.compile(r"\bistreambuf_iterator\b"),
        "it throws where reading fails (a folder, a process that ended); use rest_of() of "
        "core/base/stream_text.hpp",
        ("core", "policies", "scenarios", "sim", "runtime", "tools"), ("core/base/stream_text.hpp",)),
    Ban(re.compile(r"\busing namespace\b(?!\s+\w*::?literals)(?!\s+std::\w*literals)"),
        "name what is used", ("core", "policies", "scenarios", "sim", "runtime", "tools")),
]

DRAWER = re.compile(r"(?:utils?|common|helpers?|misc|stuff)(?:\..*)?")
MACHINE_PATH = re.compile(r"""(?<![\w.$}/\-])/(?:home|root|work|Users|tmp)/[\w.]""")
SILENCED = re.compile(r"NOLINT(?!END)(?!(?:NEXTLINE|BEGIN)?\([\w\-,. *]+\): \S)")
LINK = re.compile(r"\[[^\]]*\]\((?!https?:|mailto:|#)([^)#\s]+)[^)]*\)")
TEXT = source_tree.CPP | {".py", ".cmake", ".md", ".txt", ".yaml", ".json", ".sh", ".proto", ""}


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def banned(path: str, code: str) -> list[str]:
    found = []
    for ban in BANS:
        if not any(source_tree.under(path, folder) for folder in ban.folders):
            continue
        if any(source_tree.under(path, folder) for folder in ban.but_not):
            continue
        for match in ban.pattern.finditer(code):
            what = match.group(0).strip(" (")
            found.append(f"{path}:{line_of(code, match.start())}: {what}: {ban.instead}")
    return found


def drawer(path: str) -> list[str]:
    return [f"{path}:1: {part}: a name for a drawer; name the concept, or inline what it holds"
            for part in pathlib.PurePath(path).parts if DRAWER.fullmatch(part)]


def too_long(path: str, text: str) -> list[str]:
    lines = text.count("\n")
    if lines <= LINES_TO_FAIL:
        return []
    return [f"{path}:{lines}: {lines} lines: at most {LINES_TO_FAIL}; find the second thought and "
            "give it a file"]


def machine_paths(path: str, text: str) -> list[str]:
    return [f"{path}:{line_of(text, match.start())}: {match.group(0)}...: a path of one machine; "
            "start from the repository, or from a temporary folder the program asks for"
            for match in MACHINE_PATH.finditer(text)]


def silenced(path: str, text: str) -> list[str]:
    return [f"{path}:{line_of(text, match.start())}: NOLINT: names no check or no reason; write "
            "NOLINT(check-name): reason, or mend what it found"
            for match in SILENCED.finditer(text)]


def dead_links(root: pathlib.Path, path: str, text: str) -> list[str]:
    return [f"{path}:{line_of(text, match.start())}: link to {match.group(1)}: there is no such "
            "file; mend the link or write the page"
            for match in LINK.finditer(text)
            if not (root / path).parent.joinpath(match.group(1)).exists()]


def unregistered(root: pathlib.Path, paths: list[str]) -> list[str]:
    """Scenario files that no CMakeLists.txt of scenarios/ or tests/ names."""
    lists = "\n".join(source_tree.read(root, path) for path in paths
                      if path.endswith("CMakeLists.txt")
                      and path.split("/")[0] in {"scenarios", "tests"})
    named = set(re.findall(r"[\w./\-]+\.yaml", lists))
    return [f"{path}:1: scenario: no test runs it; name it in scenarios/CMakeLists.txt"
            for path in paths
            if source_tree.under(path, "scenarios") and path.endswith(".yaml")
            and path.removeprefix("scenarios/") not in named]


def unlisted(root: pathlib.Path, paths: list[str]) -> list[str]:
    """Sources and headers that no CMakeLists.txt of their folder or above names.

    A header of the tests and the tools belongs to no library: there, being included is enough.
    """
    lists = {path.rpartition("/")[0]: set(re.findall(r"[\w./-]+", source_tree.read(root, path)))
             for path in paths if path.rpartition("/")[2] == "CMakeLists.txt"}
    included = {target for path in paths if path.startswith(("tests/", "tools/"))
                and pathlib.PurePath(path).suffix in source_tree.CPP
                for target in re.findall(r'#include "([^"]+)"', source_tree.read(root, path))}
    found = []
    for path in paths:
        if pathlib.PurePath(path).suffix not in source_tree.CPP or source_tree.under(path, "tools/cmake"):
            continue
        # Each folder above, and the path from there.
        splits = [("", path), *((path[:at], path[at + 1:]) for at, letter in enumerate(path) if letter == "/")]
        listed = any(name in lists.get(folder, ()) for folder, name in splits)
        if not listed and not (path.startswith(("tests/", "tools/")) and path in included):
            found.append(f"{path}:1: file: the build does not know it; name it in "
                         f"{path.rpartition('/')[0]}/CMakeLists.txt, or delete it")
    return found


def check(root: pathlib.Path) -> tuple[list[str], list[str]]:
    """The offences, and the long files that are still allowed."""
    found, long_files = [], []
    paths = list(source_tree.files(root))
    for path in paths:
        found += drawer(path)
        suffix = pathlib.PurePath(path).suffix
        if suffix not in TEXT:
            continue
        text = source_tree.read(root, path)
        found += machine_paths(path, text)
        if suffix == ".md":
            found += dead_links(root, path, text)
        if suffix in source_tree.CPP:
            found += banned(path, source_tree.code_only(text))
            found += silenced(path, text)
        if suffix in source_tree.CPP | {".py", ".proto"}:
            found += too_long(path, text)
            if LINES_TO_LIST < text.count("\n") <= LINES_TO_FAIL:
                long_files.append(f"{path}: {text.count(chr(10))} lines")
    found += unregistered(root, paths) + unlisted(root, paths)
    found += layout.strangers_at_top(root, layout.tracked(root)) + layout.unmirrored(paths)
    return found + references.check(root, paths), long_files


def main() -> int:
    found, long_files = check(pathlib.Path(sys.argv[1]).resolve())
    if long_files:
        print(f"Over {LINES_TO_LIST} lines, likely two thoughts in one file:")
        print("\n".join(long_files))
    print("\n".join(found) or "style: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
