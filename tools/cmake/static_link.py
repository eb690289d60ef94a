#!/usr/bin/env python3
"""Runs a link command with each shared library replaced by the archive beside it.

All archives form one group, whose order then does not matter.

Usage: static_link.py LINKER WORD...
"""

import pathlib
import re
import subprocess
import sys

SHARED = re.compile(r"(.*/lib[^/]*)\.so[.0-9]*")
# What an archive asks for in turn, where its shared library brings it along.
BROUGHT = {"libCoinUtils.a": ("-lbz2", "-lz")}
DROPPED = re.compile(r"-Wl,(-rpath.*|--start-group|--end-group)")


def static_words(words: list[str]) -> list[str]:
    out, archives = [], []
    for word in words:
        match = SHARED.fullmatch(word)
        if match and not word.startswith("-"):
            archive = pathlib.Path(match.group(1) + ".a")
            if not archive.exists():
                sys.exit(f"static_link.py: {word} is a shared library, needed {archive} beside it; "
                         "install it, or configure with -DORRERY_STATIC_PROGRAMS=OFF")
            archives.append(str(archive))
            archives.extend(BROUGHT.get(archive.name, ()))
        elif word.endswith(".a") or word.startswith("-l"):
            archives.append(word)
        elif not DROPPED.fullmatch(word):
            out.append(word)
    return [*out, "-Wl,--start-group", *dict.fromkeys(archives), "-Wl,--end-group"]


if __name__ == "__main__":
    sys.exit(subprocess.run([sys.argv[1], *static_words(sys.argv[2:])], check=False).returncode)
