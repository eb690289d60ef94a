"""orrery up from outside: elastic jobs under real clocks.

Usage: elastic_test.py PROGRAM
"""

import pathlib
import sys
import unittest

from cluster import Cluster, wait_until

PROGRAM = pathlib.Path(sys.argv[1]).resolve()

# Every rank says the speed of the whole job, as docs/workers.md has it: flat, whatever its size.
# A worker that its job has outgrown ends by SIGTERM.
WORKER = """\
import json, os, socket, time

link = socket.socket(socket.AF_UNIX)
link.connect(os.environ["ORRERY_SOCKET"])
hello = {"worker": os.environ["ORRERY_WORKER"], "token": os.environ["ORRERY_TOKEN"]}
link.sendall((json.dumps({"hello": hello}) + "\\n").encode())
while True:
    link.sendall((json.dumps({"profiling": {"throughput": 100}}) + "\\n").encode())
    time.sleep(0.2)
"""

JOB = """\
name: NAME
drain_grace: 1s
roles:
  main:
    replicas: {min: 1, max: 4}
    devices: 1
    cpu: 100m
    command: COMMAND
"""


class ElasticTest(unittest.TestCase):
    def cluster(self, *words):
        made = Cluster(PROGRAM, "--agents", 1, "--devices", 4, *words)
        self.addCleanup(made.close)
        return made

    def submit(self, cluster, name, command):
        path = cluster.write(f"{name}.yaml", JOB.replace("NAME", name).replace("COMMAND", command))
        done = cluster.orrery("submit", path)
        self.assertEqual(done.returncode, 0, done.stderr)

    def wait_for_sizes(self, cluster, **sizes):
        def reached():
            jobs = {name: cluster.job(name) for name in sizes}
            return all(jobs[name].get("ready_replicas") == size for name, size in sizes.items())
        wait_until(f"{sizes}", reached)

    def test_fifo_grows_a_job_to_what_its_user_asks_for(self):
        cluster = self.cluster("--policy", "fifo")
        self.submit(cluster, "other", "exec sleep 600")
        self.submit(cluster, "train", "exec sleep 600")
        self.wait_for_sizes(cluster, other=1, train=1)
        done = cluster.orrery("scale", "train", 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for_sizes(cluster, train=3)
        self.assertIn("role main has 3 of 4 replicas and waits for 1 device",
                      cluster.job("train")["message"])
        cluster.orrery("stop", "other")
        self.wait_for_sizes(cluster, train=4)

    def test_fit_takes_from_a_job_what_does_not_make_it_faster(self):
        cluster = self.cluster("--policy", "fit", "--set", "policy.period=1s")
        worker = cluster.write("worker.py", WORKER)
        self.submit(cluster, "flat", f"exec {sys.executable} {worker}")
        self.wait_for_sizes(cluster, flat=4)
        wait_until("its speed with four to be known", lambda: cluster.job("flat")["profilings"])
        self.submit(cluster, "scales", "exec sleep 600")
        # Two each at first; then the speed of the first is known at two sizes, and it is the same.
        self.wait_for_sizes(cluster, flat=1, scales=3)

    def test_las_takes_devices_in_turn(self):
        cluster = self.cluster("--policy", "las", "--set", "policy.quantum=1s")
        whole = JOB.replace("{min: 1, max: 4}", "4").replace("drain_grace: 1s",
                                                             "drain_grace: 1s\npreemptible: true")
        for name in ("one", "other"):
            path = cluster.write(f"{name}.yaml", whole.replace("NAME", name)
                                 .replace("COMMAND", "exec sleep 600"))
            done = cluster.orrery("submit", path)
            self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("one", "other"):
            wait_until(f"{name} to have given way", lambda name=name:
                       cluster.job(name).get("preemptions", 0) > 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
