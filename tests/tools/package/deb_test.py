"""The Debian package: its name, its dependencies, its files, its scripts.

Usage: deb_test.py SOURCE BUILD CPACK
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
CPACK = sys.argv[3]
NEEDED = ["dpkg-deb", "dpkg-shlibdeps", "file"]


def output(*words):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, check=True).stdout


@unittest.skipUnless(all(map(shutil.which, NEEDED)), "needs " + ", ".join(NEEDED))
class DebTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="orrery-d-")
        cls.addClassCleanup(folder.cleanup)
        done = subprocess.run([CPACK, "--config", BUILD / "packaging/CPackConfig.cmake",
                               "-B", folder.name], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        (cls.deb,) = pathlib.Path(folder.name).glob("*.deb")
        cls.folder = pathlib.Path(folder.name)

    def test_the_name_is_what_others_look_for(self):
        version = re.search(r"project\(orrery VERSION ([\d.]+)",
                            (SOURCE / "CMakeLists.txt").read_text()).group(1)
        architecture = output("dpkg", "--print-architecture").strip()
        self.assertEqual(self.deb.name, f"orrery_{version}_{architecture}.deb")

    def test_libraries_are_dependencies(self):
        depends = output("dpkg-deb", "--field", self.deb, "Depends")
        names = set(re.findall(r"(?:^|, )([a-z0-9.+-]+)", depends))
        # What the simulator alone is linked with; SimGrid and Gloo where they were found.
        self.assertLessEqual({"libc6", "libstdc++6", "libyaml-cpp0.7", "libsqlite3-0"}, names)

    def test_files_belong_to_root_and_programs_run(self):
        listing = output("dpkg-deb", "--contents", self.deb)
        for line in listing.splitlines():
            self.assertRegex(line, r"^\S+ root/root ")
        for program in ["orrery", "orrery-cluster", "orrery-emulated-worker", "orrery-node",
                        "orrery-shim", "orrery-devices", "orrery-worker", "orrery-check"]:
            self.assertRegex(listing, rf"-rwxr-xr-x .* \./usr/bin/{program}\n")
        self.assertIn(" ./usr/share/doc/orrery/examples/jobs/three_roles.yaml\n", listing)
        self.assertIn(" ./usr/share/orrery/scenarios/quickstart.yaml\n", listing)
        self.assertNotRegex(listing, r" \./(?!usr/)\S")

    def test_units_start_what_is_packaged(self):
        output("dpkg-deb", "--extract", self.deb, self.folder / "root")
        for daemon in ["agent", "controller"]:
            unit = self.folder / f"root/usr/lib/systemd/system/orrery-{daemon}.service"
            self.assertIn(f'\nExecStart="/usr/bin/orrery-node" {daemon} ', unit.read_text())

    def test_scripts_are_sound_and_start_nothing(self):
        output("dpkg-deb", "--control", self.deb, self.folder / "control")
        for name in ["postinst", "prerm", "postrm"]:
            script = self.folder / "control" / name
            self.assertEqual(script.stat().st_mode & 0o777, 0o755, name)
            output("sh", "-n", script)
            self.assertNotRegex(script.read_text(), r"systemctl.*\b(?:start|enable)\b")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
