"""What the checks share: the files of the tree, and C++ text without comments and strings."""

import functools
import os
import pathlib
import re
from typing import Iterator

CPP = {".cpp", ".hpp", ".cu", ".cuh"}
SKIPPED_AT_ROOT = re.compile(r"build.*|out|\..*")
# Offences planted for the tests of the checks and of the target rule.
PLANTED = "planted"

# A raw string, a string, a character, a line comment or a block comment, whichever starts first.
TOKEN = re.compile(
    r'R"([^\s()\\]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'"
    r"|//[^\n]*"
    r"|/\*.*?\*/",
    re.DOTALL)


def files(root: pathlib.Path) -> Iterator[str]:
    """Paths from `root` of all files that belong to the project, sorted."""
    for folder, folders, names in os.walk(root):
        relative = pathlib.PurePath(folder).relative_to(root)
        at_root = relative == pathlib.PurePath(".")
        folders[:] = sorted(
            name for name in folders
            if name not in {"__pycache__", PLANTED}
            and not (at_root and name != ".ci" and SKIPPED_AT_ROOT.fullmatch(name)))
        for name in sorted(names):
            if name == ".git":  # In a worktree it is a file.
                continue
            yield (relative / name).as_posix()


# Several checks look at each file.
@functools.cache
def read(root: pathlib.Path, path: str) -> str:
    """The text of a file; bytes that are no UTF-8 are replaced."""
    return (root / path).read_text(encoding="utf-8", errors="replace")


@functools.cache
def tokens(text: str) -> list[tuple[int, int, bool, bool]]:
    """Of each comment and literal of C++: begin, end, whether it is a comment, whether it follows #include."""
    found = []
    for match in TOKEN.finditer(text):
        begin, end = match.span()
        line_start = text.rfind("\n", 0, begin) + 1
        found.append((begin, end, text[begin] == "/",
                      text[line_start:begin].lstrip().startswith("#include")))
    return found


@functools.cache
def code_only(text: str) -> str:
    """`text` with comments and literals blanked, line numbers kept; #include paths stay."""
    out, at = [], 0
    for begin, end, _, included in tokens(text):
        if not included:
            out += [text[at:begin], "\n" * text.count("\n", begin, end) or " "]
            at = end
    return "".join([*out, text[at:]])


def under(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder + "/")
