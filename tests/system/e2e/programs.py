"""Real programs for end-to-end tests: started, watched, asked over HTTP, and ended by their ids."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from own_ports import own_port, own_ports  # pylint: disable=wrong-import-position,unused-import

PATIENCE = 60.0  # Seconds to wait for what must come some time, on a machine with much to do.
LONGEST_PAUSE = 0.2  # Seconds between two looks at what is waited for.
SKIPPED = 77     # The exit code by which ctest knows that a test could not run.


def skip(reason):
    """Ends the program as skipped, with the reason."""
    print(f"SKIPPED: {reason}")
    sys.exit(SKIPPED)


def wait_for(what, holds, patience=PATIENCE):
    """Waits until holds() is true and returns its value. What takes long is asked for less and less often:
    to ask is work for two programs."""
    until = time.monotonic() + patience
    pause = 0.01
    while True:
        value = holds()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"waited {patience:.0f} s in vain: {what}")
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST_PAUSE)


class Scene:
    """A folder and the programs that run in it. On the way out all are ended and it is removed;
    where the test failed, their output is shown."""

    def __init__(self, name):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"orrery-{name}-"))
        self.programs = {}
        self.seed = int(os.environ.get("ORRERY_SEED", random.SystemRandom().randrange(1 << 31)))
        print(f"seed {self.seed} (ORRERY_SEED repeats it)")
        self.random = random.Random(self.seed)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for program in self.programs.values():
            if program.poll() is None:
                program.send_signal(signal.SIGCONT)
                program.kill()
                program.wait()
        if kind is not None and kind is not SystemExit:
            for log in sorted(self.folder.glob("*.log"), key=lambda log: not log.name.startswith("m")):
                print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, name, command, **more):
        """Starts a program whose output goes to NAME.log; one of the same name must have ended."""
        with open(self.folder / f"{name}.log", "ab") as log:
            self.programs[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, **more)
        return self.programs[name]

    def kill(self, name):
        """SIGKILL, and waits for the end."""
        self.programs[name].kill()
        self.programs[name].wait()

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


def call(url, method="GET", body=None, timeout=5.0):
    """(status, JSON or text) of an HTTP call; (0, reason) where no controller answers."""
    request = urllib.request.Request(url, data=body, method=method)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            status, text = answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


def phase_of(url, job):
    """The phase of a job, or nothing where it cannot be asked for."""
    status, answer = call(f"{url}/api/v1/jobs/{job}")
    return answer.get("phase") if status == 200 else None


def witnessed(program, folder):
    """The command of a worker that tells a witness outside what it does: it writes a line to FOLDER/log when it
    starts, one each fifth of a second, and one when it ends, and holds an exclusive lock for as long as it
    runs. A process that finds the lock taken says so. It lies beside the program that is tested."""
    worker = pathlib.Path(program).resolve().parent / "worker_in_test"
    assert worker.exists(), f"no {worker}; it is built as target worker_in_test"
    return [str(worker), "beat", str(folder)]


def witness_lines(folder):
    """[(word, rank, pid, seconds)] in the order in which they were written."""
    log = pathlib.Path(folder) / "log"
    if not log.exists():
        return []
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(w, int(r), int(p), float(t)) for w, r, p, t in lines]


def check_none_twice(folder):
    twice = [line for line in witness_lines(folder) if line[0] == "twice"]
    if twice:
        raise AssertionError(f"a rank ran twice at the same time: {twice}")
