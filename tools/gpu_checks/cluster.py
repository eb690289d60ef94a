"""A controller, an agent and jobs on them."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import sys
import time

from gpu_checks.processes import Failed, await_text, figures_of, last_line, require, run, started

SDK = pathlib.Path(__file__).resolve().parent.parent.parent / "runtime" / "sdk" / "python"


class Cluster:
    """A controller and one agent, as `orrery-node up` runs them."""

    JOB = """name: gpu-check
roles:
  trainer:
    replicas: {replicas}
    devices: {devices}
    command: {command}
"""

    CALLED_JOB = """name: gpu-check-sdk
roles:
  actor:
    replicas: 1
    devices: {devices}
    env: {{PYTHONPATH: {sdk}}}
    command: [{python}, {actor}, {worker}]
  driver:
    replicas: 1
    devices: 0
    env: {{PYTHONPATH: {sdk}}}
    command: [{python}, {driver}, {answer}]
"""
    ACTOR = """import json, os, subprocess, sys
import orrery


class Actor:
    @orrery.method
    def compute(self, steps):
        done = subprocess.run([sys.argv[1], "--steps", str(steps), "--size", "256", "--json"],
                              capture_output=True, text=True, timeout=120,
                              env={k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
                              | {"RANK": "0", "WORLD_SIZE": "1"})
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return {"report": json.loads(done.stdout),
                "devices": os.environ.get("CUDA_VISIBLE_DEVICES", "")}


sys.exit(orrery.Worker.join().serve(Actor()))
"""
    DRIVER = """import json, sys
import orrery

driver = orrery.Driver.from_environment()
answer = driver.group("actor").call("compute", 5, deadline=150).result()[0]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(answer, file)
"""

    def __init__(self, checks, node):
        self.checks = checks
        self.node = node

    @contextlib.contextmanager
    def up(self, name):
        """The cluster's address, while it is there."""
        log = self.checks.log(name)
        command = [self.node, "up", "--http", "127.0.0.1:0", "--agents", "1",
                   "--state", self.checks.log(name + "-state")]
        with started(command, {}, log) as process:
            yield self.await_url(log, process)
            process.send_signal(signal.SIGINT)
            process.wait(60)

    def call(self, worker, devices):
        folder = pathlib.Path(self.checks.log("sdk"))
        folder.mkdir()
        (folder / "actor.py").write_text(self.ACTOR)
        (folder / "driver.py").write_text(self.DRIVER)
        job = folder / "job.yaml"
        job.write_text(self.CALLED_JOB.format(
            devices=devices, sdk=SDK, python=sys.executable, worker=worker,
            actor=folder / "actor.py", driver=folder / "driver.py", answer=folder / "answer.json"))
        with self.up("sdk-up") as url:
            done = run([self.node, "submit", str(job), "--server", url], 60)
            require(done.returncode == 0, f"the job was refused: {last_line(done.stderr)}")
            answer = folder / "answer.json"
            until = time.monotonic() + self.checks.options.timeout
            while not answer.exists() or not answer.read_text():
                if time.monotonic() > until:
                    said = run([self.node, "describe", "gpu-check-sdk", "--server", url], 30)
                    raise Failed(f"the driver had no answer: {said.stdout[-2000:]}")
                time.sleep(0.05)
            run([self.node, "stop", "gpu-check-sdk", "--server", url], 60)
        said = json.loads(answer.read_text())
        require(said["report"]["steps_done"] == 5, f"the worker did not do its steps: {said}")
        return {"devices": said["devices"], **figures_of(said["report"])}

    def run(self, worker, devices):
        job = pathlib.Path(self.checks.log("job.yaml"))
        checkpoint = pathlib.Path(self.checks.log("job-steps"))
        command = [worker, "--steps", "60", "--size", "256", "--step-time-min", "20ms",
                   "--checkpoint", str(checkpoint)]
        job.write_text(self.JOB.format(replicas=1 if devices else 2, devices=devices,
                                       command=json.dumps(command)))
        begun = time.monotonic()
        with self.up("up") as url:
            figures = {"seconds_to_ready": round(time.monotonic() - begun, 3)}
            done = run([self.node, "submit", str(job), "--server", url, "--wait"],
                       self.checks.options.timeout)
            require(done.returncode == 0, f"the job did not succeed: {last_line(done.stderr)}")
            figures["seconds_to_succeeded"] = round(time.monotonic() - begun, 3)
            steps = checkpoint.read_text().strip() if checkpoint.exists() else "none"
            require(steps == "60", f"the job's checkpoint says {steps} steps, not 60")
            said = run([self.node, "logs", "gpu-check", "--server", url], 30)
            figures["last_line_of_log"] = last_line(said.stdout)
        return figures

    KILLED_JOB = """name: gpu-check-killed
backoff_base: 0s
roles:
  trainer:
    replicas: {replicas}
    devices: {devices}
    command: [sh, -c, {script}]
"""

    def kill(self, worker, devices, kills, replicas=1, options=()):
        """Times from the kill of the last rank until the job is beyond where it was.

        Each rank takes itself for the only one on its host: NCCL refuses two ranks on one GPU of
        one host.
        """
        folder = pathlib.Path(self.checks.log(f"job-killed-{replicas}"))
        folder.mkdir()
        pid, steps = folder / f"pid-{replicas - 1}", folder / "steps"
        command = shlex.join([worker, "--steps", "0", "--size", "1024", "--step-time-min", "5ms",
                              "--checkpoint", str(steps), "--checkpoint-every", "1", *options])
        script = (f"p={folder}/pid-$ORRERY_RANK; echo $$ > $p.new; mv $p.new $p; "
                  f"NCCL_HOSTID=gpu-check-$ORRERY_RANK exec {command}")
        job = folder / "job.yaml"
        job.write_text(self.KILLED_JOB.format(devices=devices, replicas=replicas,
                                              script=json.dumps(script)))

        def done_steps():
            return int(steps.read_text() or 0) if steps.exists() else 0

        times = []
        with self.up(f"job-killed-{replicas}-up") as url:
            done = run([self.node, "submit", str(job), "--server", url], 60)
            require(done.returncode == 0, f"the job was refused: {last_line(done.stderr)}")
            for _ in range(kills):
                at_least = done_steps() + 20
                self.await_true(lambda: done_steps() > at_least, f"step {at_least}")
                os.kill(int(pid.read_text()), signal.SIGKILL)
                killed = time.monotonic()
                # A step that was under way may still be counted.
                before = done_steps() + 1
                self.await_true(lambda: done_steps() > before, f"a step after {before}")
                times.append(time.monotonic() - killed)
            said = json.loads(run([self.node, "describe", "gpu-check-killed", "--json", "--server",
                                   url], 30).stdout)
            run([self.node, "stop", "gpu-check-killed", "--server", url], 60)
        require(said["restarts"] == kills, f"{said['restarts']} restarts after {kills} kills")
        return {"ranks": replicas, "kills": kills,
                "seconds_to_next_step": [round(each, 3) for each in times]}

    def calibrate(self, worker, devices, size):
        file = self.checks.log("measured.yaml")
        with self.up("calibrate-up") as url:
            done = run([self.node, "calibrate", "--worker", worker, "--devices", str(devices),
                        "--ranks", "1", "--starts", "3", "--size", str(size), "--out", file,
                        "--json", "--server", url], self.checks.options.timeout)
        require(done.returncode == 0, f"it ended with {done.returncode}: {last_line(done.stderr)}")
        told = json.loads(done.stdout)
        return {"device": told["device"], "observed": told["observed"], "remarks": told["remarks"],
                "file": pathlib.Path(file).read_text(encoding="utf-8").splitlines()}

    def train(self, page, ranks, python):
        folder = pathlib.Path(self.checks.log("torch"))
        folder.mkdir()
        script = re.search(r"^```python\n(.*?)^```", page, re.S | re.M).group(1)
        (folder / "train.py").write_text(script, encoding="utf-8")
        seconds = []
        for begin, steps in ((0, 50), (50, 100)):
            begun = time.monotonic()
            done = run([self.node, "run", "--standalone", "--nproc-per-node", ranks,
                        str(folder / "train.py"), str(steps), str(folder / "checkpoint.pt")],
                       self.checks.options.timeout, {"PYTHON_EXEC": python})
            seconds.append(round(time.monotonic() - begun, 3))
            require(done.returncode == 0, f"it ended with {done.returncode}: {last_line(done.stderr)}")
            for said in (f"begins at step {begin}", f"step {steps} of {steps}"):
                require(said in done.stdout, f"it did not say \"{said}\": {last_line(done.stdout)}")
        return {"seconds": seconds, "last_line": last_line(done.stdout)}

    def await_true(self, condition, what):
        until = time.monotonic() + self.checks.options.timeout
        while not condition():
            if time.monotonic() > until:
                raise Failed(f"it did not come to {what} within {self.checks.options.timeout} s")
            time.sleep(0.002)

    @staticmethod
    def await_url(log, process):
        said = await_text(log, "http://", process, 30)
        address = said[said.index("http://"):].split()[0]
        return address.rstrip(".,;)")
