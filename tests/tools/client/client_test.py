"""The verbs of the client from outside, against canned answers: what is sent, shown and returned.

Usage: client_test.py PROGRAM
"""

import http.server
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
NOW_NS = 1_700_000_000_000_000_000

JOB_FILE = """\
name: train
roles:
  main: {command: [/bin/true], devices: 0}
"""
DIJOB = """\
apiVersion: diengine.opendilab.org/v2alpha1
kind: DIJob
metadata: {name: walker}
spec:
  backoffLimit: 2
  tasks:
  - name: learner
    type: learner
    replicas: 1
    template:
      spec:
        containers:
        - {name: di-container, command: [/bin/true]}
"""


def status(name, phase="Running", **more):
    return {"name": f"default.{name}", "phase": phase, "reason": "AllReady", "message": "all run",
            "replicas": 2, "ready_replicas": 2, "target": 2, "devices": 4, "generation": 1,
            "restarts": 0, "reschedules": 0, "preemptions": 0, "node_losses": 0, "roles": [],
            "conditions": [], "profilings": [], "submitted": NOW_NS, "completed": None, **more}


NODES = [{"name": "n0", "state": "Ready", "devices": 8, "devices_held": 4, "devices_lost": 1,
          "device_model": "h200", "cpu_millis": 96000, "memory_bytes": 64 << 30, "workers": 2,
          "last_heard": NOW_NS, "address": "127.0.0.1", "program": "0.1.0", "members": []}]


class Fake:
    """A server on a loopback port: answers by method and path, keeps what was asked."""

    def __init__(self):
        self.answers = {}
        self.asked = []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                size = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(size).decode()
                url = urllib.parse.urlsplit(self.path)
                fake.asked.append((self.command, url.path, urllib.parse.parse_qs(url.query), body,
                                   dict(self.headers)))
                found = fake.answers.get((self.command, url.path), (404, {"error": {
                    "message": "no such job"}}))
                code, document, *headers = found(url) if callable(found) else found
                raw = (document if isinstance(document, str) else json.dumps(document)).encode()
                self.send_response(code)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                try:
                    self.wfile.write(raw)
                except BrokenPipeError:
                    pass  # The client was interrupted.

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def requests(self, method):
        return [each for each in self.asked if each[0] == method]


class VerbTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-client-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.fake = Fake()
        self.addCleanup(self.fake.close)
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
        self.environment["ORRERY_SERVER"] = self.fake.url

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def expect(self, code, *words, **options):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=60,
                              check=False, env=self.environment, **options)
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        return done


class ListsTest(VerbTest):
    def setUp(self):
        super().setUp()
        jobs = [status("train"), status("wait", "Pending", ready_replicas=0, devices=0,
                                        message="needs 8 devices at once, 4 are free")]
        self.fake.answers = {("GET", "/api/v1/jobs"): (200, {"jobs": jobs, "next": None}),
                             ("GET", "/api/v1/nodes"): (200, {"nodes": NODES})}
        for job in jobs:
            whole = {**job, "members": [], "spec": {}, "events": []}
            self.fake.answers[("GET", f"/api/v1/jobs/{job['name']}")] = (200, whole)

    def test_get_shows_jobs(self):
        table = self.expect(0, "get").stdout
        self.assertRegex(table, r"(?m)^train +Running +2/2 +4 ")
        self.assertIn("needs 8 devices at once", table)
        self.assertEqual(table, self.expect(0, "get", "jobs").stdout)

    def test_get_shows_nodes(self):
        self.assertRegex(self.expect(0, "get", "nodes").stdout,
                         r"(?m)^n0 +Ready +4/8 \(1 lost\) +h200 +96\.0 +64\.0 +2 ")

    def test_get_by_name_in_json_and_as_names(self):
        one = json.loads(self.expect(0, "get", "jobs", "wait", "--json").stdout)
        self.assertEqual([job["name"] for job in one["jobs"]], ["default.wait"])
        self.assertEqual(self.expect(0, "get", "--names").stdout, "train\nwait\n")
        self.assertIn("job default.none: unknown", self.expect(1, "get", "none").stderr)

    def test_jobs_that_are_named_are_asked_for_one_by_one(self):
        """A list of thousands was read to show one."""
        listed = json.loads(self.expect(0, "get", "jobs", "--json").stdout)
        self.fake.asked.clear()
        done = self.expect(1, "get", "jobs", "wait", "none", "train", "--json")
        self.assertEqual(json.loads(done.stdout)["jobs"], listed["jobs"][::-1])
        self.assertEqual([path for _, path, *_ in self.fake.asked],
                         [f"/api/v1/jobs/default.{name}" for name in ["wait", "none", "train"]])

    def test_earlier_jobs_of_a_name_are_shown_on_request(self):
        jobs = [status("train", "Failed", id=3), status("train", id=7), status("b", id=8)]
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": jobs, "next": None})
        table = self.expect(0, "get", "train", "--all").stdout
        self.assertRegex(table, r"(?m)^train +3 +Failed ")
        self.assertRegex(table, r"(?m)^train +7 +Running ")
        self.assertEqual(len(table.splitlines()), 3, table)
        self.assertEqual(self.fake.asked[-1][2], {"all": ["1"]})
        self.expect(0, "get")
        self.assertEqual(self.fake.asked[-1][2], {})

    def test_lists_in_pages_are_read_to_the_end(self):
        def page(url):
            after = urllib.parse.parse_qs(url.query).get("after")
            return 200, {"jobs": [status("b" if after else "a")], "next": None if after else 7}
        self.fake.answers[("GET", "/api/v1/jobs")] = page
        self.assertEqual(self.expect(0, "get", "--names").stdout, "a\nb\n")
        self.assertEqual(self.fake.asked[-1][2], {"after": ["7"]})

    def test_top_is_printed_once_into_a_pipe(self):
        text = self.expect(0, "top").stdout
        self.assertIn("1 nodes, 4 of 8 devices taken; 2 jobs live, 0 ended", text)
        self.assertNotIn("\x1b", text)
        both = json.loads(self.expect(0, "top", "--json").stdout)
        self.assertEqual((len(both["nodes"]), len(both["jobs"])), (1, 2))

    def failed(self, **more):
        failures = [{"at": NOW_NS, "role": "main", "local_rank": 1, "rank": 1, "node": "n0",
                     "exit_code": 7, "message": "main 1 on n0 ended with exit code 7",
                     "sentence": "", "last_lines": "Traceback\nno such file\n"}]
        return status("broken", "Failed", message="4 failures", failures=failures, **more)

    def test_a_failed_job_that_is_named_shows_its_exit_code_and_last_lines(self):
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": [self.failed()], "next": None})
        self.fake.answers[("GET", "/api/v1/jobs/default.broken")] = (200, self.failed())
        text = self.expect(0, "get", "jobs", "broken").stdout
        self.assertIn("broken failed:\n  main 1 on n0 ended with exit code 7; it wrote last:\n"
                      "    Traceback\n    no such file\n", text)
        self.assertNotIn("Traceback", self.expect(0, "get").stdout)

    def test_describe_shows_what_runs_and_what_failed(self):
        spec = {"roles": [{"name": "main", "min_replicas": 1, "max_replicas": 4, "image": "",
                           "command": ["python", "train.py", "--note", "it's new"],
                           "bundle": {"devices": 1, "share": 1000, "device_model": "h200",
                                      "cpu": 2500, "memory": 8 << 30}},
                          {"name": "judge", "min_replicas": 1, "max_replicas": 1,
                           "bundle": {"devices": 2, "cpu": 1000, "memory": 1 << 30}}]}
        self.fake.answers[("GET", "/api/v1/jobs/default.broken")] = (
            200, self.failed(spec=spec, user="ada"))
        page = self.expect(0, "describe", "broken").stdout
        for part in ["main: 1 to 4 replicas, each with 1 device (h200), 2.5 cores, 8 GiB",
                     "judge: 1 replica, with 2 devices, 1 core, 1 GiB",
                     "command: python train.py --note 'it'\\''s new'", "ada",
                     "main 1 on n0 ended with exit code 7", "    no such file"]:
            self.assertIn(part, page)

    def test_top_shows_the_throughput_of_the_job_once(self):
        ranks = [{"rank": rank, "value": 500} for rank in range(4)]
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"next": None, "jobs": [status(
            "train", throughput=500.0, profilings=[{"key": "throughput", "latest": ranks}])]})
        top = self.expect(0, "top").stdout
        self.assertRegex(top, r"(?m)^train .* 500\.0 ")
        self.assertNotIn("2,000", top)

    def test_describe_shows_why(self):
        job = status("train", members=[{"rank": 1, "role": "main", "local_rank": 1, "node": "n0",
                                        "state": "Running", "devices": [4, 5],
                                        "address": "127.0.0.1", "first_port": 22270}],
                     events=[{"number": 1, "at": NOW_NS, "job": "default.train", "node": "",
                              "severity": "Normal", "name": "JobRunning", "message": "it runs"}])
        self.fake.answers[("GET", "/api/v1/jobs/default.train")] = (200, job)
        page = self.expect(0, "describe", "train").stdout
        for part in ["default.train", "Running (AllReady)", "all run", "4-5", "JobRunning"]:
            self.assertIn(part, page)
        self.assertEqual(json.loads(self.expect(0, "describe", "train", "--json").stdout), job)
        self.fake.answers[("GET", "/api/v1/nodes/n0")] = (200, NODES[0])
        self.assertIn("4/8 taken h200", self.expect(0, "describe", "node/n0").stdout)


class ChangesTest(VerbTest):
    def test_submit_sends_the_text_once_it_is_sound(self):
        path = self.write("job.yaml", JOB_FILE)
        self.fake.answers[("POST", "/api/v1/jobs")] = (
            200, {"jobs": [{"name": "default.train"}], "warnings": []})
        self.assertEqual(self.expect(0, "submit", path).stdout, "train: submitted\n")
        (_, _, query, body, headers), = self.fake.requests("POST")
        self.assertEqual(body, JOB_FILE)
        self.assertEqual(query["file"], [path])
        self.assertGreater(int(query["request"][0]), 0)
        self.assertEqual(headers["Content-Type"], "application/yaml")

    def test_a_variable_that_is_computed_is_told_by_name(self):
        path = self.write("job.yaml", JOB_FILE.replace("devices: 0", "env: {ORRERY_RANK: 9}"))
        self.fake.answers = {("POST", "/api/v1/jobs"): (200, {"jobs": [{"name": "default.train"}]})}
        said = "env sets ORRERY_RANK, which identifies a worker and is computed"
        self.assertIn(f"job.yaml:3: default.train: role main: warning: {said}", self.expect(0, "submit", path).stderr)
        done = self.expect(0, "run", "--dry-run", "--standalone", "--env", "ORRERY_RANK=9", "train.py")
        self.assertIn(said, done.stderr)

    def test_nothing_is_sent_where_one_file_is_broken(self):
        good = self.write("good.yaml", JOB_FILE)
        bad = self.write("bad.yaml", "nonsense\n")
        self.assertIn("bad.yaml", self.expect(2, "submit", good, bad).stderr)
        self.assertIn("stands in", self.expect(2, "submit", good, good).stderr)
        self.assertEqual(self.fake.asked, [])

    def submit_with(self, text, *sets, name="job.yaml"):
        """Submits a text with overrides; what was sent with it, and its body."""
        self.fake.answers[("POST", "/api/v1/jobs")] = (
            200, {"jobs": [{"name": "default.train"}], "warnings": []})
        words = [word for each in sets for word in ("--set", each)]
        self.expect(0, "submit", self.write(name, text), *words)
        _, _, query, body, _ = self.fake.requests("POST")[-1]
        return query, body

    def refusal_of(self, text, *sets):
        """Line by line what is said where overrides do not fit a text; nothing is sent."""
        words = [word for each in sets for word in ("--set", each)]
        done = self.expect(2, "submit", self.write("job.yaml", text), *words)
        self.assertEqual(self.fake.asked, [])
        self.assertEqual(done.stdout, "")
        return done.stderr.splitlines()

    def test_values_are_replaced_as_they_are_said(self):
        sets = ["name=train-2", "roles.main.replicas={min: 1, max: 4}", "roles.main.command=exec env A=b"]
        query, body = self.submit_with(JOB_FILE, *sets)
        self.assertEqual(query["set"], sets)
        self.assertEqual(body, JOB_FILE)
        listed = "jobs:\n- {name: a, command: [/bin/true]}\n- {name: b, command: [/bin/true]}\n"
        query, _ = self.submit_with(listed, "jobs[1].priority=high")
        self.assertEqual(query["set"], ["jobs[1].priority=high"])
        query, _ = self.submit_with(DIJOB, "metadata.name=walker-2", "spec.backoffLimit=7")
        self.assertEqual(query["set"], ["metadata.name=walker-2", "spec.backoffLimit=7"])

    def test_without_values_nothing_is_said_of_them(self):
        self.assertNotIn("set", self.submit_with(JOB_FILE)[0])

    def test_values_that_do_not_fit_are_told_all_at_once_with_their_place(self):
        lines = self.refusal_of(JOB_FILE, "roles.main.replicsa=4", "roles.main.devices=many",
                                "name.first=x", "nonsense")
        said = "\n".join(lines)
        for place, words in [("--set roles.main.replicsa=4", "the nearest is 'replicas'"),
                             ("--set roles.main.devices=many", "devices"),
                             ("--set name.first=x", "a map is needed there")]:
            self.assertTrue([line for line in lines if line.startswith(place) and words in line],
                            said)
        self.assertIn("path=value is needed", "\n".join(self.refusal_of(JOB_FILE, "nonsense")))

    def test_a_value_names_one_of_several_jobs(self):
        listed = "jobs:\n- {name: a, command: [/bin/true]}\n- {name: b, command: [/bin/true]}\n"
        line, = self.refusal_of(listed, "priority=high")
        self.assertTrue(line.startswith("--set priority=high: "), line)
        line, = self.refusal_of(listed, "jobs[7].priority=high")
        self.assertIn("has no element 7", line)
        self.assertIn("count from 0", line)
        documents = JOB_FILE + "---\n" + JOB_FILE.replace("train", "other")
        line, = self.refusal_of(documents, "priority=high")
        self.assertIn("a file of 2 documents, one is needed", line)
        self.assertIn("jobs[0].priority", line)

    def test_a_value_is_of_one_file(self):
        one = self.write("one.yaml", JOB_FILE)
        other = self.write("other.yaml", JOB_FILE.replace("train", "other"))
        line, = self.expect(2, "submit", one, other, "--set", "priority=high").stderr.splitlines()
        self.assertIn("--set priority=high: override: is given with 2 files, one is needed", line)
        self.assertEqual(self.fake.asked, [])

    def test_the_words_of_a_manifest_that_are_unknown_are_told(self):
        line, = self.refusal_of(DIJOB, "spec.backofLimit=7")
        self.assertTrue(line.startswith("--set spec.backofLimit=7: "), line)
        self.assertIn("backoffLimit", line)

    def test_submit_waits_for_the_end(self):
        path = self.write("job.yaml", JOB_FILE)
        for phase, code in [("Succeeded", 0), ("Failed", 1)]:
            phases = iter(["Pending", "Running"])
            self.fake.answers = {
                ("POST", "/api/v1/jobs"): (200, {"jobs": [{"name": "default.train"}]}),
                ("GET", "/api/v1/jobs/default.train"):
                    lambda _: (200, status("train", next(phases, phase)))}
            done = self.expect(code, "submit", path, "--wait", "--json")
            self.assertEqual(json.loads(done.stdout)["jobs"][0]["phase"], phase)
            self.assertIn("train: Running", done.stderr)

    def test_submit_waits_for_its_own_job_though_another_takes_the_name(self):
        """It is stopped, and another of its name submitted: known by its number, as long as it is kept."""
        path = self.write("job.yaml", JOB_FILE)
        for answer, kept, said in [({"name": "default.train", "id": 7}, True, "train: Failed (stopped)"),
                                   ({"name": "default.train", "id": 7}, False, "was deleted, and another job"),
                                   ({"name": "default.train"}, True, "train: Failed (stopped)")]:
            numbers = iter([7])
            own = status("train", "Failed", id=7, message="stopped",
                         failures=[{"message": "main 0 on n0 ended", "last_lines": "its words\n"}])
            self.fake.answers = {
                ("POST", "/api/v1/jobs"): (200, {"jobs": [answer]}),
                ("GET", "/api/v1/jobs/default.train"):
                    lambda _: (200, status("train", "Running", id=next(numbers, 8))),
                ("GET", "/api/v1/jobs"): (200, {"jobs": [own if kept else status("train", id=8)], "next": None})}
            done = self.expect(1, "submit", path, "--wait", "--json")
            self.assertIn(said, done.stderr)
            self.assertEqual("its words" in done.stderr, kept)
            self.assertEqual(json.loads(done.stdout)["jobs"][0]["id"], 7)
            self.assertEqual(self.fake.asked[-1][2], {"all": ["1"], "limit": ["1"], "after": ["6"]})

    def test_an_empty_name_is_refused_before_anything_is_asked(self):
        for verb, operands in [("stop", ["train", ""]), ("delete", [""]), ("exclude", ["node/"]), ("include", [""])]:
            done = self.expect(2, verb, *operands)
            self.assertEqual(done.stderr, f"'{operands[-1]}': names nothing, a name is needed; see orrery get\n")
        self.assertEqual(self.fake.asked, [])

    def test_submit_shows_what_a_job_failed_of(self):
        path = self.write("job.yaml", JOB_FILE)
        failure = {"message": "main 0 on n0 ended with exit code 7", "last_lines": "no such file\n"}
        self.fake.answers = {
            ("POST", "/api/v1/jobs"): (200, {"jobs": [{"name": "default.train"}]}),
            ("GET", "/api/v1/jobs/default.train"):
                (200, status("train", "Failed", failures=[failure]))}
        done = self.expect(1, "submit", path, "--wait")
        self.assertIn("main 0 on n0 ended with exit code 7; it wrote last:\n    no such file\n",
                      done.stderr)

    def test_ctrl_c_ends_the_waiting(self):
        path = self.write("job.yaml", JOB_FILE)
        asked = threading.Event()

        def running(_):
            asked.set()
            return 200, status("train")
        self.fake.answers = {
            ("POST", "/api/v1/jobs"): (200, {"jobs": [{"name": "default.train"}]}),
            ("GET", "/api/v1/jobs/default.train"): running}
        waiting = subprocess.Popen([PROGRAM, "submit", path, "--wait"], env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertTrue(asked.wait(60))
        waiting.send_signal(signal.SIGINT)
        waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 130)

    def test_refusals_are_told_with_their_code(self):
        path = self.write("job.yaml", JOB_FILE)
        for http_status, code in [(400, 2), (403, 1), (409, 1), (422, 1)]:
            self.fake.answers[("POST", "/api/v1/jobs")] = (http_status, {"error": {
                "message": "first", "details": ["job.yaml:1: name: taken", "second line"]}})
            error = self.expect(code, "submit", path).stderr
            self.assertIn("job.yaml:1: name: taken\n", error)
            self.assertIn("second line\n", error)

    def test_a_value_of_a_wrong_type_is_told_once(self):
        path = self.write("job.yaml", JOB_FILE.replace("devices: 0", "devices: 0, volumes: x"))
        error = self.expect(2, "submit", path).stderr
        self.assertEqual(error.count("volumes: is 'x', a list is needed"), 1, error)

    def test_a_wrong_name_of_a_manifest_is_told_where_it_stands(self):
        path = self.write("dijob.yaml", DIJOB)
        error = self.expect(2, "submit", path, "--set", "metadata.name=No_Name").stderr
        self.assertTrue(error.startswith("--set metadata.name=No_Name: job "), error)

    def test_a_refusal_names_its_subject_once(self):
        path = self.write("job.yaml", JOB_FILE)
        stop = ("stop", "train")
        for target, words, message, told in [
                ("/api/v1/jobs", ("submit", path), f"{path}:2: no", f"{path}:2: no"),
                ("/api/v1/jobs", ("submit", path), "no room", f"{path}: no room"),
                ("/api/v1/jobs/default.train/stop", stop, "default.train: it has ended",
                 "job default.train: it has ended"),
                ("/api/v1/jobs/default.train/stop", stop, "default.train has ended",
                 "job default.train has ended"),
                ("/api/v1/jobs/default.train/stop", stop, "default.train-2: it has ended",
                 "job default.train: default.train-2: it has ended")]:
            self.fake.answers[("POST", target)] = (409, {"error": {"message": message}})
            self.assertEqual(self.expect(1, *words).stderr, told + "\n")

    def test_scale_stop_and_delete(self):
        self.fake.answers = {("POST", "/api/v1/jobs/default.train/scale"): (200, {}),
                             ("POST", "/api/v1/jobs/lab.train/stop"): (200, {}),
                             ("DELETE", "/api/v1/jobs/default.train"): (200, {})}
        self.expect(0, "scale", "train", "4")
        self.expect(0, "scale", "train", "actor=2")
        self.assertEqual([json.loads(each[3]) for each in self.fake.asked],
                         [{"replicas": 4}, {"role": "actor", "replicas": 2}])
        self.assertEqual(self.expect(0, "stop", "lab.train").stdout, "lab.train: stopped\n")
        done = self.expect(1, "delete", "train", "gone")
        self.assertEqual(done.stdout, "train: deleted\n")
        self.assertIn("job default.gone: no such job", done.stderr)
        for wrong in ["0", "-1", "two", "a=b"]:
            self.expect(2, "scale", "--", "train", wrong)

    def test_exclude_and_include(self):
        self.fake.answers = {("POST", "/api/v1/nodes/gpu-7/exclude"): (200, {"name": "gpu-7"}),
                             ("POST", "/api/v1/nodes/gpu-8/exclude"): (200, {"name": "gpu-8"}),
                             ("POST", "/api/v1/nodes/a%2Fb/include"): (200, {"name": "a/b"})}
        done = self.expect(1, "exclude", "gpu-7", "node/gpu-8", "gpu-9")
        self.assertEqual(done.stdout, "gpu-7: excluded\ngpu-8: excluded\n")
        self.assertIn("node gpu-9: ", done.stderr)
        self.assertEqual(self.expect(0, "include", "a/b", "--json").stdout, '{"included":["a/b"]}\n')
        self.expect(2, "include")


class ApplyTest(VerbTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("job.yaml", JOB_FILE)

    def answer(self, http_status, jobs, **more):
        self.fake.answers[("POST", "/api/v1/jobs")] = (
            http_status, {"jobs": jobs, "warnings": [], **more})

    def test_the_controller_says_what_was_done(self):
        self.answer(200, [
            {"name": "default.new", "result": "submitted", "detail": ""},
            {"name": "default.train", "result": "changed",
             "detail": "roles.main.replicas from 4 to 2"},
            {"name": "lab.same", "result": "unchanged", "detail": "Running"}])
        self.assertEqual(self.expect(0, "apply", self.path).stdout,
                         "new: submitted\ntrain: changed (roles.main.replicas from 4 to 2)\n"
                         "lab.same: unchanged (Running)\n")
        (_, _, query, body, _), = self.fake.requests("POST")
        self.assertEqual(query["apply"], ["1"])
        self.assertNotIn("dry_run", query)
        self.assertEqual(body, JOB_FILE)

    def test_a_trial_is_one(self):
        self.answer(200, [{"name": "default.train", "result": "changed", "detail": "priority"}])
        self.assertEqual(self.expect(0, "apply", self.path, "--dry-run").stdout,
                         "train: changed (priority), if not for --dry-run\n")
        self.assertEqual(self.fake.requests("POST")[0][2]["dry_run"], ["1"])

    def test_what_differs_is_told_with_what_to_do_and_the_rest_is_done(self):
        jobs = [{"name": "default.train", "result": "differs", "detail": "differs in x; delete it"},
                {"name": "default.b", "result": "submitted", "detail": ""}]
        self.answer(409, jobs, error={"message": "default.train: differs in x; delete it",
                                      "details": ["default.train: differs in x; delete it"]})
        done = self.expect(1, "apply", self.path)
        self.assertEqual(done.stdout, "b: submitted\n")
        self.assertEqual(done.stderr, "default.train: differs in x; delete it\n")
        self.assertEqual(json.loads(self.expect(1, "apply", self.path, "--json").stdout),
                         {"jobs": jobs})

    def test_a_text_that_the_controller_refuses_is_bad_input(self):
        self.fake.answers[("POST", "/api/v1/jobs")] = (
            400, {"error": {"message": "job.yaml:2: job train: placement: found 9"}})
        self.assertIn("placement: found 9", self.expect(2, "apply", self.path).stderr)


class PlacementTest(VerbTest):
    """Jobs with placements go to the controller, which alone knows the nodes."""

    PLACED = """\
name: train
take_turns: [[actor, rollout]]
roles:
  actor: {command: [/bin/true], placement: {node_group: a800, placement: "0-7"}}
  rollout: {command: [/bin/true], placement: all}
"""

    def setUp(self):
        super().setUp()
        self.path = self.write("job.yaml", self.PLACED)
        self.fake.answers[("POST", "/api/v1/jobs")] = (
            200, {"jobs": [{"name": "default.train", "result": "submitted", "detail": ""}],
                  "warnings": []})

    def test_submit_and_apply_send_them(self):
        for verb in ["submit", "apply"]:
            done = self.expect(0, verb, self.path)
            self.assertEqual((done.stdout, done.stderr), ("train: submitted\n", ""))
            self.assertEqual(self.fake.requests("POST")[-1][3], self.PLACED)

    def test_a_trial_asks_and_submits_nothing(self):
        self.fake.answers[("POST", "/api/v1/forecast")] = (200, {
            "jobs": [{"name": "default.train", "starts_in_s": 60, "ends_in_s": None, "nodes": ["n1"],
                      "remaining_known": "declared", "remaining_s": 30, "waits_for": "needs 4 devices"}],
            "delays": [{"name": "default.b", "by_s": None}], "runs": 1})
        done = self.expect(0, "submit", self.path, "--dry-run", "--wait")
        self.assertEqual(done.stdout, "train: would be taken\n"
                         "train: starts in 1 min on n1, ends not foreseen\n  now: needs 4 devices\n"
                         "  what is left of it is known by: declared (30 s)\n"
                         "  delays 1 job:\n    b by more than is foreseen\n")
        self.assertEqual(self.fake.requests("POST")[0][2]["dry_run"], ["1"])
        self.assertEqual([each[1] for each in self.fake.asked], ["/api/v1/jobs", "/api/v1/forecast"])
        self.assertEqual(self.fake.requests("POST")[1][2]["only"], ["default.train"])
        # Without a forecast the trial is as good.
        self.fake.answers[("POST", "/api/v1/forecast")] = (429, {"error": {"message": "too many wait"}})
        done = self.expect(0, "submit", self.path, "--dry-run")
        self.assertEqual(done.stdout, "train: would be taken\n")
        self.assertEqual(done.stderr, "remark: train: no forecast: too many wait\n")

    def test_a_trial_of_what_can_never_fit_is_unmet(self):
        self.fake.answers[("POST", "/api/v1/forecast")] = (200, {
            "jobs": [{"name": "default.train", "starts_in_s": None, "ends_in_s": None, "nodes": [],
                      "never_fits": True, "waits_for": "needs 40 devices"}], "delays": [], "runs": 1})
        for more in [(), ("--json",)]:
            self.assertIn("40 devices", self.expect(1, "submit", self.path, "--dry-run", *more).stdout)

    def test_a_trial_of_several_jobs_says_that_each_stands_alone(self):
        self.fake.answers[("POST", "/api/v1/forecast")] = lambda url: (200, {
            "jobs": [{"name": urllib.parse.parse_qs(url.query)["only"][0], "starts_in_s": 0,
                      "ends_in_s": 60, "nodes": ["n1"]}], "delays": [], "runs": 1})
        other = self.write("other.yaml", JOB_FILE.replace("train", "other"))
        remark = "remark: each job is foretold as if none of the others were submitted\n"
        for more in [(), ("--json",)]:
            self.assertEqual(self.expect(0, "submit", self.path, other, "--dry-run", *more).stderr, remark)
        self.assertEqual(self.expect(0, "submit", other, "--dry-run").stderr, "")

    def test_what_no_cluster_could_place_is_told_here(self):
        path = self.write("bad.yaml", self.PLACED.replace('"0-7"', '"7-0"'))
        self.assertIn("bad.yaml:4: job train: roles.actor.placement",
                      self.expect(2, "submit", path).stderr)
        self.assertEqual(self.fake.asked, [])

    def test_several_jobs_are_all_checked_before_the_first_is_taken(self):
        other = self.write("other.yaml", JOB_FILE.replace("train", "other"))

        def answer(url):
            query = urllib.parse.parse_qs(url.query)
            if query["file"] == [self.path] and "dry_run" in query:
                return 400, {"error": {"message": "job.yaml:4: found 7, 4 devices are there"}}
            return 200, {"jobs": [{"name": "default.other"}], "warnings": []}
        self.fake.answers[("POST", "/api/v1/jobs")] = answer
        done = self.expect(2, "submit", other, self.path)
        self.assertEqual(done.stdout, "")
        self.assertIn("found 7, 4 devices are there", done.stderr)
        self.assertEqual([each[2].get("dry_run") for each in self.fake.requests("POST")],
                         [["1"], ["1"]])


class FollowTest(VerbTest):
    def test_events_since_a_time(self):
        events = [{"number": n, "at": NOW_NS + n * 1_000_000_000, "job": "", "node": "",
                   "severity": "Normal", "name": f"E{n}", "message": ""} for n in range(3)]
        self.fake.answers[("GET", "/api/v1/events")] = (200, {"events": events})
        text = self.expect(0, "events", "--since", "2023-11-14T22:13:21Z").stdout
        self.assertEqual([line.split()[3] for line in text.splitlines()], ["E1", "E2"])
        self.assertIn("2h, 7d", self.expect(2, "events", "--since", "lately").stderr)

    def test_events_once(self):
        event = {"number": 1, "at": NOW_NS, "job": "default.train", "node": "", "severity":
                 "Warning", "name": "JobRestarting", "message": "a worker failed"}
        self.fake.answers[("GET", "/api/v1/events")] = (200, {"events": [event]})
        self.assertEqual(self.expect(0, "events", "--job", "train").stdout,
                         "2023-11-14 22:13:20  train  JobRestarting  a worker failed\n")
        self.assertEqual(self.fake.asked[-1][2]["job"], ["default.train"])
        self.assertEqual(json.loads(self.expect(0, "events", "--json").stdout),
                         {"events": [event]})

    def test_followed_events_go_on_after_a_restart_until_ctrl_c(self):
        lives = iter(["1.1", "2.1"])
        told_twice = threading.Event()

        def stream(url):
            since = urllib.parse.parse_qs(url.query).get("since")
            life = next(lives, None)
            if life is None:
                self.assertEqual(since, ["2.1"])
                told_twice.set()
                return 503, {"error": {"message": "starting"}}
            event = {"number": 1, "at": NOW_NS, "name": "Life" + life, "message": ""}
            return 200, f"id: {life}\ndata: {json.dumps(event)}\n\n"
        self.fake.answers[("GET", "/api/v1/events")] = stream
        following = subprocess.Popen([PROGRAM, "events", "-f", "--timeout", "1"],
                                     env=self.environment, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
        self.assertTrue(told_twice.wait(60))
        following.send_signal(signal.SIGINT)
        out, err = following.communicate(timeout=60)
        self.assertEqual(following.returncode, 130, err)
        self.assertIn("Life1.1", out)
        self.assertIn("Life2.1", out)


class ReachingTest(VerbTest):
    def test_of_several_controllers_the_one_that_answers_is_asked(self):
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": [status("there")]})
        gone = Fake()
        gone.close()
        for servers in [f"{gone.url},{self.fake.url}", f"{self.fake.url}, {gone.url}"]:
            self.assertEqual(self.expect(0, "get", "--names", "--server", servers).stdout, "there\n")
        error = self.expect(5, "get", "--server", f"{gone.url},{gone.url}").stderr
        self.assertIn(f"{gone.url}, {gone.url}: no controller answers", error)
        self.assertIn("ftp", self.expect(2, "get", "--server", f"{gone.url},ftp://x").stderr)

    def test_one_of_several_that_does_not_lead_is_passed_over(self):
        leader = Fake()
        self.addCleanup(leader.close)
        leader.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": [status("led")]})
        self.fake.answers[("GET", "/api/v1/jobs")] = (503, {"error": {"message": "not known"}})
        self.assertEqual(self.expect(0, "get", "--names", "--server",
                                     f"{self.fake.url},{leader.url}").stdout, "led\n")

    def test_who_asks_is_told(self):
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": []})
        self.environment["LOGNAME"] = "ada"
        self.expect(0, "get")
        self.assertEqual(self.fake.asked[-1][4]["Orrery-User"], "ada")

    def test_no_controller_is_code_5_with_what_to_do(self):
        self.fake.close()
        done = self.expect(5, "get")
        self.assertIn("no controller answers", done.stderr)
        self.assertIn("orrery up", done.stderr)

    def test_a_controller_that_takes_nothing_is_code_5(self):
        self.fake.answers[("POST", "/api/v1/jobs/default.a/stop")] = (
            503, {"error": {"message": "the journal cannot be written"}})
        self.assertIn("the journal cannot be written",
                      self.expect(5, "stop", "a", "--timeout", "1").stderr)

    def test_what_was_taken_of_a_file_before_the_journal_failed_is_told(self):
        answers = iter([(503, {"error": {"message": "whether the request was is not known"},
                               "jobs": [{"name": "default.first"}]})])
        self.fake.answers[("POST", "/api/v1/jobs")] = lambda url: (
            (200, {"jobs": []}) if "dry_run" in url.query
            else next(answers, (503, {"error": {"message": "nothing new is taken"}})))
        file = self.write("two.yaml", "name: first\ncommand: [run]\n---\nname: second\ncommand: [run]\n")
        done = self.expect(5, "submit", file, "--timeout", "1")
        self.assertEqual(done.stdout, "first: submitted\n")
        self.assertIn("whether the request was is not known", done.stderr)

    def test_a_controller_that_is_late_is_no_absent_one(self):
        over = threading.Event()
        self.addCleanup(over.set)

        def late(_):
            over.wait(60)
            return 200, {"jobs": []}
        self.fake.answers[("GET", "/api/v1/jobs")] = late
        error = self.expect(5, "get", "--timeout", "1").stderr
        self.assertIn(f"{self.fake.url}: has not answered in time", error)
        self.assertIn("--timeout", error)
        self.assertNotIn("orrery up", error)

    def test_the_leader_is_followed(self):
        leader = Fake()
        self.addCleanup(leader.close)
        leader.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": [status("led")]})
        for answer in [(503, {"error": {"message": "follows", "leader": leader.url}}),
                       (307, "", ("Location", leader.url + "/api/v1/jobs"))]:
            self.fake.answers[("GET", "/api/v1/jobs")] = answer
            self.assertEqual(self.expect(0, "get", "--names").stdout, "led\n")

    def test_a_token_never_leaves_in_clear(self):
        token = self.write("token", "secret\n")
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": []})
        self.expect(0, "get", "--token-file", token)
        self.assertEqual(self.fake.asked[-1][4]["Authorization"], "Bearer secret")
        done = self.expect(2, "get", "--token-file", token, "--server", "http://192.0.2.1:22100")
        self.assertIn("in clear", done.stderr)

    def test_a_key_that_others_can_read_is_refused(self):
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, {"jobs": []})
        key = pathlib.Path(self.write("user.key", "a key\n"))
        words = ("get", "--cert", self.write("user.pem", "a certificate\n"), "--key", key)
        for mode in (0o644, 0o604, 0o660):
            key.chmod(mode)
            done = self.expect(2, *words)
            self.assertIn(f"{key}: rights: mode {mode:04o} found, others can read or write it and "
                          "take it for theirs; 0600 is needed: chmod 600", done.stderr)
        self.assertEqual(self.fake.asked, [], "nothing was asked with it")
        key.chmod(0o600)
        self.expect(0, *words)

    def test_all_that_is_unfit_is_told_at_once(self):
        done = self.expect(2, "get", "--server", "ftp://x", "--cert", "c.pem", "--timeout", "0",
                           "--token-file", str(self.folder / "none"))
        self.assertEqual(len(done.stderr.splitlines()), 4, done.stderr)

    def test_what_is_no_controller_is_said_so(self):
        self.fake.answers[("GET", "/api/v1/jobs")] = (200, "<html>")
        self.assertIn("no controller of Orrery", self.expect(5, "get").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
