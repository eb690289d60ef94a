"""Where C++ can be changed: the places of one file and what each may become, found by libclang.

A place is a range of the text inside the body of a function. Nothing is found in comments and
literals of text, in macros (invariants, coverage marks), in constant expressions and in visitors of
fields.
"""

import dataclasses
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/checks"))
# Debian's module is plain Python: it serves an interpreter from elsewhere as well.
sys.path.append("/usr/lib/python3/dist-packages")

import source_tree  # noqa: E402

try:
    import clang.cindex as libclang
except ImportError:
    libclang = None

SWAPS = {
    "<": ("relation", "<="), "<=": ("relation", "<"), ">": ("relation", ">="),
    ">=": ("relation", ">"), "==": ("relation", "!="), "!=": ("relation", "=="),
    "+": ("arithmetic", "-"), "-": ("arithmetic", "+"), "*": ("arithmetic", "/"),
    "/": ("arithmetic", "*"), "%": ("arithmetic", "/"),
    "+=": ("arithmetic", "-="), "-=": ("arithmetic", "+="),
}
DECIMAL = re.compile(r"(\d[\d']*)([uUlL]*)")
TEXT_TYPE = re.compile(r"basic_string|\bchar\b|\bstd::string")
# Statements that are there for speed or for statistics alone: without them nothing is decided
# otherwise.
NO_DECISION = re.compile(r"reached\(|.*(\.|->)(reserve|shrink_to_fit)\(|static_cast<void>")
# Conditions that are the constant `false` in every build but that of tests/system/planted.
PLANTED = re.compile(r"!?\(*planted\([^()]*\)\)*")
UNTOUCHED_FUNCTIONS = {"fields"}
OPTIONS = 0x01  # With a record of the macros.


@dataclasses.dataclass(frozen=True)
class Change:
    """One mutant of a place: with `form` "choice" the place reads `text` instead.

    The other forms need no text: "negate" a condition, "drop" a statement, "leave" the function in
    place of `return call();`.
    """
    kind: str
    form: str
    text: str

    def shown(self, original: str) -> str:
        """What the place reads."""
        return {"choice": self.text, "negate": f"!({original})", "drop": "",
                "leave": "return;"}[self.form]


@dataclasses.dataclass
class Place:
    begin: int  # Offsets into the file's text, in bytes.
    end: int
    function: str
    changes: list
    original: str = ""  # On one line, without comments.


class Finder:
    """Collects the places of one parsed file."""

    def __init__(self, path: str, text: bytes, unit):
        self.path, self.text, self.unit = path, text, unit
        self.places, self.seen = [], set()
        self.macros = [self.span(cursor) for cursor in unit.cursor.get_children()
                       if cursor.kind == libclang.CursorKind.MACRO_INSTANTIATION
                       and self.is_here(cursor)]
        self.function = ""

    def find(self) -> list:
        for cursor in self.unit.cursor.get_children():
            if self.is_here(cursor):
                self.declaration(cursor)
        return nested(self.places)

    # Positions.

    def is_here(self, cursor) -> bool:
        file = cursor.location.file
        return file is not None and file.name == self.path

    @staticmethod
    def span(cursor) -> tuple:
        return cursor.extent.start.offset, cursor.extent.end.offset

    def source(self, begin: int, end: int) -> str:
        """The text of a range on one line, without comments."""
        text = self.text[begin:end].decode()
        text = source_tree.TOKEN.sub(
            lambda m: "\n" if m.group(0).startswith(("//", "/*")) else m.group(0), text)
        return re.sub(r"\s*\n\s*", " ", text).strip()

    def of(self, cursor) -> str:
        return self.source(*self.span(cursor))

    def in_macro(self, cursor) -> bool:
        begin, end = self.span(cursor)
        return any(first <= begin and end <= last for first, last in self.macros)

    def closing(self, begin: int) -> int:
        """The offset of the parenthesis that closes the first one after `begin`; -1: none."""
        blank = source_tree.TOKEN.sub(lambda m: " " * len(m.group(0).encode()),
                                      self.text[begin:].decode()).encode()
        depth = 0
        for at, byte in enumerate(blank):
            depth += {40: 1, 41: -1}.get(byte, 0)
            if byte == 41 and depth == 0:
                return begin + at
        return -1

    def after_semicolon(self, end: int) -> int:
        """The offset behind the semicolon that follows `end`; -1: something else follows."""
        while end < len(self.text) and chr(self.text[end]).isspace():
            end += 1
        return end + 1 if self.text[end:end + 1] == b";" else -1

    def add(self, begin: int, end: int, *changes: Change) -> None:
        changes = [change for change in changes if (begin, end, change) not in self.seen]
        self.seen.update((begin, end, change) for change in changes)
        if changes:
            self.places.append(Place(begin, end, self.function, changes, self.source(begin, end)))

    # Declarations.

    def declaration(self, cursor) -> None:
        body = next((child for child in cursor.get_children()
                     if child.kind == libclang.CursorKind.COMPOUND_STMT), None)
        if body is None:
            for child in cursor.get_children():
                if self.is_here(child):
                    self.declaration(child)
            return
        head = self.source(cursor.extent.start.offset, body.extent.start.offset)
        if cursor.spelling in UNTOUCHED_FUNCTIONS or re.search(r"\bconst(expr|eval)\b", head):
            return
        self.function = cursor.spelling
        self.visit(body)

    # Statements and expressions.

    def visit(self, cursor) -> None:
        kinds = libclang.CursorKind
        kind = cursor.kind
        if kind == kinds.PARM_DECL or self.in_macro(cursor):
            return
        children = list(cursor.get_children())
        if kind == kinds.DECL_STMT and re.search(r"\bconstexpr\b", self.of(cursor)):
            return
        if kind == kinds.COMPOUND_STMT:
            self.statements(children)
        elif kind in (kinds.FOR_STMT, kinds.CXX_FOR_RANGE_STMT, kinds.DEFAULT_STMT):
            self.statements(children[-1:])
        elif kind == kinds.CASE_STMT:
            children = children[1:]
            self.statements(children)
        elif kind in (kinds.IF_STMT, kinds.WHILE_STMT):
            if self.of(cursor).startswith("if constexpr"):
                children = [child for child in children if child.kind.is_statement()]
            else:
                children = self.without_planted(children)
                self.branch(cursor, children)
        elif kind == kinds.CONDITIONAL_OPERATOR and children:
            self.negated(children[0])
            children = self.without_planted(children)
        elif kind == kinds.RETURN_STMT:
            self.returned(cursor, children)
        elif kind == kinds.CONTINUE_STMT:
            self.dropped(cursor)
        elif kind == kinds.INTEGER_LITERAL:
            self.integer(cursor)
        elif kind == kinds.CXX_BOOL_LITERAL_EXPR:
            self.add(*self.span(cursor), Change("constant", "negate", ""))
        elif kind in (kinds.BINARY_OPERATOR, kinds.COMPOUND_ASSIGNMENT_OPERATOR) or (
                kind in (kinds.CALL_EXPR, kinds.UNEXPOSED_EXPR)
                and cursor.spelling.startswith("operator")):
            self.operator(cursor, children)
        for child in children:
            self.visit(child)

    def without_planted(self, children) -> list:
        """A condition's branches but the one that a planted bug alone takes."""
        is_bug = PLANTED.fullmatch(self.of(children[0])) and "!" not in self.of(children[0])
        return children[2:] if is_bug else children

    def statements(self, children) -> None:
        kinds = libclang.CursorKind
        for child in children:
            if not child.kind.is_expression() or self.in_macro(child):
                continue
            inner = unwrapped(child)
            if inner.kind not in (kinds.CALL_EXPR, kinds.BINARY_OPERATOR, kinds.UNARY_OPERATOR,
                                  kinds.COMPOUND_ASSIGNMENT_OPERATOR):
                continue
            if not NO_DECISION.match(self.of(child)):
                self.dropped(child)

    def dropped(self, cursor) -> None:
        begin, end = self.span(cursor)
        end = self.after_semicolon(end)
        if end > 0:
            self.add(begin, end, Change("statement", "drop", ""))

    def branch(self, cursor, children) -> None:
        close = self.closing(cursor.extent.start.offset)
        bodies = [child for child in children if child.extent.start.offset > close]
        self.statements(bodies)
        for child in children:
            if child.kind.is_expression() and child.extent.end.offset <= close and not self.text[
                    child.extent.end.offset:close].strip():
                return self.negated(child)

    def negated(self, cursor) -> None:
        text = self.of(cursor)
        if self.in_macro(cursor) or self.is_equality(cursor) or PLANTED.fullmatch(text):
            return
        if unwrapped(cursor).kind != libclang.CursorKind.CXX_BOOL_LITERAL_EXPR:
            self.add(*self.span(cursor), Change("condition", "negate", ""))

    def is_equality(self, cursor) -> bool:
        """Whether to swap the operator is to negate the whole."""
        inner = unwrapped(cursor)
        return self.operator_of(inner, list(inner.get_children())) in ("==", "!=")

    def returned(self, cursor, children) -> None:
        if not children:
            return self.dropped(cursor)
        kind = children[0].type.get_canonical().kind
        if kind == libclang.TypeKind.BOOL:
            self.negated(children[0])
        elif kind == libclang.TypeKind.VOID:
            begin, end = self.span(cursor)
            end = self.after_semicolon(end)
            if end > 0:
                self.add(begin, end, Change("statement", "leave", ""))

    def integer(self, cursor) -> None:
        match = DECIMAL.fullmatch(self.of(cursor))
        if not match:
            return
        value, suffix = int(match.group(1).replace("'", "")), match.group(2)
        others = [value + 1] + ([value - 1] if value > 0 else [])
        self.add(*self.span(cursor),
                 *[Change("constant", "choice", f"{other}{suffix}") for other in others])

    def operator_of(self, cursor, children) -> str:
        """The binary operator between the first and the last of `children`; empty: none."""
        if len(children) < 2:
            return ""
        spans = sorted(map(self.span, (children[0], children[-1])))
        return self.source(spans[0][1], spans[1][0]) if spans[0][1] <= spans[1][0] else ""

    def operator(self, cursor, children) -> None:
        name = self.operator_of(cursor, children)
        begin, end = self.span(cursor)
        if not name or self.span(children[0])[0] != begin or self.span(children[-1])[1] != end:
            return
        left, right = self.of(children[0]), self.of(children[-1])
        if name in ("&&", "||"):
            other = "||" if name == "&&" else "&&"
            changes = [Change("connective", "choice", f"{grouped(left)} {other} {grouped(right)}")]
            if not PLANTED.fullmatch(right):
                changes.append(Change("connective", "choice", f"static_cast<bool>({left})"))
            # Of a chain each operand is dropped alone: by the operator that joins the first two.
            first = children[0]
            is_chain = self.operator_of(first, list(first.get_children())) == name
            if not is_chain and not PLANTED.fullmatch(left):
                changes.append(Change("connective", "choice", f"static_cast<bool>({right})"))
            self.add(begin, end, *changes)
        elif name in SWAPS:
            kind, other = SWAPS[name]
            types = [child.type.get_canonical().spelling for child in (children[0], children[-1])]
            if kind == "arithmetic" and any(TEXT_TYPE.search(one) for one in types):
                return
            self.add(begin, end, Change(kind, "choice", f"{left} {other} {right}"))


def unwrapped(cursor):
    """What implicit conversions and temporaries stand around."""
    kinds = libclang.CursorKind
    while cursor.kind in (kinds.UNEXPOSED_EXPR, kinds.PAREN_EXPR):
        children = list(cursor.get_children())
        if len(children) != 1:
            break
        cursor = children[0]
    return cursor


def grouped(operand: str) -> str:
    """An operand that another operator may bind to as it bound to the first."""
    return f"({operand})" if re.search(r"&&|\|\||\?|=", operand) else operand


def nested(places: list) -> list:
    """The places, outer ones first, without those that overlap another half."""
    places.sort(key=lambda place: (place.begin, -place.end))
    kept, open_places = [], []
    for place in places:
        while open_places and open_places[-1].end <= place.begin:
            open_places.pop()
        if open_places and place.end > open_places[-1].end:
            continue
        open_places.append(place)
        kept.append(place)
    return kept


def parse(path: str, arguments: list, texts: dict):
    """The parsed file at `path`, an absolute one; `texts` stand in the place of files, by path."""
    return libclang.Index.create().parse(path, args=arguments, unsaved_files=list(texts.items()),
                                         options=OPTIONS)


def errors(unit, path: str) -> list:
    """Offsets of errors in the file; None for one outside of it."""
    return [diagnostic.location.offset
            if diagnostic.location.file and diagnostic.location.file.name == path else None
            for diagnostic in unit.diagnostics
            if diagnostic.severity >= libclang.Diagnostic.Error]
