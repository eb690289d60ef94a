"""Where things stand: the top level is locked, and tests/ mirrors the source."""

import os
import pathlib
import subprocess
from typing import Iterable

import source_tree

# Folders of the project; the first six hold source, which tests/ mirrors.
SOURCE = ("core", "policies", "scenarios", "sim", "runtime", "tools")
FOLDERS = SOURCE + ("tests", "docs")
FILES = ("CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md")
# Tests of several layers at once, and what tests share.
OUTSIDE_THE_MIRROR = ("system", "support")

BELONGS = {
    ".md": "pages belong into docs/",
    ".svg": "pictures belong into docs/pictures/",
    ".png": "pictures belong into docs/images/",
    ".yaml": "scenarios belong into scenarios/, example jobs into docs/examples/",
    ".proto": "messages belong into runtime/proto/",
    ".cmake": "CMake modules belong into tools/cmake/",
    ".py": "scripts belong into tools/",
    ".sh": "scripts belong into tools/",
}
SOURCE_BELONGS = "sources belong into the layer that they are part of: core/, sim/, runtime/ ..."
FOLDER_BELONGS = ("put it into one of " + ", ".join(f"{name}/" for name in FOLDERS)
                  + "; results of a run belong into out/, which git ignores")


def tracked(root: pathlib.Path) -> Iterable[str]:
    """Paths that git tracks; without git, those on the disk less build folders and out/."""
    if (root / ".git").exists():
        git = subprocess.run(["git", "-C", root, "-c", f"safe.directory={root}", "ls-files", "-z"],
                             capture_output=True, text=True, check=False)
        if git.returncode == 0:
            return [path for path in git.stdout.split("\0") if path]
    return source_tree.files(root)


def belongs(root: pathlib.Path, name: str, is_folder: bool) -> str:
    if is_folder:
        return FOLDER_BELONGS
    suffix = pathlib.PurePath(name).suffix
    if suffix in source_tree.CPP:
        return SOURCE_BELONGS
    if suffix in BELONGS:
        return BELONGS[suffix]
    if os.access(root / name, os.X_OK):
        return "programs belong into tools/"
    return "settings of tools are dot files or stand in tools/, data in scenarios/ or tests/"


def strangers_at_top(root: pathlib.Path, paths: Iterable[str]) -> list[str]:
    """What stands at the top level and is none of the known folders, files and dot files."""
    tops = {path.split("/")[0]: "/" in path for path in paths}
    return [f"{name}:1: top level: holds only {' '.join(FOLDERS)} beside {', '.join(FILES)} and "
            f"dot files; {belongs(root, name, is_folder)}"
            for name, is_folder in sorted(tops.items())
            if not name.startswith(".") and name not in (FOLDERS if is_folder else FILES)]


def unmirrored(paths: Iterable[str]) -> list[str]:
    """Folders tests/A/B without a folder A/B, a file A/B or files A/B.* that they test."""
    counterparts, folders = set(), set()
    for path in paths:
        parts = path.split("/")
        if parts[0] in SOURCE and len(parts) >= 2:
            name = parts[1] if len(parts) > 2 else pathlib.PurePath(parts[1]).stem
            counterparts.add((parts[0], name))
        elif parts[0] == "tests" and len(parts) > 2 and parts[1] not in OUTSIDE_THE_MIRROR:
            folders.add((parts[1], parts[2] if len(parts) > 3 else ""))
    found = []
    for layer, name in sorted(folders):
        folder = f"tests/{layer}/{name}" if name else f"tests/{layer}"
        if layer not in SOURCE:
            found.append(f"{folder}:1: folder: tests/ mirrors the source; name it after one of "
                         f"{' '.join(SOURCE)}, or move it into tests/system where it crosses layers")
        elif name and (layer, name) not in counterparts:
            found.append(f"{folder}:1: folder: there is no {layer}/{name} that it could test; name "
                         "it after what it tests, or move it into tests/system where it crosses "
                         "layers")
    return found
