#!/usr/bin/env python3
"""Each file includes the standard headers of what it names.

The build compiles the sources of a folder together, so that one file's include serves the next
unseen. A file has a header when it or a project header that it includes, at any depth, includes it.
Prints `file:line: std::name: no header` for each offence.

Usage: check_includes.py ROOT
"""

import pathlib
import re
import sys

import source_tree

# Names that stand for their headers beyond doubt, and the headers of which one must be there.
HEADERS = {
    "vector": "vector", "string": "string", "string_view": "string_view", "to_string": "string",
    "map": "map", "multimap": "map", "set": "set", "deque": "deque", "list": "list",
    "unordered_map": "unordered_map", "unordered_set": "unordered_set", "array": "array",
    "optional": "optional", "nullopt": "optional", "variant": "variant", "visit": "variant",
    "holds_alternative": "variant", "span": "span", "tuple": "tuple", "tie": "tuple",
    "function": "functional", "unique_ptr": "memory", "shared_ptr": "memory",
    "weak_ptr": "memory", "make_unique": "memory", "make_shared": "memory",
    "mutex": "mutex", "lock_guard": "mutex", "unique_lock": "mutex", "scoped_lock": "mutex",
    "thread": "thread", "jthread": "thread", "condition_variable": "condition_variable",
    "atomic": "atomic", "future": "future", "promise": "future",
    "ifstream": "fstream", "ofstream": "fstream", "ostringstream": "sstream",
    "istringstream": "sstream", "stringstream": "sstream", "cout": "iostream", "cerr": "iostream",
    "filesystem": "filesystem", "chrono": "chrono", "numeric_limits": "limits",
    "accumulate": "numeric", "iota": "numeric", "from_chars": "charconv", "to_chars": "charconv",
    "bit_cast": "bit", "popcount": "bit", "countr_zero": "bit", "countl_zero": "bit",
    "sort": "algorithm", "stable_sort": "algorithm", "find_if": "algorithm", "any_of": "algorithm",
    "all_of": "algorithm", "none_of": "algorithm", "lower_bound": "algorithm",
    "upper_bound": "algorithm", "max_element": "algorithm", "min_element": "algorithm",
    "strerror": "cstring", "memcpy": "cstring", "error_code": "system_error",
    "int8_t": "cstdint", "int16_t": "cstdint", "int32_t": "cstdint", "int64_t": "cstdint",
    "uint8_t": "cstdint", "uint16_t": "cstdint", "uint32_t": "cstdint", "uint64_t": "cstdint",
}
# What these bring along is promised by the standard or by long practice of all its libraries.
ALSO = {"string": {"string_view"}, "iostream": {"string"}, "sstream": {"string"},
        "filesystem": {"string", "chrono", "system_error"}, "mutex": {"chrono", "system_error"},
        "condition_variable": {"mutex", "chrono"}, "future": {"mutex", "memory"},
        "map": {"tuple"}, "functional": {"tuple"}, "nlohmann/json.hpp": {
            "string", "vector", "map", "array", "memory", "cstdint", "algorithm", "functional"},
        "gtest/gtest.h": {"string", "vector", "tuple", "memory", "limits", "iostream", "set", "map"},
        "gmock/gmock.h": {"string", "vector", "tuple", "memory", "functional", "algorithm"},
        "yaml-cpp/yaml.h": {"string", "vector", "map"}, "grpcpp/grpcpp.h": {"string", "memory"}}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
NAME = re.compile(r"\bstd::(?:ranges::)?(\w+)")


class Tree:
    """The includes of all files, followed through the project's headers."""

    def __init__(self, root: pathlib.Path):
        self.code = {path: source_tree.code_only(source_tree.read(root, path))
                     for path in source_tree.files(root)
                     if pathlib.PurePath(path).suffix in source_tree.CPP}
        self.reached: dict[str, frozenset[str]] = {}

    def headers(self, path: str) -> frozenset[str]:
        """The standard and outside headers that `path` has."""
        if path not in self.reached:
            self.reached[path] = frozenset()  # A circle adds nothing.
            found: set[str] = set()
            for quote, target in INCLUDE.findall(self.code[path]):
                if quote == "<":
                    found |= {target, *ALSO.get(target, ())}
                elif target in self.code:
                    found |= self.headers(target)
            self.reached[path] = frozenset(found)
        return self.reached[path]


def check(root: pathlib.Path) -> list[str]:
    found = []
    tree = Tree(root)
    for path, code in tree.code.items():
        has, missing = tree.headers(path), {}
        for match in NAME.finditer(code):
            header = HEADERS.get(match.group(1))
            if header is not None and header not in has:
                missing.setdefault(header, match)
        for header, match in missing.items():
            line = code.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: {match.group(0)}: nothing that the file includes has "
                         f"<{header}>; include it")
    return found


def main() -> int:
    found = check(pathlib.Path(sys.argv[1]).resolve())
    print("\n".join(found) or "includes: every name has its header")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
