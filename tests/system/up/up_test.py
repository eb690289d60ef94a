"""orrery up from outside: a job of three roles runs, what dies comes back, the end leaves nothing.

Usage: up_test.py PROGRAM ROOT
"""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import unittest

from cluster import Cluster, kill_process, processes_of, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(sys.argv[2]).resolve()
EXAMPLE = ROOT / "docs/examples/jobs/three_roles.yaml"

LONG = """\
name: long
drain_grace: 1s
roles:
  main:
    replicas: 2
    devices: 0
    cpu: 100m
    command: echo started >> "{folder}/$ORRERY_RANK"; exec sleep 600
"""


class UpTest(unittest.TestCase):
    def cluster(self, *words):
        made = Cluster(PROGRAM, *words)
        self.addCleanup(made.close)
        return made

    def start_long_job(self, cluster):
        path = cluster.write("long.yaml", LONG.format(folder=cluster.folder))
        done = cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        wait_until("both workers to run", lambda: self.starts(cluster) == [1, 1])
        wait_until("the job to run", lambda: cluster.job("long").get("phase") == "Running")

    def starts(self, cluster):
        """How often each of the two ranks was started."""
        files = [cluster.folder / str(rank) for rank in range(2)]
        return [len(f.read_text().splitlines()) if f.exists() else 0 for f in files]

    def expect_nothing_left(self, cluster):
        self.assertEqual(processes_of(cluster.state), {})
        sockets = [str(p) for p in cluster.state.rglob("*") if p.is_socket()]
        self.assertNotIn(str(cluster.state / "agents.sock"), sockets)

    def test_a_job_of_three_roles_runs_to_its_end(self):
        cluster = self.cluster("--agents", 2)
        done = cluster.orrery("submit", EXAMPLE, "--wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("three-roles: Succeeded", done.stderr)
        self.assertEqual(cluster.job("three-roles")["phase"], "Succeeded")
        self.assertIn("JobSucceeded", cluster.orrery("events", "--job", "three-roles").stdout)
        done = cluster.orrery("submit", EXAMPLE, "--wait", "--set", "name=larger", "--set",
                              "roles.actor.replicas=3", "--set", "labels.run=second")
        self.assertEqual(done.returncode, 0, done.stderr)
        larger = cluster.job("larger")
        self.assertEqual((larger["phase"], len(larger["members"])), ("Succeeded", 5), larger)
        self.assertEqual(larger["spec"]["labels"], [{"key": "run", "value": "second"}], larger)
        cluster.interrupt()
        self.assertEqual(cluster.wait(), 130)
        self.assertTrue(cluster.line("everything has ended"), cluster.said)
        self.expect_nothing_left(cluster)

    def test_the_nodes_share_the_machine(self):
        cluster = self.cluster("--agents", 2)
        nodes = cluster.json("get", "nodes")["nodes"]
        cores = len(os.sched_getaffinity(0))
        # A whole core each at least.
        self.assertLessEqual(sum(node["cpu_millis"] for node in nodes), max(cores, 2) * 1000)
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.assertLessEqual(sum(node["memory_bytes"] for node in nodes), memory)
        self.assertEqual(len({node["cpu_millis"] for node in nodes}), 1)

    def test_settings_of_every_agent(self):
        cluster = self.cluster("--agents", 2, "--agent-set", "inventory.cpu=64", "--agent-set",
                               "group=tried")
        nodes = cluster.json("get", "nodes")["nodes"]
        self.assertEqual([(node["cpu_millis"], node["group"]) for node in nodes],
                         [(64000, "tried")] * 2)

    def test_pretended_devices(self):
        cluster = self.cluster("--devices", 2)
        path = cluster.write("devices.yaml", "name: devices\nroles:\n  main: {devices: 2, cpu: "
                                             "100m, command: 'echo $CUDA_VISIBLE_DEVICES'}\n")
        done = cluster.orrery("submit", path, "--wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(cluster.orrery("logs", "devices").stdout.strip(), "0,1")

    def test_skipped_failures_are_told(self):
        cluster = self.cluster()
        path = cluster.write("skips.yaml", "name: skips\nfailover: {trigger: skip}\nroles:\n  main: "
                                           "{replicas: 2, devices: 0, cpu: 100m, command: "
                                           "'exit 7'}\n")
        done = cluster.orrery("submit", path, "--wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skips: Succeeded (2 of 2 required workers failed, the first with exit code "
                      "7, and count as done", done.stderr)
        self.assertIn("trigger: skip", cluster.job("skips")["message"])

    def test_ctrl_c_ends_running_workers(self):
        cluster = self.cluster()
        self.start_long_job(cluster)
        self.assertGreaterEqual(len(processes_of(cluster.state)), 5)
        cluster.interrupt(signal.SIGTERM)
        self.assertEqual(cluster.wait(), 130)
        self.assertTrue(cluster.line("everything has ended"), cluster.said)
        self.expect_nothing_left(cluster)

    def test_daemons_that_die_come_back_and_no_worker_is_started_again(self):
        cluster = self.cluster()
        self.start_long_job(cluster)
        for victim in ["controller", "node-1"]:
            before = cluster.daemons()[victim]
            self.assertTrue(kill_process(before, cluster.state))
            wait_until(f"{victim} to be started again",
                       lambda v=victim, b=before: cluster.daemons().get(v, b) != b)
            wait_until("the job to be known as running",
                       lambda: cluster.job("long").get("phase") == "Running")
        self.assertEqual(self.starts(cluster), [1, 1])
        cluster.interrupt()
        self.assertEqual(cluster.wait(), 130)
        self.expect_nothing_left(cluster)

    def test_an_agent_that_cannot_begin_for_a_while_comes_back(self):
        cluster = self.cluster()
        # As on a full disk: what was fit before is not for now.
        state = cluster.state / "node-1"
        away = cluster.state / "away"
        state.rename(away)
        state.write_text("no folder")
        self.assertTrue(kill_process(cluster.daemons()["node-1"], cluster.state))
        wait_until("the agent to fail", lambda: cluster.line("agent of node-1 ended (exit code"))
        self.assertFalse(cluster.ended(), cluster.said)
        state.unlink()
        away.rename(state)
        wait_until("the agent to be back", lambda: "node-1" in cluster.daemons())
        wait_until("the node to be connected", lambda: [
            node["connected"] for node in cluster.json("get", "nodes")["nodes"]] == [True])
        cluster.interrupt()
        self.assertEqual(cluster.wait(), 130)

    def test_when_up_is_killed_its_daemons_and_workers_end(self):
        cluster = self.cluster("--set", "settings.node_lease=2s", "--set",
                               "settings.fence_margin=1s")
        self.start_long_job(cluster)
        cluster.up.kill()
        cluster.wait()
        wait_until("daemons to end with their parent", lambda: cluster.daemons() == {})
        wait_until("shims to fence their workers", lambda: processes_of(cluster.state) == {})

    def test_state_that_is_kept_goes_on(self):
        cluster = self.cluster()
        self.assertEqual(cluster.orrery("submit", EXAMPLE, "--wait").returncode, 0)
        cluster.interrupt()
        cluster.wait()
        cluster.start()
        self.assertEqual(cluster.job("three-roles")["phase"], "Succeeded")
        cluster.interrupt()
        self.assertEqual(cluster.wait(), 130)

    def test_a_second_one_on_the_same_folder_leaves_it_alone(self):
        cluster = self.cluster("--agents", 1)
        second = subprocess.run([PROGRAM, "up", "--http", "127.0.0.1:0", "--state", cluster.state], text=True,
                                capture_output=True, timeout=60, check=False)
        self.assertEqual(second.returncode, 2)
        self.assertIn("is in use by another orrery up", second.stderr)
        self.assertTrue((cluster.state / "agents.sock").is_socket())


class RefusalTest(unittest.TestCase):
    def expect_bad(self, *words):
        done = subprocess.run([PROGRAM, "up", *map(str, words)], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        return done.stderr

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            error = self.expect_bad("--http", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertIn("--http 127.0.0.1:0", error)

    def test_all_that_is_unfit_is_told_at_once(self):
        error = self.expect_bad("--agents", "0", "--devices", "x", "--http", "10.0.0.1:80",
                                "--ports", "9000", ROOT / "README.md")
        for part in ["--agents", "--devices", "--http", "--ports", "README.md"]:
            self.assertIn(part, error)

    def test_settings_that_the_controller_refuses(self):
        error = self.expect_bad("--http", "127.0.0.1:0", "--policy", "fifi")
        self.assertTrue(error.startswith("orrery up: --policy: "), error)
        self.assertIn("fifo", error)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
