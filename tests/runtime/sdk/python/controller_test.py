#!/usr/bin/env python3
"""The controller's side: an away, moved or forgetful controller; virtual clusters and their jobs."""

import http.server
import pathlib
import shutil
import socket
import socketserver
import ssl
import tempfile
import threading
import time
import unittest
import unittest.mock

import fakes
import orrery
from orrery import directory


def ways_to_ask(driver, deadline):
    """All that has to find a worker first, by name."""
    return {"call": lambda: driver.peer("actor").call("add", 1, deadline=deadline),
            "stream": lambda: list(driver.peer("actor").stream("count", 1, deadline=deadline)),
            "group": lambda: driver.group("actor", deadline=deadline),
            "channel": lambda: driver.channel("queue", ("actor", 0)).put(1, deadline=deadline)}


class Away(unittest.TestCase):
    def setUp(self):
        self.job = fakes.kept_job(self, "actor")
        self.worker, = self.job.workers

    def test_a_controller_that_is_away_is_waited_for(self):
        self.job.refusals = [(503, {}, {"error": {"message": "starting"}}), (500, {}, {}), (408, {}, {})]
        self.assertEqual(self.job.driver().peer("actor").call("add", 1, deadline=60), 2)

    def test_a_controller_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
        for name, ask in ways_to_ask(orrery.Driver.connect(url, self.job.job), 0.3).items():
            with self.subTest(way=name), self.assertRaises(orrery.Timeout) as raised:
                ask()
            self.assertIn("refused", raised.exception.message)
            self.assertIn(url, raised.exception.message)

    def test_a_controller_that_goes_while_a_worker_is_waited_for(self):
        other = fakes.FakeJob()
        self.addCleanup(other.close)
        other.phase = "Restarting"
        driver = orrery.Driver.connect(other.url, other.job)
        self.assertEqual(driver.peers().peers, ())
        future = driver.peer("actor").submit("add", 1, deadline=4)
        fakes.wait_for(other.changed, "its question", lambda: len(other.requests) > 1)
        other.close()
        with self.assertRaises(orrery.Timeout) as raised:
            future.result()
        self.assertIn("refused", raised.exception.message)

    def test_a_users_token_that_is_not_known(self):
        """Only workers' tokens are unknown for a moment."""
        driver = orrery.Driver.connect(self.job.url, self.job.job, token="orrery_wrong")
        for name, ask in ways_to_ask(driver, 20).items():
            with self.subTest(way=name), self.assertRaises(orrery.NotAuthorised) as raised:
                ask()
            self.assertIn("the token is of no worker that runs", raised.exception.message)

    def test_the_moment_of_an_unknown_token_is_not_that_of_a_question(self):
        """Questions may be shorter, and each of them would begin it anew."""
        controller = directory.Controller(self.job.url, "orrery_worker_wrong")
        asked = directory.Directory(controller, self.job.job)

        def error():
            with self.assertRaises(orrery.CallError) as raised:
                asked.ask(time.monotonic() + 0.05)
            return raised.exception
        with unittest.mock.patch.object(directory, "_UNKNOWN_TOKEN_S", 0.5):
            self.assertIsInstance(error(), orrery.Timeout)
            fakes.until(lambda: isinstance(error(), orrery.NotAuthorised), "its end", patience_s=20)

    def silent(self):
        """The address of a controller that takes requests and answers none."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)
        return f"http://127.0.0.1:{server.getsockname()[1]}"

    def test_controllers_that_do_not_answer_hold_up_no_other(self):
        waiting = [orrery.Driver.connect(self.silent(), self.job.job).peer("actor").submit("add", 1, deadline=25)
                   for _ in range(8)]
        self.assertEqual(self.job.driver().peer("actor").call("add", 1, deadline=15), 2)
        self.assertFalse(any(each.done() for each in waiting))
        for each in waiting:
            each.cancel()

    def test_a_question_ends_with_the_call_that_asks(self):
        driver = orrery.Driver.connect(self.silent(), self.job.job)
        with self.assertRaises(orrery.Timeout):
            driver.peer("actor").call("add", 1, deadline=0.1)
        fakes.until(driver.client.directory._asking.done, "the end of the question", patience_s=9)

    def test_a_call_with_more_time_asks_again(self):
        """It joins the question of one with little time, which ends without an answer."""
        self.job.refusals = [(503, {}, {"error": {"message": "starting"}})] * 6
        driver = self.job.driver()
        short = driver.peer("actor").submit("add", 1, deadline=0.1)
        long = driver.peer("actor").submit("add", 2, deadline=60)
        with self.assertRaises(orrery.Timeout):
            short.result()
        self.assertEqual(long.result(), 3)

    def test_the_next_of_several_controllers_is_asked(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}"
        driver = orrery.Driver.connect(f"{url},{self.job.url}/", self.job.job)
        self.assertEqual(driver.peer("actor").call("add", 1, deadline=60), 2)

    def test_the_address_in_the_file_is_that_of_the_one_that_leads_now(self):
        """The environment of a worker names the controller that led when it started."""
        file = self.job.folder / "server_url"
        file.write_text("http://127.0.0.1:1\n", encoding="utf-8")
        driver = orrery.Driver.from_environment(
            {"ORRERY_SERVER_URL": "http://127.0.0.1:1", "ORRERY_SERVER_URL_FILE": str(file),
             "ORRERY_JOB": self.job.job}, name="test")
        future = driver.peer("actor").submit("add", 1, deadline=60)
        fakes.until(lambda: "127.0.0.1:1 " in driver.controller.why_away() and driver.controller.trouble,
                    "a question that fails")
        file.write_text(self.job.url + "\n", encoding="utf-8")
        self.assertEqual(future.result(), 2)

    def test_another_controller_leads(self):
        moved = fakes.FakeJob()
        self.addCleanup(moved.close)
        moved.refusals = [(307, {"Location": f"{self.job.url}/api/v1/jobs/default.train/peers"},
                           {"error": {"leader": "b"}})]
        self.assertEqual(orrery.Driver.connect(moved.url, self.job.job).peer("actor").call("add", 1, deadline=60), 2)

    def test_two_controllers_that_name_each_other(self):
        """Neither leads yet: the question goes round, and again later, and is answered in the end."""
        here = f"{self.job.url}/"
        self.job.refusals = [(307, {"Location": here}, {})] * 7
        self.assertEqual(self.job.driver().peer("actor").call("add", 1, deadline=60), 2)

    def test_a_token_that_is_unknown_for_a_moment(self):
        """After a change of controllers a worker's token is good once its node is back."""
        self.job.refusals = [(401, {}, {"error": {"message": "of no worker that runs"}})] * 2
        controller = directory.Controller(self.job.url, self.worker.token)
        listing = directory.Directory(controller, self.job.job).ask(time.monotonic() + 60)
        self.assertEqual(listing.caller, self.worker.name)

    def test_refusals(self):
        for status, kind in ((401, orrery.NotAuthorised), (403, orrery.NotAuthorised), (404, orrery.NoSuchWorker),
                             (400, orrery.BadArguments)):
            self.job.refusals = [(status, {}, {"error": {"message": "no", "details": ["because"]}})]
            with self.assertRaises(kind) as raised:
                self.job.driver().peer("actor").call("add", 1, deadline=60)
            self.assertIn("because", str(raised.exception))

    def test_an_answer_that_is_no_listing(self):
        good = self.job.peers("driver:test")
        infinite = {**good, "peers": [{**good["peers"][0], "rank": float("inf")}]}
        for listing in ({"peers": [{"worker": 1}]}, infinite):
            self.job.refusals = [(200, {}, listing)]
            with self.subTest(listing=listing), self.assertRaises(orrery.Protocol):
                self.job.driver().peer("actor").call("add", 1, deadline=20)

    def test_addresses_of_workers_that_cannot_be_reached(self):
        for lie in ({"port": 70_000}, {"address": "127.0.0.1", "port": 1}):
            self.job.lies[self.worker.name] = lie
            with self.subTest(lie=lie), self.assertRaises(orrery.WorkerLost):
                self.job.driver().peer("actor").call("add", 1, deadline=20)

    def test_questions_at_once_share_an_answer(self):
        driver = self.job.driver()
        futures = [driver.peer("actor").submit("add", number) for number in range(50)]
        self.assertEqual([future.result(60) for future in futures], list(range(1, 51)))
        self.assertLessEqual(len(self.job.requests), 3)

    def test_addresses(self):
        for url in ("", "127.0.0.1:22100", "ftp://x", "http://", "unix:", "http://127.0.0.1:99999", "http://a:b",
                    "http://a:0", "http://[::1"):
            with self.assertRaises(orrery.BadArguments):
                orrery.Driver.connect(url, "job")
        for url in ("http://10.0.0.1:22100", "http://controller:22100"):
            with self.assertRaises(orrery.BadArguments) as raised:
                orrery.Driver.connect(url, "job", token="secret")
            self.assertNotIn("secret", str(raised.exception))

    def test_files_that_are_no_certificates_are_named(self):
        bad = self.job.folder / "bad.pem"
        bad.write_text("no certificate", encoding="utf-8")
        for path in ("/missing/ca.pem", str(bad)):
            for option in ("ca", "certificate"):
                with self.subTest(option=option, path=path), self.assertRaises(orrery.BadArguments) as raised:
                    orrery.Driver.connect("https://127.0.0.1:1", "job", **{option: path})
                self.assertIn(f"{option}: ", raised.exception.message)
                self.assertIn(path, raised.exception.message)

    def test_no_token_follows_to_where_it_could_be_read(self):
        self.job.refusals = [(307, {"Location": "http://10.0.0.1:22100/"}, {})]
        driver = orrery.Driver.connect(self.job.url, self.job.job, token=self.worker.token)
        with self.assertRaises(orrery.BadArguments):
            driver.peer("actor").call("add", 1, deadline=60)

    def test_a_controller_at_a_unix_socket(self):
        path = str(self.job.folder / "http.sock")

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        class Handler(self.job.handler):
            def address_string(self):
                return "unix"
        with Server(path, Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            peer = orrery.Driver.connect(f"unix:{path}", self.job.job).peer("actor")
            self.assertEqual(peer.call("add", 1, deadline=60), 2)
            server.shutdown()

    def test_the_environment_of_a_driver(self):
        token = self.job.folder / "token"
        token.write_text(self.worker.token + "\n", encoding="utf-8")
        driver = orrery.Driver.from_environment({"ORRERY_SERVER": self.job.url, "ORRERY_TOKEN_FILE": str(token)},
                                                job=self.job.job)
        self.assertEqual(driver.peer("actor").call("add", 1, deadline=60), 2)
        with self.assertRaises(orrery.BadArguments):
            orrery.Driver.from_environment({})
        first, second = (orrery.Driver.connect(self.job.url, self.job.job) for _ in range(2))
        self.assertNotEqual(first.peers().caller, second.peers().caller)

    def test_find(self):
        self.assertEqual(len(orrery.Driver.find(self.job.url, self.job.job).peers().peers), 1)
        with self.assertRaises(orrery.NoSuchWorker):
            orrery.Driver.find(self.job.url, "other")

    def test_scale_and_stop(self):
        driver = self.job.driver()
        driver.scale("actor", 3)
        driver.stop()
        self.assertEqual([(path, body) for _, path, _, body in self.job.posts],
                         [("/api/v1/jobs/default.train/scale", {"role": "actor", "replicas": 3}),
                          ("/api/v1/jobs/default.train/stop", None)])


@unittest.skipIf(shutil.which("openssl") is None, "needs the openssl command line to make certificates")
class Encrypted(unittest.TestCase):
    """Addresses that can never be asked: callers are told at once, and of what."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.right, cls.wrong = [fakes.certificate(pathlib.Path(folder.name), name) for name in ("right", "wrong")]

    def setUp(self):
        self.job = fakes.kept_job(self, "actor")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.right)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.job.handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # Of callers that do not trust it.
        # The handshake is of the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.port = server.server_port

    def driver(self, scheme, ca="", port=None):
        return orrery.Driver.connect(f"{scheme}://127.0.0.1:{port or self.port}", self.job.job, ca=ca)

    def assert_told(self, driver, kind, *words):
        for name, ask in ways_to_ask(driver, 20).items():
            with self.subTest(way=name), self.assertRaises(kind) as raised:
                ask()
            for word in words:
                self.assertIn(word, raised.exception.message)

    def test_it_is_asked(self):
        self.assertEqual(self.driver("https", self.right).peer("actor").call("add", 1, deadline=60), 2)

    def test_a_certificate_of_another_authority(self):
        self.assert_told(self.driver("https", self.wrong), orrery.NotAuthorised, "CERTIFICATE_VERIFY_FAILED", "ca=")

    def test_http_where_tls_is_spoken(self):
        self.assert_told(self.driver("http"), orrery.BadArguments, "https://")

    def test_https_where_no_tls_is_spoken(self):
        plain = int(self.job.url.rpartition(":")[2])
        self.assert_told(self.driver("https", self.right, plain), orrery.BadArguments, "http://")

    def test_another_address_may_be_right(self):
        url = f"http://127.0.0.1:{self.port},{self.job.url}"
        peer = orrery.Driver.connect(url, self.job.job).peer("actor")
        self.assertEqual(peer.call("add", 1, deadline=60), 2)


class Clusters(unittest.TestCase):
    def test_placement_groups(self):
        cluster = orrery.VirtualCluster([2, 0, 3], strategy="spread")
        self.assertEqual((cluster.world_size, cluster.placement_groups()), (5, [[0, 1], [0, 1, 2]]))
        self.assertEqual(orrery.VirtualCluster(2, nodes=2, unified=True).placement_groups(), [[0, 1, 2, 3]])
        for arguments, options in (([[]], {}), ([[0]], {}), ([[-1]], {}), ([[1.5]], {}), ([2], {"strategy": "PACK"}),
                                   ([[1, 2]], {"nodes": 3})):
            with self.assertRaises(ValueError):
                orrery.VirtualCluster(*arguments, **options)

    def test_groups_on_a_cluster(self):
        cluster = orrery.VirtualCluster([4, 2])
        sizes = [orrery.create_group(cluster, "a", ["x"], **options).workers for options in (
            {}, {"per_node": 2}, {"per_node": [3, 1]}, {"tied": [(0, [0, 1]), (1, [1])]})]
        self.assertEqual(sizes, [6, 4, 4, 3])
        for options in ({"per_node": 3}, {"per_node": [1]}, {"per_node": [1, 1, 1]}, {"tied": [(2, [0])]},
                        {"tied": [(0, [4])]}, {"tied": [(0, [1, 1])]}, {"tied": [(0, [])]},
                        {"per_node": 1, "tied": [(0, [0])]}):
            with self.assertRaises(ValueError):
                orrery.create_group(cluster, "a", ["x"], **options)

    def test_the_job_of_groups(self):
        cluster = orrery.VirtualCluster([4, 4], name="all", max_worker_groups=2, device_model="h100")
        policy = orrery.create_group(cluster, "policy", ["python3", "policy.py"], env={"A": 1})
        generation = orrery.create_group(cluster, "generation", "run", tied=[(0, [0, 1, 2, 3]), (1, [0, 1, 2, 3])])
        job = orrery.job_of("grpo", [policy, generation], {"driver": {"devices": 0, "command": ["python3", "d.py"]}},
                            priority="high")
        self.assertEqual(job, {
            "name": "grpo", "priority": "high",
            "virtual_clusters": {"all": {"bundles_per_node": [4, 4], "devices_per_bundle": 1, "unified": False,
                                         "strategy": "pack", "max_worker_groups": 2, "device_model": "h100"}},
            "roles": {"policy": {"workers": {"virtual_cluster": "all"}, "command": ["python3", "policy.py"],
                                 "env": {"A": "1"}},
                      "generation": {"workers": {"virtual_cluster": "all",
                                                 "tied": [{"node": 0, "bundles": [0, 1, 2, 3]},
                                                          {"node": 1, "bundles": [0, 1, 2, 3]}]}, "command": "run"},
                      "driver": {"devices": 0, "command": ["python3", "d.py"]}}})
        other = orrery.create_group(orrery.VirtualCluster(1, name="all"), "other", "x")
        for groups, roles in (([policy, policy], {}), ([policy], {"policy": {}}), ([policy, other], {})):
            with self.assertRaises(ValueError):
                orrery.job_of("j", groups, roles)

    def test_launch_waits_until_all_listen(self):
        with fakes.FakeJob() as job:
            job.add("policy", count=2, waits=False)
            spec = orrery.job_of("train", [orrery.create_group(orrery.VirtualCluster([2]), "policy", ["x"])])
            driver = orrery.launch(job.url, spec, deadline=120)
            self.assertEqual(job.posts[0][1], "/api/v1/jobs")
            self.assertEqual(job.posts[0][3], spec)
            self.assertTrue(job.posts[0][2]["Idempotency-Key"])
            self.assertEqual(driver.group("policy").call("add", 1).result(60), [2, 2])

    def test_launch_tells_why_it_ends(self):
        with fakes.FakeJob() as job:
            job.phase = "Failed"
            with self.assertRaises(orrery.NoSuchWorker):
                orrery.launch(job.url, {"name": "train"}, deadline=60)
            job.phase = "Pending"
            with self.assertRaises(orrery.Timeout):
                orrery.launch(job.url, {"name": "train"}, deadline=0.3)
            job.refusals = [(422, {}, {"error": {"message": "role policy: no command"}})]
            with self.assertRaises(orrery.BadArguments) as raised:
                orrery.launch(job.url, {"name": "train"}, deadline=60)
            self.assertIn("no command", str(raised.exception))


if __name__ == "__main__":
    unittest.main()
