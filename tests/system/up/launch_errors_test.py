"""A program or a folder that is not there, or a folder that the node's settings keep from jobs, ends
its job at the first try, and says what and where; a port that something else uses ends nothing.

Usage: launch_errors_test.py ORRERY_NODE
"""

import pathlib
import socket
import sys
import unittest

from cluster import Cluster, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

JOB = """\
name: {name}
roles:
  main:
    devices: 0
    cpu: 10m
    command: {command}
    working_directory: {folder}
    volumes: {volumes}
"""


class LaunchErrorsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(PROGRAM, "--agents", 1)
        cls.addClassCleanup(cls.cluster.close)

    def failed(self, name, command, folder=".", volumes="[]"):
        path = self.cluster.write(f"{name}.yaml", JOB.format(
            name=name, command=command, folder=folder, volumes=volumes))
        done = self.cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        job = wait_until(f"{name} to fail", lambda: (
            found := self.cluster.job(name)).get("phase") == "Failed" and found)
        self.assertEqual(job["restarts"], 0)
        self.assertEqual(job["reason"], "CannotStart")
        self.assertIn("worker 0 of role main cannot be started on node node-1: ", job["message"])
        return job["message"]

    def test_a_program_that_is_not_there(self):
        self.assertIn("python9: its program cannot be run: No such file or directory",
                      self.failed("nowhere", "[python9, train.py]"))

    def test_a_file_that_is_no_program(self):
        plain = self.cluster.write("plain", "no program\n")
        self.assertIn(f"{plain}: its program cannot be run: Permission denied",
                      self.failed("plain", f"[{plain}]"))

    def test_a_working_directory_that_is_not_there(self):
        self.assertIn("/no/such: its working directory cannot be entered: No such file or directory",
                      self.failed("homeless", '["true"]', "/no/such"))

    def test_a_folder_that_the_node_keeps_from_jobs(self):
        self.assertIn("volume /etc:in: its source is /etc, which lies in no folder that this node "
                      "allows: none; name some in the agent's volume_roots",
                      self.failed("curious", '["true"]', volumes='["/etc:in"]'))

    def test_a_port_that_something_else_listens_at(self):
        first = int(self.cluster.ports.partition("-")[0])
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", first))
            other.listen()
            out = self.cluster.folder / "port"
            path = self.cluster.write("meets.yaml", JOB.format(
                name="meets", folder=".", volumes="[]", command=f"'echo $MASTER_PORT > {out}'"))
            done = self.cluster.orrery("submit", path, "--wait")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreater(int(out.read_text()), first)
            self.assertEqual(self.cluster.job("meets")["restarts"], 0, "no failure of the job's")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
