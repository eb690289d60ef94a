"""Every printed example: the command lines of README, of all pages and of all help texts, and all
files of docs/examples. Each is run with its outcome (given.py), or stands in the list of what runs
in no test (NOT_HERE), with the reason.

Usage: examples_test.py PROGRAM ROOT [--in first_pages|last_pages|help|tables] [PART-OF-A-COMMAND ...]
  --in    only the lines of pages up to letter m or from n on, those of help texts, or no line but whether
          tables and files are as they should be: four that may run beside each other; all by default
  PART    only the lines with such a part
"""

import functools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

import given
import printed

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
PLACE = sys.argv[4] if sys.argv[3:4] == ["--in"] else ""
ONLY = sys.argv[5:] if PLACE else sys.argv[3:]
sys.path.insert(0, str(ROOT / "tests/system/up"))
sys.path.insert(0, str(ROOT / "tools/pages"))

from cluster import Cluster, processes_of, wait_until  # noqa: E402
from own_ports import own_ports  # noqa: E402
import pages  # noqa: E402

PATIENCE_S = 240
DEFAULT_SERVER = "http://127.0.0.1:22100"
# Programs that a command needs besides ours; without one it is skipped.
PORTS = own_ports()  # Of what runs here, one after the other.
TOOLS = ("curl", "jq", "git", "srun", "kubectl")
BESIDE = ("orrery-worker", "orrery-check")  # Programs without verbs.
LACKS = re.compile(r"this program was built without|shared/traces/\S+: \S+ cannot be read")


@functools.cache
def all_printed():
    if PLACE.endswith("_pages"):  # Help texts are a start of the program each.
        return printed.of_pages(ROOT)
    return [*printed.of_pages(ROOT), *printed.of_help(PROGRAM),
            *(each for name in BESIDE for each in printed.of_worker_help(PROGRAM.parent / name))]


def place_of(example):
    if example.source.startswith("--help"):
        return "help"
    return "first_pages" if pathlib.Path(example.source).name.lower() < "n" else "last_pages"


def is_answered(example):
    """Whether pages_test.py runs the line and compares the whole answer."""
    return example.source in pages.PAGES and example.text.startswith("orrery ")


def has_run(example):
    """Whether the line stands somewhere before, and one run of it is enough."""
    return given.COMES.get(example.text, given.Comes()).once and \
        example != next(each for each in all_printed() if each.text == example.text)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def made_smaller(text):
    """The command with fewer jobs where it runs a scenario of many."""
    for verbs, scenario, more in given.FEWER:
        if scenario in text and re.search(rf"orrery (?:{'|'.join(verbs)}) ", text):
            text = text.replace(scenario, f"{scenario} {more}")
    return text


class Stage:
    """A folder that looks like the root of the tree to a program that works in it."""

    def __init__(self, folder, programs):
        self.folder = folder
        (folder / "build").mkdir(parents=True)
        (folder / "build/bin").symlink_to(programs)
        for name in ("docs", "scenarios", "tests", "tools"):
            (folder / name).symlink_to(ROOT / name)
        # Scenarios name traces beside the project.
        if not (folder.parent / "shared").exists() and (ROOT / "../shared").exists():
            (folder.parent / "shared").symlink_to((ROOT / "../shared").resolve())

    def write(self, files):
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


class ExamplesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-x-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.addClassCleanup(lambda: cls.cluster.close())
        cls.stages = {}
        # One for all: what an example needs is a cluster without jobs, or with `train` alone.
        cls.cluster = Cluster(PROGRAM, "--agents", 2)
        cls.environment = {**cls.cluster.environment, "NO_COLOR": "1",
                           "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        cls.job = "none"

    def asked(self, path, method="GET", text=None):
        """What the controller answers, as text: without a start of the program. None where there is no such thing."""
        request = urllib.request.Request(self.environment["ORRERY_SERVER"] + "/api/v1/" + path, method=method,
                                         data=text and text.encode())
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from error

    def delete_all_jobs(self):
        for job in json.loads(self.asked("jobs"))["jobs"]:
            path = "jobs/" + job["name"].removeprefix("default.")
            self.asked(path, "DELETE")
            wait_until("the job to be gone", lambda path=path: self.asked(path) is None)

    def stage(self, source):
        """Lines of one page, and those of all help texts, share a folder."""
        name = re.sub(r"\W+", "-", "help" if source.startswith("--help") else source)
        if name not in self.stages:
            self.stages[name] = Stage(self.folder / name, PROGRAM.parent)
        return self.stages[name]

    def ensure_job(self, text):
        """The job `train` of this file runs, untouched; with "none" there is none."""
        if self.job == text:
            return
        if self.job != "none":
            self.delete_all_jobs()
        ExamplesTest.job = text
        if text == "none":
            return
        self.assertIsNotNone(self.asked("jobs?file=train.yaml", "POST", text))
        # Its workers have written, too: what shows logs has something to show.
        wait_until("the job to run", lambda: json.loads(self.asked("jobs/train"))["phase"] == "Running")
        wait_until("its first words", lambda: self.asked("jobs/train/logs"))

    def fill_in(self, text):
        for name, value in [("{folder}", self.place.folder), ("{up}", self.cluster.state),
                            ("{port}", self.port), ("{ports}", PORTS)]:
            text = text.replace(name, str(value))
        return text

    def command_of(self, example, comes):
        text = made_smaller(example.text.replace(
            DEFAULT_SERVER, self.environment["ORRERY_SERVER"]))
        for old, new in comes.instead:
            self.assertIn(old, text, f"{example.place}: its row in given.py is stale")
            text = text.replace(old, self.fill_in(new))
        return text

    def run_to_its_end(self, command, comes):
        done = subprocess.run(["bash", "-c", command], cwd=self.place.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env=self.environment, timeout=PATIENCE_S,
                              check=False)
        return done.returncode, done.stdout

    def run_until_it_says(self, command, comes):
        """Interrupts, as Ctrl-C does, once the words have come, or the node has joined."""
        process = subprocess.Popen(["bash", "-c", command], cwd=self.place.folder, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=self.environment,
                                   start_new_session=True)
        said = []
        listener = threading.Thread(target=lambda: [said.append(line) for line in process.stdout], daemon=True)
        listener.start()

        def has_come():
            if comes.joins:
                return comes.joins in [node["name"] for node in json.loads(self.asked("nodes"))["nodes"]]
            return re.search(comes.until, "".join(said), re.MULTILINE)
        try:
            wait_until(f"{command!r} to do what it says; it said: {said}",
                       lambda: has_come() or process.poll() is not None)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            process.wait(PATIENCE_S)
            listener.join(PATIENCE_S)
            process.stdout.close()
        text = "".join(said)
        self.assertRegex(text, re.compile(comes.until, re.MULTILINE), command)
        # A program that ends by the signal itself has -2 in place of 130.
        return comes.code if process.returncode in (0, 130, -signal.SIGINT) else \
            process.returncode, text

    def run_example(self, example):
        comes = given.COMES.get(example.text, given.Comes())
        for tool in TOOLS:
            if re.search(rf"(^|\| ){tool} ", example.text) and not shutil.which(tool):
                self.skipTest(f"{tool} is not here")
        self.place = self.stage(example.source)
        self.port = free_port()
        self.place.write({name: self.fill_in(text)
                          for name, text in {**given.TRACES, **comes.files}.items()})
        if comes.job:
            self.ensure_job(comes.job)
        if comes.before:
            code, said = self.run_to_its_end(comes.before, comes)
            self.assertEqual(code, 0, said)
        command = self.command_of(example, comes)
        run = self.run_until_it_says if comes.until or comes.joins else self.run_to_its_end
        code, said = run(command, comes)
        if code != comes.code and LACKS.search(said):
            self.skipTest(said)
        if comes.changes or comes.job == "none":
            ExamplesTest.job = ""  # Neither that job nor none.
        self.assertEqual(code, comes.code, f"{example.place}: {command}\n{said}")
        if example.text.startswith("curl"):  # It ends with code 0 whatever it is answered.
            self.assertNotIn('"error":', said, f"{example.place}: {command}")
        self.assertRegex(said, re.compile(comes.out, re.MULTILINE), f"{example.place}: {command}")

    def test_every_command_line_comes_to_what_it_says(self):
        for example in all_printed():
            if example.text in given.NOT_HERE or is_answered(example) or has_run(example):
                continue
            if PLACE and place_of(example) != PLACE:
                continue
            if ONLY and not any(part in example.text for part in ONLY):
                continue
            with self.subTest(example.place, command=example.text):
                self.run_example(example)
        self.assertEqual([text for text in self.leftovers()], [])

    def leftovers(self):
        """Daemons of examples that outlived them; not those of the test's own cluster."""
        return [words for words in processes_of(self.folder).values()
                if str(self.cluster.folder) not in words and " --state " in words]


class TablesTest(unittest.TestCase):
    """What stands in the tables is printed somewhere; a stale row would hide what is not run."""

    def test_every_row_belongs_to_a_printed_line(self):
        texts = {example.text for example in all_printed()}
        self.assertEqual(sorted((set(given.COMES) | set(given.NOT_HERE)) - texts), [])
        self.assertEqual(sorted(set(given.COMES) & set(given.NOT_HERE)), [])
        self.assertEqual({text for text, comes in given.COMES.items() if comes.once},
                         {each.text for each in all_printed() if has_run(each)})

    def test_what_runs_elsewhere_names_tests_that_exist(self):
        for text, why in given.NOT_HERE.items():
            for path in re.findall(r"t(?:ests|ools)/[\w/.]*\w", why):
                self.assertTrue((ROOT / path).exists(), (text, path))

    def test_lines_are_found(self):
        """The extractor sees them all: no page loses its examples unnoticed."""
        sources = [example.source for example in all_printed()]
        self.assertGreater(len(sources), 150)
        self.assertEqual({f"--help of {verb}" for verb in printed.verbs(PROGRAM)},
                         {source for source in sources if source.startswith("--help")}
                         - {f"--help of {name}" for name in BESIDE})

    def test_commands_inside_sentences_name_verbs_and_options(self):
        verbs = printed.verbs(PROGRAM)
        helps = {verb: printed.help_of(PROGRAM, *verb.split()) for verb in verbs}
        groups = {verb.split()[0] for verb in verbs if " " in verb}
        wrong = []
        for place, words in printed.inline(ROOT):
            if words[0] in ("VERB", "0.1.0"):
                continue
            verb = next((v for v in (" ".join(words[:2]), words[0]) if v in helps), None)
            if verb is None and (words[0] not in groups or len(words) > 1):
                wrong.append((place, words))
            wrong += [(place, words, word) for word in words[1:]
                      if verb and word.startswith("-") and word not in ("--help", "-w", "-f")
                      and word.split("=")[0] not in helps[verb]]
        self.assertEqual(wrong, [])


class FilesTest(unittest.TestCase):
    """Each file of docs/examples is run by a test, which is found here by its folder."""

    RUN_BY = {
        "jobs": "tests/system/up/examples_test.py",       # Submitted, with what its workers write.
        "placement": "tests/tools/pages/pages_test.py",   # Answered, as the page shows.
        "rlinf": "tests/scenarios/language/rlinf/documents_test.cpp",
        "sdk": "tests/runtime/sdk/python/examples_test.py",  # The C++ one: installed_test.py.
        "virtual_clusters": "tests/tools/pages/pages_test.py",
        "search": "tests/tools/pages/pages_test.py",
        "settings": "tests/system/examples/examples_test.py",
    }

    def test_every_folder_has_its_test(self):
        folders = {path.name for path in (ROOT / "docs/examples").iterdir()}
        self.assertEqual(folders, set(self.RUN_BY))

    def test_a_controller_and_an_agent_run_with_the_settings(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-s-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        settings = ROOT / "docs/examples/settings"
        (controller, agents) = (free_port(), free_port())
        daemons = []

        def start(kind, *sets):
            words = [word for each in sets for word in ("--set", each)]
            process = subprocess.Popen(
                [PROGRAM, kind, "--config", settings / f"{kind}.yaml", *words], cwd=folder,
                stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
            daemons.append(process)

        def stop():
            for process in reversed(daemons):
                process.terminate()
                process.wait(PATIENCE_S)
        self.addCleanup(stop)
        start("controller", f"http_address=127.0.0.1:{controller}",
              f"agents_address=127.0.0.1:{agents}", "store.sqlite=journal.db")
        start("agent", f"controllers=[\"127.0.0.1:{agents}\"]", "state=agent", "node=here",
              "inventory.devices=0")

        def nodes():
            done = subprocess.run([PROGRAM, "get", "nodes", "--server",
                                   f"http://127.0.0.1:{controller}"], capture_output=True,
                                  text=True, check=False, timeout=PATIENCE_S)
            return re.search(r"^here +[Rr]eady", done.stdout, re.MULTILINE)
        wait_until("the node to join", nodes)


if __name__ == "__main__":
    tests = {"": [], "tables": ["TablesTest", "FilesTest"]}.get(PLACE, ["ExamplesTest"])
    unittest.main(argv=[sys.argv[0], *tests], verbosity=1)
