#!/usr/bin/env python3
"""Every offence planted in a small tree is found, and honest code passes.

Usage: checks_test.py TOOLS_CHECKS_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, sys.argv.pop(1))

import check_includes  # noqa: E402
import check_layers  # noqa: E402
import check_style  # noqa: E402
import standalone  # noqa: E402

# file, its content, what the finding must contain
LAYER_OFFENCES = [
    ("core/base/ids.hpp", '#include "core/job/job.hpp"\n', "core/base may include only core/base"),
    ("core/record/plan.hpp", '#include "policies/fifo.hpp"\n', "core/record may include only"),
    ("core/control/controller.cpp", '#include "core/driver/driver.hpp"\n', "core/control may include only"),
    ("core/membership/forming.cpp", '#include "core/control/settle.hpp"\n', "core/membership may"),
    ("core/novelty/a.cpp", '#include "core/base/ids.hpp"\n', "core may include only"),
    ("core/job/job.hpp", "#include <yaml-cpp/yaml.h>\n", "only the standard library"),
    ("core/job/job.hpp", "#include <unistd.h>\n", "only the standard library"),
    ("core/job/job.hpp", '#include "job.hpp"\n', "from the root of the repository"),
    ("policies/fifo.cpp", '#include "sim/model/world.hpp"\n', "policies may include only"),
    ("policies/fifo.cpp", '#include "core/state/state.hpp"\n', "must not reach into"),
    ("scenarios/language/scenario.cpp", '#include "sim/model/world.hpp"\n', "scenarios/language may include only"),
    ("scenarios/language/scenario.cpp", "#include <sqlite3.h>\n", "yaml-cpp/"),
    ("sim/model/world.cpp", '#include "sim/simgrid/platform.hpp"\n', "must not reach into"),
    ("sim/model/world.cpp", '#include "policies/fifo.hpp"\n', "sim may include only"),
    ("runtime/store/journal.cpp", '#include "runtime/planner/world.hpp"\n', "runtime/store may"),
    ("runtime/planner/world.cpp", '#include "sim/model/world.hpp"\n', "runtime may include only"),
]

LAYER_HONEST = {
    "core/job/job.hpp": '#include <cstdint>\n#include "core/base/ids.hpp"\n',
    "core/driver/driver.hpp": '#include "core/driver/queue.hpp"\n#include "core/job/job.hpp"\n',
    "core/record/plan.hpp": '// #include "sim/model/world.hpp"\n/*\n#include <unistd.h>\n*/\n',
    "sim/simgrid/platform.cpp": '#include <simgrid/s4u.hpp>\n#include "sim/simgrid/platform.hpp"\n',
    "runtime/store/journal.cpp": "#include <sqlite3.h>\n",
    "tests/core/job_test.cpp": '#include <gtest/gtest.h>\n#include "policies/fifo.hpp"\n',
}

MACHINE = "/" + "home/somebody/orrery"

STYLE_OFFENCES = [
    ("core/job/a.cpp", "std::unordered_map<int, int> jobs;\n", "unordered_map"),
    ("policies/a.cpp", "std::map<const Job*, int> shares;\n", "key by id"),
    ("policies/a.cpp", "std::set<Job *> jobs;\n", "key by id"),
    ("core/job/a.cpp", "throw 1;\n", "throw: return Result<T>"),
    ("core/job/a.cpp", "#include <thread>\n", "threads live in runtime/"),
    ("policies/a.cpp", "std::mutex guard;\n", "threads live in runtime/"),
    ("core/job/a.cpp", "std::chrono::steady_clock::now();\n", "time is an argument"),
    ("core/driver/a.cpp", "std::chrono::system_clock::now();\n", "time is an argument"),
    ("core/job/a.cpp", "#include <iostream>\n", "no I/O here"),
    ("policies/a.cpp", "std::printf(text);\n", "no I/O here"),
    ("core/job/a.cpp", 'std::getenv("HOME");\n', "configuration is passed in"),
    ("sim/model/a.cpp", "std::normal_distribution<double> d;\n", "random.hpp"),
    ("policies/a.cpp", "if (rand() % 2) grow();\n", "seeded stream"),
    ("tools/orrery/a.cpp", "std::string text{std::istreambuf_iterator<char>(in), {}};\n", "rest_of"),
    ("sim/model/a.cpp", "std::random_device device;\n", "seeded stream"),
    ("core/models/a.cpp", "double y = std::exp(x);\n", "core/base/math.hpp"),
    ("sim/model/a.cpp", "double y = pow(x, 2);\n", "core/base/math.hpp"),
    ("policies/a.cpp", "double y = ::log(x);\n", "core/base/math.hpp"),
    ("sim/model/a.cpp", "assert(x > 0);\n", "use invariant()"),
    ("tools/orrery/a.cpp", "using namespace std;\n", "name what is used"),
    ("core/utils/a.cpp", "", "name for a drawer"),
    ("sim/helpers.hpp", "", "name for a drawer"),
    ("core/job/a.cpp", "int x;\n" * 801, "801 lines: at most 800"),
    ("docs/operations.md", f"Run {MACHINE}/tool.\n", "a path of one machine"),
    ("docs/operations.md", "See [the map](nowhere.md).\n", "there is no such file"),
    ("core/job/a.cpp", "int x;  // NOLINT\n", "names no check or no reason"),
    ("core/job/a.cpp", "int x;  // NOLINT(misc-thing)\n", "names no check or no reason"),
    ("scenarios/faults/forgotten.yaml", "seed: 1\n", "no test runs it"),
    ("core/job/forgotten.cpp", "int x;\n", "the build does not know it"),
    ("proto/link.proto", "", "proto:1: top level: holds only core policies"),
    ("storm/found.yaml", "", "results of a run belong into out/"),
    ("notes.md", "", "pages belong into docs/"),
    ("deploy.sh", "", "scripts belong into tools/"),
    ("fleet.yaml", "", "scenarios belong into scenarios/"),
    ("allocator.cpp", "", "sources belong into the layer"),
    ("settings.ini", "", "settings of tools are dot files"),
    ("tests/control/a_test.py", "", "tests/control:1: folder: tests/ mirrors the source"),
    ("tests/core/controls/a_test.py", "", "there is no core/controls that it could test"),
]

# What mentions something that is not there, and what the finding contains. Beside each stands
# EXISTING.
EXISTING = {
    "CMakeLists.txt": "add_executable(orrery-node core/job/job.cpp core/job/job.hpp)\n"
                      "orrery_benchmark(store)\n",
    "core/job/job.hpp": "class Job {\n  int replicas() const;\n};\n",
    "core/job/job.cpp": "",
    "scenarios/failover/README.md": "",
    "tools/quickstart": "",
}
DEAD_REFERENCES = [
    ("docs/a.md", "First.\n\nSee `core/base/ids.hpp`.\n", "docs/a.md:3: core/base/ids.hpp: "),
    ("docs/a.md", "See core/base/ids.hpp.\n", "docs/a.md:1: core/base/ids.hpp: "),
    ("docs/a.md", "`tools/start` does it.\n", "docs/a.md:1: tools/start: "),
    ("docs/a.md", "```sh\ntools/start --now\n```\n", "docs/a.md:2: tools/start: "),
    ("docs/a.md", "`scenarios/failover/*.yaml`\n", "scenarios/failover/*.yaml: "),
    ("docs/a.md", "`core/job/job.{hpp,cu}`\n", "core/job/job.{hpp,cu}: "),
    ("docs/a.md", "`tests/journals/version_N.db`\n", "tests/journals/version_N.db: "),
    ("docs/a.md", "`core/base/`\n", "core/base/: "),
    ("docs/a.md", "`core/job/CMakeLists.txt`\n", "core/job/CMakeLists.txt: "),
    ("docs/a.md", "Run `build/bin/orrery-agent`.\n", "build/bin/orrery-agent: no CMakeLists.txt"),
    ("docs/a.md", "`build/bin/bench_journal`\n", "build/bin/bench_journal: "),
    ("docs/a.md", "It is in `ledger.cpp`.\n", "ledger.cpp: there is no source of that name"),
    ("docs/a.md", "`Job::seats` says so.\n", "Job::seats: there is no such member"),
    ("core/job/job.hpp", "// As core/job/spec.hpp says.\n", "core/job/job.hpp:1: core/job/spec.hpp: "),
    ("core/job/job.hpp", "/* One\n   two: job/spec.hpp. */\n", "core/job/job.hpp:2: job/spec.hpp: "),
    ("core/job/job.hpp", 'say("orrery sim scenarios/one.yaml");\n', "scenarios/one.yaml: "),
    ("core/job/job.hpp", "class Job {};  // See Job::seats.\n", "Job::seats: "),
    ("tools/start.py", '"""Starts tools/quick.py."""\n', "tools/quick.py: "),
    ("tools/start", "exec tools/slowstart.sh\n", "tools/slowstart.sh: "),
    ("CMakeLists.txt", "# See docs/build.md.\n", "CMakeLists.txt:1: docs/build.md: "),
    ("tests/core/job/a_test.py", '"""Tests core/job/spec.hpp."""\n', "core/job/spec.hpp: "),
    ("tests/core/job/CMakeLists.txt", "# As docs/build.md says.\n", "docs/build.md: "),
]
LIVE_REFERENCES = {
    "docs/a.md": (
        "`core/job/job.hpp`, `core/job/job`, `core/job/job.{hpp,cpp}`, `core/*/job.hpp`, `core/job/`,\n"
        "`scenarios/failover/NAME.yaml`, `scenarios/failover/<name>.yaml`, `tests/...`, job/job.cpp,\n"
        "`job.hpp`, `Job::replicas()`, `tools/quickstart`, `build/bin/orrery-node`, `build/bin/bench_*`,\n"
        "`build/bin/bench_store`, `Host::exec_async`, https://example.org/docs/build.md,\n"
        "a site's docs/web.\n"
        "`/opt/tools/start.sh`, `simgrid:src/surf.cpp`, `$HOME/tools/start.sh`\n"),
    "tools/start.py": 'folder = f"scenarios/{name}/a.yaml"  # Of core/v1, the API of others.\n',
    "tests/core/job/a_test.py": 'write("core/job/made_up.hpp", "docs/made_up.md")\n',
}

STYLE_HONEST = {
    "CMakeLists.txt": "rule(core/job/a.cpp core/driver/a.cpp core/base/math.cpp)\n",
    "tests/core/CMakeLists.txt": "rule(SOURCES a_test.cpp)\n",
    "core/job/a.cpp": (
        "// Never throw; a steady_clock has no place here, nor std::exp(x).\n"
        'const char* text = "throw std::exp(1) rand()";\n'
        "double y = math::exp(x) + model.log(x) + std::sqrt(x);\n"
        "std::map<JobId, const Job*> jobs;\n"
        "int grandchild(int brand);\n"
        "int million = 1'000'000;  // The apostrophes are no character literals.\n"
        "// NOLINTNEXTLINE(misc-no-recursion): depth is bounded by the number of roles\n"
        "static_assert(sizeof(int) == 4);\n"),
    "core/driver/a.cpp": "throw Broken();\n",
    "core/base/math.cpp": "double y = std::exp(x);\n",
    "tests/core/a_test.cpp": "std::unordered_map<int, int> seen;\n",
    "docs/map.md": "See [the tests](../tests/core/a_test.cpp) and [home](https://example.org/home/a).\n",
    "scenarios/CMakeLists.txt": "some_rule(smoke/one_job.yaml)\n",
    "scenarios/smoke/one_job.yaml": "seed: 1\n",
}


def tree(files: dict[str, str]) -> tempfile.TemporaryDirectory:
    folder = tempfile.TemporaryDirectory()
    for path, content in files.items():
        target = pathlib.Path(folder.name, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, encoding="utf-8")
    return folder


class Layers(unittest.TestCase):
    def test_finds_every_planted_offence(self):
        for path, content, finding in LAYER_OFFENCES:
            with self.subTest(path=path, content=content), tree({path: content}) as root:
                self.assertIn(finding, "\n".join(check_layers.check(pathlib.Path(root))))

    def test_finds_a_circle_between_folders(self):
        files = {"core/job/a.hpp": '\n#include "core/record/b.hpp"\n',
                 "core/record/b.hpp": '#include "core/state/c.hpp"\n',
                 "core/state/c.hpp": '#include "core/job/a.hpp"\n',
                 "core/state/d.hpp": '#include "core/base/e.hpp"\n'}
        with tree(files) as root:
            found = "\n".join(line for line in check_layers.check(pathlib.Path(root))
                              if "circle" in line)
        self.assertIn("core/job/a.hpp:2: core/job includes core/record, which includes core/job", found)
        self.assertIn("core/record/b.hpp:1: ", found)
        self.assertIn("core/state/c.hpp:1: ", found)
        self.assertNotIn("d.hpp", found)

    def test_names_file_and_line(self):
        text = '/* two\nlines */\n#include "sim/model/world.hpp"\n'
        with tree({"core/job/job.hpp": text}) as root:
            found = check_layers.check(pathlib.Path(root))
        self.assertEqual([line.split(" ")[0] for line in found], ["core/job/job.hpp:3:"])

    def test_lets_honest_code_pass(self):
        with tree(LAYER_HONEST) as root:
            self.assertEqual(check_layers.check(pathlib.Path(root)), [])


class Includes(unittest.TestCase):
    def test_finds_a_name_whose_header_another_file_brings(self):
        files = {"core/job/a.cpp": "#include <vector>\n#include <string>\nstd::vector<std::string> a;\n",
                 "core/job/b.cpp": "#include <string>\nstd::string a;\nstd::vector<int> b;\n"}
        with tree(files) as root:
            found = check_includes.check(pathlib.Path(root))
        self.assertEqual(len(found), 1, found)
        self.assertTrue(found[0].startswith("core/job/b.cpp:3: std::vector: "), found)

    def test_follows_headers_of_the_project(self):
        files = {"core/job/a.hpp": "#include <vector>\n",
                 "core/job/b.hpp": '#include "core/job/a.hpp"\n',
                 "core/job/c.cpp": '#include "core/job/b.hpp"\nstd::vector<int> a;  // std::map\n'}
        with tree(files) as root:
            self.assertEqual(check_includes.check(pathlib.Path(root)), [])


class Alone(unittest.TestCase):
    """standalone.py on a build that compiles two sources together."""

    def test_finds_the_source_that_lives_on_anothers_include(self):
        sources = {"one.cpp": "#include <vector>\nstd::vector<int> one;\n",
                   "two.cpp": "std::vector<int> two;\n"}
        with tree(sources) as folder:
            root = pathlib.Path(folder).resolve()
            unity = root / "build/Unity/unity_0.cxx"
            unity.parent.mkdir(parents=True)
            unity.write_text("".join(f'#include "{root / name}"\n' for name in sources))
            command = f"ccache c++ -std=c++20 -o x.o -c {unity}"
            (root / "build/compile_commands.json").write_text(json.dumps(
                [{"directory": folder, "file": str(unity), "command": command}]))
            known = standalone.entries(root / "build", root)
            self.assertEqual(sorted(known), sorted(sources))
            said = dict(standalone.compiles(path, entry) for path, entry in known.items())
        self.assertEqual(said["one.cpp"], "")
        self.assertIn("two.cpp", said["two.cpp"])


class Style(unittest.TestCase):
    def test_finds_every_planted_offence(self):
        for path, content, finding in STYLE_OFFENCES:
            with self.subTest(path=path, content=content[:60]), tree({path: content}) as root:
                self.assertIn(finding, "\n".join(check_style.check(pathlib.Path(root))[0]))

    def test_lists_long_files_without_failing(self):
        with tree({"core/job/a.cpp": "int x;\n" * 601,
                   "core/job/CMakeLists.txt": "rule(a.cpp)\n"}) as root:
            found, long_files = check_style.check(pathlib.Path(root))
        self.assertEqual((found, long_files), ([], ["core/job/a.cpp: 601 lines"]))

    def test_lets_honest_code_pass(self):
        with tree(STYLE_HONEST) as root:
            self.assertEqual(check_style.check(pathlib.Path(root)), ([], []))

    def test_finds_every_dead_reference(self):
        for path, content, finding in DEAD_REFERENCES:
            with (self.subTest(path=path, content=content),
                  tree(EXISTING | {path: content}) as root):
                self.assertIn(finding, "\n".join(check_style.check(pathlib.Path(root))[0]))

    def test_lets_live_references_pass(self):
        with tree(EXISTING | LIVE_REFERENCES) as root:
            self.assertEqual(check_style.check(pathlib.Path(root)), ([], []))

    def test_what_git_does_not_track_may_stand_at_the_top(self):
        with tree({"README.md": "", "core.1234": "", "notes.md": "", ".gitignore": ""}) as root:
            subprocess.run(["git", "-C", root, "init", "-q"], check=True)
            subprocess.run(["git", "-C", root, "add", "README.md", ".gitignore"], check=True)
            self.assertEqual(check_style.check(pathlib.Path(root)), ([], []))
            subprocess.run(["git", "-C", root, "add", "notes.md"], check=True)
            found, _ = check_style.check(pathlib.Path(root))
        self.assertEqual([finding.split(" ")[0] for finding in found], ["notes.md:1:"])

    def test_a_test_folder_may_mirror_a_file(self):
        for source in ("tools/gpu_check", "tools/gpu_check.py", "tools/gpu_check/main.py"):
            with self.subTest(source=source), tree(
                    {source: "", "tests/tools/gpu_check/a_test.py": "",
                     "tests/tools/gpu_check/deeper/data.txt": "", "tests/system/up/a_test.py": "",
                     "tests/support/builders.py": "", "tests/README.md": ""}) as root:
                self.assertEqual(check_style.check(pathlib.Path(root)), ([], []))


if __name__ == "__main__":
    unittest.main()
