"""sim/reports/page/bundle.py, on planted sources and modules: what goes into a page, whose licences
stand in it, and what is refused. Skipped (77) without esbuild.

Usage: bundle_test.py ROOT
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
PAGE = ROOT / "sim/reports/page"
ESBUILD = shutil.which("esbuild")
sys.path.insert(0, str(PAGE))

import bundle  # noqa: E402

DEBIAN = pathlib.Path("/usr/share/nodejs"), pathlib.Path("/usr/share/doc")

ISC = "License: ISC\n Permission to use\n copyright is granted.\n .\n No warranty.\n"
# The same words, broken and numbered in another way.
ISC_AGAIN = "License: ISC\n 1. Permission to use copyright\n    is granted.\n .\n No warranty.\n"
BSD = "License: BSD-3-Clause\n Redistribution is permitted.\n"


def copyright_of(about: str, *texts: str) -> str:
    return "\n".join(["Format: 1.0\nSource: https://none\n", about, *texts])


def files(holder: str, licence: str = "ISC", pattern: str = "*") -> str:
    return f"Files: {pattern}\nCopyright: {holder}\nLicense: {licence}\n"


class Bundle(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.modules, self.doc = self.folder / "modules", self.folder / "doc"
        self.source = self.plant("a b/page")
        self.module("one", "1.2.3", copyright_of(files("2001 First"), ISC))
        self.module("two", "4.5.6", copyright_of(files("2002 Second"), ISC_AGAIN))

    def write(self, path: pathlib.Path, text: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def plant(self, name: str) -> pathlib.Path:
        source = self.folder / name
        for path, text in {
            "src/main.ts": 'import {one} from "one";\nimport {two} from "two";\n'
                           'import {own} from "./own";\nalert(one + two + own);\n',
            "src/own.ts": 'export const own: string = "</script>";\n',
            "style.css": 'b::after { content: "▲"; }\n',
            "tsconfig.json": "{}",
            "template.html": "<style>@@style@@</style><i>@@orrery-data@@</i><script>@@script@@</script>",
        }.items():
            self.write(source / path, text)
        return source

    def module(self, name: str, version: str, rights: str, source: str | None = None):
        self.write(self.modules / name / "package.json",
                   f'{{"name": "{name}", "version": "{version}", "module": "src/index.js"}}')
        self.write(self.modules / name / "src/index.js", source or f'export const {name} = "{name}!";\n')
        self.write(self.doc / f"node-{name}" / "copyright", rights)

    def run_bundle(self, source=None, modules=None, doc=None):
        output = self.folder / "page.html"
        output.unlink(missing_ok=True)
        words = ["bundle.py", "--esbuild", ESBUILD, "--modules", modules or self.modules, "--doc", doc or self.doc,
                 "--depfile", self.folder / "page.d", source or self.source, output]
        # A fork of this interpreter: it says what it says, and what esbuild says, on an output of its own.
        with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
            child = os.fork()
            if child == 0:
                os.dup2(said.fileno(), 2)
                sys.argv = list(map(str, words))
                code = 1
                try:
                    bundle.main()
                    code = 0
                except SystemExit as ended:
                    print(ended, file=sys.stderr)
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(code)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            done = subprocess.CompletedProcess(words, code, stderr=said.read())
        return done, output.read_text(encoding="utf-8") if output.exists() else None

    def page(self, **where) -> str:
        done, page = self.run_bundle(**where)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return page

    def refused(self, *parts: str):
        done, page = self.run_bundle()
        self.assertEqual(done.returncode, 1)
        self.assertIsNone(page)
        for part in parts:
            self.assertIn(part, done.stderr)

    def test_style_script_and_the_place_of_the_data_are_in_it(self):
        page = self.page()
        self.assertTrue(page.isascii())
        self.assertIn('b:after{content:"\\25b2"}</style>', page)
        self.assertIn("<i>@@orrery-data@@</i>", page)
        for text in ("one!", "two!"):
            self.assertIn(text, page)
        self.assertEqual(page.count("</script>"), 1, "the script's own text would end it early")

    def test_the_folder_makes_no_difference(self):
        self.assertEqual(self.page(source=self.plant("elsewhere/deeper/page")), self.page())

    def test_each_module_has_version_and_holders_and_each_text_stands_once(self):
        page = self.page()
        self.assertIn("one 1.2.3\nCopyright 2001 First\nISC\n\ntwo 4.5.6\nCopyright 2002 Second\nISC\n\n"
                      "one, two: ISC\n\nPermission to use\ncopyright is granted.\n\nNo warranty.\n*/", page)
        self.assertEqual(page.count("Permission"), 1)

    def test_texts_that_differ_stand_side_by_side(self):
        self.module("two", "4.5.6", copyright_of(files("2002 Second", "BSD-3-Clause"), BSD))
        self.assertIn("one: ISC\n\nPermission to use\ncopyright is granted.\n\nNo warranty.\n\n"
                      "two: BSD-3-Clause\n\nRedistribution is permitted.\n*/", self.page())

    def test_a_choice_of_licences_brings_both_texts(self):
        self.module("two", "4.5.6", copyright_of(files("2002 Second", "BSD-3-Clause or ISC"), BSD, ISC))
        page = self.page()
        self.assertIn("BSD-3-Clause or ISC\n", page)
        self.assertIn("one, two: ISC\n", page)
        self.assertIn("two: BSD-3-Clause\n", page)

    def test_who_holds_rights_in_other_files_is_left_out(self):
        self.module("one", "1", copyright_of(
            files("2001 First") + "\n" + files("2005 Packager", "BSD-3-Clause", "debian/* types/*"),
            ISC, BSD))
        page = self.page()
        self.assertIn("First", page)
        self.assertNotIn("Packager", page)
        self.assertNotIn("Redistribution", page)

    def test_the_last_paragraph_that_names_a_file_holds(self):
        self.module("one", "1", copyright_of(
            files("2001 First") + "\n" + files("2005 Later", "BSD-3-Clause", "src/*"), ISC, BSD))
        page = self.page()
        self.assertNotIn("First", page)
        self.assertIn("one 1\nCopyright 2005 Later\nBSD-3-Clause", page)

    def test_a_module_of_which_nothing_is_left_is_not_named(self):
        self.write(self.source / "src/own.ts",
                   'import {two} from "two";\nexport const own = "own", unused = () => two;\n')
        self.write(self.source / "src/main.ts",
                   'import {one} from "one";\nimport {own} from "./own";\nalert(one + own);\n')
        page = self.page()
        self.assertIn("one 1.2.3", page)
        self.assertNotIn("two", page)

    def test_the_depfile_names_all_that_went_in(self):
        self.page()
        output, inputs = (self.folder / "page.d").read_text(encoding="utf-8").split(": ", 1)
        self.assertEqual(output, str(self.folder / "page.html"))
        named = {word.replace("\\ ", " ") for word in re.split(r"(?<!\\) ", inputs.strip())}
        self.assertEqual(named, {str(path) for path in [
            *self.source.glob("src/*"), *self.modules.glob("*/src/*"), *self.modules.glob("*/package.json"),
            *self.doc.glob("*/copyright"), self.source / "style.css", self.source / "template.html",
            self.source / "tsconfig.json"]})

    def test_a_module_from_elsewhere_is_refused(self):
        self.write(self.source / "node_modules/one/index.js", "export const one = 1;\n")
        self.refused(f"{self.source}/node_modules/one/index.js would be bundled", str(self.modules),
                     "out of the way")

    def test_a_module_that_is_missing_is_refused(self):
        shutil.rmtree(self.modules / "two")
        self.refused('"two"', f"could not bundle {self.source}/src/main.ts", "tools/packages")

    def test_rights_that_are_missing_or_incomplete_are_refused(self):
        file = self.doc / "node-two/copyright"
        for rights, finding in {copyright_of(files("Second")): "has no text of the licence ISC",
                                copyright_of(files("Second", pattern="debian/*"), ISC):
                                    "says nothing of two/src/index.js",
                                copyright_of(files("Second */"), ISC): "holds */"}.items():
            file.write_text(rights, encoding="utf-8")
            self.refused(f"{file}", finding)
        file.unlink()
        self.refused(f"{file} is missing", "tools/packages")

    def test_a_template_without_the_place_of_the_data_is_refused(self):
        self.write(self.source / "template.html", "@@style@@ @@script@@")
        self.refused("@@orrery-data@@")

    @unittest.skipUnless((DEBIAN[0] / "d3-scale").exists(), "Debian's D3 modules are not here")
    def test_debians_modules(self):
        page = self.page(source=PAGE, modules=DEBIAN[0], doc=DEBIAN[1])
        for name in ("d3-array", "d3-scale", "d3-scale-chromatic", "d3-shape"):
            self.assertRegex(page, rf"\n{name} \d[\d.]+\nCopyright \d.*Bostock")
        self.assertIn("The Pennsylvania State University\nBSD-3-Clause or Apache-2.0", page)
        for text in ("Permission to use, copy, modify,", "Licensed under the Apache License"):
            self.assertEqual(page.count(text), 1, text)


if __name__ == "__main__":
    if ESBUILD is None:
        print("skipped: esbuild is missing; tools/packages installs it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
