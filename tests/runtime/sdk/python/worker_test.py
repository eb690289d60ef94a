#!/usr/bin/env python3
"""The life of a worker: drain, stop, membership, its agent, its controller, its checkpoints."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

import fakes
import orrery
from orrery import agent, loop, turns


class Blame(unittest.TestCase):
    """Whose fault a worker says its end is: what its agent hears, and nothing more than once."""

    def blaming(self, how):
        """What a worker said that blames so, and its exit code."""
        with fakes.FakeJob() as job:
            job.add("judge", waits=False)  # So the actor's rank in the job is another than in its role.
            job.add("actor")
            worker, = job.add("trainer", program="blaming.py", environment={"BLAMES": how},
                              waits=False)
            if how.startswith("serves"):
                job.wait_listening([worker])
                job.next_generation()
            code = worker.process.wait(fakes.PATIENCE_S)

            # All that it has said before its end is read before its agent sees that end.
            fakes.wait_for(job.changed, "the end of its connection", lambda: worker.agent.ended)
            found = []
            for line in worker.agent.lines:  # Said again after each hello.
                if "diagnosis" in line and line["diagnosis"] not in found:
                    found.append(line["diagnosis"])
            return found, code

    def test_what_was_said_last_has_gone_before_the_end(self):
        said, code = self.blaming("says")
        self.assertEqual([line["fault"] for line in said], ["mine", "node"])
        self.assertTrue(said[1]["message"].startswith("row remapping failed: ä"))
        self.assertLessEqual(len(said[1]["message"].encode()), 512)
        self.assertEqual(code, 3)

    def test_a_worker_that_was_lost_is_to_blame_where_nothing_catches_it(self):
        for how in ("loop", "serves", "context", "serves_caught", "context_caught"):
            with self.subTest(how):
                said, code = self.blaming(how)
                self.assertEqual(len(said), 1, said)
                self.assertEqual((said[0]["fault"], said[0]["role"], said[0]["rank"]),
                                 ("peer", "actor", 0))
                self.assertIn("lost", said[0]["message"])
                self.assertEqual(code, 1)

    def test_the_program_knows_better(self):
        said, code = self.blaming("says_first")
        self.assertEqual(said, [{"fault": "mine", "message": "never mind the peer"}])
        self.assertEqual(code, 1)

    def test_a_loss_that_is_caught_blames_no_worker(self):
        said, code = self.blaming("catches")
        self.assertEqual((said, code), ([], 4))

    def test_the_loss_of_another_jobs_worker_blames_none_of_the_own(self):
        with fakes.FakeJob() as job, fakes.FakeJob("default.other", number=8) as other:
            other.add("actor")
            job.add("actor")
            worker, = job.add("trainer", program="blaming.py", waits=False,
                              environment={"BLAMES": "other_job", "OTHER_URL": other.url})
            self.assertEqual(worker.process.wait(fakes.PATIENCE_S), 1)
            fakes.wait_for(job.changed, "the end of its connection", lambda: worker.agent.ended)
            self.assertEqual([line for line in worker.agent.lines if "diagnosis" in line], [])

    def test_it_is_said_again_to_an_agent_that_comes_back(self):
        with fakes.FakeJob() as job:
            probe, = job.add("actor")
            peer = job.driver().peer("actor")
            peer.call("blame", "node", "no memory")
            word = {"diagnosis": {"fault": "node", "message": "no memory"}}
            fakes.wait_for(job.changed, "its word", lambda: word in probe.agent.lines)
            probe.agent.close()
            probe.agent.lines.clear()
            probe.agent.open()
            fakes.wait_for(job.changed, "its word again", lambda: word in probe.agent.lines)
            self.assertEqual(probe.agent.hellos, 2)

    def test_what_is_said_right_after_the_end_of_the_connection_is_heard(self):
        changed = threading.Condition()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        heard_by = fakes.FakeAgent(f"{folder.name}/agent", "w", "t", dict, changed)
        self.addCleanup(heard_by.close)
        connection = agent.Agent(heard_by.path, "w", "t", lambda _membership: None)
        connection.start()
        fakes.wait_for(changed, "hello", lambda: heard_by.hellos == 1)
        word = {"progress": {"done": 1.0}}

        def in_one_turn():
            # What other threads ask for may come so where the machine is busy.
            connection._close()
            connection._start()
            connection._say(word)
        loop.get().call_soon_threadsafe(in_one_turn)
        fakes.wait_for(changed, "its word", lambda: word in heard_by.lines)
        connection.close()

    def test_a_line_that_cannot_be_taken_ends_no_connection(self):
        changed, told = threading.Condition(), []
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        heard_by = fakes.FakeAgent(f"{folder.name}/agent", "w", "t", dict, changed)
        self.addCleanup(heard_by.close)

        def on_membership(membership):
            with changed:
                told.append(membership)
                changed.notify_all()
            raise TypeError("what it does with the line")
        connection = agent.Agent(heard_by.path, "w", "t", on_membership)
        with self.assertLogs("orrery", "ERROR") as logged:
            connection.start()
            fakes.until(lambda: logged.records, "what was raised at the first line")
        heard_by.send({"membership": {}})
        fakes.wait_for(changed, "the second line", lambda: len(told) > 1)
        self.assertEqual(heard_by.hellos, 1)
        connection.close()

    def test_what_makes_no_sense_is_refused(self):
        worker = orrery.Worker.join({"ORRERY_WORKER": "7-0-0"}, drain_on_sigterm=False)
        for words in (("nobody",), ("peer",), ("peer", "", "actor"), ("peer", "", "actor", -1),
                      ("node", "", "actor", 0), ("mine", "", None, 0), ("peer", "", "", 0)):
            with self.subTest(words), self.assertRaises(orrery.BadArguments):
                worker.diagnose(*words)
        worker.diagnose("peer", "where there is no agent it is dropped", role="actor", rank=0)


class Life(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "actor")
        self.worker, = self.job.workers
        self.peer = self.job.driver().peer("actor")

    def said(self, kind):
        return [line[kind] for line in self.worker.agent.lines if kind in line]

    def test_hello_and_endpoint(self):
        self.assertEqual(self.said("hello"), [{"worker": self.worker.name, "token": self.worker.token}])
        self.assertEqual(self.worker.agent.endpoint["certificate"], "")
        self.assertEqual(self.peer.call("place"), ["actor", 0, 0, 1, 1])

    def test_sigterm_finishes_the_running_call_and_cancels_the_others(self):
        leave = self.job.folder / "leave"
        held = self.peer.submit("hold_until_exists", str(leave))
        self.peer.call("await_begun")
        waiting = [self.peer.submit("record", number=number) for number in range(3)]
        self.worker.process.terminate()
        for future in waiting:
            with self.assertRaises(orrery.Cancelled):
                future.result(60)
        with self.assertRaises(orrery.Cancelled):  # Nothing new is begun either.
            self.peer.call("record", number=3, deadline=60)
        with self.assertRaises(orrery.Cancelled):
            self.peer.call("seen", deadline=60)
        self.assertFalse(held.done())
        leave.touch()
        self.assertIs(held.result(60), True)  # It was told that no caller waits.
        self.assert_drained()

    def assert_drained(self):
        """It has ended in good order, after on_drain()."""
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 143)
        self.assertTrue((self.job.folder / f"drained-{self.worker.name}").exists())

    def test_a_drain_tells_what_runs_that_no_caller_waits(self):
        for_methods = ("hold_and_check", "hold_beside")  # One by one, and concurrently.
        for method in for_methods:
            with self.subTest(method=method):
                held = self.peer.submit(method)
                self.peer.call("await_begun")
                self.worker.process.terminate()
                # Not Cancelled, after which callers would make it again elsewhere.
                with self.assertRaises(orrery.Remote) as raised:
                    held.result(30)
                self.assertTrue(raised.exception.class_.endswith("Cancelled"))
                self.assert_drained()
                self.job.start(self.worker)
                self.job.wait_listening()

    def test_a_drain_ends_lists_that_are_given_item_by_item(self):
        held = self.peer.submit("count", 10**12)
        fakes.until(lambda: self.peer.call("seen")["produced"], "its begin")
        self.worker.process.terminate()
        with self.assertRaises(orrery.Remote):
            held.result(30)
        self.assert_drained()

    def test_the_running_calls_answer_is_sent_before_the_exit(self):
        held = self.peer.submit("hold_until_draining")
        self.peer.call("await_begun")
        self.worker.process.terminate()
        self.assertEqual(held.result(60), b"x" * (8 << 20))
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 143)

    def test_a_drain_ends_streams_at_their_next_wait(self):
        stream = self.peer.stream("count", 1_000_000, credit=2)
        self.assertEqual(next(stream), 0)
        self.worker.process.terminate()
        with self.assertRaises(orrery.Cancelled):
            for _ in stream:
                pass
        self.assert_drained()

    def test_a_drain_ends_streams_that_are_being_read(self):
        stream = self.peer.stream("count", 10**12, deadline=30)
        self.assertEqual(next(stream), 0)
        self.worker.process.terminate()
        with self.assertRaises(orrery.Cancelled):
            for _ in stream:
                pass
        self.assert_drained()

    def test_a_drain_ends_streams_that_work_on_their_next_item(self):
        stream = self.peer.stream("count_and_check", 1, deadline=30)
        self.assertEqual(next(stream), 0)
        self.peer.call("await_begun")
        self.worker.process.terminate()
        with self.assertRaises(orrery.Cancelled):
            next(stream)
        self.assert_drained()

    def test_an_idle_worker_drains_at_once(self):
        self.assertEqual(self.job.drain(self.worker), 143)

    def test_stop_returns_the_code(self):
        self.assertEqual(self.peer.call("stop", 7), "stopping")
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 7)
        self.assertFalse((self.job.folder / f"drained-{self.worker.name}").exists())

    def test_nothing_is_begun_after_stop(self):
        held = self.peer.submit("stop", 7)
        behind = [self.peer.submit("record", number=number) for number in range(20)]
        self.assertEqual(held.result(60), "stopping")
        for future in behind:
            self.assertIsInstance(future.exception(60), (orrery.Cancelled, orrery.WorkerLost))
        self.assertEqual(self.worker.process.wait(fakes.PATIENCE_S), 7)

    def test_sigterm_before_serve_ends_the_program(self):
        early, = self.job.add("early", program="early.py")
        self.assertEqual(self.job.drain(early), -15)

    def test_memberships_are_taken_up_between_calls(self):
        held = self.peer.submit("hold")
        self.peer.call("await_begun")
        self.job.next_generation()
        fakes.until(lambda: self.peer.call("told_generation") == 2, "the membership")
        self.assertEqual(self.peer.call("seen")["memberships"], [])
        self.peer.call("release")
        held.result(60)
        self.assertEqual(self.peer.call("place")[-1], 2)
        self.assertEqual(self.peer.call("seen")["memberships"], [2])
        self.worker.agent.send({"membership": {**self.job.membership(self.worker), "generation": 1}})
        self.worker.agent.send({"membership": "nonsense"})
        self.worker.agent.send({"error": "a line that was not understood"})
        self.job.next_generation()  # What is old or senseless has changed nothing.
        fakes.until(lambda: self.peer.call("seen")["memberships"] == [2, 3], "the next membership")

    def test_a_membership_that_comes_while_another_is_taken_up(self):
        """The worker hears of it, is called and calls others meanwhile."""
        self.job.add("other")
        self.peer.call("ask_at_next_membership", "other", 0)
        self.job.next_generation()
        self.assertTrue(self.peer.call("await_begun", deadline=60))
        self.job.next_generation()
        fakes.until(lambda: self.peer.call("told_generation", deadline=20) == 3, "the one after it")
        self.peer.call("release", deadline=20)
        fakes.until(lambda: self.peer.call("seen", deadline=20)["memberships"] == [2, 3], "both")

    def test_an_agent_that_starts_anew_hears_it_all_again(self):
        self.assertEqual(self.peer.call("add", 1), 2)
        self.worker.agent.close()
        self.assertEqual(self.peer.call("add", 1), 2)  # The connection is there already.
        self.peer.call("report")  # Is said once the agent is back.
        self.worker.agent.lines.clear()
        self.worker.agent.open()
        fakes.wait_for(self.job.changed, "the endpoint", lambda: self.worker.agent.endpoint)
        fakes.wait_for(self.job.changed, "the report", lambda: self.said("progress"))
        self.assertEqual([next(iter(line)) for line in self.worker.agent.lines][:2], ["hello", "endpoint"])

    def test_how_far_a_worker_is_outlives_its_agent(self):
        self.peer.call("report")
        fakes.wait_for(self.job.changed, "the report", lambda: self.said("progress"))
        self.peer.call("report_without_checkpoint", 13)
        fakes.wait_for(self.job.changed, "the next", lambda: len(self.said("progress")) == 2)
        told = self.said("progress")
        self.worker.agent.close()
        self.worker.agent.lines.clear()
        self.worker.agent.open()
        fakes.wait_for(self.job.changed, "both again", lambda: len(self.said("progress")) == 2)
        self.assertEqual(self.said("progress"), told)
        self.assertEqual(self.said("profiling"), [])

    def test_how_far_a_worker_was_before_a_membership_is_not_said_again(self):
        self.peer.call("report")
        fakes.wait_for(self.job.changed, "the report", lambda: self.said("progress"))
        self.job.next_generation()
        fakes.until(lambda: self.peer.call("seen")["memberships"] == [2], "the membership")
        self.worker.agent.close()
        self.worker.agent.lines.clear()
        self.worker.agent.open()
        self.peer.call("report_without_checkpoint", 14)
        fakes.wait_for(self.job.changed, "the next", lambda: self.said("progress"))
        self.assertEqual([each["done"] for each in self.said("progress")][:1], [14])

    def test_reports(self):
        self.peer.call("report")
        fakes.wait_for(self.job.changed, "the reports", lambda: self.said("progress"))
        self.assertEqual(self.said("profiling"), [{"step_time_s": 0.5, "throughput": 64, "batch_size": 32}])
        self.assertEqual(self.said("progress"), [{"done": 12, "rate": 3.5, "checkpointed": True}])

    def test_reports_of_what_is_no_finite_number(self):
        worker, said = self.worker_of_job(), []
        worker._say = said.append
        for report in (lambda: worker.report_profiling(throughput="fast"), lambda: worker.report_progress("x"),
                       lambda: worker.report_progress(1, loss=object()), lambda: worker.report_progress(1, rate=[])):
            with self.assertRaises(orrery.BadArguments) as raised:
                report()
            self.assertRegex(raised.exception.message, "throughput|done|loss|rate")
        with self.assertLogs("orrery", "WARNING") as logged:
            worker.report_profiling(throughput=float("nan"), step_time_s=0.5)
            worker.report_profiling(throughput=float("inf"))
            worker.report_progress(float("nan"))
            worker.report_progress(3, loss=float("nan"), epoch=2)
            worker.report_progress(4, remaining_s=-4, loss=-1)
            worker.report_profiling(step_time_s=-1, batch_size=8)
            worker.report_progress(-1, rate=2)
        self.assertEqual(len(logged.records), 7)
        self.assertEqual(said, [{"profiling": {"step_time_s": 0.5}},
                                {"progress": {"done": 3, "epoch": 2, "checkpointed": False}},
                                {"progress": {"done": 4, "loss": -1, "checkpointed": False}},
                                {"profiling": {"batch_size": 8}}])

    def test_turns_that_make_no_sense(self):
        worker = self.worker_of_job()
        for lease_s in (None, "x", float("nan"), 0.5, 3601, float("inf")):
            with self.subTest(lease_s=lease_s), self.assertRaises(orrery.BadArguments):
                worker.turn(lease_s=lease_s)
        with self.assertRaises(orrery.BadArguments):
            worker.turn(deadline="x")
        with worker.turn(lease_s=1):
            """Where there is no agent every worker has its turn."""

    def test_words_of_a_sub_master(self):
        self.peer.call("lead")
        self.worker.agent.send({"sub_master": {"role": "actor", "incident": 3, "word": "recover"}})
        fakes.wait_for(self.job.changed, "its answer", lambda: self.said("sub_master"))
        self.assertEqual(self.said("sub_master"), [{"role": "actor", "incident": 3, "word": "ask_state"}])

    def test_what_a_sub_master_raises_ends_no_connection(self):
        self.peer.call("lead_badly")
        for incident, word in enumerate(("unheard_of", "exit", "recover"), 1):
            self.worker.agent.send({"sub_master": {"role": "actor", "incident": incident, "word": word}})
        fakes.wait_for(self.job.changed, "the answer to the last", lambda: self.said("sub_master"))
        self.assertEqual(self.said("sub_master"), [{"role": "actor", "incident": 3, "word": "ask_state"}])
        self.job.next_generation()
        fakes.until(lambda: self.peer.call("seen", deadline=20)["memberships"] == [2], "the membership")
        self.assertEqual(self.worker.agent.hellos, 1)

    def test_lines_that_make_no_sense_end_no_connection(self):
        self.worker.agent.send({"membership": {**self.job.membership(self.worker), "generation": float("inf")}})
        self.worker.agent.send({"membership": {**self.job.membership(self.worker), "members": [{"rank": []}, {}]}})
        self.job.next_generation()
        fakes.until(lambda: self.peer.call("seen", deadline=20)["memberships"] == [2], "the membership")
        self.assertEqual(self.worker.agent.hellos, 1)

    def test_replicas_as_a_workers_token_may(self):
        self.assertEqual(self.peer.call("change_replicas"), ["127.0.0.1"])
        self.assertEqual([(method, path, body) for method, path, _, body in self.job.posts],
                         [("POST", "/v2alpha1/default.train/replicas", {"replicas": 2}),
                          ("DELETE", "/v2alpha1/default.train/replicas", {"replicas": 1})])

    def worker_of_job(self):
        return orrery.Worker.join({"ORRERY_WORKER": "7-0-0", "ORRERY_JOB": self.job.job,
                                   "ORRERY_SERVER_URL": self.job.url}, drain_on_sigterm=False)

    def test_a_change_of_replicas_is_one_however_often_it_is_sent(self):
        worker = self.worker_of_job()
        self.job.refusals = [(503, {}, {}), (500, {}, {"success": False, "message": "not known"})]
        worker.add_replicas(2)
        worker.remove_replicas(1)
        keys = [headers["Idempotency-Key"] for _, _, headers, _ in self.job.posts]
        self.assertEqual([method for method, *_ in self.job.posts], ["POST", "POST", "POST", "DELETE"])
        self.assertEqual((len(set(keys)), len(set(keys[:3]))), (2, 1))
        self.assertNotIn("", keys)

    def test_changes_of_replicas_that_make_no_sense(self):
        worker = self.worker_of_job()
        for count in (0, -1, 2.7, True, "2", [1]):
            for change in (worker.add_replicas, worker.remove_replicas):
                with self.subTest(count=count), self.assertRaises(orrery.BadArguments):
                    change(count)
        self.assertEqual(self.job.posts, [])
        self.job.refusals = [(400, {}, {"success": False, "code": 400, "data": None,
                                        "message": "default.train: 1 to 4 are allowed"})]
        with self.assertRaises(orrery.BadArguments) as raised:
            worker.add_replicas(9)
        self.assertIn("1 to 4 are allowed", raised.exception.message)

    def test_calls_before_serve_wait_for_it(self):
        early, = self.job.add("early", program="early.py")
        peer = self.job.driver().peer("early")
        waiting = [peer.submit("add", number, deadline=120) for number in range(3)]
        with self.assertRaises(orrery.Timeout):
            peer.call("add", 1, deadline=0.2)
        peer.call("orrery.channel.create", name="go", capacity=1)
        peer.call("orrery.channel.put", name="go", items=[[None, 1, "go"]])
        self.assertEqual([future.result() for future in waiting], [1, 2, 3])


class Loops(unittest.TestCase):
    """Workers with a main loop of their own, beside which they are called."""

    def test_a_training_loop_takes_up_memberships_and_ends(self):
        with fakes.FakeJob() as job:
            worker, = job.add("trainer", program="trainer.py")
            peer = job.driver().peer("trainer")
            self.assertEqual(peer.call("generations"), [])
            self.assertEqual(peer.call("add", 1), 2)
            job.next_generation()
            fakes.until(lambda: peer.call("generations") == [2], "the safe point")
            self.assertEqual(job.drain(worker), 143)
            self.assertIn("saved at step", (job.folder / "trained").read_text(encoding="utf-8"))

    def test_the_exit_of_a_method_is_that_of_finish(self):
        with fakes.FakeJob() as job:
            worker, = job.add("trainer", program="trainer.py")
            with self.assertRaises(orrery.Remote) as raised:
                job.driver().peer("trainer").call("exit", 7, deadline=60)
            self.assertEqual(raised.exception.class_, "SystemExit")
            self.assertEqual(job.drain(worker), 7)
            self.assertIn("saved at step", (job.folder / "trained").read_text(encoding="utf-8"))

    def test_without_an_agent_a_program_runs_as_well(self):
        program = ("import orrery\nworker = orrery.Worker.join({})\n"
                   "worker.report_progress(1)\nassert worker.safe_point() is None\n"
                   "print(worker.rank, worker.world_size, worker.generation)\n")
        done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(fakes.PACKAGE)},
                              timeout=60, capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "0 1 0\n")

    def test_a_program_that_reports_and_ends_has_reported(self):
        with fakes.FakeJob() as job:
            worker, = job.add("reporter", program="reporter.py", waits=False)
            self.assertEqual(worker.process.wait(fakes.PATIENCE_S), 0)
            fakes.wait_for(job.changed, "its report",
                           lambda: [line for line in worker.agent.lines if "progress" in line])

    def test_the_file_is_followed_where_there_is_no_socket(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "membership"
            line = '{{"membership":{{"generation":{0},"rank":{0},"world_size":9,"members":[]}}}}\n'
            path.write_text(line.format(4), encoding="utf-8")
            worker = orrery.Worker.join({"ORRERY_MEMBERSHIP": str(path), "ORRERY_GENERATION": "3"},
                                        drain_on_sigterm=False)
            self.assertEqual((worker.generation, worker.rank, worker.world_size), (4, 4, 9))
            self.assertIsNone(worker.safe_point())
            new = path.with_suffix(".new")
            new.write_text(line.format(5), encoding="utf-8")
            new.replace(path)
            self.assertEqual(worker.safe_point().generation, 5)
            self.assertIsNone(worker.safe_point())

    def test_what_is_needed_to_be_called(self):
        with self.assertRaises(orrery.BadArguments) as raised:
            orrery.Worker.join({"ORRERY_WORKER": "7-0-0"}, drain_on_sigterm=False).listen()
        self.assertIn("ORRERY_TOKEN", raised.exception.message)

    def test_names_of_methods(self):
        class Twice:
            @orrery.method(name="a")
            def one(self):
                """The first."""

            @orrery.method(name="a")
            def two(self):
                """The second."""
        worker = orrery.Worker.join({}, drain_on_sigterm=False)
        with self.assertRaises(ValueError):
            worker.serve(Twice())


class CheckpointFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "job"
        self.checkpoints = orrery.Checkpoints(self.folder)

    def test_the_newest_whole_one_is_found(self):
        self.assertEqual(self.checkpoints.newest(), (None, None))
        for step in (5, 100, 20):
            self.checkpoints.save(step, b"step %d" % step)
        (self.folder / ".half.part").write_bytes(b"half")
        (self.folder / "checkpoint-xyz").write_bytes(b"other")
        step, path = self.checkpoints.newest()
        self.assertEqual((step, pathlib.Path(path).read_bytes()), (100, b"step 100"))
        self.checkpoints.save(200, lambda file: file.write(b"written"), keep=2)
        self.assertEqual(self.checkpoints.steps(), [100, 200])

    def test_a_save_that_fails_leaves_nothing(self):
        self.checkpoints.save(1, b"first")

        def fail(file):
            file.write(b"half")
            raise OSError("no space left")
        with self.assertRaises(OSError):
            self.checkpoints.save(1, fail)
        self.assertEqual(os.listdir(self.folder), ["checkpoint-000000000001"])
        self.assertEqual(pathlib.Path(self.checkpoints.path(1)).read_bytes(), b"first")


    def test_numbers_that_make_no_sense(self):
        self.checkpoints.save(1, b"first")
        for step, keep in ((-5, 0), ("1", 0), (1.5, 0), (2, -1), (2, "1"), (2, None)):
            with self.subTest(step=step, keep=keep), self.assertRaises(orrery.BadArguments):
                self.checkpoints.save(step, b"x", keep=keep)
        self.assertEqual(self.checkpoints.steps(), [1])

    def test_another_worker_may_have_removed_the_old_ones(self):
        self.checkpoints.save(1, b"first")
        self.checkpoints.save(2, b"second")
        steps = self.checkpoints.steps

        def slowly():
            found = steps()
            self.checkpoints.steps = steps
            os.unlink(self.checkpoints.path(1))
            return found
        self.checkpoints.steps = slowly
        self.checkpoints.save(3, b"third", keep=1)
        self.assertEqual(self.checkpoints.steps(), [3])

    def test_what_killed_saves_left_goes_after_a_day(self):
        self.checkpoints.save(1, b"first")
        names = [".orrery-abc_1.part", ".orrery-new_2.part", ".half.part", "checkpoint-x.part"]
        for name in names:
            (self.folder / name).write_bytes(b"half")
        for name in (names[0], *names[2:]):
            os.utime(self.folder / name, (1, 1))
        self.checkpoints.save(2, b"second")
        self.assertEqual({path.name for path in self.folder.iterdir() if path.name.endswith("part")}, set(names[1:]))

    def test_an_interrupt_at_the_last_moment_is_no_other_error(self):
        replace = os.replace

        def interrupted(source, target):
            replace(source, target)
            raise KeyboardInterrupt
        with unittest.mock.patch.object(os, "replace", interrupted), self.assertRaises(KeyboardInterrupt):
            self.checkpoints.save(1, b"whole")
        self.assertEqual(pathlib.Path(self.checkpoints.path(1)).read_bytes(), b"whole")


class Turns(unittest.TestCase):
    """What is said to the agent of turns, and what becomes of its answers."""

    def setUp(self):
        self.said, self.is_there, self.results = [], True, []
        self.turns = turns.Turns(self.say_now)

    def say_now(self, line):
        if self.is_there:
            self.said.append(line["turn"]["word"])
        return self.is_there

    def on_loop(self, function, *arguments):
        async def run():
            return function(*arguments)
        return loop.run(run())

    def take(self):
        def wait():
            try:
                self.turns.wait(60, fakes.PATIENCE_S)
                self.results.append("granted")
            except orrery.BadArguments as error:
                self.results.append(str(error))
        thread = threading.Thread(target=wait)
        self.addCleanup(thread.join)
        asked = self.said.count("ask")
        thread.start()
        if self.is_there:
            fakes.until(lambda: self.said.count("ask") > asked, "the ask")
        return thread

    def test_a_turn_is_asked_for_granted_and_released(self):
        thread = self.take()
        self.assertEqual(self.results, [])
        self.on_loop(self.turns.granted)
        thread.join()
        self.turns.give_back()
        self.on_loop(int)
        self.assertEqual((self.said, self.results), (["ask", "release"], ["granted"]))

    def test_a_late_grant_is_not_taken_for_that_of_the_next_ask(self):
        with self.assertRaises(orrery.Timeout):
            self.turns.wait(60, 0)
        self.on_loop(int)
        self.assertEqual(self.said, ["ask", "release", "renew"])
        thread = self.take()
        self.on_loop(self.turns.granted)  # Said before the agent heard the release.
        self.on_loop(self.turns.refused, "turn: this worker does not have the turn; ask for it first")
        self.on_loop(self.turns.refused, "turn: no")
        thread.join()
        self.assertEqual(self.results, ["BadArguments: turn: no"])

    def test_a_wait_that_is_interrupted_gives_the_turn_up(self):
        class Interrupted(BaseException):
            """As Ctrl-C raises."""

        def interrupt(*_):
            raise Interrupted

        def send():
            fakes.until(lambda: "ask" in self.said, "the ask")
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        before = signal.signal(signal.SIGUSR1, interrupt)
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        sender = threading.Thread(target=send)
        sender.start()
        with self.assertRaises(Interrupted):
            self.turns.wait(60, fakes.PATIENCE_S)
        sender.join()
        self.on_loop(int)
        self.assertEqual(self.said, ["ask", "release", "renew"])
        self.on_loop(self.turns.refused, "turn: this worker does not have the turn; ask for it first")
        thread = self.take()
        self.on_loop(self.turns.granted)
        thread.join()
        self.assertEqual(self.results, ["granted"])

    def test_an_agent_that_restarted_hears_what_holds_now(self):
        self.is_there = False
        thread = self.take()
        fakes.until(lambda: self.on_loop(self.turns.greeted), "a wish")
        self.assertEqual(self.on_loop(self.turns.greeted), {"turn": {"word": "ask", "lease_s": 60}})
        self.on_loop(self.turns.granted)
        thread.join()
        self.turns.give_back()
        self.on_loop(int)
        self.assertEqual(self.on_loop(self.turns.greeted), {"turn": {"word": "release"}})


if __name__ == "__main__":
    unittest.main()
