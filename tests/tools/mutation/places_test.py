#!/usr/bin/env python3
"""A small source: every place where it can be changed is found, and nothing else; compiled with all
switches, each of them changes the one thing that it says.

Usage: places_test.py ROOT COMPILER
Exit 77 where Python has no libclang (tools/packages --mutation brings it).
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, COMPILER = pathlib.Path(sys.argv.pop(1)), sys.argv.pop(1)
sys.path.insert(0, str(ROOT / "tools/mutation"))

import places  # noqa: E402
import rewrite  # noqa: E402
import tree  # noqa: E402

SOURCE = """\
#include <cstdio>
#include <string>
#include <vector>
#define CHECKED(condition) ((condition) ? void(0) : void(1))
enum class Color { Red = 3 };
// if (a < b) return 7;
constexpr int twice(int x) { return x < 9 ? x * 2 : 5; }
static_assert(twice(2) == 4);
struct Row {
  int a = 1;
  template <class Self, class Visitor>
  static void fields(Self& self, Visitor& v) { v.field("a", self.a == 1); }
};
bool less(int a, int b) { return a < b; }
int both(bool a, bool b, bool c) {
  if (a && b && c) return 'y';
  return 'n';
}
int sum(int a, int b) {
  CHECKED(a < b);
  const std::string text = std::string("a + b && 1 /* < */") + "// c == d";
  constexpr int kNone = 0;
  return a + /* a + b */ b + kNone;
}
bool has(const std::string& text) { return !text.empty(); }
int last(const std::vector<int>& all) {
  int found = 0;
  for (const int one : all) {
    if (one == 2) continue;
    found = one;
  }
  return found;
}
void set(int& out, bool twice) {
  if (twice) out += 10;
  else out = 20;
}
constexpr bool planted(Color) { return false; }
int charged(int n) {
  if (planted(Color::Red)) n += 5;
  return n * (planted(Color::Red) ? 7 : 1);
}
void show(int x) { std::printf("%d ", x); }
void pass(int x) { return show(x); }
int main() {
  int once = 1, more = 1;
  set(once, false), set(more, true);
  std::printf("less %d%d%d\\n", less(1, 2), less(2, 2), less(3, 2));
  std::printf("both %c%c%c%c\\n", both(1, 1, 1), both(0, 1, 1), both(1, 0, 1), both(1, 1, 0));
  std::printf("sum %d\\n", sum(5, 3));
  std::printf("has %d%d\\n", has(""), has("a"));
  std::printf("last %d\\n", last({1, 3, 2}));
  std::printf("set %d %d\\n", once, more);
  std::printf("charged %d\\n", charged(4));
  pass(4);
}
"""

AS_IT_IS = {"less": "100", "both": "ynnn", "sum": "8", "has": "01", "last": "3", "set": "20 11",
            "charged": "4", "show": "4"}

# Function, line, original, what it becomes, and what is printed for that function with it.
EXPECTED = [
    ("less", 14, "a < b", "a <= b", "110"),
    ("less", 14, "a < b", "!(a < b)", "011"),
    ("both", 16, "a && b && c", "!(a && b && c)", "nyyy"),
    ("both", 16, "a && b && c", "(a && b) || c", "yyyy"),
    ("both", 16, "a && b && c", "static_cast<bool>(a && b)", "ynny"),
    ("both", 16, "a && b", "a || b", "yyyn"),
    ("both", 16, "a && b", "static_cast<bool>(a)", "ynyn"),
    ("both", 16, "a && b", "static_cast<bool>(b)", "yynn"),
    ("sum", 23, "a + b + kNone", "a + b - kNone", "8"),
    ("sum", 23, "a + b", "a - b", "2"),
    ("has", 25, "!text.empty()", "!(!text.empty())", "10"),
    ("last", 27, "0", "1", "3"),
    ("last", 29, "one == 2", "one != 2", "2"),
    ("last", 29, "2", "3", "2"),
    ("last", 29, "2", "1", "2"),
    ("last", 29, "continue;", "", "2"),
    ("last", 30, "found = one;", "", "0"),
    ("set", 35, "twice", "!(twice)", "11 20"),
    ("set", 35, "out += 10;", "", "20 1"),
    ("set", 35, "out += 10", "out -= 10", "20 -9"),
    ("set", 35, "10", "11", "20 12"),
    ("set", 35, "10", "9", "20 10"),
    ("set", 36, "out = 20;", "", "1 11"),
    ("set", 36, "20", "21", "21 11"),
    ("set", 36, "20", "19", "19 11"),
    ("charged", 41, "n * (planted(Color::Red) ? 7 : 1)", "n / (planted(Color::Red) ? 7 : 1)", "4"),
    ("charged", 41, "1", "2", "8"),
    ("charged", 41, "1", "0", "0"),
    ("show", 43, 'std::printf("%d ", x);', "", ""),
    ("show", 44, "return show(x);", "return;", ""),
]


def outputs(text: str) -> dict:
    """What the program printed, by function."""
    found = dict.fromkeys(AS_IT_IS, "")
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in found:
            found[name] = value
        else:
            found["show"] = name
    return found


class Places(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = pathlib.Path(folder.name)
        cls.sample = cls.mutated("sample.cpp", SOURCE)

    @classmethod
    def mutated(cls, name, source):
        (cls.root / name).write_text(source, encoding="utf-8")
        return tree.mutate(cls.root, name, ["-x", "c++", "-std=c++20", "-w", f"-I{cls.root}"])

    def found(self, mutated) -> list:
        """Function, line, original and mutant of each, but in main()."""
        return [(place.function, SOURCE.count("\n", 0, place.begin) + 1, place.original,
                 change.shown(place.original))
                for place in mutated.places if place.function != "main"
                for change in place.changes]

    def test_finds_every_place_and_nothing_in_comments_texts_macros_and_constants(self):
        wanted = [(function if line != 44 else "pass", line, original, mutant)
                  for function, line, original, mutant, _ in EXPECTED]
        self.assertEqual(sorted(self.found(self.sample)), sorted(wanted))

    def test_ranges_are_those_of_the_text(self):
        for place in self.sample.places:
            text = SOURCE[place.begin:place.end].replace("/* a + b */ ", "")
            self.assertEqual(" ".join(text.split()), place.original)

    def test_each_switch_changes_the_one_thing_that_it_says(self):
        mutated = self.sample
        out, _ = mutated.written(1)
        self.assertEqual(out.count(b"\n"), SOURCE.count("\n") + 1, "lines stay where they are")
        (self.root / rewrite.SWITCH_PATH).parent.mkdir(parents=True)
        (self.root / rewrite.SWITCH_PATH).write_text(rewrite.SWITCH, encoding="utf-8")
        (self.root / "mutated.cpp").write_bytes(out)
        program = self.root / "program"
        subprocess.run([COMPILER, "-std=c++20", "-w", "-O0", f"-I{self.root}", "-o", program,
                        self.root / "mutated.cpp"], check=True)

        def printed(number):
            environment = {**os.environ, "ORRERY_MUTANT": str(number)}
            done = subprocess.run([program], env=environment, capture_output=True, text=True,
                                  check=True)
            return outputs(done.stdout)

        self.assertEqual(printed(0), AS_IT_IS)
        expected = {(function if line != 44 else "pass", line, original, mutant): (function, value)
                    for function, line, original, mutant, value in EXPECTED}
        number_of, first = mutated.numbered(1), 0
        for place in mutated.places:
            for index, change in enumerate(place.changes):
                line = SOURCE.count("\n", 0, place.begin) + 1
                key = (place.function, line, place.original, change.shown(place.original))
                if key not in expected:
                    self.assertEqual(place.function, "main")
                    continue
                first += 1
                function, value = expected[key]
                with self.subTest(key=key):
                    self.assertEqual(printed(number_of(place, index)), {**AS_IT_IS, function: value})
        self.assertEqual(first, len(EXPECTED))

    def test_leaves_out_what_does_not_compile_and_keeps_the_rest(self):
        source = ("struct A { int x; };\nA operator+(A a, A b) { return {a.x + b.x}; }\n"
                  "A both(A a, A b) { return a + b; }\n"
                  "int size() { int all[3] = {}; return all[2]; }\n")
        mutated = self.mutated("small.cpp", source)
        self.assertEqual([place.original for place in mutated.places], ["a.x + b.x", "2"])
        self.assertEqual(mutated.left_out, 3, "A has no operator-; an array's length is a constant")


if __name__ == "__main__":
    if places.libclang is None:
        print("Python has no module clang.cindex; tools/packages --mutation brings it")
        sys.exit(77)
    unittest.main()
