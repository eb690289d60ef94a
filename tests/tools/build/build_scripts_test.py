"""tools/packages, tools/build and tools/quickstart on a machine of stubs: what they ask of apt and
CMake, and what they say where something stands in the way. The checkout's path has a space.

Usage: build_scripts_test.py ROOT
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
SCRIPTS = ["tools/packages", "tools/build", "tools/quickstart"]

# Each writes its words to `called`; `installed` holds the packages that are here.
STUBS = {
    "dpkg-query": 'printf "%s\\n" "${@:3}" | grep -Fxf "$STUBS/installed" | sed "s/^/installed /"',
    "apt-cache": "",
    "apt-get": 'echo "apt-get $*" >>"$STUBS/called"\n[ ! -f "$STUBS/offline" ] || exit 100\n'
               'unknown=$(cat "$STUBS/unknown" 2>/dev/null) || exit 0\n'
               '[[ " $* " != *" $unknown "* ]]',
    "sudo": '"$@"',
    "id": 'cat "$STUBS/user"',
    "ccache": "",
    "cmake": 'echo "cmake $*" >>"$STUBS/called"\n'
             'case $1 in --preset) [ ! -f "$STUBS/unfit" ] || exit 1\n'
             "  mkdir -p build; touch build/build.ninja ;;\n"
             "  --build) mkdir -p build/bin; cp \"$STUBS/orrery\" build/bin ;; esac",
    "orrery": 'echo "orrery $*"',
}
NEEDED = ["bash", "cat", "cp", "dirname", "env", "grep", "mkdir", "sed", "stat", "touch"]


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stubs = pathlib.Path(folder.name).resolve() / "stubs"
        self.tree = self.stubs.parent / "a b" / "orrery"
        self.stubs.mkdir()
        for name, text in STUBS.items():
            (self.stubs / name).write_text(f"#!/bin/bash\n{text}\n")
            (self.stubs / name).chmod(0o755)
        for name in NEEDED:
            (self.stubs / name).symlink_to(shutil.which(name))
        (self.stubs / "user").write_text("0\n")
        for script in SCRIPTS:
            (self.tree / script).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / script, self.tree / script)
        (self.tree / "scenarios").mkdir()
        (self.tree / "scenarios/quickstart.yaml").touch()
        self.installed(*self.listed("--browser", "--etcd", "--network"))

    def run_script(self, name, *words, through=()):
        return subprocess.run([*through, self.tree / name, *words], check=False, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              env={"PATH": str(self.stubs), "STUBS": str(self.stubs)})

    def listed(self, *options):
        done = self.run_script("tools/packages", *options, "--list")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def installed(self, *packages):
        (self.stubs / "installed").write_text("".join(f"{package}\n" for package in packages))

    def called(self):
        file = self.stubs / "called"
        return file.read_text().splitlines() if file.exists() else []

    def cache(self, **variables):
        (self.tree / "build").mkdir()
        (self.tree / "build/CMakeCache.txt").write_text(
            "".join(f"{name}:INTERNAL={value}\n" for name, value in variables.items()))

    def expect(self, done, status, *parts):
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for part in parts:
            self.assertIn(part, done.stderr)

    # The list.

    def test_the_list_does_not_depend_on_what_is_here(self):
        before = self.listed("--browser")
        self.assertLessEqual({"libprotobuf-dev", "nodejs", "npm", "libgloo-dev", "chromium"},
                             set(before))
        self.installed()
        (self.stubs / "node").symlink_to(self.stubs / "orrery")
        self.assertEqual(self.listed("--browser"), before)

    def test_the_quickstart_is_part_of_everything_and_knows_no_grpc(self):
        quickstart = set(self.listed("--quickstart"))
        self.assertLess(quickstart, set(self.listed()))
        self.assertFalse([name for name in quickstart if "grpc" in name or "gtest" in name])

    def test_the_quickstart_has_its_page_and_neither_node_nor_npm(self):
        quickstart = set(self.listed("--quickstart"))
        self.assertLessEqual({"esbuild", "node-d3-array", "node-d3-scale", "node-d3-scale-chromatic",
                              "node-d3-shape"}, quickstart)
        self.assertFalse({"nodejs", "npm"} & quickstart)

    def test_an_unknown_option(self):
        self.expect(self.run_script("tools/packages", "--gpu"), 2, "--gpu", "--help")
        self.assertIn("--quickstart", self.run_script("tools/packages", "--help").stdout)

    # Installing.

    def test_nothing_is_asked_of_apt_where_nothing_is_missing(self):
        (self.stubs / "offline").touch()
        self.expect(self.run_script("tools/packages"), 0)
        self.assertEqual(self.called(), [])

    def test_only_what_is_missing_is_installed_and_nothing_recommended(self):
        self.installed(*(name for name in self.listed() if name != "libprotobuf-dev"))
        self.expect(self.run_script("tools/packages"), 0)
        self.assertEqual(self.called(), [
            "apt-get install --yes --quiet --no-install-recommends libprotobuf-dev"])

    def test_all_that_is_missing_is_one_run_of_apt(self):
        self.installed()
        self.expect(self.run_script("tools/packages", "--quickstart"), 0)
        self.assertEqual(self.called(), ["apt-get install --yes --quiet --no-install-recommends "
                                         + " ".join(self.listed("--quickstart"))])

    def test_what_can_be_done_without_holds_up_nothing_else(self):
        self.installed(*(name for name in self.listed() if name not in ("ccache", "npm", "esbuild")))
        (self.stubs / "unknown").write_text("esbuild")
        done = self.run_script("tools/packages")
        self.expect(done, 0, "esbuild could not be installed; what it is for is left out")
        self.assertNotIn("npm", done.stderr)
        apt = "apt-get install --yes --quiet --no-install-recommends "
        self.assertEqual(self.called(), [
            apt + "ccache esbuild npm", "apt-get update --quiet", apt + "ccache esbuild npm",
            apt + "ccache", apt + "esbuild", apt + "npm"])

    def test_no_network_and_packages_are_missing(self):
        (self.stubs / "offline").touch()
        self.installed(*(name for name in self.listed() if name != "ccache"))
        self.expect(self.run_script("tools/packages"), 1, "ccache could not be installed",
                    "a network or a mirror", "apt-get install --no-install-recommends ccache")

    def test_no_network_and_only_what_can_be_done_without_is_missing(self):
        (self.stubs / "offline").touch()
        self.installed(*(name for name in self.listed() if name != "npm"))
        self.expect(self.run_script("tools/packages"), 0, "npm could not be installed",
                    "is left out")

    def test_neither_root_nor_sudo(self):
        (self.stubs / "user").write_text("1000\n")
        (self.stubs / "sudo").unlink()
        self.expect(self.run_script("tools/quickstart"), 0)
        self.installed(*(name for name in self.listed() if name != "cmake"))
        self.expect(self.run_script("tools/quickstart"), 1, "neither root nor sudo",
                    "let root run: apt-get install --no-install-recommends cmake")
        self.installed(*(name for name in self.listed() if name != "npm"))
        self.expect(self.run_script("tools/packages"), 0, "left out, for there is no sudo: npm")

    def test_sudo_is_used_where_it_is(self):
        (self.stubs / "user").write_text("1000\n")
        self.installed(*(name for name in self.listed() if name != "cmake"))
        self.expect(self.run_script("tools/packages"), 0)
        self.assertEqual(len(self.called()), 1)

    # Configuring.

    def test_quickstart_builds_the_program_alone_and_passes_its_options_on(self):
        done = self.run_script("tools/quickstart", "--json")
        self.expect(done, 0, "processor time: packages")
        self.assertEqual(done.stdout, "orrery compare scenarios/quickstart.yaml --policies "
                                      "fifo,easy,srtf,las --json\n")
        self.assertEqual(self.called(), [
            "cmake --preset release -DORRERY_RUNTIME=AUTO -DORRERY_TESTS=OFF -DORRERY_BENCH=OFF",
            "cmake --build --preset release --target orrery"])

    def test_quickstart_leaves_a_configured_folder_as_it_is(self):
        self.cache(CMAKE_GENERATOR="Ninja", CMAKE_HOME_DIRECTORY=self.tree)
        (self.tree / "build/build.ninja").touch()
        self.expect(self.run_script("tools/quickstart"), 0)
        self.assertEqual(self.called()[0], "cmake --preset release")

    def test_build_builds_everything_of_a_preset(self):
        self.expect(self.run_script("tools/build", "debug", "--etcd"), 0)
        self.assertEqual(self.called(), [
            "cmake --preset debug -DORRERY_RUNTIME=ON -DORRERY_TESTS=ON -DORRERY_BENCH=ON",
            "cmake --build --preset debug"])
        self.expect(self.run_script("tools/build", "fast"), 2, "preset fast is unknown", "debug")

    def test_a_folder_of_another_generator(self):
        self.cache(CMAKE_GENERATOR="Unix Makefiles", CMAKE_HOME_DIRECTORY=self.tree)
        self.expect(self.run_script("tools/quickstart"), 2, "configured for Unix Makefiles",
                    f"rm -r '{self.tree}/build'")
        self.assertEqual(self.called(), [])

    def test_a_folder_of_other_sources(self):
        self.cache(CMAKE_GENERATOR="Ninja", CMAKE_HOME_DIRECTORY="/elsewhere")
        self.expect(self.run_script("tools/quickstart"), 2, "the sources in /elsewhere",
                    f"rm -r '{self.tree}/build'")

    def test_an_interrupted_configuration_starts_again(self):
        self.cache(CMAKE_GENERATOR="Ninja", CMAKE_HOME_DIRECTORY=self.tree)
        self.expect(self.run_script("tools/quickstart"), 0, "half configured")
        self.assertIn("--preset release --fresh -DORRERY_RUNTIME=AUTO", self.called()[0])

    def test_a_configuration_that_fails_says_what_may_help(self):
        (self.stubs / "unfit").touch()
        self.expect(self.run_script("tools/quickstart"), 2, "configuring failed",
                    f"rm -r '{self.tree}/build'")

    def test_a_file_in_place_of_the_folder(self):
        (self.tree / "build").touch()
        self.expect(self.run_script("tools/quickstart"), 2, "no folder", "rm -r")

    def test_a_checkout_that_cannot_be_written(self):
        self.stubs.parent.chmod(0o755)
        self.tree.chmod(0o555)
        self.addCleanup(self.tree.chmod, 0o755)
        # Root writes everywhere.
        other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        through = [shutil.which(other[0]), *other[1:]] if os.getuid() == 0 else []
        self.expect(self.run_script("tools/quickstart", through=through), 2, "is read-only here",
                    f"git clone '{self.tree}'")

    def test_a_scenario_that_is_gone(self):
        (self.tree / "scenarios/quickstart.yaml").unlink()
        self.expect(self.run_script("tools/quickstart"), 2, "git checkout --")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
