#!/usr/bin/env python3
"""tools/checks/package_closure.py: its parts, and a planted project that includes what is not listed.

Usage: package_closure_test.py CHECKS COMPILER
"""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

CHECKS, COMPILER = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(CHECKS))

import package_closure as closure  # noqa: E402  (found through the argument)

DEPS = """\
a.o: #deps 3, deps mtime 1 (VALID)
    ../src/a.cpp
    /usr/include/stdio.h
    /usr/include/zlib.h

b.o: #deps 1, deps mtime 1 (STALE)
    /usr/include/gone.h

c.o: #deps 1, deps mtime 1 (VALID)
    /usr/include/zlib.h
    /usr/include/yaml.h
"""

APT = """\
Reading package lists...
The following additional packages will be installed:
   libz1 (1.2)
Recommended packages:
   left-out (3)
The following NEW packages will be installed:
   g++ (4:12.2.0-3)
   libc6-dev:i386 (2.36)
   libz1 (1.2)
0 upgraded, 3 newly installed, 0 to remove and 0 not upgraded.
'http://deb/pool/g++_12.deb' g++_12.deb 5 SHA256:0
"""


class Parts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(os.path.realpath(folder.name))
        self.tree = closure.Tree("/tree/build", "/tree")

    def file(self, path: str, text: str = "") -> str:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return str(file)

    def test_sources_and_build_are_our_own(self):
        self.assertIsNone(self.tree.system_path("../core/a.hpp"))
        self.assertIsNone(self.tree.system_path("generated/a.pb.h"))
        self.assertEqual(self.tree.system_path("/usr/lib/../include/a.h"), "/usr/include/a.h")
        self.assertEqual(self.tree.system_path("/treehouse/a.h"), "/treehouse/a.h")

    def test_opened_files_have_their_first_user_and_stale_ones_none(self):
        uses = closure.opened_uses(self.tree, DEPS, None)
        self.assertEqual([(use.path, use.user) for use in uses],
                         [("/usr/include/stdio.h", "opened for a.o"),
                          ("/usr/include/zlib.h", "opened for a.o"),
                          ("/usr/include/yaml.h", "opened for c.o")])

    def test_opened_files_of_one_target(self):
        self.assertEqual([use.path for use in closure.opened_uses(self.tree, DEPS, {"c.o"})],
                         ["/usr/include/zlib.h", "/usr/include/yaml.h"])

    def test_commands_opened_what_their_depfiles_name(self):
        tree = closure.Tree(str(self.folder), "/tree")
        self.file("d/page.d", "page.html: \\\n  /usr/share/d3.js \\\n  /usr/a\\ b.js /tree/own.ts\n")
        rules = ("build a.o: CXX /tree/a.cpp\n  DEP_FILE = a.d\n\n"
                 "build page.html | ${x}page.html: CUSTOM_COMMAND /tree/bundle.py\n"
                 "  COMMAND = bundle\n  depfile = d/page.d\n  restat = 1\n\n"
                 "build other.html: CUSTOM_COMMAND x\n  depfile = d/never_written.d\n")
        uses = [closure.Use("/usr/share/d3.js", "opened for page.html"),
                closure.Use("/usr/a b.js", "opened for page.html")]
        self.assertEqual(closure.depfile_uses(tree, rules, None), uses)
        self.assertEqual(closure.depfile_uses(tree, rules, {"page.html"}), uses)
        self.assertEqual(closure.depfile_uses(tree, rules, {"a.o"}), [])

    def test_libraries_are_resolved_as_the_linker_does(self):
        shared, archive = self.file("one/libz.so"), self.file("one/libz.a")
        beside = self.file("two/libyaml.a")
        self.file("two/libyaml.so.0.7")
        folders = [str(self.folder / "one"), str(self.folder / "two")]
        command = f"/cc a.o -o prog -lz {self.folder}/two/libyaml.so.0.7"

        def linked(command: str) -> set[str]:
            return {use.path for use in closure.named_uses(self.tree, command, {"/cc"}, folders)
                    if use.path not in closure.IMPLICIT_LIBRARIES and "(archive)" not in use.path}

        self.assertEqual(linked(command), {shared, str(self.folder / "two/libyaml.so.0.7")})
        self.assertEqual(linked(command + " -static"), {archive, beside})

    def test_a_library_that_is_nowhere_is_named_as_it_was_asked_for(self):
        uses = closure.named_uses(self.tree, "/cc a.o -o prog -lnowhere", {"/cc"}, [])
        self.assertIn(closure.Use("-lnowhere", "linked into prog"), uses)

    def test_programs_of_commands_are_uses(self):
        plugin, protoc = self.file("bin/plugin"), self.file("bin/protoc")
        uses = closure.named_uses(self.tree, f"cd x && {protoc} --plugin=gen={plugin} -o a.pb.h",
                                  {"/cc"}, [])
        self.assertEqual({use.path for use in uses}, {plugin, protoc})

    def test_requires_of_pkg_config_without_versions(self):
        text = "Name: a\nRequires: b >= 1.2, c\nRequires.private: d=3 e-f\nLibs: -lx\n"
        self.assertEqual(closure.required_modules(text), ["b", "c", "d", "e-f"])

    def test_pkg_config_chains_are_followed_and_end_where_a_module_is_missing(self):
        a = self.file("a.pc", "Requires: b\n")
        b = self.file("b.pc", "Requires.private: a, missing > 2\n")
        cache = {"__pkg_config_arguments_x": "REQUIRED;IMPORTED_TARGET;a>=1", "x_FOUND": "1",
                 "__pkg_config_arguments_y": "QUIET;unfound", "y_FOUND": ""}
        uses = closure.pkg_config_uses(cache, [str(self.folder)])
        self.assertEqual({(use.path, use.user) for use in uses},
                         {(a, "asked of pkg-config by CMake"), (b, "asked of pkg-config by a"),
                          ("missing.pc", "asked of pkg-config by b")})

    def test_owners_through_links_merged_usr_and_architectures(self):
        self.file("info/libz-dev:amd64.list", "/.\n/lib/x/libz.so\n")
        tool = self.file("sys/real")
        link = self.folder / "sys/alternative"
        link.symlink_to("real")
        self.file("info/tool.list", f"{tool}\n")
        owners = closure.owners_of({"/usr/lib/x/libz.so", str(link), "/usr/lib/none"},
                                   self.folder / "info")
        self.assertEqual(owners, {"/usr/lib/x/libz.so": {"libz-dev"}, str(link): {"tool"},
                                  "/usr/lib/none": set()})

    def test_a_diverted_file_has_two_owners_and_one_suffices(self):
        self.file("info/a.list", "/etc/x\n")
        self.file("info/b.list", "/etc/x\n")
        owners = closure.owners_of({"/etc/x"}, self.folder / "info")
        self.assertEqual(owners, {"/etc/x": {"a", "b"}})
        use = closure.Use("/etc/x", "tested")
        self.assertEqual(closure.offences([use], owners, {"b"}, closure.Outside({})), [])

    def test_apt_says_what_is_new_and_recommendations_are_not(self):
        self.assertEqual(closure.packages_installed(APT), {"g++", "libc6-dev", "libz1"})

    def test_only_named_toolkits_may_be_from_outside(self):
        outside = closure.Outside({
            "CUDAToolkit_BIN_DIR": "/opt/cuda/bin", "ORRERY_NODE": "/opt/node/bin/node",
            "ORRERY_CUDA_COMPILER": "/usr/local/bin/nvcc",
            "CMAKE_ROOT": "/usr/share/cmake-3.25", "ORRERY_ESBUILD": "ORRERY_ESBUILD-NOTFOUND"})
        self.assertTrue(outside.allows("/opt/cuda/include/cuda.h", {"cuda-12"}))
        self.assertTrue(outside.allows("/opt/node/bin/node", set()))
        self.assertTrue(outside.allows("/usr/local/bin/nvcc", set()))
        self.assertFalse(outside.allows("/opt/node/bin/node", {"some-node"}))
        self.assertFalse(outside.allows("/opt/other/lib.h", set()))

    def test_debians_own_cuda_folder_allows_nothing(self):
        outside = closure.Outside({"CUDAToolkit_BIN_DIR": "/usr/bin"})
        self.assertFalse(outside.allows("/usr/include/cuda.h", {"nvidia-cuda-dev"}))

    def test_offences_name_package_file_and_user_once_per_package(self):
        uses = [closure.Use("/usr/a.h", "opened for x.o"), closure.Use("/usr/b.h", "opened for x.o"),
                closure.Use("/opt/c.h", "opened for y.o")]
        owners = {"/usr/a.h": {"liba-dev"}, "/usr/b.h": {"liba-dev"}, "/opt/c.h": set()}
        ownerless, package = closure.offences(uses, owners, {"libz1"}, closure.Outside({}))
        self.assertTrue(ownerless.startswith("/opt/c.h (opened for y.o) belongs to no package"))
        self.assertTrue(package.startswith(
            "liba-dev: /usr/a.h (opened for x.o) and 1 more files: the package is not among"))


class PlantedProject(unittest.TestCase):
    """A project of one source, compiled by Ninja, on a system of two packages of headers."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(os.path.realpath(folder.name))
        for path, text in {
            "sys/listed.h": "", "sys/unlisted.h": "",
            "lists/deb_main_Packages": "",
            "info/liblisted-dev.list": f"{self.folder}/sys/listed.h\n",
            "info/libunlisted-dev.list": f"{self.folder}/sys/unlisted.h\n",
            "info/g++.list": f"{os.path.realpath(COMPILER)}\n",
            "src/a.cpp": "#include <listed.h>\n",
            "bin/list": "#!/bin/sh\necho g++ liblisted-dev\n",
            "bin/apt-get": "#!/bin/sh\necho 'The following NEW packages will be installed:'\n"
                           "for word; do case $word in g++|lib*) echo \"   $word (1)\";; esac; done\n",
            "build/CMakeCache.txt": f"CMAKE_HOME_DIRECTORY:INTERNAL={self.folder}/src\n"
                                    f"CMAKE_CXX_COMPILER:FILEPATH={COMPILER}\n",
            "build/build.ninja":
                "rule cxx\n"
                f"  command = {COMPILER} -nostdinc -isystem {self.folder}/sys -MD -MF $out.d "
                "-c $in -o $out\n"
                "  depfile = $out.d\n  deps = gcc\n"
                f"build a.o: cxx {self.folder}/src/a.cpp\n"
                "build build.ninja: phony\n",
        }.items():
            file = self.folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            if path.startswith("bin/"):
                file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def build(self):
        subprocess.run(["ninja", "-C", self.folder / "build", "--quiet"], check=True)

    def check(self, *options: str) -> subprocess.CompletedProcess:
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        return subprocess.run(
            [sys.executable, CHECKS / "package_closure.py", "--dpkg-info", self.folder / "info",
             "--apt-lists", self.folder / "lists", *options, self.folder / "build",
             self.folder / "bin/list"],
            check=False, text=True, stdout=subprocess.PIPE, env=os.environ | {"PATH": path})

    def test_what_is_listed_passes(self):
        self.build()
        ran = self.check()
        self.assertEqual(ran.returncode, 0, ran.stdout)
        self.assertIn("all belong", ran.stdout)

    def test_a_header_of_an_unlisted_package_fails(self):
        source = self.folder / "src/a.cpp"
        source.write_text("#include <listed.h>\n#include <unlisted.h>\n", encoding="utf-8")
        self.build()
        for options in ((), ("--target", "a.o")):
            ran = self.check(*options)
            self.assertEqual(ran.returncode, 1, ran.stdout)
            self.assertIn(f"libunlisted-dev: {self.folder}/sys/unlisted.h (opened for a.o): the "
                          "package is not among those that the list brings", ran.stdout)
            self.assertNotIn("/listed.h", ran.stdout)

    def test_skips_and_says_so_without_what_it_compares(self):
        ran = self.check()
        self.assertEqual((ran.returncode, "no record of dependencies" in ran.stdout), (77, True))
        self.build()
        (self.folder / "lists/deb_main_Packages").unlink()
        ran = self.check()
        self.assertEqual((ran.returncode, "apt has no package lists" in ran.stdout), (77, True))
        (self.folder / "build/build.ninja").unlink()
        (self.folder / "lists/deb_main_Packages").touch()
        ran = self.check()
        self.assertEqual((ran.returncode, "was not configured for Ninja" in ran.stdout), (77, True))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
