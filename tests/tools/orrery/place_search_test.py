"""`orrery place --search` from outside: what it prints, what it refuses.

Usage: place_search_test.py PROGRAM ROOT
"""

import json
import pathlib
import re
import signal
import subprocess
import sys
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tests/support"))

from drawn import drawn  # noqa: E402

EXAMPLE = ROOT / "docs/examples/search/grpo.yaml"


def place(*words, text=None):
    return subprocess.run([PROGRAM, "place", *map(str, words)], input=text, capture_output=True, text=True,
                          timeout=100, check=False, cwd=ROOT, env={"PATH": "/usr/bin:/bin", "NO_COLOR": "1"})


class PlaceSearch(unittest.TestCase):
    def candidates(self, *words, text=None):
        done = place("--search", *words, "--json", text=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def refused(self, *words, text=None):
        done = place(*words, text=text)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        return done.stderr

    def test_json_has_the_candidates_best_first_and_the_best_of_each_mode(self):
        found = self.candidates(EXAMPLE, "--top", 3)
        steps = [one["step_s"] for one in found["candidates"]]
        self.assertEqual(steps, sorted(steps))
        self.assertEqual([one["rank"] for one in found["candidates"][:3]], [1, 2, 3])
        self.assertEqual({one["mode"] for one in found["candidates"]}, {"collocated", "disaggregated", "hybrid"})
        self.assertLessEqual(len(found["candidates"]), 7)
        for one in found["candidates"]:
            self.assertAlmostEqual(sum(one["of_a_turn"].values()), one["step_s"])
        self.assertGreater(found["written_s"], steps[0])

    def test_the_same_file_gives_the_same_bytes(self):
        self.assertEqual(place("--search", EXAMPLE, "--json").stdout, place("--search", EXAMPLE, "--json").stdout)

    def test_other_seeds_are_other_turns(self):
        text = EXAMPLE.read_text()
        steps = {seed: self.candidates("-", text=text.replace("seed: 7", f"seed: {seed}"))["candidates"][0]["step_s"]
                 for seed in (7, 8)}
        self.assertNotEqual(steps[7], steps[8])

    def test_a_job_with_the_placement_that_was_found_is_one(self):
        """The texts go into a scenario's roles as they are."""
        for one in drawn(self.candidates(EXAMPLE, "--top", 40)["candidates"], 5, lambda one: [one["mode"]]):
            roles = {name: {"placement": role["placement"]} for name, role in one["roles"].items()}
            scenario = {"cluster": {"nodes": 2, "gpus_per_node": 8, "gpu": "h100"},
                        "jobs": [{"name": "found", "roles": roles, "work": "60s", "take_turns": one["take_turns"]}]}
            done = place("-", "--json", text=json.dumps(scenario))
            self.assertEqual(done.returncode, 0, done.stdout)
            counts = {name: len(records) for name, records in json.loads(done.stdout).items()}
            self.assertEqual(counts, {name: role["replicas"] for name, role in one["roles"].items()})

    def test_fewer_candidates_find_the_same_by_finer_steps_around_the_best(self):
        best = self.candidates(EXAMPLE)["candidates"][0]["step_s"]
        for most in (5000, 2000, 800):
            with self.subTest(candidates=most):
                found = self.candidates(EXAMPLE, "--candidates", most)
                self.assertGreater(found["step"], 1)
                self.assertAlmostEqual(found["candidates"][0]["step_s"], best, places=3)

    def test_devices_bound_what_is_proposed(self):
        text = EXAMPLE.read_text().replace("search:\n", "search:\n          devices: 12\n")
        for one in self.candidates("-", "--top", 1000, text=text)["candidates"]:
            for role in one["roles"].values():
                last = max(int(number) for number in re.findall(r"(\d+):", role["placement"]))
                self.assertLess(last, 12, role)

    def test_an_interrupt_tells_the_best_so_far(self):
        many = EXAMPLE.read_text().replace("nodes: 2,", "nodes: 8,")
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number), subprocess.Popen(
                    [PROGRAM, "place", "--search", "-", "--candidates", "10000000", "--turns", "30"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    cwd=ROOT) as searching:
                searching.stdin.write(many)
                searching.stdin.close()
                searching.stdin = None
                # Not before it is caught.
                status = pathlib.Path(f"/proc/{searching.pid}/status")
                while not int(re.search(r"SigCgt:\s*(\w+)", status.read_text()).group(1), 16) & 1 << number - 1:
                    self.assertIsNone(searching.poll())
                searching.send_signal(number)
                out, error = searching.communicate(timeout=60)
                self.assertEqual(searching.returncode, 130, error)
                if out:
                    self.assertIn("\nbest: ", out)
                    self.assertIn("interrupted: this is the best of ", error)
                else:
                    self.assertIn("stopped before any placement was found", error)

    def test_refusals_are_documents_with_json(self):
        without = "cluster: {nodes: 1, gpus_per_node: 2, gpu: h100}\njobs: [{name: a, work: 60s}]\n"
        for words, text, line in ((("--search", "-"), without, 2), (("--search", "-"), "jobs: 7\n", 1),
                                  (("--search", "absent.yaml"), None, 0),
                                  (("--search", EXAMPLE, "--job", "other"), None, None),
                                  (("--search", EXAMPLE, "--turns", 0, "--env", "actor"), None, 0),
                                  ((EXAMPLE, "--turns", 3), None, 0)):
            with self.subTest(words=words):
                done = place(*words, "--json", text=text)
                self.assertEqual((done.returncode, done.stderr), (2, ""))
                errors = json.loads(done.stdout)["errors"]
                for one in errors:
                    self.assertEqual(list(one), ["kind", "stage", "line", "column", "message"])
                    self.assertIn(one["message"], place(*words, text=text).stderr)
                if line is not None:
                    self.assertEqual((errors[0]["kind"], errors[0]["line"]), ("document", line))

    def test_refusals_say_what_to_do(self):
        self.assertIn("no stage times are stated", self.refused("--search", "docs/examples/placement/one_node.yaml"))
        without = "cluster: {nodes: 1, gpus_per_node: 2, gpu: h100}\njobs: [{name: a, work: 60s}]\n"
        self.assertIn("standard input:2: job default.a: no stage times are stated",
                      self.refused("--search", "-", text=without))
        self.assertIn("folders of files of defaults are named with --config-dir",
                      self.refused("--search", "somewhere", EXAMPLE))
        self.assertIn("--env: found beside --search", self.refused("--search", EXAMPLE, "--env", "actor"))
        for option, value in (("--command", "train"), ("--family", "torch")):
            said = self.refused("--search", EXAMPLE, option, value, "--env", "actor")
            self.assertIn(f"{option}: found beside --search", said)
            self.assertIn("--env: found beside --search", said)
        self.assertIn("--turns: found it without --search", self.refused(EXAMPLE, "--turns", 3))
        self.assertIn("--job is 'other'", self.refused("--search", EXAMPLE, "--job", "other"))
        self.assertIn("too many candidates", self.refused("--search", EXAMPLE, "--candidates", 2))
        self.assertIn("--turns", self.refused("--search", EXAMPLE, "--turns", 0))
        narrow = EXAMPLE.read_text().replace("nodes: 2, gpus_per_node: 8", "nodes: 4, gpus_per_node: 1")
        self.assertIn("infeasible: no placement fits on 4 devices of 4 nodes", self.refused("--search", "-", text=narrow))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
