"""orrery logs from outside, against canned answers: what is asked, printed and returned.

Usage: logs_test.py PROGRAM
"""

import json
import sys
import unittest
import urllib.parse

from client_test import VerbTest, status


class LogsTest(VerbTest):
    def test_logs_print_what_was_written(self):
        log = "".join(f"line {n}\n" for n in range(10))
        self.fake.answers[("GET", "/api/v1/jobs/default.train/logs")] = (
            200, log, ("Content-Type", "text/plain"))
        self.assertEqual(self.expect(0, "logs", "train").stdout, log)
        self.assertEqual(self.expect(0, "logs", "train", "--tail", "2").stdout, "line 8\nline 9\n")
        self.assertEqual(self.expect(0, "logs", "train", "--tail", "0").stdout, "")
        self.expect(0, "logs", "train", "--role", "actor", "--rank", "3")
        self.assertEqual(self.fake.asked[-1][2], {"rank": ["3"], "role": ["actor"]})
        self.expect(2, "logs", "train", "--rank", "first")

    def test_followed_logs_end_with_the_worker(self):
        stream = ": hello\n\ndata: one\n\nevent: log\ndata: two\n\nevent: end\ndata: x\n\n"
        self.fake.answers[("GET", "/api/v1/jobs/default.train/logs")] = (
            200, stream, ("Content-Type", "text/event-stream"))
        self.assertEqual(self.expect(0, "logs", "train", "-f").stdout, "one\ntwo\n")
        streams = [each for each in self.fake.asked if each[1].endswith("/logs")]
        self.assertEqual(len(streams), 1)
        self.assertEqual(streams[0][4]["Accept"], "text/event-stream")

    def member(self, incarnation, state="Ready", rank=0):
        return {"rank": rank, "role": "main", "local_rank": rank, "node": "n0", "state": state,
                "devices": [], "incarnation": incarnation}

    def test_a_followed_log_goes_on_with_the_next_start_until_the_job_is_over(self):
        said = {1: "first", 2: "second"}
        read = []

        def stream(url):
            read.append(urllib.parse.parse_qs(url.query))
            return (200, f"event: log\ndata: {said[len(read)]}\n\nevent: end\ndata: \n\n",
                    ("Content-Type", "text/event-stream"))

        def job(_):
            begun = max(len(read), 1) if len(read) < 2 else 2
            # After the first log the worker has started again; after the second the job is over.
            return 200, status("train", "Failed" if len(read) == 2 else "Running",
                               members=[self.member(begun + (len(read) == 1))])
        self.fake.answers = {("GET", "/api/v1/jobs/default.train/logs"): stream,
                             ("GET", "/api/v1/jobs/default.train"): job}
        done = self.expect(0, "logs", "train", "-f", "--tail", "5")
        self.assertEqual(done.stdout, "first\nsecond\n")
        self.assertIn("main 0 has started again on n0", done.stderr)
        self.assertEqual(read[0]["tail_lines"], ["5"])
        self.assertNotIn("tail_lines", read[1])

    def test_a_followed_log_ends_with_its_job_though_another_takes_the_name(self):
        """Nothing of the other is shown; where the log broke off, its rest is missing: exit code 5."""
        for ending, code in (("end", 0), ("error", 5)):
            logs = iter([f"data: one\n\nevent: {ending}\ndata: \n\n"])
            numbers = iter([7])
            self.fake.answers = {
                ("GET", "/api/v1/jobs/default.train/logs"): lambda _: (
                    200, next(logs, "data: of another\n\nevent: end\ndata: \n\n"),
                    ("Content-Type", "text/event-stream")),
                ("GET", "/api/v1/jobs/default.train"): lambda _: (
                    200, status("train", "Running", id=next(numbers, 8), members=[self.member(1)]))}
            done = self.expect(code, "logs", "train", "-f")
            self.assertEqual(done.stdout, "one\n")
            self.assertEqual(done.stderr.count("train: is over, and another job has its name now"), 1)

    def test_a_followed_log_that_breaks_off_goes_on_where_it_was(self):
        """And from the beginning with another start, of which as many lines were left out."""
        for start, log, new in ((1, "data: one\n\ndata: two\n\ndata: three\n\n", "three"), (2, "data: new\n\n", "new")):
            bodies = iter(["data: one\n\ndata: two\n\nevent: error\ndata: it has ended\n\n",
                           log + "event: end\ndata: \n\n"])
            starts = iter([1])
            self.fake.answers = {
                ("GET", "/api/v1/jobs/default.train/logs"):
                    lambda _: (200, next(bodies), ("Content-Type", "text/event-stream")),
                ("GET", "/api/v1/jobs/default.train"): lambda _: (200, status(
                    "train", "Succeeded", members=[self.member(next(starts, start), "Succeeded")]))}
            done = self.expect(0, "logs", "train", "-f")
            self.assertEqual(done.stdout, f"one\ntwo\n{new}\n")
            self.assertIn("waiting for the controller", done.stderr)
            self.assertEqual("has started again" in done.stderr, start == 2)

    def test_a_followed_log_outlives_an_outage_of_its_nodes_agent(self):
        """503, or 404 by older controllers, while the worker lives on: the log ended there, with code 0."""
        broken = (200, "data: one\n\nevent: error\ndata: out of reach\n\n", ("Content-Type", "text/event-stream"))
        whole = (200, "data: one\n\ndata: two\n\nevent: end\ndata: \n\n", ("Content-Type", "text/event-stream"))
        for code in (503, 404):
            away = (code, {"error": {"message": "there is no log: the node's agent is out of reach"}})
            answers = iter([broken, away, away, whole])
            left = [4]

            def log(_):
                left[0] -= 1
                return next(answers)
            self.fake.answers = {
                ("GET", "/api/v1/jobs/default.train/logs"): log,
                ("GET", "/api/v1/jobs/default.train"): lambda _: (200, status(
                    "train", "Running" if left[0] else "Succeeded",
                    members=[self.member(1, "Ready" if left[0] else "Succeeded")]))}
            done = self.expect(0, "logs", "train", "-f")
            self.assertEqual(done.stdout, "one\ntwo\n")
            self.assertEqual(done.stderr.count("the log broke off"), 1)

    def test_a_followed_log_goes_on_behind_the_last_id(self):
        """Also with --tail, where what came meanwhile was left out, and after a line that broke off."""
        for options in ((), ("--tail", "1")):
            asked = []
            bodies = iter([
                "id: 1.90\ndata: old\n\nid: 1.94\ndata: one\n\nid: 1.94\ndata: tw\n\nevent: error\ndata: gone\n\n",
                "id: 1.98\ndata: two\n\nevent: error\ndata: gone\n\n",
                "id: 1.120\nevent: lost\ndata: 22\n\nid: 1.125\ndata: five\n\nevent: end\ndata: \n\n"])

            def log(url):
                asked.append(urllib.parse.parse_qs(url.query))
                return 200, next(bodies), ("Content-Type", "text/event-stream")
            self.fake.answers = {
                ("GET", "/api/v1/jobs/default.train/logs"): log,
                ("GET", "/api/v1/jobs/default.train"): lambda _: (200, status(
                    "train", "Succeeded", members=[self.member(1, "Succeeded")]))}
            done = self.expect(0, "logs", "train", "-f", *options)
            self.assertEqual(done.stdout, "old\none\ntwo\nfive\n")
            self.assertEqual([each.get("since") for each in asked], [None, ["1.94"], ["1.98"]])
            self.assertNotIn("tail_lines", asked[1])
            self.assertIn("22 bytes that came meanwhile are kept no longer", done.stderr)

    def test_a_line_that_broke_off_is_printed_where_no_rest_comes(self):
        bodies = iter([(200, "id: 1.4\ndata: one\n\nid: 1.4\ndata: tw\n\nevent: error\ndata: gone\n\n",
                        ("Content-Type", "text/event-stream"))])
        gone = (404, {"error": {"message": "there is no log"}})
        self.fake.answers = {
            ("GET", "/api/v1/jobs/default.train/logs"): lambda _: next(bodies, gone),
            ("GET", "/api/v1/jobs/default.train"):
                (200, status("train", "Failed", members=[self.member(1, "Lost")]))}
        self.assertEqual(self.expect(0, "logs", "train", "-f").stdout, "one\ntw\n")

    def test_all_logs_take_workers_that_come_later(self):
        looks = []

        def log(url):
            rank = urllib.parse.parse_qs(url.query)["rank"][0]
            return (200, f"data: from {rank}\n\nevent: end\ndata: \n\n",
                    ("Content-Type", "text/event-stream"))

        def job(_):
            looks.append(1)
            grown = len(looks) > 5
            return 200, status("train", "Succeeded" if len(looks) > 8 else "Running",
                               members=[self.member(1, "Succeeded")] +
                               ([self.member(1, "Succeeded", rank=1)] if grown else []))
        self.fake.answers = {("GET", "/api/v1/jobs/default.train/logs"): log,
                             ("GET", "/api/v1/jobs/default.train"): job}
        done = self.expect(0, "logs", "train", "--all", "-f")
        self.assertEqual(sorted(done.stdout.splitlines()), ["main 0 | from 0", "main 1 | from 1"])

    def test_the_rest_of_a_log_whose_job_is_over_is_not_waited_for_without_end(self):
        bodies = iter([(200, "data: one\n\nevent: error\ndata: out of reach\n\n",
                        ("Content-Type", "text/event-stream"))])
        away = (503, {"error": {"message": "there is no log: the node's agent is out of reach"}})
        self.fake.answers = {
            ("GET", "/api/v1/jobs/default.train/logs"): lambda _: next(bodies, away),
            ("GET", "/api/v1/jobs/default.train"):
                (200, status("train", "Failed", members=[self.member(1, "Lost")]))}
        done = self.expect(5, "logs", "train", "-f")
        self.assertEqual(done.stdout, "one\n")
        self.assertIn("the job is over, and the rest of the log of rank 0 cannot be read", done.stderr)

    def test_one_node_out_of_reach_hides_no_other_log(self):
        def log(url):
            if urllib.parse.parse_qs(url.query)["rank"] == ["0"]:
                return 503, {"error": {"message": "there is no log: the node's agent is out of reach"}}
            return 200, "here\n", ("Content-Type", "text/plain")
        self.fake.answers = {
            ("GET", "/api/v1/jobs/default.train/logs"): log,
            ("GET", "/api/v1/jobs/default.train"):
                (200, status("train", members=[self.member(1), self.member(1, rank=1)]))}
        done = self.expect(5, "logs", "train", "--all", "--timeout", "1")
        self.assertEqual(done.stdout, "main 1 | here\n")
        self.assertIn("job default.train, main 0: there is no log", done.stderr)

    def test_logs_of_all_workers_have_their_names(self):
        def log(url):
            query = urllib.parse.parse_qs(url.query)
            return 200, f"from {query['role'][0]} {query['rank'][0]}\n", ("Content-Type", "text/plain")
        self.fake.answers = {
            ("GET", "/api/v1/jobs/default.train/logs"): log,
            ("GET", "/api/v1/jobs/default.train"):
                (200, status("train", members=[self.member(1), self.member(1, rank=1)]))}
        self.assertEqual(self.expect(0, "logs", "train", "--all").stdout,
                         "main 0 | from main 0\nmain 1 | from main 1\n")
        logs = json.loads(self.expect(0, "logs", "train", "--all", "--json").stdout)["logs"]
        self.assertEqual([(each["role"], each["rank"], each["lines"]) for each in logs],
                         [("main", 0, ["from main 0"]), ("main", 1, ["from main 1"])])
        self.assertIn("--all", self.expect(2, "logs", "train", "--all", "--rank", "1").stderr)

    def test_logs_of_the_start_before(self):
        self.fake.answers[("GET", "/api/v1/jobs/default.train/logs")] = (
            200, "old\n", ("Content-Type", "text/plain"))
        self.assertEqual(self.expect(0, "logs", "train", "--previous").stdout, "old\n")
        self.assertEqual(self.fake.asked[-1][2]["previous"], ["1"])
        self.expect(2, "logs", "train", "--previous", "-f")

    def test_a_log_that_is_none_says_why(self):
        self.fake.answers[("GET", "/api/v1/jobs/default.train/logs")] = (404, {"error": {
            "message": "there is no log: the worker never started: /no/program"}})
        done = self.expect(1, "logs", "train")
        self.assertEqual(done.stdout, "")
        self.assertIn("the worker never started: /no/program", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
