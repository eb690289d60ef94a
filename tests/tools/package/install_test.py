"""`cmake --install` into a folder, and what is installed there works from there.

Usage: install_test.py SOURCE BUILD CMAKE
"""

import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from cluster import Cluster, wait_until

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
CMAKE = sys.argv[3]

FILES = """
bin/orrery
bin/orrery-cluster
bin/orrery-emulated-worker
bin/orrery-node
bin/orrery-shim
bin/orrery-devices
bin/orrery-worker
bin/orrery-check
lib/systemd/system/orrery-agent.service
lib/systemd/system/orrery-controller.service
share/bash-completion/completions/orrery
share/bash-completion/completions/orrery-node
share/fish/vendor_completions.d/orrery.fish
share/man/man1/orrery.1
share/man/man1/orrery-node.1
share/doc/orrery/copyright
share/doc/orrery/changelog.md
share/doc/orrery/operations.md
share/doc/orrery/examples/settings/agent.yaml
share/doc/orrery/examples/settings/controller.yaml
share/doc/orrery/examples/jobs/three_roles.yaml
share/doc/orrery/launchers/slurm.sbatch
share/orrery/scenarios/quickstart.yaml
share/orrery/scenarios/failover/hang.yaml
share/zsh/vendor-completions/_orrery
""".split()

# What the comments of these scenarios say: their traces are no part of Orrery.
NEED_TRACES = {"gavel.yaml", "lanl_month.yaml", "openb.yaml", "philly.yaml", "pollux.yaml",
               "shockwave.yaml"}


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Not where it was meant for: programs must find each other wherever they are.
        cls.folder = tempfile.TemporaryDirectory(prefix="orrery-i-")
        cls.addClassCleanup(cls.folder.cleanup)
        done = subprocess.run([CMAKE, "--install", BUILD, "--prefix", "/usr"],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "DESTDIR": cls.folder.name})
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.prefix = pathlib.Path(cls.folder.name) / "usr"
        cls.orrery = cls.prefix / "bin/orrery"

    def run_it(self, *words):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=250,
                              check=False, env=environment, cwd=self.folder.name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_everything_is_there_and_no_more(self):
        for file in FILES:
            self.assertTrue((self.prefix / file).is_file(), file)
        for program in (BUILD / "bin").glob("orrery-[wc]*"):
            self.assertTrue((self.prefix / "bin" / program.name).is_file(), program.name)
        self.assertEqual([entry.name for entry in pathlib.Path(self.folder.name).iterdir()], ["usr"])
        self.assertEqual(sorted(e.name for e in self.prefix.iterdir()), ["bin", "lib", "share"])
        # The pages bring the programs that they show.
        sources = [str(f) for f in self.prefix.rglob("*") if f.suffix in {".cpp", ".hpp", ".a", ".log"}
                   and not f.is_relative_to(self.prefix / "share/doc/orrery/examples")]
        self.assertEqual(sources, [])

    def test_nothing_names_the_machine_that_built_it(self):
        if "CMAKE_BUILD_TYPE:STRING=Debug" in (BUILD / "CMakeCache.txt").read_text(encoding="utf-8"):
            self.skipTest("what debuggers are told names the sources")
        for file in self.prefix.rglob("*"):
            if file.is_file() and "bin" not in file.relative_to(self.prefix).parts:
                self.assertNotIn(str(SOURCE).encode(), file.read_bytes(), file)

    def test_programs_say_their_version(self):
        told = json.loads(self.run_it(self.orrery, "version", "--json"))
        node = json.loads(self.run_it(self.prefix / "bin/orrery-node", "version", "--json"))
        self.assertEqual({**told, "program": "orrery-node"}, node)
        self.assertRegex(told["revision"], "^([0-9a-f]{12}|unknown)$")

    def test_scenarios_run(self):
        scenarios = self.prefix / "share/orrery/scenarios"
        summary = json.loads(self.run_it(self.orrery, "sim", scenarios / "lifecycle/succeed.yaml",
                                         "--json"))
        self.assertEqual((summary["scenario"], summary["jobs_finished"], summary["unmet"]),
                         ("succeed", summary["jobs_total"], []))
        self.run_it(self.orrery, "check", scenarios / "quickstart.yaml")

    def test_the_library_of_scenarios_is_whole(self):
        source = SOURCE / "scenarios"
        wanted = {str(f.relative_to(source)) for f in source.rglob("*")
                  if f.suffix in {".yaml", ".csv"}}
        installed = self.prefix / "share/orrery/scenarios"
        self.assertEqual({str(f.relative_to(installed)) for f in installed.rglob("*") if f.is_file()},
                         wanted)
        # Files outside are named by these alone, and docs/operations.md tells it of each.
        outside = {f.name for f in installed.rglob("*.yaml") if "../" in f.read_text()}
        self.assertEqual(outside, NEED_TRACES)
        operations = (self.prefix / "share/doc/orrery/operations.md").read_text()
        self.assertEqual({name for name in outside if name not in operations}, set())

    def test_a_job_of_the_examples_runs_to_its_end(self):
        example = self.prefix / "share/doc/orrery/examples/jobs/three_roles.yaml"
        with Cluster(self.orrery, example) as cluster:
            wait_until("the job to succeed", lambda: cluster.job("three-roles").get("phase") == "Succeeded")
            done = cluster.orrery("logs", "three-roles", "--role", "learner")
            self.assertIn("learner of", done.stdout, done.stderr)

    def test_settings_of_the_examples_are_what_the_units_read(self):
        for daemon in ["agent", "controller"]:
            unit = (self.prefix / f"lib/systemd/system/orrery-{daemon}.service").read_text()
            self.assertIn(f'\nExecStart="/usr/bin/orrery-node" {daemon} '
                          f'--config "/etc/orrery/{daemon}.yaml"\n', unit)
            example = self.prefix / f"share/doc/orrery/examples/settings/{daemon}.yaml"
            printed = self.run_it(self.prefix / "bin/orrery-node", daemon, "--config", example,
                                  "--print-systemd-unit")
            lines = lambda text: [x for x in text.splitlines() if not x.startswith("ExecStart=")]
            self.assertEqual(lines(printed), lines(unit))

    def test_the_manual_has_every_verb_and_its_options(self):
        help_of = functools.cache(lambda verb: self.run_it(self.orrery, "help", verb))
        for program in ["orrery", "orrery-node"]:
            page = (self.prefix / f"share/man/man1/{program}.1").read_text().replace("\\-", "-")
            overview = self.run_it(self.prefix / "bin" / program, "help")
            verbs = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S.*$", overview, re.MULTILINE)
            self.assertIn("up", verbs)
            for verb in verbs:
                self.assertIn(f".SS {program} {verb}\n", page)
                for option in re.findall(r"^  (?:-\w, )?(--[a-z-]+)", help_of(verb), re.MULTILINE):
                    self.assertIn(option, page, verb)

    def test_completions_are_those_of_the_program(self):
        for shell, file in [("bash", "bash-completion/completions/orrery"),
                            ("zsh", "zsh/vendor-completions/_orrery"),
                            ("fish", "fish/vendor_completions.d/orrery.fish")]:
            self.assertEqual((self.prefix / "share" / file).read_text(),
                             self.run_it(self.orrery, "completion", shell))
            if shutil.which(shell):
                self.run_it(shell, "-n", self.prefix / "share" / file)

    def test_another_prefix_is_named_by_units_and_zsh(self):
        with tempfile.TemporaryDirectory(prefix="orrery-p-") as prefix:
            # Programs are not copied again: scripts of the folder of texts alone.
            self.run_it(CMAKE, "--install", BUILD / "tools/package", "--prefix", prefix)
            unit = (pathlib.Path(prefix) / "lib/systemd/system/orrery-agent.service").read_text()
            self.assertIn(f'ExecStart="{prefix}/bin/orrery-node" agent', unit)
            self.assertTrue((pathlib.Path(prefix) / "share/zsh/site-functions/_orrery").is_file())

    def test_what_the_containerfile_names_is_there(self):
        text = (SOURCE / "docs/launchers/Containerfile").read_text()
        presets = json.loads((SOURCE / "CMakePresets.json").read_text())
        release = next(p for p in presets["configurePresets"] if p["name"] == "release")
        copied = re.search(r"^COPY (\S+)/orrery_\*_amd64\.deb /opt/$", text, re.MULTILINE)
        self.assertEqual("${sourceDir}/" + copied.group(1), release["binaryDir"])
        self.assertEqual(re.findall(r"--file (\S+)", text), ["docs/launchers/Containerfile"])
        named = set(re.findall(r"/usr/(?:bin|share/orrery)/[\w./-]+", text))
        self.assertIn("/usr/bin/orrery", named)
        for path in named:
            self.assertTrue((self.prefix.parent / path.lstrip("/")).is_file(), path)
        for words in re.findall(r"--rm (?:--init )?orrery (\w+)", text):
            self.run_it(self.orrery, "help", words)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
