"""The pages on placement against the program and the code.

Usage: pages_test.py PROGRAM ROOT
"""

import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tools/pages"))

import pages  # noqa: E402
import railroad  # noqa: E402

CASES = ROOT / "../shared/cases/placement_cases.json"
BACKTICKED = re.compile(r"`([^`]+)`")
# Errors of form: a text that the grammar has may have others.
OF_FORM = {"placement_empty", "entry_malformed", "rank_format", "resource_empty", "process_empty",
           "process_all"}


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def tables(text: str, head: str) -> list[list[str]]:
    """The cells of all rows of the tables that begin with this head."""
    rows, reads = [], False
    for line in text.splitlines():
        if not line.startswith("|"):
            reads = False
        elif not reads and line.startswith(head):
            reads = True
        elif reads and not line.startswith("| ---"):
            rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return rows


def place(document: str) -> dict:
    run = subprocess.run([PROGRAM, "place", "-", "--json"], input=document, capture_output=True,
                         text=True, timeout=120, check=False)
    return json.loads(run.stdout)


class Shown(unittest.TestCase):
    def test_answers_files_and_pictures_are_as_they_are_shown(self):
        for path, text in pages.renewed(PROGRAM, ROOT).items():
            with self.subTest(path.name):
                self.assertEqual(path.read_text(), text,
                                 "write it anew with tools/pages/pages.py PROGRAM ROOT --write")

    def test_every_example_is_shown_and_run(self):
        text = "".join(page(pathlib.Path(name).name) for name in pages.PAGES)
        for example in sorted((ROOT / pages.EXAMPLES).rglob("*.yaml")):
            if example.parent.name in {"jobs", "settings"}:
                continue  # They are for daemons; see below.
            if "rlinf" in example.parts:
                continue  # Parts of each other: tests/scenarios/language/rlinf/documents_test.cpp.
            if "sdk" in example.parts:
                continue  # Run with real processes: tests/runtime/sdk/python/examples_test.py.
            path = example.relative_to(ROOT)
            with self.subTest(str(path)):
                self.assertIn(f"]({path.relative_to('docs')}):\n\n```yaml\n", text)
                self.assertRegex(text, rf"\n\$ orrery \w+ (--search )?{re.escape(str(path))}\n")

    def test_every_example_of_settings_is_named_and_sound(self):
        for example in sorted((ROOT / pages.EXAMPLES / "settings").glob("*.yaml")):
            with self.subTest(example.name):
                self.assertIn(f"](examples/settings/{example.name})", page("configuration.md"))
                done = subprocess.run([PROGRAM, example.stem, "--config", example,
                                       "--print-systemd-unit"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_example_of_a_job_is_named_and_sound(self):
        text = page("job_files.md")
        for example in sorted((ROOT / pages.EXAMPLES / "jobs").glob("*.yaml")):
            with self.subTest(example.name):
                self.assertIn(f"](examples/jobs/{example.name})", text)
                done = subprocess.run([PROGRAM, "check", example], capture_output=True, text=True,
                                      check=False, cwd=ROOT)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_picture_is_shown(self):
        text = "".join(page(pathlib.Path(name).name) for name in pages.PAGES)
        for picture in (ROOT / pages.PICTURES).glob("*.svg"):
            self.assertIn(f"(pictures/{picture.name})", text)


class Named(unittest.TestCase):
    HEADS = ("| RLinf |", "| NeMo-RL |", "| theirs | here | why |")

    def test_every_kind_of_error_has_a_row(self):
        code = (ROOT / "core/placement/placement_error.hpp").read_text()
        names = re.search(r"EnumNames<placement::ErrorKind> \{.*?kNames\{(.*?)\}", code, re.DOTALL)
        kinds = set(re.findall(r'"(\w+)"', names[1]))
        rows = [row for stage in ("config", "parse", "resolve")
                for row in tables(page("placement_documents.md"), f"| kind, stage {stage} |")]
        told = [BACKTICKED.fullmatch(row[0])[1] for row in rows]
        self.assertEqual(len(told), len(set(told)))
        answers = (ROOT / "scenarios/language/placement/placement_answer.cpp").read_text()
        kinds |= set(re.findall(r'kind = "(\w+)"', answers))
        self.assertEqual(set(told), kinds)
        self.assertTrue(all(row[1] and row[2] for row in rows))

    def enumerators(self, header, enumeration):
        code = (ROOT / header).read_text()
        names = re.search(rf"EnumNames<{enumeration}> \{{.*?kNames\{{(.*?)\}}", code, re.DOTALL)
        return re.findall(r'"(\w+)"', names[1])

    def test_every_reason_and_limit_of_a_job_has_a_row(self):
        text = page("operations.md")
        for header, enumeration, head in [
                ("core/job/job_enums.hpp", "Reason", "| reason |"),
                ("core/state/job_failover.hpp", "Limit", "| limit |")]:
            rows = tables(text, head)
            told = [BACKTICKED.fullmatch(row[0])[1] for row in rows]
            wanted = [name for name in self.enumerators(header, enumeration) if name != "none"]
            self.assertEqual(sorted(told), sorted(wanted))
            self.assertTrue(all(all(row) for row in rows), head)

    def test_what_a_waiting_job_says_is_what_the_core_says(self):
        code = "".join(path.read_text() for folder in ("core/control", "core/membership", "core/vcluster")
                       for path in (ROOT / folder).glob("*.cpp"))
        code = re.sub(r'"\s+"', "", code)
        rows = tables(page("operations.md"), "| the message says |")
        self.assertGreater(len(rows), 5)
        for row in rows:
            self.assertTrue(all(row), row)
            self.assertIn(BACKTICKED.fullmatch(row[0])[1], code)

    def test_every_key_of_a_record_has_a_row(self):
        records = place("cluster: {nodes: [{gpus: 1}]}\ncomponent_placement: {a: 0}\n")["a"]
        rows = tables(page("placement_documents.md"), "| key | meaning |")
        told = [key for row in rows for key in BACKTICKED.findall(row[0])]
        self.assertEqual(told, list(records[0]))

    def test_every_computed_variable_is_named(self):
        sources = [ROOT / "core/workers" / name for name in (
            "environment_merge.cpp", "environment_merge.hpp", "family_variables.cpp",
            "visibility.cpp", "visibility.hpp")]
        sources.append(ROOT / "core/discovery/di_environment.cpp")
        text = page("worker_environment.md")
        names = {name for source in sources
                 for name in re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|RANK)"', source.read_text())}
        self.assertGreater(len(names), 80)
        unnamed = [name for name in sorted(names)
                   if not re.search(rf"(?<![A-Z_]){name}(?![A-Z_])", text)]
        self.assertEqual(unnamed, [])

    def test_reasons_are_those_of_the_tests(self):
        code = (ROOT / "tests/core/vcluster/reasons_test.cpp").read_text()
        code = re.sub(r'"\s+"', "", code)
        shown = re.findall(r"^virtual clusters? .*: .*$", page("virtual_clusters.md"), re.MULTILINE)
        self.assertGreater(len(shown), 2)
        for line in shown:
            self.assertIn(line, code)

    def test_every_scenario_of_the_library_is_named(self):
        rows = tables(page("virtual_clusters.md"), "| about | scenarios |")
        named = [name for row in rows for name in BACKTICKED.findall(row[1])]
        there = {path.stem for path in (ROOT / "scenarios/placement").glob("*.yaml")}
        self.assertEqual(len(named), len(set(named)))
        self.assertEqual(set(named), there)

    def test_what_holds_a_difference_exists(self):
        known = {name for path in (ROOT / "tests").rglob("*_test.*")
                 for name in (path.name, str(path.relative_to(ROOT)))}
        known |= {path.stem for folder in ("scenarios", pages.EXAMPLES)
                  for path in (ROOT / folder).rglob("*.yaml")}
        cases = {case["name"] for case in json.loads(CASES.read_text())["cases"]} \
            if CASES.exists() else None
        for name in (*pages.PAGES, "docs/compatibility.md"):
            rows = [row for head in self.HEADS
                    for row in tables(page(pathlib.Path(name).name), head)]
            for row in rows:
                holders = BACKTICKED.findall(row[-1])
                self.assertTrue(holders, row)
                for holder in holders:
                    is_case = cases is None and "." not in holder
                    self.assertTrue(is_case or holder in known | (cases or set()), (name, holder))

    def test_what_holds_a_row_of_compatibility_is_one_thing(self):
        cases = {case["name"] for case in json.loads(CASES.read_text())["cases"]} \
            if CASES.exists() else None
        files = [path for path in (ROOT / "tests").rglob("*_test.*") if path.is_file()]
        of_google = re.findall(r"^TEST\w*\(\w+, (\w+)\)",
                               "".join(f.read_text() for f in files if f.suffix == ".cpp"), re.M)
        scenarios = [path.stem for folder in ("lifecycle", "failover", "placement")
                     for path in (ROOT / "scenarios" / folder).glob("*.yaml")]
        held = [name for head in ("| theirs |", "| test |", "| their test |", "| gap |", "| RLinf |",
                                  "| NeMo-RL |")
                for row in tables(page("compatibility.md"), head)
                for name in BACKTICKED.findall(row[-1])]
        self.assertGreater(len(held), 190)
        for name in held:
            if "/" in name:
                self.assertTrue((ROOT / name).exists(), name)
                continue
            found = [path.name for path in files].count(name) + scenarios.count(name) + \
                of_google.count(name)
            known = found == 1 or (cases is None or name in cases) and found == 0
            self.assertTrue(known, f"{name}: {found} of the kind; write its path")

    def test_the_brace_of_every_link_inside_pages_is_a_heading(self):
        for name in (*pages.PAGES, "docs/placement_documents.md"):
            text = (ROOT / name).read_text()
            for target, anchor in re.findall(r"\]\(([\w./]*)#([\w-]+)\)", text):
                other = (ROOT / name).parent / target if target else ROOT / name
                headings = re.findall(r"^#+ (.*)$", other.read_text(), re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}
                self.assertIn(anchor, anchors, (name, target))


class Grammar(unittest.TestCase):
    """The parser finds no fault with the form of what the grammar derives, and refuses the rest.

    Not always for its form: each entry is told about once, and a rank that does not exist is
    told before what follows it.
    """

    SEED = 20240611

    def derive(self, draw: random.Random, part) -> str:
        blank = draw.choice(("", "", "", " "))
        match part:
            case railroad.Word("all"):
                return blank + draw.choice(("all", "All", "ALL"))
            case railroad.Word(text):
                return blank + text
            case railroad.Rule("digit"):
                return str(draw.randrange(10))
            case railroad.Rule("number"):
                return blank + str(draw.randrange(20))
            case railroad.Rule(name):
                return self.derive(draw, railroad.GRAMMAR[name])
            case railroad.Row(parts):
                return "".join(self.derive(draw, p) for p in parts)
            case railroad.Either(parts):
                return self.derive(draw, draw.choice(parts))
            case railroad.Maybe(inner):
                return self.derive(draw, inner) if draw.random() < 0.5 else ""
            case railroad.Again(inner):
                return "".join(self.derive(draw, inner) for _ in range(draw.choice((0, 0, 1, 2))))
        raise TypeError(part)

    def pattern(self, part) -> str:
        """The same language as a regular expression over texts without blanks."""
        match part:
            case railroad.Word(text):
                return re.escape(text) if text != "all" else "[aA][lL][lL]"
            case railroad.Rule("digit"):
                return "[0-9]"
            case railroad.Rule(name):
                return f"(?:{self.pattern(railroad.GRAMMAR[name])})"
            case railroad.Row(parts):
                return "".join(self.pattern(p) for p in parts)
            case railroad.Either(parts):
                return f"(?:{'|'.join(map(self.pattern, parts))})"
            case railroad.Maybe(inner):
                return f"(?:{self.pattern(inner)})?"
            case railroad.Again(inner):
                return f"(?:{self.pattern(inner)})*"
        raise TypeError(part)

    def kinds(self, texts: list[str]) -> list[set]:
        """The kinds of error that the program tells of each text."""
        document = "cluster: {nodes: [{gpus: 8, count: 2}]}\ncomponent_placement:\n"
        document += "".join(f"  c{i}: {json.dumps(text)}\n" for i, text in enumerate(texts))
        kinds = [set() for _ in texts]
        for error in place(document).get("errors", []):
            kinds[error["line"] - 3].add(error["kind"])
        return kinds

    def test_parser_and_grammar_agree(self):
        draw = random.Random(self.SEED)
        texts = []
        for _ in range(1500):
            text = self.derive(draw, railroad.GRAMMAR["placement"])
            at = draw.randrange(len(text) + 1)
            texts += [text, text[:at] + draw.choice(":,-0xl ") + text[at:], text[:at] + text[at + 1:]]
        # The expression does not see a blank inside a number or a word.
        texts = [t for t in texts if not re.search(r"\w +\w", t)]
        whole = re.compile(self.pattern(railroad.GRAMMAR["placement"]))
        derived = [bool(whole.fullmatch(text.replace(" ", ""))) for text in texts]
        wrong = [text for text, kinds, good in zip(texts, self.kinds(texts), derived)
                 if (kinds & OF_FORM if good else not kinds)]
        self.assertEqual(wrong, [], f"seed {self.SEED}")
        self.assertGreater(derived.count(False), 300)
        self.assertGreater(derived.count(True), 1500)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
