"""The built program from outside: exit codes, what stands on which output, what it leaves behind.

Usage: program_test.py PROGRAM ROOT
"""

import contextlib
import csv
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
sys.path.insert(0, str(ROOT / "tests/support"))

from drawn import IS_LONG, drawn  # noqa: E402


TWO_JOBS = """\
name: two-jobs
policy: fifo
cluster: {nodes: 1, gpus_per_node: 4, gpu: v100}
jobs:
  - {name: first, at: 0s, gpus: 4, work: 100s}
  - {name: second, at: 10s, gpus: 2, work: 50s}
"""
GENERATED = """\
name: made
seed: 7
policy: fifo
cluster: {nodes: 2, gpus_per_node: 8, gpu: v100}
workload:
  generator: {preset: philly-like, jobs: %d, arrivals: {load: 0.9}, preemptible_share: 1}
"""
VERBS = ["sim", "compare", "sweep", "test", "check", "place", "trace info", "trace convert", "policies",
         "journal dump", "journal verify", "replay", "forecast", "history", "report", "up", "controller", "agent", "run", "submit", "apply", "get", "describe", "logs", "scale",
         "stop", "delete", "exclude", "include", "events", "top", "accuracy", "certs init",
         "certs controller", "certs agent", "certs user", "certs admin", "certs token", "certs show",
         "version", "completion", "help"]
STABLE = ["scenario", "policy", "world", "seed", "jobs_total", "jobs_finished", "jobs_failed",
          "jct_avg_s", "jct_p50_s", "jct_p90_s", "jct_p99_s", "queue_avg_s", "queue_p99_s",
          "makespan_s", "gpu_utilization", "gpu_seconds_allocated", "restarts", "reallocations",
          "preemptions", "decisions", "events", "state_digest", "queue_max"]
MEASURED = ["decision_p50_us", "decision_p99_us", "decision_max_us", "wall_s", "peak_rss_mb"]


def orrery(*words, **options):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=600,
                          check=False, **options)


@functools.cache
def help_of(verb):
    """What `help VERB` prints: several tests read all of them."""
    done = orrery("help", *verb.split())
    assert done.returncode == 0, done.stderr
    return done.stdout


def wait_until_it_has(process, begun):
    """Returns once `begun()` is true, or the process has ended; a loop without a pause takes a processor."""
    while not begun():
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.01)
            return


def without_measured(value):
    if isinstance(value, dict):
        return {k: without_measured(v) for k, v in value.items() if k != "measured"}
    if isinstance(value, list):
        return [without_measured(each) for each in value]
    return value


def page_without_measured(text):
    """A report.html without what differs from run to run."""
    cut = re.sub(r'"measured":\{.*\}(?=\}</script>)', "", text, flags=re.DOTALL)
    assert len(cut) < len(text)
    return cut


def has_page(folder, stderr):
    """Whether there is a report.html; where there is none the program has said why."""
    there = (folder / "report.html").exists()
    said = "remark: report.html is not written: this program was built without" in stderr
    assert there != said, stderr
    return there


def can_open_terminal():
    """Whether this system gives pseudo-terminals; a bare chroot does not."""
    try:
        for end in os.openpty():
            os.close(end)
    except OSError:
        return False
    return True


class ProgramTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.scenario = self.write("two.yaml", TWO_JOBS)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def expect(self, code, *words, **options):
        done = orrery(*words, **options)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done

    def expect_bad(self, *words):
        done = self.expect(2, *words)
        self.assertEqual(done.stdout, "")
        return done.stderr


class FullOutputTest(ProgramTest):
    """What cannot be written is told, and is no success."""

    def into(self, out, *words):
        return subprocess.run([PROGRAM, *map(str, words)], stdout=out, stderr=subprocess.PIPE, text=True,
                              timeout=600, check=False)

    def test_a_full_disk_behind_standard_output_is_told(self):
        for words in (["sim", self.scenario], ["sim", self.scenario, "--json"], ["check", self.scenario],
                      ["compare", self.scenario, "--policies", "fifo,easy"], ["policies"], ["help"],
                      ["sim", "--help"], ["version"]):
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                done = self.into(full, *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.splitlines()[-1],
                                 "standard output: cannot be written: No space left on device; free space there, "
                                 "or write to another file")

    def test_a_reader_that_has_gone_is_no_error_to_speak_of(self):
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb") as closed:
            done = self.into(closed, "policies")
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "")


class HelpTest(ProgramTest):
    def test_every_verb_helps_with_an_example(self):
        overview = self.expect(0, "help").stdout
        for verb in VERBS:
            self.assertRegex(overview, rf"(?m)^  {verb} +\w")
            by_help = help_of(verb)
            self.assertTrue(by_help.startswith(f"usage: orrery {verb}"), by_help)
            self.assertRegex(by_help, rf"examples?:\n  # .+\n  .*orrery {verb}")

    def test_the_option_helps_as_the_verb_does(self):
        # Of one word, and of two.
        for verb in drawn(VERBS, 5, lambda verb: [" " in verb]):
            self.assertEqual(self.expect(0, *verb.split(), "--help").stdout, help_of(verb))

    def test_examples_name_only_options_that_exist(self):
        for verb in VERBS:
            text = help_of(verb)
            options, examples = text.split("example", 1)
            # What stands behind a program that is run belongs to it, as what is quoted does to a launcher.
            examples = re.sub(r"( \S+\.py| \./\w+) .*|'[^']*'", r"\1", examples)
            for option in re.findall(r"--[a-z]+", examples):
                self.assertIn(option, options)

    def test_examples_name_only_scenarios_that_ship(self):
        for verb in VERBS:
            text = help_of(verb)
            for path in re.findall(r"scenarios/[\w/]+\.yaml", text):
                self.assertTrue((ROOT / path).exists(), path)

    def test_version_and_its_option(self):
        line = self.expect(0, "version").stdout
        told = re.fullmatch(r"orrery (\d+\.\d+\.\d+) \(revision ([0-9a-f]{12}|unknown)(, modified)?\)\n",
                            line)
        self.assertTrue(told, line)
        self.assertEqual(json.loads(self.expect(0, "version", "--json").stdout),
                         {"program": "orrery", "version": told[1], "revision": told[2],
                          "modified": told[3] is not None})
        self.assertEqual(self.expect(0, "--version").stdout, self.expect(0, "version").stdout)

    def test_completion_scripts_parse(self):
        shells = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}
        for shell, check in shells.items():
            script = self.expect(0, "completion", shell).stdout
            self.assertIn("--policies", script.replace("-l policies", "--policies"))
            if shutil.which(check[0]):
                path = self.write(f"completion.{shell}", script)
                done = subprocess.run([*check, path], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)

    def test_bash_completes_verbs_options_and_values(self):
        def complete(*words):
            quoted = " ".join(f"'{word}'" for word in words)
            script = (f"source <({PROGRAM} completion bash); COMP_WORDS=({quoted}); "
                      f"COMP_CWORD={len(words) - 1}; _orrery; echo \"${{COMPREPLY[@]}}\"")
            return subprocess.run(["bash", "-c", script], capture_output=True, text=True,
                                  check=True).stdout.split()
        self.assertEqual(complete("orrery", "comp"), ["compare", "completion"])
        self.assertEqual(complete("orrery", "journal", "v"), ["verify"])
        self.assertIn("--seeds", complete("orrery", "compare", "--"))
        self.assertEqual(complete("orrery", "sim", "--world", "m"), ["model"])
        self.assertEqual(complete("orrery", "completion", "z"), ["zsh"])


class BadUsageTest(ProgramTest):
    def test_nothing_at_all_shows_the_overview(self):
        self.assertIn("usage: orrery VERB", self.expect_bad())

    def test_verbs_that_do_not_exist_are_not_promised(self):
        for verb in ["doctor"]:
            error = self.expect_bad(verb)
            self.assertIn(f"orrery: {verb}: unknown verb", error)
            for known in VERBS:
                self.assertIn(known, error)
            self.assertNotRegex(self.expect(0, "help").stdout, rf"(?m)^  {verb} ")

    def test_an_exploration_says_what_it_has_tried(self):
        words = ["explore", "--nodes", "1", "--delays", "any", "--seconds", "0"]
        told = json.loads(self.expect(0, *words, "--json").stdout)
        self.assertTrue(told["complete"])
        self.assertGreater(told["states"], 20)
        self.assertGreaterEqual(told["transitions"], told["states"] - 1)
        self.assertEqual(told["failures"], [])
        text = self.expect(0, *words).stdout
        self.assertIn("all that the bounds allow", text)
        self.assertIn("nothing broke", text)
        self.assertIn("cut short: all of up to 3 steps", self.expect(0, *words, "--depth", "3").stdout)
        error = self.expect_bad("explore", "--nodes", "4", "--delays", "some")
        self.assertIn("--nodes", error)
        self.assertIn('--delays: "some" found, needed a whole number from 0 to 9, or any', error)

    def test_slips_are_understood(self):
        self.assertIn("did you mean compare?", self.expect_bad("comprae"))
        self.assertIn("did you mean --policies?",
                      self.expect_bad("compare", self.scenario, "--polices", "fifo"))
        self.assertIn("did you mean srtf?",
                      self.expect_bad("sim", self.scenario, "--policy", "strf"))

    def test_parameters_of_the_command_line_are_of_the_policy_that_it_names(self):
        def digest(quantum):
            return json.loads(self.expect(0, "sim", self.scenario, "--policy", "las", "--set",
                                          f"policy.quantum={quantum}", "--json").stdout)["state_digest"]
        self.assertNotEqual(digest("10s"), digest("10h"))
        self.assertIn("is no parameter of las",
                      self.expect_bad("sim", self.scenario, "--policy", "las", "--set", "policy.quantumm=1h"))
        # Of several, those that take it have it.
        self.expect(0, "compare", self.scenario, "--policies", "las,fifo", "--set", "policy.quantum=10h", "--json")
        error = self.expect_bad("compare", self.scenario, "--policies", "las,fifo", "--set", "policy.quantumm=1h")
        self.assertIn("is no parameter of las", error)
        self.assertIn("is no parameter of fifo", error)

    def test_a_group_needs_its_second_word(self):
        self.assertIn("needed one of dump, verify", self.expect_bad("journal"))
        self.assertIn('"look" found, needed one of dump, verify', self.expect_bad("journal", "look"))

    def test_everything_wrong_is_said_at_once(self):
        error = self.expect_bad("compare", self.scenario, "--policies", "a,,b", "--seeds", "5..1",
                                "--parallel", "0")
        for option in ["--policies", "--seeds", "--parallel"]:
            self.assertIn(option, error)

    def test_missing_files_and_broken_scenarios(self):
        for verb in ["sim", "compare", "check"]:
            self.assertIn("absent.yaml", self.expect_bad(verb, self.folder / "absent.yaml"))
        broken = self.write("broken.yaml", "cluster: {nodes: -1}\npolicy: 3\nnonsense: 1\n")
        error = self.expect_bad("check", broken)
        self.assertGreaterEqual(len(error.splitlines()), 2)
        self.assertIn(f"{broken}:1:", error)
        self.assertIn(f"{broken}:3:", error)

    def test_a_placement_that_a_profile_does_not_have_is_named(self):
        # Measured on two nodes alone: of one node there is only what lies between the rows of the other file.
        shutil.copytree(ROOT / "scenarios" / "device_profiles" / "fast", self.folder / "profiles")
        for table in self.folder.glob("profiles/*/placements.csv"):
            rows = table.read_text().splitlines()
            table.write_text("\n".join(row for row in rows if row.startswith(("placement", "11", "22"))) + "\n")
        self.write("jobs.csv", "name,time,application,num_replicas,batch_size,category\nspeech-0,0,speech,5,128,rigid\n")
        unmeasured = self.write("unmeasured.yaml", "policy: fifo\nuntil: 1d\n"
                                "cluster: {nodes: 1, gpus_per_node: 5, gpu: fast}\n"
                                "workload: {format: pollux, file: jobs.csv, profiles: profiles}\n"
                                "timing: {mode: pollux, tick: 60s, restart: 30s}\n")
        done = self.expect(0, "sim", unmeasured)
        self.assertIn("speech-0: profile speech has no time for 5 devices on 1 nodes (5), so it makes no progress",
                      done.stdout + done.stderr)

    def test_check_for_a_script(self):
        broken = self.write("broken.yaml", "cluster: {nodes: -1}\n")
        jobs = self.write("jobs.yaml", "name: one\nroles: {main: {command: 'true'}}\n")
        done = self.expect(2, "check", "--json", jobs, broken)
        self.assertEqual(done.stderr, "")
        document = json.loads(done.stdout)
        self.assertEqual(document["files"], [{"file": str(jobs), "sound": True, "jobs": 1},
                                             {"file": str(broken), "sound": False}])
        self.assertEqual({error["file"] for error in document["errors"]}, {str(broken)})

    def test_check_of_placements_without_a_cluster(self):
        text = ("name: one\ntake_turns: [[a, b]]\nroles:\n"
                "  a: {command: 'true', placement: {node_group: h200, placement: 0-3}}\n"
                "  b: {command: 'true', placement: PLACEMENT}\n")
        jobs = self.write("jobs.yaml", text.replace("PLACEMENT", "0-3:0"))
        done = self.expect(0, "check", jobs)
        self.assertEqual(done.stdout, f"{jobs}: sound, 1 job\n")
        self.assertIn(f"orrery submit {jobs} --dry-run", done.stderr)
        jobs = self.write("jobs.yaml", text.replace("PLACEMENT", "3-0"))
        line, = self.expect_bad("check", jobs).splitlines()
        self.assertTrue(line.startswith(f"{jobs}:5: job one: roles.b.placement: found"), line)

    def test_help_names_every_exit_code(self):
        self.assertIn("5 no controller answers", self.expect(0, "help").stdout)

    def test_a_world_or_level_that_is_not_there(self):
        self.assertIn("which world sim lacks",
                      self.expect_bad("sim", self.scenario, "--world", "sim", "--fidelity", "L0"))
        self.assertIn("which world model lacks",
                      self.expect_bad("sim", self.scenario, "--fidelity", "L3"))
        self.assertIn("no choice", self.expect_bad("sim", self.scenario, "--world", "mars"))

    def test_a_policy_parameter_that_does_not_exist(self):
        error = self.expect_bad("sim", self.scenario, "--set", "policy={name: easy, depth: 3}")
        self.assertIn("depth", error)
        self.assertIn("--set", error)
        bad = self.write("bad.yaml", TWO_JOBS.replace("fifo", "fifi"))
        self.assertIn(f"{bad}:2: policy", self.expect_bad("check", bad))

    def test_files_that_are_no_journal_or_trace(self):
        self.assertIn("two.yaml", self.expect_bad("journal", "verify", self.scenario))
        self.assertIn("two.yaml", self.expect_bad("trace", "info", self.scenario))


class SimTest(ProgramTest):
    def test_json_is_one_document_with_the_stable_keys(self):
        done = self.expect(0, "sim", self.scenario, "--json")
        self.assertEqual(done.stderr, "")
        summary = json.loads(done.stdout)
        for key in STABLE + MEASURED:
            self.assertIn(key, summary)
        self.assertEqual(summary["scenario"], "two-jobs")
        self.assertEqual(summary["jobs_total"], 2)
        self.assertEqual(summary["jobs_finished"], 2)
        self.assertEqual(summary["policy"].split("/")[0], "fifo")
        self.assertRegex(summary["state_digest"], "^[0-9a-f]{32}$")

    def test_the_table_is_for_people(self):
        done = self.expect(0, "sim", self.scenario)
        self.assertIn("JCT avg", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_options_reach_the_run(self):
        made = self.write("made.yaml", GENERATED % 20)
        summary = json.loads(self.expect(0, "sim", made, "--policy", "srtf", "--seed", "3", "--set",
                                         "workload.generator.jobs=30", "--json").stdout)
        self.assertEqual(summary["policy"].split("/")[0], "srtf")
        self.assertEqual(summary["seed"], 3)
        self.assertEqual(summary["jobs_total"], 30)

    def test_an_unmet_expectation_is_code_1(self):
        text = TWO_JOBS + "expect:\n  - {job: first, phase: Failed}\n"
        unmet = self.write("unmet.yaml", text)
        done = self.expect(1, "sim", unmet, "--json")
        self.assertEqual(len(json.loads(done.stdout)["unmet"]), 1)
        self.assertIn("unmet.yaml", done.stderr)

    def test_results_are_files_with_equal_bytes(self):
        made = self.write("made.yaml", GENERATED % 200)
        for out in ["a", "b"]:
            done = self.expect(0, "sim", made, "--policy", "las", "--out", self.folder / out)
        page = ["report.html"] if has_page(self.folder / "b", done.stderr) else []
        self.assertEqual(sorted(p.name for p in (self.folder / "a").iterdir()),
                         [".orrery-results", "evalys.csv", "events.jsonl", "jobs.csv", *page, "schedule.json",
                          "segments.csv", "summary.json"])
        for name in ["jobs.csv", "evalys.csv", "segments.csv", "events.jsonl"]:
            self.assertEqual((self.folder / "a" / name).read_bytes(),
                             (self.folder / "b" / name).read_bytes())
        texts = [(self.folder / out / "summary.json").read_text() for out in "ab"]
        cut = [re.sub(r'"measured": \{[^}]*\}', "", text) for text in texts]
        self.assertEqual(cut[0], cut[1])
        self.assertTrue(all(key in json.loads(texts[0])["measured"] for key in MEASURED))
        for line in (self.folder / "a" / "events.jsonl").read_text().splitlines():
            self.assertIn("at_s", json.loads(line))

    def test_evalys_csv_has_batsims_columns_and_the_names_of_the_file(self):
        self.expect(0, "sim", self.scenario, "--out", self.folder / "out")
        lines = (self.folder / "out" / "evalys.csv").read_text().splitlines()
        self.assertEqual(
            lines[0],
            "job_id,workload_name,profile,submission_time,requested_number_of_resources,"
            "requested_time,success,final_state,starting_time,execution_time,finish_time,"
            "waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy,metadata")
        first = dict(zip(lines[0].split(","), lines[1].split(",")))
        self.assertEqual(first["job_id"], "first")
        self.assertEqual(first["requested_number_of_resources"], "4")
        self.assertEqual(first["final_state"], "COMPLETED_SUCCESSFULLY")
        self.assertEqual(first["allocated_resources"], "0-3")

    def test_a_workload_of_batsim_runs_without_a_scenario(self):
        path = self.folder / "delays.json"
        path.write_text(json.dumps({
            "nb_res": 2,
            "jobs": [{"id": k, "subtime": 0, "res": 1, "profile": "d"} for k in range(4)],
            "profiles": {"d": {"type": "DelayProfile", "delay": 10}}}))
        run = self.expect(0, "sim", path, "--policy", "easy", "--json")
        summary = json.loads(run.stdout)
        self.assertEqual((summary["jobs_finished"], summary["makespan_s"]), (4, 20))
        self.assertEqual(summary["scenario"], "delays")
        self.assertEqual(self.expect(0, "check", path).stdout, f"{path}: sound\n")
        path.write_text(path.read_text().replace('"delay": 10', '"delay": -1'))
        self.assertIn("delay", self.expect(2, "check", path).stderr)

    def test_the_scenario_says_where_and_what_where_the_command_line_does_not(self):
        text = TWO_JOBS + "outputs: {dir: results, formats: [jobs]}\n"
        self.expect(0, "sim", self.write("kept.yaml", text))
        self.assertEqual(sorted(p.name for p in (self.folder / "results").iterdir()),
                         [".orrery-results", "jobs.csv"])
        self.expect(0, "sim", self.scenario, "--out", self.folder / "rows", "--set",
                    "outputs.formats=[evalys]")
        self.assertEqual(sorted(p.name for p in (self.folder / "rows").iterdir()),
                         [".orrery-results", "evalys.csv", "segments.csv"])

    def test_jobs_that_can_never_fit_end_the_run_under_each_policy(self):
        text = TWO_JOBS + "  - {name: huge, at: 0s, gpus: 64, work: 10s}\n"
        huge = self.write("huge.yaml", text)
        policies = json.loads(orrery("policies", "--json").stdout)["policies"]
        for policy in drawn(policies, 4):
            done = self.expect(0, "sim", huge, "--policy", policy["name"], "--json")
            self.assertIn("can never fit", done.stderr)
            summary = json.loads(done.stdout)
            self.assertEqual((summary["jobs_finished"], summary["jobs_unfinished"]), (2, 1))

    def test_a_file_that_is_not_there_is_told_before_what_only_its_kind_may_have(self):
        missing = self.folder / "missing.yaml"
        told = self.expect(2, "sim", missing, "--nodes", "2x8").stderr
        self.assertIn(str(missing), told)
        self.assertNotIn("is for documents of RLinf", told)

    def test_jobs_that_can_never_fit_are_told_also_where_the_run_has_an_end(self):
        text = TWO_JOBS + "  - {name: huge, at: 0s, gpus: 64, work: 10s}\nuntil: 1h\n"
        done = self.expect(0, "sim", self.write("huge.yaml", text), "--out", self.folder / "out")
        self.assertIn("1 job is unfinished because it can never fit", done.stderr)
        self.assertIn("default.huge: needs 64 devices", done.stderr)
        with open(self.folder / "out" / "jobs.csv", encoding="utf-8") as file:
            reasons = {row["job_id"]: row["reason"] for row in csv.DictReader(file)}
        self.assertEqual(reasons["huge"], "Infeasible")
        # What has waited long enough is no longer left.
        over = text.replace("work: 10s}\nuntil", "work: 10s, wait_deadline: 1min}\nuntil")
        self.assertNotEqual(over, text)
        self.assertEqual(self.expect(0, "sim", self.write("over.yaml", over)).stderr, "")

    def test_a_folder_in_place_of_a_scenario_is_told_as_one(self):
        for verb in ("sim", "check", "compare"):
            done = self.expect(2, verb, self.folder)
            self.assertIn("is a folder, a file is needed; name a file in it", done.stderr)

    def test_a_foreign_folder_stays_as_it_is(self):
        mine = self.folder / "thesis"
        mine.mkdir()
        (mine / "thesis.tex").write_text("years of work")
        done = self.expect(2, "sim", self.scenario, "--out", mine)
        self.assertIn("no run of orrery wrote", done.stderr)
        self.assertEqual([p.name for p in mine.iterdir()], ["thesis.tex"])

    def test_a_run_that_fails_leaves_nothing(self):
        self.expect(2, "sim", self.scenario, "--set", "cluster.nodes=0", "--out",
                    self.folder / "out")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["two.yaml"])

    def test_ctrl_c_ends_with_130_and_leaves_nothing(self):
        long = self.write("long.yaml", GENERATED % 2_000_000)
        running = subprocess.Popen([PROGRAM, "sim", long, "--policy", "srtf", "--out", self.folder / "out"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        # It has begun once its folder is there.
        wait_until_it_has(running, lambda: list(self.folder.glob("out.partial-*")))
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 130)
        self.assertEqual(out, b"")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["long.yaml", "two.yaml"])


class CompareTest(ProgramTest):
    def test_results_stand_in_order_whatever_the_parallelism(self):
        made = self.write("made.yaml", GENERATED % 100)
        documents = []
        for parallel in [1, 3]:
            done = self.expect(0, "compare", made, "--policies", "srtf,fifo", "--seeds", "1..3",
                               "--parallel", parallel, "--json", "--out",
                               self.folder / f"out{parallel}")
            documents.append(json.loads(done.stdout))
            said = [line for line in done.stderr.splitlines()
                    if not line.startswith("remark: report.html is not written")]
            self.assertEqual(said, [])
        keys = [(r["policy"].split("/")[0], r["seed"]) for r in documents[0]["results"]]
        self.assertEqual(keys, [(p, s) for p in ["srtf", "fifo"] for s in [1, 2, 3]])
        for document in documents:
            for result in document["results"]:
                for key in STABLE + MEASURED:
                    self.assertIn(key, result)
                for key in MEASURED:
                    del result[key]
        self.assertEqual(documents[0], documents[1])
        self.assertEqual([p["seeds"] for p in documents[0]["policies"]], [3, 3])
        self.assertLessEqual({"ci95", "low", "high"}, documents[0]["policies"][0]["jct_avg_s"].keys())
        self.assertLessEqual({"p", "p_holm"}, documents[0]["differences"][0]["jct_avg_s"].keys())
        names = sorted(p.name for p in (self.folder / "out1").iterdir())
        self.assertIn("compare.json", names)
        self.assertIn("srtf-2", names)
        for name in names:
            one, other = self.folder / "out1" / name, self.folder / "out3" / name
            if one.is_dir():
                self.assertEqual((one / "jobs.csv").read_bytes(), (other / "jobs.csv").read_bytes())
        files = [json.loads((self.folder / f"out{p}" / "compare.json").read_text()) for p in [1, 3]]
        self.assertEqual(without_measured(files[0]), without_measured(files[1]))

    def test_a_run_equals_the_same_run_of_sim(self):
        compared = json.loads(self.expect(0, "compare", self.scenario, "--policies", "fifo,easy",
                                          "--json").stdout)
        alone = json.loads(self.expect(0, "sim", self.scenario, "--policy", "easy",
                                       "--json").stdout)
        self.assertEqual(compared["results"][1]["state_digest"], alone["state_digest"])

    def test_seeds_are_shown_as_mean_and_interval(self):
        made = self.write("made.yaml", GENERATED % 50)
        table = self.expect(0, "compare", made, "--policies", "fifo", "--seeds", "1..4").stdout
        self.assertRegex(table, r"\d \[[\d.,]+, [\d.,]+\]")
        self.assertIn("95 % bootstrap interval", table)
        self.assertIn("seeds 1 to 4", table)


class DeterminismTest(ProgramTest):
    # glibc picks other variants of its functions where these are masked.
    MASKED = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-FMA,-FMA4,-BMI2,-ERMS"}

    def expect_equal_folders(self, scenario, *words):
        environments = {"first": {}, "again": {}, "masked": self.MASKED}
        for name, extra in environments.items():
            self.expect(0, "compare", scenario, *words, "--out", self.folder / name,
                        env={**os.environ, **extra})
        first = self.folder / "first"
        files = sorted(p.relative_to(first) for p in first.rglob("*") if p.is_file())
        self.assertTrue(files)
        for name in ["again", "masked"]:
            for path in files:
                one, other = ((self.folder / out / path).read_text() for out in ["first", name])
                if path.suffix == ".json":
                    one, other = (re.sub(r'"measured": \{[^}]*\}', "", t) for t in [one, other])
                if path.suffix == ".html":
                    one, other = map(page_without_measured, [one, other])
                self.assertTrue(one == other, f"{path} differs in the run {name}")

    def test_generated_jobs_under_every_policy(self):
        names = [p["name"] for p in json.loads(orrery("policies", "--json").stdout)["policies"]]
        made = self.write("made.yaml", GENERATED % (100 if IS_LONG else 40) +
                          "faults:\n  - {kind: down, process: exponential, "
                          "rate_per_1000_node_days: 500, repair: {median: 30min, sigma: 1}}\n"
                          "timing: {start: 10s, stop: 5s, restore: 20s}\n")
        self.expect_equal_folders(made, "--policies", ",".join(names))

    def test_the_pollux_workload(self):
        scenario = ROOT / "scenarios" / "pollux.yaml"
        if not (ROOT / "../shared/traces/pollux/workloads").exists():
            self.skipTest("the Pollux workloads are not here")
        self.expect_equal_folders(scenario, "--policies", "tiresias,optimus")


class TestVerbTest(ProgramTest):
    def test_a_folder_of_scenarios_is_judged(self):
        suite = self.folder / "suite"
        suite.mkdir()
        (suite / "good.yaml").write_text(TWO_JOBS + "expect:\n  - {job: first, phase: Succeeded}\n")
        self.expect(0, "test", suite)
        (suite / "unmet.yaml").write_text(TWO_JOBS + "expect:\n  - {job: first, phase: Failed}\n")
        done = self.expect(1, "test", suite, "--json")
        report = json.loads(done.stdout)
        self.assertEqual((report["passed"], report["failed"]), (1, 1))
        self.assertEqual(len(report["scenarios"][1]["unmet"]), 1)
        (suite / "broken.yaml").write_text("cluster: 3\n")
        self.assertIn("FAIL", self.expect(2, "test", suite).stdout)

    def test_of_several_runs_each_is_named_with_what_it_leaves_unmet(self):
        scenario = self.write("unmet.yaml", TWO_JOBS + "expect:\n  - {job: first, phase: Failed}\n")
        told = self.expect(1, "compare", scenario, "--policies", "fifo,easy", "--seeds", "1..2").stderr
        for run in ("fifo/1, seed 1", "fifo/1, seed 2", "easy/1, seed 1", "easy/1, seed 2"):
            self.assertIn(f"unmet: {run}: {scenario}:", told)
        self.assertIn(f"unmet: {scenario}:", self.expect(1, "compare", scenario).stderr)

    def test_a_scenario_that_must_fail_passes_as_recorded(self):
        text = TWO_JOBS + "must_fail: true\nexpect:\n  - {job: first, phase: %s}\n"
        scenario = self.write("negative.yaml", text % "Failed")
        self.expect(0, "test", scenario)
        self.assertIn("unmet: ", self.expect(0, "sim", scenario).stderr)
        line = text.count("\n")
        finding = "job default.first: phase was Succeeded, expected Failed at the end\n"
        self.write("negative.unmet", f"elsewhere/negative.yaml:{line}: {finding}")
        self.expect(0, "test", scenario)
        self.write("negative.unmet", "elsewhere/negative.yaml:1: job default.first: otherwise\n")
        self.assertIn("otherwise than", self.expect(1, "test", scenario).stdout)
        scenario = self.write("negative.yaml", text % "Succeeded")
        told = self.expect(1, "test", scenario).stdout
        self.assertIn(".yaml: run: every expectation was met", told)

    def test_options_that_would_do_nothing_are_refused(self):
        scenario = self.write("two.yaml", TWO_JOBS)
        kept = self.folder / "kept"
        for world in ["model", "sim"]:
            told = self.expect(2, "test", scenario, "--world", world, "--keep", kept).stderr
            self.assertIn(f"--keep: stands beside --world {world}, where there are no journals", told)
        told = self.expect(0, "test", scenario, "--keep", kept).stderr
        self.assertIn("remark: --keep has kept nothing", told)
        self.assertFalse(kept.exists())
        told = self.expect(2, "test", scenario, "--junit", "").stderr
        self.assertIn("--junit: is empty, needed the name of a file", told)

    def test_an_empty_folder_is_no_success(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.expect(2, "test", empty)


class OtherVerbsTest(ProgramTest):
    def test_check_accepts_every_scenario_that_ships(self):
        # A negative scenario is sound too: what it expects does not hold.
        paths = sorted((ROOT / "scenarios").rglob("*.yaml"))
        self.assertTrue(paths)
        done = self.expect(0, "check", *paths)
        self.assertEqual(done.stdout.count(": sound"), len(paths))

    def test_check_reads_files_of_jobs_too(self):
        jobs = self.folder / "jobs.yaml"
        jobs.write_text("name: a\ncommand: [x]\n---\nname: b\ncommand: [y]\n")
        scenario = self.folder / "scenario.yaml"
        scenario.write_text("cluster: {nodes: 1}\njobs: [{name: a, work: 1s}]\n")
        done = self.expect(0, "check", jobs, scenario)
        self.assertEqual(done.stdout, f"{jobs}: sound, 2 jobs\n{scenario}: sound\n")
        manifest = self.folder / "manifest.yaml"
        manifest.write_text("""\
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata: {name: a}
spec:
  template:
    spec:
      tolerations: [{operator: Exists}]
      containers: [{command: [x]}]
""")
        done = self.expect(0, "check", manifest)
        self.assertIn(f"{manifest}:7: job a: manifest.spec.template.spec.tolerations: warning: is "
                      "ignored", done.stderr)
        jobs.write_text("name: a\nwork: 5s\n")
        self.assertIn(f"{jobs}:2: job a: work: is for simulators", self.expect(2, "check", jobs).stderr)

    def test_policies_for_people_and_scripts(self):
        document = json.loads(self.expect(0, "policies", "--json").stdout)
        names = [policy["name"] for policy in document["policies"]]
        for name in ["fifo", "easy", "srtf", "las", "tiresias", "optimus", "fit"]:
            self.assertIn(name, names)
            self.assertRegex(self.expect(0, "policies").stdout, rf"(?m)^{name}$")

    def test_trace_info_counts_every_row(self):
        trace = self.write("trace.csv", "timestamp,duration,num_gpus,gpu_time,cluster\n"
                           "2017-10-03 00:00:00,60,1,60,a\n2017-10-03 00:00:10,30,2,60,b\n"
                           "2017-10-03 00:00:10,30,0,0,b\n")
        document = json.loads(self.expect(0, "trace", "info", trace, "--json").stdout)
        self.assertEqual(document["report"]["rows"], 3)
        self.assertEqual(document["report"]["jobs"], 3)
        self.assertIn("3", self.expect(0, "trace", "info", trace).stdout)
        without = self.expect(0, "trace", "info", trace, "--zero-gpus", "drop", "--json").stdout
        self.assertEqual(json.loads(without)["report"]["jobs"], 2)

    def test_trace_convert_writes_other_forms_and_says_what_is_lost(self):
        trace = self.write("log.swf", "; UnixStartTime: 1480000000\n"
                           "1 0 5 60 4 -1 -1 4 30 -1 1 7 -1 -1 -1 -1 -1 -1\n"
                           "2 9.5 -1 10 1 -1 -1 1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1\n")
        ours = self.expect(0, "trace", "convert", trace, "--to", "orrery")
        self.assertNotIn("lost", ours.stderr)
        self.assertIn("2 rows, 2 jobs", ours.stderr)
        again = self.write("ours.csv", ours.stdout)
        back = self.folder / "back.swf"
        done = self.expect(0, "trace", "convert", again, "--to", "swf", "--out", back)
        self.assertEqual(done.stdout, "")
        rows = [line for line in back.read_text().splitlines() if not line.startswith(";")]
        self.assertEqual(rows[1], "2 9.5 -1 10 1 -1 -1 1 -1 -1 0 -1 -1 -1 -1 -1 -1 -1")
        batsim = self.expect(0, "trace", "convert", trace, "--to", "batsim")
        workload = json.loads(batsim.stdout)
        self.assertEqual(workload["nb_res"], 4)
        self.assertEqual(workload["profiles"]["delay_60"], {"type": "DelayProfile", "delay": 60})
        self.assertIn("lost in batsim: estimates shorter than the run (1 jobs)", batsim.stderr)
        self.assertIn("--to", self.expect(2, "trace", "convert", trace).stderr)
        self.expect(2, "trace", "convert", trace, "--to", "swfx")

    def test_a_list_of_machines_becomes_a_cluster(self):
        nodes = self.write("nodes.csv", "sn,cpu_milli,memory_mib,gpu,model\n"
                           "a,64000,262144,0,\nb,96500,8192,2,T4\nc,96500,8192,2,T4\n")
        self.assertIn("3 nodes, 4 GPUs", self.expect(0, "trace", "info", nodes).stdout)
        cluster = self.expect(0, "trace", "convert", nodes, "--to", "cluster").stdout
        jobs = "policy: fifo\njobs: [{name: a, work: 10s, gpus: 2, gpu: T4}]\n"
        scenario = self.write("cluster.yaml", cluster + jobs)
        done = self.expect(0, "sim", scenario, "--json")
        self.assertEqual(json.loads(done.stdout)["jobs_finished"], 1)
        self.expect(2, "trace", "convert", nodes, "--to", "swf")
        self.expect(2, "trace", "convert", scenario, "--to", "cluster")

    def test_workloads_of_other_simulators_are_described(self):
        batsim = self.write("w.json", json.dumps({
            "nb_res": 4, "jobs": [{"id": 1, "subtime": 0, "res": 2, "profile": "d"},
                                  {"id": 2, "subtime": 3, "res": 4, "profile": "p"}],
            "profiles": {"d": {"type": "DelayProfile", "delay": 5},
                         "p": {"type": "ParallelTaskProfile", "cpu": [1, 1, 1, 1]}}}))
        report = json.loads(self.expect(0, "trace", "info", batsim, "--json").stdout)["report"]
        self.assertEqual((report["format"], report["rows"], report["jobs"]), ("batsim", 2, 1))
        elastisim = self.write("jobs.json", json.dumps({"jobs": [
            {"type": "rigid", "submit_time": 1, "num_nodes": 3, "application_model": "a.json"}]}))
        self.assertIn("rigid: 1 jobs", self.expect(0, "trace", "info", elastisim).stdout)

    def test_a_journal_is_dumped_verified_and_recomputed(self):
        out = self.folder / "out"
        self.expect(0, "sim", self.scenario, "--out", out, "--journal")
        summary = json.loads((out / "summary.json").read_text())
        lines = self.expect(0, "journal", "dump", out / "journal.db").stdout.splitlines()
        self.assertEqual(len(lines), summary["events"])
        for line in lines:
            json.loads(line)
        report = json.loads(self.expect(0, "journal", "verify", out / "journal.db", "--recompute",
                                        self.scenario, "--json").stdout)
        self.assertEqual(report["records"], summary["events"])
        self.assertGreater(report["recomputed"]["plans"], 0)
        self.assertEqual(report["recomputed"]["different"], 0)

    def test_the_history_and_the_page_of_a_journal(self):
        out = self.folder / "kept"
        self.expect(0, "sim", self.scenario, "--out", out, "--journal")
        summary = json.loads((out / "summary.json").read_text())
        jobs = json.loads(self.expect(0, "history", out / "journal.db", "--json").stdout)["jobs"]
        self.assertEqual(len(jobs), summary["jobs_finished"] + summary["jobs_failed"])
        self.assertAlmostEqual(sum(job["device_seconds"] for job in jobs),
                               summary["gpu_seconds_allocated"],
                               delta=0.01 * summary["gpu_seconds_allocated"])
        self.assertEqual([job["ended"] for job in jobs], sorted(job["ended"] for job in jobs))
        table = self.expect(0, "history", out / "journal.db", "--state", "succeeded").stdout
        self.assertEqual(len(table.splitlines()), 1 + summary["jobs_finished"])
        self.assertIn("needed a time in UTC",
                      self.expect(2, "history", out / "journal.db", "--since", "lately").stderr)
        page = self.folder / "page.html"
        done = orrery("report", out / "journal.db", "--out", page)
        if done.returncode == 0:  # Else it was built without the page, and says so.
            self.assertIn("journal from 1970", page.read_text())
        else:
            self.assertIn("orrery report: ", done.stderr)

    def test_a_journal_with_snapshots_of_an_older_version(self):
        kept = ROOT / "tests" / "system" / "journals" / "version_1.db"
        lines = [json.loads(line) for line in
                 self.expect(0, "journal", "dump", kept).stdout.splitlines()]
        snapshots = [line for line in lines if line["kind"] == "snapshot"]
        self.assertEqual([line["sequence"] for line in snapshots], [60, 121])
        self.assertEqual([line["sequence"] for line in lines],
                         sorted(line["sequence"] for line in lines))
        report = json.loads(self.expect(0, "journal", "verify", kept, "--json").stdout)
        self.assertEqual((report["records"], report["first"], report["record_versions"]),
                         (173, 1, [1]))
        self.assertEqual([(s["sequence"], s["version"]) for s in report["snapshots"]],
                         [(60, 1), (121, 1)])
        self.assertIn("snapshot after record 121, version 1",
                      self.expect(0, "journal", "verify", kept).stdout)

    def test_colour_only_where_it_is_wanted(self):
        if not shutil.which("script") or not can_open_terminal():
            self.skipTest("no script(1), or no pseudo-terminal to give the program")
        # Enough jobs that one policy is best.
        command = (f"{PROGRAM} compare {ROOT}/scenarios/quickstart.yaml --policies fifo,srtf,las "
                   "--set workload.generator.jobs=500 --set workload.generator.arrivals.load=3")
        for extra, coloured in [({}, True), ({"NO_COLOR": "1"}, False)]:
            environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
            environment.update({"TERM": "xterm"}, **extra)
            done = subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True,
                                  text=True, env=environment, check=True)
            colours = re.findall(r"\x1b\[[0-9;]*m", done.stdout)
            self.assertEqual(bool(colours), coloured, done.stdout)
            self.assertIn("JCT avg", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=1)
