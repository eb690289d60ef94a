#!/usr/bin/env python3
"""Bundles the page of report.html: src/main.ts with the modules it imports, and style.css, into one
HTML file without any reference to outside. Equal sources and packages give equal bytes, in whichever
folder they are.

Usage: bundle.py --esbuild PROGRAM --modules DIR --doc DIR --depfile FILE SOURCE OUTPUT
  --modules  where a module NAME is the folder NAME: /usr/share/nodejs on Debian
  --doc      where its licence is node-NAME/copyright, in Debian's format: /usr/share/doc
  --depfile  written: all files that went into OUTPUT, as a Makefile rule
  SOURCE     the folder with src/main.ts, style.css and template.html
Exit status: 0 all is well, 1 something is missing or wrong.
"""

import argparse
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

OPTIONS = ["--bundle", "--minify", "--format=iife", "--charset=ascii", "--legal-comments=none",
           "--target=chrome100,firefox100,safari15.4", "--log-level=warning"]
REMEDY = "tools/packages installs esbuild and the modules"


def refuse(what: str):
    sys.exit(f"bundle.py: {what}")


def read(path: pathlib.Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        refuse(f"{path} is missing; {REMEDY}")


def bundled(esbuild: str, source: pathlib.Path, modules: pathlib.Path, entry: str) -> tuple[str, dict]:
    """The text that `entry` becomes, and what esbuild tells of what is in it."""
    with tempfile.TemporaryDirectory() as folder:
        output, metafile = pathlib.Path(folder, "output"), pathlib.Path(folder, "meta.json")
        ran = subprocess.run(
            [esbuild, entry, *OPTIONS, f"--outfile={output}", f"--metafile={metafile}"],
            cwd=source, env=os.environ | {"NODE_PATH": str(modules)}, check=False)
        if ran.returncode != 0:
            refuse(f"{esbuild} could not bundle {source / entry}, as it says above; {REMEDY}")
        return output.read_text(encoding="utf-8").strip(), json.loads(metafile.read_text())


@dataclasses.dataclass(frozen=True)
class Module:
    """A module that is in the bundle, with those of its files of which something is."""
    name: str
    folder: pathlib.Path
    files: tuple[str, ...]

    def version(self) -> str:
        return json.loads(read(self.folder / "package.json"))["version"]


def modules_in(metafile: dict, source: pathlib.Path, modules: pathlib.Path) -> list[Module]:
    """The modules of which the bundle has at least a byte, by name."""
    files: dict[str, list[str]] = {}
    (output,) = metafile["outputs"].values()
    for path in metafile["inputs"]:
        absolute = pathlib.Path(os.path.normpath(source / path))
        if absolute.is_relative_to(source / "src"):
            continue
        if not absolute.is_relative_to(modules):
            refuse(f"{absolute} would be bundled, which is neither in {source}/src nor in {modules}; "
                   "move the folder node_modules that it comes from out of the way")
        if output["inputs"].get(path, {"bytesInOutput": 0})["bytesInOutput"] > 0:
            name, *rest = absolute.relative_to(modules).parts
            files.setdefault(name, []).append("/".join(rest))
    return [Module(name, modules / name, tuple(sorted(files[name]))) for name in sorted(files)]


def paragraphs(text: str) -> list[dict[str, str]]:
    """The paragraphs of a file in Debian's format for copyrights, as fields."""
    out = []
    for paragraph in re.split(r"\n(?:[ \t]*\n)+", text.strip()):
        fields = re.findall(r"^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)", paragraph, re.M)
        out.append({name: re.sub(r"^[ \t]\.?", "", value, flags=re.M) for name, value in fields})
    return out


class Licences:
    """The holders of the rights in each module, under which licences, and the text of each of those once."""

    def __init__(self, doc: pathlib.Path):
        self.doc = doc
        self.files: list[pathlib.Path] = []
        self.notices: list[str] = []
        self.texts: dict[str, str] = {}  # By the words of the text, however they are broken and numbered.
        self.users: dict[str, list[str]] = {}

    def add(self, module: Module):
        path = self.doc / f"node-{module.name}" / "copyright"
        self.files.append(path)
        found = paragraphs(read(path))
        about = [one for one in found if "Files" in one]
        # The last paragraph that names a file is the one that holds for it.
        held = [[one for one in about if any(fnmatch.fnmatchcase(file, pattern)
                                             for pattern in one["Files"].split())][-1:]
                for file in module.files]
        if [] in held:
            refuse(f"{path} says nothing of {module.name}/{module.files[held.index([])]}")
        self.notices.append(f"{module.name} {module.version()}")
        for one in about:
            if [one] in held:
                holders = [f"Copyright {line.strip()}" for line in one["Copyright"].splitlines()]
                self.notices[-1] += "\n" + "\n".join([*holders, one["License"].splitlines()[0]])
                self._add_texts(module.name, path, one["License"], found)

    def _add_texts(self, user: str, path: pathlib.Path, licence: str, found: list[dict[str, str]]):
        short, _, text = licence.partition("\n")
        bodies = {name.lower(): body for one in found if "Files" not in one
                  for name, _, body in [one.get("License", "").partition("\n")]}
        for name in [short] if text else re.split(r",? (?:or|and) ", short):
            body = (text or bodies.get(name.lower(), "")).strip()
            if not body:
                refuse(f"{path} has no text of the licence {name}")
            words = " ".join(re.findall("[a-z]+", body.lower()))
            self.texts.setdefault(words, f"{name}\n\n{body}")
            self.users.setdefault(words, []).append(user)

    def comment(self) -> str:
        texts = [f"{', '.join(self.users[words])}: {text}" for words, text in self.texts.items()]
        text = "\n\n".join(["This page contains these libraries; the texts of their licences follow.",
                            *self.notices, *texts])
        if "*/" in text:
            refuse(f"one of {', '.join(map(str, self.files))} holds */, the end of the comment that "
                   "it is put into")
        return f"/*!\n{text}\n*/\n"


def page_of(template: str, style: str, script: str) -> str:
    parts = {"style": style, "script": script}  # In which esbuild leaves no end of their elements.
    page = re.sub("@@(style|script)@@", lambda match: parts[match.group(1)], template)
    if page.count("@@orrery-data@@") != 1:
        refuse("template.html: the place of the data, @@orrery-data@@, must be there once")
    return page


def rule(output: str, inputs: set[pathlib.Path]) -> str:
    def quoted(path) -> str:
        return re.sub(r"([ #])", r"\\\1", str(path)).replace("$", "$$")

    return f"{quoted(output)}:{''.join(f' {quoted(path)}' for path in sorted(inputs))}\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ", maxsplit=1)[1])
    parser.add_argument("--esbuild", required=True)
    for name in ("--modules", "--doc", "--depfile", "source", "output"):
        parser.add_argument(name, type=pathlib.Path, **({"required": True} if name[0] == "-" else {}))
    arguments = parser.parse_args()
    # As esbuild names files: without links on the way.
    source, modules = arguments.source.resolve(), arguments.modules.resolve()

    script, metafile = bundled(arguments.esbuild, source, modules, "src/main.ts")
    style, _ = bundled(arguments.esbuild, source, modules, "style.css")
    licences = Licences(arguments.doc)
    found = modules_in(metafile, source, modules)
    for module in found:
        licences.add(module)
    template = (source / "template.html").read_text(encoding="utf-8")
    page = page_of(template, style, licences.comment() + script)

    inputs = {pathlib.Path(os.path.normpath(source / path)) for path in metafile["inputs"]}
    inputs |= {source / name for name in ("style.css", "template.html", "tsconfig.json")}
    inputs |= {*licences.files, *(module.folder / "package.json" for module in found)}
    arguments.depfile.write_text(rule(arguments.output, inputs), encoding="utf-8")
    arguments.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
