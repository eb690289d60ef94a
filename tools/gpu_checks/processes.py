"""Programs that a check runs, and how a check ends that does not pass."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time


class Skipped(Exception):
    """A check needs what is not here."""


class Failed(Exception):
    """A check found what it must not."""


def require(condition, reason):
    if not condition:
        raise Failed(reason)


def tell(text):
    print(text, file=sys.stderr, flush=True)


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"


def run(command, seconds, environment=None):
    """Runs a program to its end. Failed where it takes too long."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds,
                              env=None if environment is None else {**os.environ, **environment},
                              stdin=subprocess.DEVNULL, check=False)
    except subprocess.TimeoutExpired:
        raise Failed(f"{pathlib.Path(command[0]).name} did not end within {seconds} s") from None
    except OSError as error:
        raise Skipped(f"{command[0]}: {error.strerror}") from None


@contextlib.contextmanager
def started(command, environment, log):
    """A program in the background, killed at the end; both its outputs go to the file `log`."""
    with open(log, "w", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def await_text(log, text, process, seconds):
    """Waits until a log contains a text; Failed where it does not in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        # In this order: what it wrote before its end is in the log then.
        has_ended = process.poll() is not None
        said = pathlib.Path(log).read_text(encoding="utf-8", errors="replace")
        if text in said:
            return said
        if has_ended:
            raise Failed(f"it ended with {process.returncode} before it said \"{text}\": "
                         f"{last_line(said)}")
        time.sleep(0.01)
    raise Failed(f"it did not say \"{text}\" within {seconds} s: {last_line(said)}")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def worker_report(done):
    """The JSON document of a worker that ended well."""
    require(done.returncode == 0,
            f"the worker ended with {done.returncode}: {last_line(done.stderr)}")
    return json.loads(done.stdout)


def figures_of(report):
    wanted = ("compute", "backend", "size", "steps_timed", "step_p50_s", "multiply_p50_s",
              "gflops_p50", "shared_mean", "shared_low", "shared_high", "builds")
    return {key: report[key] for key in wanted if key in report}
