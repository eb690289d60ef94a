"""Paths, programs and names that comments and pages mention must exist.

* A path that begins with a folder of the top level, wherever it is written. Globs and lists in
  braces are resolved; `tests/AREA/NAME.yaml`, `<name>` and `{name}` are placeholders, before which
  the folder must exist. `core/base/ids` may stand for `core/base/ids.hpp`.
* A program `build/bin/NAME`, which a CMakeLists.txt must declare.
* A source `NAME.hpp` or `folder/NAME.cpp` in a comment of C++ or a code span of a page.
* A member `Type::member` there, where `Type` is declared in the tree.
"""

import io
import itertools
import pathlib
import re
import tokenize
from typing import Iterator

import layout
import source_tree

SCRIPTS = {".py", ".cmake", ".sh", ".yaml", ".proto", ""}

PATH = re.compile(r"(?<![\w./$}~@%:\\>-])(?:" + "|".join(layout.FOLDERS) + r")/"
                  r"(?:[\w./*+-]|<\w[\w ]*>|\{[\w.,]*\})*")
PROGRAM = re.compile(r"\bbuild(?:-\w+)?/bin/([\w-]+)([$*{<]?)")
SOURCE_NAME = re.compile(r"(?<![\w./$}~@%:*{<-])(?:[\w-]+/)*[\w-]+\.(?:hpp|cpp|cu|cuh)\b(?![*-]|\.\w)")
MEMBER = re.compile(r"(?<![\w:])(?:\w+::)*([A-Z]\w*)::(~?\w+)")
PLACEHOLDER = re.compile(r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]*(?![A-Za-z0-9])|<[^>]*>|\{\w*\}|\.\.\.")
BRACES = re.compile(r"\{([^{},]*,[^{}]*)\}")
CODE_OF_PAGE = re.compile(r"^```.*?^```|`[^`\n]+`", re.MULTILINE | re.DOTALL)

DECLARES_PROGRAM = {
    "add_executable": "", "orrery_test": "test_", "orrery_fuzzer": "fuzz_",
    "orrery_benchmark": "bench_"}
DECLARATION = re.compile(rf"\b({'|'.join(DECLARES_PROGRAM)})\(\s*([\w-]+)")
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*)?([A-Z]\w*)")


def suffix_of(path: str) -> str:
    return "" if path.endswith("CMakeLists.txt") else pathlib.PurePath(path).suffix


def blank_but(text: str, spans: list[tuple[int, int]]) -> str:
    """`text` of which only `spans` is left; the rest is blank, line numbers are kept."""
    out, at = [], 0
    for begin, end in spans:
        out += ["\n" * text.count("\n", at, begin), " ", text[begin:end]]
        at = end
    return "".join(out)


def cpp_text(text: str, *, strings: bool) -> str:
    """The comments of C++, with `strings` its literals as well."""
    return blank_but(text, [(begin, end) for begin, end, comment, included in source_tree.tokens(text)
                            if comment or (strings and not included)])


def python_comments(text: str) -> str:
    """Comments and free-standing strings of Python."""
    starts = list(itertools.accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    spans, before = [], tokenize.NEWLINE
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            docstring = token.type == tokenize.STRING and before in {tokenize.NEWLINE,
                                                                     tokenize.INDENT}
            if token.type == tokenize.COMMENT or docstring:
                spans.append((starts[token.start[0] - 1] + token.start[1],
                              starts[token.end[0] - 1] + token.end[1]))
            if token.type not in {tokenize.NL, tokenize.COMMENT, tokenize.DEDENT}:
                before = token.type
    except (tokenize.TokenError, SyntaxError):
        pass  # What does not parse is another check's finding.
    return blank_but(text, spans)


def script_comments(text: str) -> str:
    return blank_but(text, [match.span()
                            for match in re.finditer(r"(?:(?<=\s)|^)#.*", text, re.MULTILINE)])


def prose(path: str, text: str) -> str:
    """What of a file is about other files. Tests make up paths, so there only comments are."""
    suffix, is_test = suffix_of(path), path.startswith("tests/")
    if suffix in source_tree.CPP:
        return cpp_text(text, strings=not is_test)
    if not is_test or suffix == ".md":
        return text
    return python_comments(text) if suffix == ".py" else script_comments(text)


class Tree:
    """What there is to refer to."""

    def __init__(self, root: pathlib.Path, paths: list[str]):
        self.root = root
        self.tails = {tail for path in paths for tail in tails_of(path)}
        self.programs = {"orrery"}
        self.types, self.words = set(), set()
        for path in paths:
            suffix = pathlib.PurePath(path).suffix
            if suffix in source_tree.CPP | {".proto"}:
                code = source_tree.code_only(source_tree.read(root, path))
                self.types.update(TYPE.findall(code))
                self.words.update(re.findall(r"\w+", code))
            elif path.endswith((".cmake", "CMakeLists.txt")):
                for rule, name in DECLARATION.findall(source_tree.read(root, path)):
                    self.programs.add(DECLARES_PROGRAM[rule] + name)

    def has_path(self, path: str) -> bool:
        return all(self.has_one(one) for one in alternatives(path))

    def has_one(self, path: str) -> bool:
        if "*" not in path and (self.root / path).exists():
            return True
        if open_from := PLACEHOLDER.search(path):
            folder = path[:open_from.start()].rpartition("/")[0]
            return any(self.root.glob(folder)) if "*" in folder else (self.root / folder).is_dir()
        if "*" in path:
            return any(self.root.glob(path.rstrip("/")))
        return any((self.root / (path + suffix)).exists() for suffix in (".hpp", ".cpp", ".py"))

    def has_program(self, name: str, goes_on: bool) -> bool:
        if open_from := PLACEHOLDER.search(name):
            name, goes_on = name[:open_from.start()], True
        return (any(program.startswith(name) for program in self.programs) if goes_on
                else name in self.programs)


def tails_of(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[first:]) for first in range(len(parts)))


def alternatives(path: str) -> list[str]:
    """Each reading of a list in braces: `a.{hpp,cpp}` is a.hpp and a.cpp."""
    braces = BRACES.search(path)
    if not braces:
        return [path]
    return [reading for word in braces.group(1).split(",")
            for reading in alternatives(path[:braces.start()] + word + path[braces.end():])]


def is_a_manner_of_speaking(path: str, *, is_code: bool) -> bool:
    """Two words with a slash between them, such as the tools/scripts of a project."""
    return not is_code and path.count("/") == 1 and "." not in path and "*" not in path


def dead_references(tree: Tree, path: str, text: str) -> list[str]:
    found = []

    def tell(searched: str, at: int, what: str, why: str) -> None:
        found.append(f"{path}:{searched.count(chr(10), 0, at) + 1}: {what}: {why}")

    about, suffix = prose(path, text), pathlib.PurePath(path).suffix
    code = [match.span() for match in CODE_OF_PAGE.finditer(text)] if suffix == ".md" else []
    for match in PATH.finditer(about):
        named = match.group(0).rstrip(".-")
        is_code = (about[match.end():match.end() + 1] == "`"
                   or any(begin < match.start() < end for begin, end in code))
        if not tree.has_path(named) and not is_a_manner_of_speaking(named, is_code=is_code):
            tell(about, match.start(), named,
                 "there is no such path; name what is meant as it is called now")
    for match in PROGRAM.finditer(about):
        if not tree.has_program(match.group(1), bool(match.group(2))):
            tell(about, match.start(), match.group(0),
                 "no CMakeLists.txt declares that program; name one that is built")
    if suffix == ".md":
        about = blank_but(text, code)
    elif suffix in source_tree.CPP:
        about = cpp_text(text, strings=False)
    else:
        return found
    for match in SOURCE_NAME.finditer(about):
        if match.group(0) not in tree.tails and not match.group(0).startswith(
                tuple(f"{folder}/" for folder in layout.FOLDERS)):
            tell(about, match.start(), match.group(0),
                 "there is no source of that name; name what is meant as it is called now")
    for match in MEMBER.finditer(about):
        if match.group(1) in tree.types and match.group(2).lstrip("~") not in tree.words:
            tell(about, match.start(), match.group(0),
                 "there is no such member; name what is meant as it is called now")
    return found


def check(root: pathlib.Path, paths: list[str]) -> list[str]:
    tree = Tree(root, paths)
    return [finding for path in paths
            if suffix_of(path) in SCRIPTS | source_tree.CPP | {".md"}
            for finding in dead_references(tree, path, source_tree.read(root, path))]
