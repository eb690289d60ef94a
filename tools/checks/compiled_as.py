#!/usr/bin/env python3
"""Turns changed files into the sources that compile them.

Reads paths from the root of the repository on standard input, one a line. A source is printed
where the build compiles it; a header is replaced by the generated source that includes it alone.
What the build does not compile is named on standard error and left out.

Usage: compiled_as.py COMPILE_COMMANDS < paths
"""

import json
import pathlib
import sys

HEADER_SET = "_verify_interface_header_sets/"


def main() -> int:
    commands = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    root = str(pathlib.Path.cwd()) + "/"
    by_path = {}
    for entry in commands:
        source = entry["file"]
        if HEADER_SET in source:
            header = source.split(HEADER_SET, 1)[1].removesuffix(".cxx")
            by_path[header] = source
        else:
            by_path[source.removeprefix(root)] = source
    for line in sys.stdin:
        path = line.strip()
        if path in by_path:
            print(by_path[path])
        else:
            print(f"{path}: not compiled here, not checked", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
