#!/usr/bin/env python3
"""Drawing, judging, remembering and counting mutants, with programs that are none.

Usage: mutation_test.py ROOT
"""

import json
import pathlib
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path.insert(0, str(ROOT / "tools/mutation"))

import campaign  # noqa: E402
import nets  # noqa: E402
import places  # noqa: E402
import report  # noqa: E402
import rewrite  # noqa: E402
import tree  # noqa: E402

TEST = nets.unit("test_agent")
STORM = nets.storm(1, 9)


def mutant(number: int, folder: str, text: str = "a < b") -> dict:
    return {"number": number, "path": f"core/{folder}/a.cpp", "line": 7, "column": 3,
            "text": "if (a < b) {", "function": "f", "kind": "relation", "original": text, "mutant": "a <= b"}


def result(number: int, net=None, how=None, *, quick: bool = False) -> dict:
    return {"number": number, "net": net, "how": how, "quick": quick}


class Judging(unittest.TestCase):
    def test_tells_a_failed_case_from_an_invariant_and_from_a_crash(self):
        failed = nets.judged(TEST, 1, "x\n[  FAILED  ] Agent.Fences, where\n", timed_out=False)
        self.assertEqual(failed, nets.Kill("test", "Agent.Fences"))
        broken = nets.judged(TEST, 3, "orrery: invariant broken: a claim\n", timed_out=False)
        self.assertEqual(broken.how, "invariant")
        self.assertEqual(nets.judged(TEST, -11, "a\n  b\n", timed_out=False),
                         nets.Kill("crash", "ended with -11: a b"))
        self.assertIsNone(nets.judged(TEST, 0, "[  PASSED  ]", timed_out=False))

    def test_takes_both_limits_for_a_loop_without_end(self):
        self.assertEqual(nets.judged(TEST, 0, "", timed_out=True).how, "time")
        self.assertEqual(nets.judged(TEST, -nets.SIGXCPU, "", timed_out=False).how, "time")

    def test_reads_what_a_storm_found(self):
        out = json.dumps({"failures": [{"seed": 4, "kind": "liveness", "text": "job 1 waits"}]})
        self.assertEqual(nets.judged(STORM, 3, out, timed_out=False),
                         nets.Kill("test", "seed 4: liveness: job 1 waits"))
        out = out.replace("liveness", "process_ended").replace("job 1 waits", "CPU time limit exceeded")
        self.assertEqual(nets.judged(STORM, 3, out, timed_out=False).how, "time")

    def test_begins_with_the_tests_of_the_mutants_folder_and_ends_with_storms(self):
        steps = nets.steps("core/leader/leader.cpp")
        self.assertEqual(steps[0].name, "test_leader")
        nets_in_order = [step.net for step in steps if step.name not in nets.LATE]
        self.assertEqual(nets_in_order, sorted(nets_in_order, key=("unit", "scenario", "pins", "storm").index))
        self.assertEqual({step.net for step in nets.steps("core/agent/a.cpp", storm_only=True)},
                         {"storm", "pins"})
        self.assertEqual({step.net for step in nets.steps("core/agent/a.cpp", storm_only=True,
                                                          pins=False)}, {"storm"})

    def test_of_a_folder_with_tests_elsewhere_those_are_built_and_come_first(self):
        self.assertEqual([step.name for step in nets.steps("policies/queues/a.cpp")][0], "test_policies")
        self.assertIn("test_policies", nets.targets(["core/driver", "policies/queues"]))
        self.assertNotIn("test_policies", nets.targets(["core/driver", "core/control"]))

    def test_knows_a_limit_for_every_step(self):
        paths = ("core/agent/a.cpp", "core/control/a.cpp", "policies/queues/a.cpp")
        took = nets.with_last_storms({step.name: 1.0 for step in nets.every_step(paths)})
        for path in paths:
            for step in nets.steps(path):
                self.assertGreater(took[step.name], 0)
        self.assertAlmostEqual(took["storm 3001..8000"], 2.5)


class Running(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = tree.Tree(pathlib.Path(folder.name))
        (self.tree.build / "bin").mkdir(parents=True)
        self.tree.tree.mkdir()

    def program(self, text: str) -> None:
        path = self.tree.build / "bin/test_agent"
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        path.chmod(0o755)

    def test_switches_the_mutant_on_and_nothing_without_one(self):
        self.program('[ "${ORRERY_MUTANT-none}" = none ] || [ "$ORRERY_MUTANT" = 7 ]')
        for number, passes in ((0, True), (7, True), (8, False)):
            kill, _ = campaign.run_step(self.tree, TEST, number, 60, 600)
            self.assertEqual(kill is None, passes, number)

    def test_runs_the_scenarios_of_the_mutated_tree(self):
        (self.tree.tree / "scenarios/failover").mkdir(parents=True)
        for name in ("here", "lanl_month"):
            (self.tree.tree / f"scenarios/failover/{name}.yaml").touch()
        steps = {step.name: step for step in nets.every_step(["core/agent/a.cpp"])}
        self.assertEqual(steps["orrery test"].words_in(self.tree.tree, "out"),
                         ["test", "scenarios/failover/here.yaml"])
        self.assertEqual(STORM.words_in(self.tree.tree, "out")[-1], "out")

    def test_ends_a_loop_by_its_processor_time(self):
        self.program("while :; do :; done")
        kill, took = campaign.run_step(self.tree, TEST, 1, 0, 600)
        self.assertEqual(kill.how, "time")
        self.assertLess(took, 10)

    def test_ends_what_waits_for_ever(self):
        self.program("exec sleep 600")
        begin = time.monotonic()
        kill, _ = campaign.run_step(self.tree, TEST, 1, 60, 0.5)
        self.assertEqual(kill.how, "time")
        self.assertLess(time.monotonic() - begin, 300)

    def test_a_larger_sample_begins_as_the_smaller_one(self):
        self.assertEqual(campaign.drawn(1000, 17, 200)[:50], campaign.drawn(1000, 17, 50))
        self.assertEqual(sorted(campaign.drawn(9, 3, 100)), list(range(1, 10)))
        self.assertNotEqual(campaign.drawn(1000, 17, 50), campaign.drawn(1000, 18, 50))

    def test_goes_on_behind_the_results_that_are_there(self):
        path = self.tree.folder / "results.jsonl"
        first = campaign.Results(path, "digest", 17)
        first.add(result(4, "unit", "test"))
        first.add(result(5))
        first.add(result(5, "storm", "test"))
        with path.open("a", encoding="utf-8") as file:
            file.write('{"number": 6, "ne')
        again = campaign.Results(path, "digest", 17)
        self.assertEqual(sorted(again.of), [4, 5])
        self.assertEqual(again.of[5]["net"], "storm", "the later one counts")
        again.add(result(7, quick=True))
        again.add(result(8, "unit", "test", quick=True))
        self.assertEqual([again.is_judged(number, quick=False) for number in (4, 6, 7, 8)],
                         [True, False, False, True])
        self.assertTrue(again.is_judged(7, quick=True))
        for digest, seed in (("other", 17), ("digest", 18)):
            with self.assertRaises(SystemExit):
                campaign.Results(path, digest, seed)


class Counting(unittest.TestCase):
    def test_counts_by_folder_and_leaves_equivalents_out_of_the_score(self):
        mutants = [mutant(1, "agent"), mutant(2, "agent", "x == y"), mutant(3, "agent"),
                   mutant(4, "leader")]
        results = {1: result(1, "unit", "invariant"), 2: result(2), 3: result(3, "storm", "time"),
                   4: result(4)}
        equivalents = report.read_equivalents(
            "# comment\n\npath: core/agent/a.cpp\nfunction: f\nline: if (a < b) {\noriginal: x == y\nmutant: a <= b\n"
            "reason: x is y\n")
        lines = report.table(mutants, results, equivalents).splitlines()
        self.assertEqual(lines[2], "| `core/agent` | 3 | 1 | 0 | 0 | 1 | 1 | 1 | 0 | 1 | 100.0 % |")
        self.assertEqual(lines[3], "| `core/leader` | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 1 | 0 | 0.0 % |")
        self.assertEqual(lines[4], "| all | 4 | 1 | 0 | 0 | 1 | 1 | 1 | 1 | 1 | 66.7 % |")
        survivors = report.survivors(mutants, results, equivalents)
        self.assertEqual([text.split()[0] for text in survivors], ["4"])

    def test_every_equivalent_that_is_kept_has_a_reason(self):
        text = report.EQUIVALENTS.read_text(encoding="utf-8")
        for one in report.read_equivalents(text):
            with self.subTest(one=one):
                lines = (ROOT / one.path).read_text(encoding="utf-8").splitlines()
                self.assertIn(one.line, [line.strip() for line in lines])
                self.assertGreater(len(one.reason), 20)


class Rewriting(unittest.TestCase):
    def test_nests_places_and_says_which_one_stands_at_an_offset(self):
        text = b"f(a < 1);"
        drop, less = places.Change("", "drop", ""), places.Change("", "choice", "a <= 1")
        found = [places.Place(0, 9, "f", [drop]), places.Place(2, 7, "f", [less])]
        out, regions = rewrite.rewritten(text, found, lambda place, index: found.index(place) + 3)
        self.assertEqual(out.decode().splitlines()[1], "{ if (orrery_mutant != 3) { "
                         "f((orrery_mutant == 4 ? (a <= 1) : (a < 1))); } }")
        self.assertIs(rewrite.place_at(regions, out.index(b"a < 1")), found[1])
        self.assertIs(rewrite.place_at(regions, out.index(b"f(")), found[0])
        self.assertIsNone(rewrite.place_at(regions, 0))

    def test_leaves_what_overlaps_by_half_out(self):
        halves = [places.Place(0, 5, "", []), places.Place(3, 8, "", []), places.Place(1, 3, "", [])]
        self.assertEqual([place.begin for place in places.nested(halves)], [0, 1])


if __name__ == "__main__":
    unittest.main()
