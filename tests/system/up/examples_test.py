"""Every file of docs/examples/jobs under orrery up, and what else a first job may ask of it.

Usage: examples_test.py PROGRAM ROOT
"""

import pathlib
import subprocess
import sys
import unittest

from cluster import Cluster, may_mount

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
EXAMPLES = ROOT / "docs/examples/jobs"

# What each example comes to: the name of its job, and lines that its workers write, by role.
OUTCOMES = {
    "dijob_group.yaml": ("ring", {"worker": "ditask"}),
    "dijob_tasks.yaml": ("pendulum", {"learner": "learner, rank 0, the nodes are 127",
                                      "collector": "collectors are at "}),
    "three_roles.yaml": ("three-roles", {"learner": "learner of ", "actor": "rank "}),
    "two_versions.yaml": ("two-versions", {"old": "old role has gadget 1",
                                           "new": "new role has gadget 2"}),
    "volumes.yaml": ("volumes", {"reader": "a word from the writer"}),
}

MANIFEST = """\
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata: {{name: mounts}}
spec:
  volumes: [{{name: unused, emptyDir: {{}}}}, {{name: unused-memory, emptyDir: {{medium: Memory}}}}]
  tasks:
  - type: learner
    template:
      spec:
        volumes:
        - {{name: data, hostPath: {{path: {data}}}}}
        - {{name: nowhere, hostPath: {{path: /no/such/folder}}}}
{own}
        containers:
        - name: di-container
          volumeMounts:
          - {{name: data, mountPath: {data}}}
{mounts}
          command: [/bin/sh, -c]
          args: ['{script}']
          resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}
"""


class ExamplesTest(unittest.TestCase):
    def cluster(self, *words):
        made = Cluster(PROGRAM, *words)
        self.addCleanup(made.close)
        return made

    def submit(self, cluster, path):
        done = cluster.orrery("submit", path, "--wait")
        return done.returncode, done.stderr

    def test_every_example_runs_with_its_outcome(self):
        files = sorted(path.name for path in EXAMPLES.iterdir())
        self.assertEqual(files, sorted(OUTCOMES), "each example has an outcome in this test")
        cluster = self.cluster("--agents", 2)
        for name, (job, lines) in OUTCOMES.items():
            with self.subTest(name):
                code, said = self.submit(cluster, EXAMPLES / name)
                self.assertEqual(code, 0, said)
                self.assertIn(f"{job}: Succeeded", said)
                for role, line in lines.items():
                    log = cluster.orrery("logs", job, "--role", role)
                    self.assertIn(line, log.stdout, log.stderr)

    def volumes_of(self, script, own="", mounts=""):
        """Submits MANIFEST; the folder of `data` is allowed, and has a file `word`."""
        cluster = Cluster(PROGRAM, begin=False)
        self.addCleanup(cluster.close)
        data = cluster.folder / "data/set"
        data.mkdir(parents=True)
        (data / "word").write_text("shared\n")
        cluster.start("--volume-root", cluster.folder / "data")
        path = cluster.write("mounts.yaml", MANIFEST.format(
            data=data, script=script.format(data=data, folder=cluster.folder),
            own=own, mounts=mounts.format(folder=cluster.folder)))
        code, said = self.submit(cluster, path)
        return cluster, code, said

    def test_volumes_of_the_node_and_those_that_are_not_mounted(self):
        cluster, code, said = self.volumes_of("cat {data}/word")
        self.assertEqual(code, 0, said)
        self.assertEqual(cluster.orrery("logs", "mounts").stdout, "shared\n")

    @unittest.skipUnless(may_mount(), "mounts are for agents that may")
    def test_folders_of_the_job_at_absolute_places(self):
        cluster, code, said = self.volumes_of(
            "grep -c \" {folder}/made/memory tmpfs \" /proc/mounts; "
            "echo kept > {folder}/made/disk/word; cat {folder}/made/disk/word; "
            "echo > {folder}/made/memory/word",
            "        - {name: disk, emptyDir: {}}\n"
            "        - {name: memory, emptyDir: {medium: Memory}}",
            "          - {{name: disk, mountPath: {folder}/made/disk}}\n"
            "          - {{name: memory, mountPath: {folder}/made/memory}}")
        self.assertEqual(code, 0, said)
        self.assertEqual(cluster.orrery("logs", "mounts").stdout, "1\nkept\n")
        # Only mount points are left.
        self.assertEqual(list((cluster.folder / "made").rglob("word")), [])


class VolumeRootTest(unittest.TestCase):
    def test_a_folder_that_is_not_there(self):
        done = subprocess.run([PROGRAM, "up", "--http", "127.0.0.1:0", "--volume-root",
                               "/no/such/folder"], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--volume-root: \"/no/such/folder\" found, needed a folder", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
