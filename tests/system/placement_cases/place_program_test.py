"""`orrery place` from outside: conformance cases, exit codes, what stands on which output.

Usage: place_program_test.py PROGRAM ROOT
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from drawn import drawn  # noqa: E402

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
CASES = pathlib.Path(sys.argv[2]).resolve() / "../shared/cases/placement_cases.json"

TWO_NODES = """\
cluster:
  nodes: [{gpus: 4, gpu_model: H100, count: 2}]
  component_placement:
    actor: 0-3
    rollout: "4-7:0-1"
"""
BROKEN = """\
cluster:
  nodes: [{gpus: 4}]
  component_placement:
    actor: 0-7
    rollout: 0-x
"""


def place(*words, text=None):
    return subprocess.run([PROGRAM, "place", *map(str, words)], input=text, capture_output=True,
                          text=True, timeout=120, check=False)


def expand(component):
    """Records of a component of many processes, whose case lists runs."""
    if isinstance(component, list):
        return component
    accelerator = component["hardware_type"] == "Accelerator"
    records = []
    for run in component["runs"]:
        own = run["local_hardware_ranks"]
        visible = run["visible_devices"]
        for rank in range(run["first_rank"], run["last_rank"] + 1):
            records.append({
                "rank": rank, "node_rank": run["node_rank"],
                "placement_node_rank": run["placement_node_rank"],
                "node_group": component["node_group"],
                "hardware_type": component["hardware_type"], "local_hardware_ranks": own,
                "local_accelerator_ids": own if accelerator else [],
                "local_accelerator_rank": (own if accelerator and own else visible + [-1])[0],
                "local_rank": run["first_local_rank"] + rank - run["first_rank"],
                "local_world_size": run["local_world_size"], "visible_devices": visible})
    return records


@unittest.skipUnless(CASES.exists(), "no cases at ../shared/cases")
class Cases(unittest.TestCase):
    def test_cases(self):
        """A sample, of which placement_cases has all; all in the long form (tools/soak tests)."""
        for case in drawn(json.loads(CASES.read_text())["cases"], 5):
            with self.subTest(case["name"]):
                answer = place("-", "--json", text=json.dumps(case))
                self.assertEqual(answer.stderr, "")
                document = json.loads(answer.stdout)
                expect = case["expect"]
                if "error" not in expect:
                    self.assertEqual(answer.returncode, 0)
                    self.assertEqual(document, {k: expand(v) for k, v in expect.items()})
                    continue
                self.assertEqual(answer.returncode, 2)
                self.assertEqual(list(document), ["errors"])
                for error in document["errors"]:
                    self.assertEqual(list(error), ["kind", "stage", "line", "column", "message"])
                    self.assertEqual((error["kind"], error["stage"]),
                                     (expect["error"], expect["stage"]))
                    self.assertEqual(error["line"], 1)
                    self.assertGreater(error["column"], 1)


class Program(unittest.TestCase):
    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name) / "train.yaml"
        path.write_text(text)
        return path

    def test_tables_and_picture(self):
        answer = place(self.file(TWO_NODES))
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn("mode: hybrid", answer.stdout)
        self.assertIn("rollout: 2 processes on 1 node\n", answer.stdout)
        self.assertIn("\n    1  H100  r r r r\n", answer.stdout)
        self.assertNotIn("\x1b", answer.stdout)

    def test_errors_all_at_once_with_their_places(self):
        path = self.file(BROKEN)
        answer = place(path)
        self.assertEqual((answer.returncode, answer.stdout), (2, ""))
        lines = answer.stderr.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertTrue(lines[0].startswith(f"{path}:4:12: component 'actor': found "), lines[0])
        self.assertTrue(lines[1].startswith(f"{path}:5:14: component 'rollout': found "), lines[1])
        for line in lines:
            self.assertRegex(line, r": found .*, needed .*; .")

    def test_json_is_one_document_even_where_nothing_can_be_read(self):
        for words, text in ((("missing.yaml",), None), (("-",), ""), (("-",), "a: ["), ((".",), None)):
            answer = place(*words, "--json", text=text)
            self.assertEqual((answer.returncode, answer.stderr), (2, ""))
            errors = json.loads(answer.stdout)["errors"]
            self.assertEqual([e["kind"] for e in errors], ["document"])
            self.assertEqual(errors[0]["stage"], "config")

    def test_mode_and_explicit_form(self):
        text = "cluster: {nodes: [{gpus: 2}]}\ncomponent_placement: {\"actor,rollout,reward\": all}\n"
        self.assertIn("mode: hybrid", place("-", text=text).stdout)
        self.assertIn("mode: collocated", place("-", "--mode", "model-parallel", text=text).stdout)
        self.assertEqual(place("-", "--mode", "auto", text=text).returncode, 2)
        explicit = place("-", "--explicit", text=text).stdout
        self.assertIn('"actor": "0-1:0-1"\n', explicit)
        again = place("-", "--json", text="cluster: {nodes: [{gpus: 2}]}\n" + explicit)
        self.assertEqual(json.loads(again.stdout), json.loads(place("-", "--json", text=text).stdout))

    def test_environments(self):
        text = TWO_NODES.replace("  component_placement:", """\
  node_groups:
    - {label: big, node_ranks: 0-1, env_configs: [
        {node_ranks: 1, env_vars: [{NCCL_DEBUG: INFO}, {RANK: "9"}]}]}
  component_placement:""").replace('rollout: "4-7:0-1"',
                                   'rollout: {node_group: big, placement: "4-7:0-1"}')
        path = self.file(text)
        one = place(path, "--env", "rollout:1")
        self.assertEqual(one.returncode, 0, one.stderr)
        found = dict(line.split("=", 1) for line in one.stdout.splitlines())
        self.assertEqual(one.stdout.splitlines(), sorted(one.stdout.splitlines()))
        for key, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("CUDA_VISIBLE_DEVICES", "2,3"),
                           ("MASTER_ADDR", "node-1"), ("NCCL_DEBUG", "INFO"),
                           ("WORKER_NAME", "rollout:1"), ("NODE_GROUP_LABEL", "big")):
            self.assertEqual(found[key], value)
        self.assertEqual(one.stderr,
                         "rollout:1: node group variable RANK: found '9', used '1': it identifies "
                         "the worker; leave it out\n")
        every = place(path, "--env", "rollout", "--json", "--family", "torch")
        self.assertEqual((every.returncode, every.stderr), (0, ""))
        processes = json.loads(every.stdout)["rollout"]
        self.assertEqual([p["rank"] for p in processes], [0, 1])
        self.assertEqual([p["variables"]["RANK"] for p in processes], ["4", "5"])
        self.assertEqual(len(processes[0]["notes"]), 1)
        headed = place(path, "--env", "actor").stdout
        self.assertEqual([line for line in headed.splitlines() if line.startswith("#")],
                         [f"# actor:{rank}" for rank in range(4)])
        for words in (("--env", "critic"), ("--env", "actor:4"), ("--env", "actor", "--family", "x")):
            refused = place(path, *words)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""))
            self.assertIn("needed", refused.stderr)
        for words in (("--env", "critic"), ("--env", "actor:4")):
            refused = place(path, *words, "--json")
            self.assertEqual((refused.returncode, refused.stderr), (2, ""))
            (error,) = json.loads(refused.stdout)["errors"]
            self.assertEqual(error["kind"], "document")
            self.assertIn("needed", error["message"])

    def test_a_job_names_the_family_of_its_processes(self):
        text = """\
cluster: {nodes: 2, devices_per_node: 4}
jobs:
  - {name: a, roles: {actor: {placement: 0-3, command: ["true"]}}}
  - {name: b, family: dlrover, roles: {actor: {placement: 4-7, command: ["true"]}}}
"""
        path = self.file(text)
        def names(*words):
            done = place(path, "--env", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            return {line.split("=", 1)[0] for line in done.stdout.splitlines()}
        self.assertIn("ROLE_RANK", names("a/actor:0"))
        self.assertIn("ACCELERATE_TORCH_DEVICE", names("b/actor:0"))
        self.assertIn("WORKER_NAME", names("b/actor:0", "--family", "rlinf"))
        of_b = place(path, "--env", "b/actor:1").stdout.splitlines()
        for line in ("ORRERY_JOB=default.b", "ORRERY_ROLE=actor", "ORRERY_RANK=1",
                     "ORRERY_WORLD_SIZE=4", "MASTER_PORT=22270", "NAME=actor_4-1_4-1"):
            self.assertIn(line, of_b)
        sizes = self.file("""\
cluster: {nodes: 1, devices_per_node: 8}
jobs:
  - name: c
    roles:
      actor:
        placements: {2: 0-1, 4: 0-3}
        command: ["true"]
      critic: {placement: 4, command: ["true"]}
""")
        of_c = place(sizes, "--env", "actor@4:3").stdout.splitlines()
        for line in ("ORRERY_ROLE=actor", "ORRERY_WORLD_SIZE=5", "ORRERY_ROLE_WORLD_SIZE=4"):
            self.assertIn(line, of_c)
        refused = place(self.file(text.replace("dlrover", "ray")))
        self.assertEqual(refused.returncode, 2)
        self.assertIn("family", refused.stderr)
        self.assertIn("dlrover", refused.stderr)

    def test_many_processes_are_all_told(self):
        text = "cluster: {nodes: [{gpus: 8, count: 128}]}\ncomponent_placement: {a: \"all:0-2047\"}\n"
        records = json.loads(place("-", "--json", text=text).stdout)["a"]
        self.assertEqual([r["rank"] for r in records], list(range(2048)))
        self.assertEqual(len(place("-", text=text).stdout.splitlines()), 11)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
