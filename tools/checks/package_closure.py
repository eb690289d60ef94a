#!/usr/bin/env python3
"""Whether the packages that are named bring every system file that a build used.

A machine on which one works has much more than it needs, so that a package that is missing in the
list is noticed by others first. Here the list is taken at its word: apt computes what an empty
Debian would install for it, without what is only recommended, and each file of the system that
  - a compilation opened (ninja's record of dependencies), or another command by its depfile,
  - a link line or another command names, -l options resolved as the linker does,
  - CMake read to configure,
  - pkg-config read: .pc files with all that they require in turn
has to belong to one of those packages. What does not is printed by package, with a file and its user.

Usage: package_closure.py [--target TARGET] [--finds NAME] BUILD PROGRAM [OPTION ...]
  BUILD     a build folder of Ninja in which everything, or TARGET, has been built
  PROGRAM   prints the names of the packages, as tools/packages --list does
  --target  judge the compilations and commands behind TARGET alone
  --finds   the package NAME, taken out of the list, must be found missing, or it is an offence of this program
Exit status: 0 all belong, 1 some do not, 2 it could not be found out, 77 nothing to compare with here.
"""

import argparse
import collections
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 77
APT_LISTS = pathlib.Path("/var/lib/apt/lists")
APT_HELPER = "/usr/lib/apt/apt-helper"
DPKG_INFO = pathlib.Path("/var/lib/dpkg/info")

# What the compiler links without being told.
IMPLICIT_LIBRARIES = ("-lstdc++", "-lm", "-lgcc", "-lc")
SHARED_LIBRARY = re.compile(r"(.*)\.so(?:\.\d+)*")

# Toolkits that may come from outside packages, by the variable of CMake's cache that names them.
# A program may stand in for the package's own; a folder may hold whatever it likes.
OUTSIDE_PROGRAMS = {
    "ORRERY_NODE": "node", "ORRERY_ESBUILD": "esbuild", "_Python3_EXECUTABLE": "Python",
    "ORRERY_CUDA_COMPILER": "nvcc", "CMAKE_COMMAND": "CMake", "CMAKE_MAKE_PROGRAM": "Ninja",
    "ORRERY_CCACHE": "ccache"}
OUTSIDE_FOLDERS = {"CUDAToolkit_BIN_DIR": "the CUDA toolkit", "CMAKE_ROOT": "CMake's modules"}
# A toolkit that was found here is part of the system: its files are judged.
SYSTEM_FOLDERS = {"/", "/usr", "/usr/share", "/usr/lib"}


class Skip(Exception):
    """Nothing here to compare with."""


@dataclasses.dataclass(frozen=True)
class Use:
    """A file of the system, and what used it."""
    path: str
    user: str


def output_of(*command: str, **options) -> str:
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def cache_variables(text: str) -> dict[str, str]:
    """The variables of a CMakeCache.txt."""
    return dict(re.findall(r"^([\w.+-]+):[A-Z]+=(.*)$", text, re.M))


class Tree:
    """A build folder with the sources it was made from; all other files are the system's."""

    def __init__(self, build: str, source: str):
        self.build = build
        self.own = tuple(folder.rstrip("/") + "/" for path in (build, source)
                         for folder in (path, os.path.realpath(path)))

    def system_path(self, path: str) -> str | None:
        """The absolute form of `path`, relative to the build folder; none of what is our own."""
        path = os.path.normpath(os.path.join(self.build, path))
        return None if path.startswith(self.own) else path


def opened_uses(tree: Tree, deps: str, outputs: set[str] | None) -> list[Use]:
    """From `ninja -t deps`: what compilations opened. `outputs` restricts to those objects."""
    uses, output = {}, None
    for line in deps.splitlines():
        if line and not line.startswith(" "):
            output = line.split(": #deps", maxsplit=1)[0]
            if "(STALE)" in line or (outputs is not None and output not in outputs):
                output = None
        elif line and output is not None:
            path = line.strip()
            if path not in uses:
                uses[path] = f"opened for {output}"
    return [Use(system, user) for path, user in uses.items()
            if (system := tree.system_path(path)) is not None]


def depfile_uses(tree: Tree, rules: str, outputs: set[str] | None) -> list[Use]:
    """What other commands opened, by the depfiles that build.ninja names: Ninja keeps no record of it.

    `outputs` restricts to those files.
    """
    uses = {}
    for output, depfile in re.findall(r"^build (\S+) .*\n(?:  .*\n)*?  depfile = (.*)$", rules, re.M):
        path = pathlib.Path(tree.build, depfile)
        if (outputs is None or output in outputs) and path.is_file():
            inputs = path.read_text(encoding="utf-8").split(": ", maxsplit=1)[-1]
            for word in re.findall(r"(?:\\[ #]|\S)+", inputs.replace("\\\n", " ")):
                uses.setdefault(re.sub(r"\\([ #])", r"\1", word).replace("$$", "$"), output)
    return [Use(system, f"opened for {output}") for path, output in uses.items()
            if (system := tree.system_path(path)) is not None]


def words_of(command: str) -> list[str]:
    # shlex takes a second for a thousand link lines, and few of them quote anything.
    return shlex.split(command) if re.search(r"[\"'\\]", command) else command.split()


def linked_file(word: str, folders: list[str], static: bool) -> str | None:
    """The file that the linker takes for -lNAME."""
    suffixes = (".a",) if static else (".so", ".a")
    for folder in folders:
        for suffix in suffixes:
            path = os.path.join(folder, f"lib{word[2:]}{suffix}")
            if os.path.isfile(path):
                return path
    return None


def named_uses(tree: Tree, commands: str, compilers: set[str], folders: list[str]) -> list[Use]:
    """From `ninja -t commands`: programs, libraries and other files that commands name.

    `folders` are those in which the compiler looks for libraries by itself.
    """
    uses: dict[str, str] = {}
    for command in commands.splitlines():
        words = words_of(command)
        output = words[words.index("-o") + 1] if "-o" in words[:-1] else command[:60]
        links = "-c" not in words and any(word in compilers for word in words)
        static = links and "-static" in words
        for word in words:
            path = word[word.find("/"):] if "=" in word or word.startswith("-") else word
            if static and (match := SHARED_LIBRARY.fullmatch(path)):
                path = match.group(1) + ".a"  # As tools/cmake/static_link.py does.
            if path.startswith("/") and path not in uses and os.path.isfile(path):
                uses[path] = f"named by the command for {output}"
        if not links:
            continue
        search = [word[2:] for word in words if word.startswith("-L") and word != "-L"] + folders
        for word in dict.fromkeys([*words, *IMPLICIT_LIBRARIES]):
            if word.startswith("-l"):
                path = linked_file(word, search, static) or f"{word}{' (archive)' * static}"
                uses.setdefault(path, f"linked into {output}")
    return [Use(path, user) for path, user in uses.items()
            if path.startswith("-l") or tree.system_path(path) is not None]


def required_modules(text: str) -> list[str]:
    """The modules that a .pc file requires, private ones too: pkg-config reads them all."""
    listed = " ".join(re.findall(r"^Requires(?:\.private)?:(.*)$", text, re.M))
    return re.findall(r"[\w.+-]+", re.sub(r"(?:[<>]=?|!?=)\s*\S+", " ", listed))


def pkg_config_uses(cache: dict[str, str], folders: list[str]) -> list[Use]:
    """The .pc files behind what CMake asked pkg-config for, as far as it found that."""
    asked = {}
    for name, value in cache.items():
        prefix = name.removeprefix("__pkg_config_arguments_")
        if prefix != name and cache.get(f"{prefix}_FOUND") == "1":
            for word in value.split(";"):
                if not re.fullmatch(r"[A-Z_]+", word):
                    asked[re.split(r"[<>=]", word, maxsplit=1)[0]] = "CMake"
    uses, seen = [], {}
    while asked:
        module, user = asked.popitem()
        seen[module] = user
        path = next((path for folder in folders
                     if os.path.isfile(path := os.path.join(folder, module + ".pc"))), None)
        # A module that is not here is named as such: pkg-config would fail on a fresh machine.
        uses.append(Use(path or module + ".pc", f"asked of pkg-config by {user}"))
        if path is not None:
            required = required_modules(pathlib.Path(path).read_text(encoding="utf-8"))
            asked |= {name: module for name in required if name not in seen}
    return uses


def aliases(path: str) -> list[str]:
    """Names under which dpkg may know a file: as it is, behind links, and before /usr was merged."""
    names = [path]
    for _ in range(8):
        folder, name = os.path.split(names[-1])
        names.append(os.path.join(os.path.realpath(folder), name))
        if not os.path.islink(names[-1]):
            break
        names.append(os.path.normpath(os.path.join(os.path.dirname(names[-1]),
                                                   os.readlink(names[-1]))))
    unmerged = [name.removeprefix("/usr") for name in names
                if re.match(r"/usr/(?:lib\w*|s?bin)/", name)]
    return list(dict.fromkeys(names + unmerged))


def owners_of(paths: set[str], info: pathlib.Path) -> dict[str, set[str]]:
    """The packages that own each of `paths`; several where one diverts a file of another."""
    known_as = {path: aliases(path) for path in paths}
    wanted = {os.fsencode(name) for names in known_as.values() for name in names}
    found: dict[bytes, set[str]] = collections.defaultdict(set)
    for file in info.glob("*.list"):
        package = file.name.removesuffix(".list").split(":")[0]
        for name in wanted.intersection(file.read_bytes().split(b"\n")):
            found[name].add(package)
    return {path: set().union(*(found.get(os.fsencode(name), set()) for name in names))
            for path, names in known_as.items()}


def packages_installed(answer: str) -> set[str]:
    """The names under `NEW packages` in the answer of `apt-get install --print-uris`."""
    match = re.search(r"^The following NEW packages will be installed:\n((?: .*\n)+)", answer, re.M)
    return set(re.findall(r"^ +([^\s:(]+)", match.group(1), re.M)) if match else set()


def plain_lists(lists: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A folder like `lists` with nothing compressed: apt reads in no order, and unpacks from the start."""
    (folder / "partial").mkdir(parents=True)
    for file in lists.iterdir():
        if re.search(r"_Packages\.\w+$", file.name):
            with open(folder / file.stem, "wb") as out:
                subprocess.run([APT_HELPER, "cat-file", file], check=True, stdout=out)
        elif file.is_file():
            (folder / file.name).symlink_to(file)
    return folder


def closure_of(names: list[str], lists: pathlib.Path) -> set[str]:
    """All packages that apt installs for `names` on an empty machine, the minimal system included."""
    with tempfile.TemporaryDirectory() as folder:
        status = pathlib.Path(folder, "status")
        status.touch()
        options = {"Dir::State::status": status, "Dir::State::extended_states": status,
                   "Dir::State::lists": plain_lists(lists, pathlib.Path(folder, "lists")),
                   "Dir::Cache": folder, "Debug::NoLocking": "true",
                   "APT::Get::Show-Versions": "true"}
        # --print-uris computes the same as --simulate, in a third of the time.
        command = ["apt-get", "install", "--print-uris", "--yes", "--no-install-recommends",
                   *(word for name, value in options.items() for word in ("-o", f"{name}={value}")),
                   *names, "apt", "?essential", "?priority(^required$)"]
        ran = subprocess.run(command, check=False, text=True, capture_output=True,
                             env=os.environ | {"LC_ALL": "C"})
    closure = packages_installed(ran.stdout)
    if ran.returncode != 0 or not closure:
        sys.exit(f"package_closure.py: apt finds no way to install the list:\n{ran.stderr}")
    return closure


class Outside:
    """What may be used though no package of the list brings it."""

    def __init__(self, cache: dict[str, str]):
        self.programs = {path: what for name, what in OUTSIDE_PROGRAMS.items()
                         if (path := cache.get(name, "")).startswith("/")}
        self.folders = {}
        for name, what in OUTSIDE_FOLDERS.items():
            path = cache.get(name, "")
            if path.startswith("/"):
                for folder in (path, os.path.realpath(path)):
                    folder = folder.removesuffix("/bin")
                    if folder not in SYSTEM_FOLDERS:
                        self.folders[folder + "/"] = what

    def allows(self, path: str, owners: set[str]) -> bool:
        return (path in self.programs and not owners) or path.startswith(tuple(self.folders))


def offences(uses: list[Use], owners: dict[str, set[str]], closure: set[str],
             outside: Outside) -> list[str]:
    """A line for each package, or ownerless file, that the closure lacks."""
    lacking: dict[str, list[Use]] = collections.defaultdict(list)
    for use in uses:
        owned_by = owners.get(use.path, set())
        if not owned_by & closure and not outside.allows(use.path, owned_by):
            lacking[" or ".join(sorted(owned_by))].append(use)
    lines = [f"{use.path} ({use.user}) belongs to no package; needed: a file of a package that "
             "tools/packages names" for use in lacking.pop("", [])]
    for package, missing in sorted(lacking.items()):
        lines.append(f"{package}: {missing[0].path} ({missing[0].user})"
                     f"{f' and {len(missing) - 1} more files' if len(missing) > 1 else ''}: the "
                     "package is not among those that the list brings; name it in tools/packages "
                     "and docs/dependencies.md, or do without the file")
    return lines


def uses_of(build: pathlib.Path, target: str | None, cache: dict[str, str]) -> list[Use]:
    def ninja(*words: str) -> str:
        return output_of("ninja", "-C", str(build), "--quiet", "-t", *words)

    tree = Tree(str(build), cache.get("CMAKE_HOME_DIRECTORY", str(build)))
    deps = ninja("deps")
    if ": #deps" not in deps:
        raise Skip(f"{build} has no record of dependencies; build it with Ninja first")
    outputs = {target, *ninja("inputs", target).splitlines()} if target else None
    compilers = {cache[name] for name in ("CMAKE_CXX_COMPILER", "CMAKE_C_COMPILER") if name in cache}
    folders = [os.path.normpath(folder) for compiler in sorted(compilers)[:1]
               for line in output_of(compiler, "-print-search-dirs").splitlines()
               if line.startswith("libraries: =")
               for folder in line.removeprefix("libraries: =").split(":")]
    uses = opened_uses(tree, deps, outputs)
    uses += depfile_uses(tree, (build / "build.ninja").read_text(encoding="utf-8"), outputs)
    uses += named_uses(tree, ninja("commands", *([target] if target else [])), compilers, folders)
    if target is None:
        uses += [Use(system, "read by CMake") for path in ninja("inputs", "build.ninja").splitlines()
                 if (system := tree.system_path(path)) is not None]
        if "PKG_CONFIG_EXECUTABLE" in cache:
            path = output_of(cache["PKG_CONFIG_EXECUTABLE"], "--variable", "pc_path", "pkg-config")
            uses += pkg_config_uses(
                cache, os.environ.get("PKG_CONFIG_PATH", "").split(":") + path.strip().split(":"))
    return list({use.path: use for use in uses}.values())


def main() -> int:
    parser = argparse.ArgumentParser(usage=__doc__.split("Usage: ", maxsplit=1)[1])
    parser.add_argument("--target")
    parser.add_argument("--finds")
    parser.add_argument("--apt-lists", type=pathlib.Path, default=APT_LISTS, help=argparse.SUPPRESS)
    parser.add_argument("--dpkg-info", type=pathlib.Path, default=DPKG_INFO, help=argparse.SUPPRESS)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("program", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    try:
        if not any(arguments.dpkg_info.glob("*.list")):
            raise Skip("no dpkg is here, so no file belongs to a package")
        if not any(arguments.apt_lists.glob("*_Packages*")):
            raise Skip("apt has no package lists here; apt-get update fetches them")
        if not (build / "build.ninja").is_file() or not (build / "CMakeCache.txt").is_file():
            raise Skip(f"{build} was not configured for Ninja")
        cache = cache_variables((build / "CMakeCache.txt").read_text(encoding="utf-8"))
        uses = uses_of(build, arguments.target, cache)
    except Skip as skip:
        print(f"skipped: {skip}")
        return SKIPPED
    names = output_of(*arguments.program).split()
    closure = closure_of(names, arguments.apt_lists)
    owners = owners_of({use.path for use in uses}, arguments.dpkg_info)
    found = offences(uses, owners, closure, Outside(cache))
    if arguments.finds:
        fewer = closure_of([name for name in names if name != arguments.finds], arguments.apt_lists)
        if not any(line.startswith(f"{arguments.finds}: /") for line in
                   offences(uses, owners, fewer, Outside(cache))):
            found.append(f"package_closure.py: without {arguments.finds} in the list nothing is found missing")
    print("\n".join(found) or f"{len(uses)} files of the system all belong to the {len(closure)} "
          f"packages that {len(names)} names bring to an empty Debian")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
