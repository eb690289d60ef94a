"""One `orrery up` for a test: started, asked, ended, and what it leaves behind."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

from own_ports import give_back, own_ports

PATIENCE_S = 120  # Machines of tests may be very slow; nothing waits for long where all is well.


def wait_until(what, condition, patience_s=PATIENCE_S, every_s=0.02):
    """Waits until `condition()` is true, and returns what it gave; fails with `what`. `every_s`: how long
    nothing is asked in between, more where it is much work to find out."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience_s} s for {what}")
        time.sleep(every_s)


def names_folder(pid, folder):
    """The words of a process whose words or environment name the folder; None of any other."""
    name = str(folder).encode()
    try:
        with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
            words = file.read()
        if not words:  # Of the kernel, or it has ended.
            return None
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            environment = file.read()
    except OSError:
        return None
    if name in words or name in environment:
        return words.replace(b"\0", b" ").decode(errors="replace")
    return None


def processes_of(folder):
    """Processes whose environment or words name the folder, by process id: their words."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            words = names_folder(int(name), folder)
            if words is not None:
                found[int(name)] = words
    return found


def parent_of(pid):
    """The process id of its parent; None where it is gone."""
    try:
        stat = (pathlib.Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return int(stat.rpartition(")")[2].split()[1])


def kill_process(pid, folder):
    """As signal_process, with SIGKILL."""
    return signal_process(pid, signal.SIGKILL, folder)


def signal_process(pid, number, folder):
    """Signals one process that names the folder in its words or environment; whether it did.

    Refuses whatever does not: a process id may be stale or wrong, and others work on this machine.
    """
    if pid is None or pid < 2 or pid == os.getpid():
        return False
    try:
        handle = os.pidfd_open(pid)  # From here on it cannot become another process.
    except OSError:
        return False
    try:
        if not names_folder(pid, folder):
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except OSError:
        return False
    finally:
        os.close(handle)


def may_mount():
    """Whether an agent that this test starts may mount."""
    try:
        return subprocess.run(["unshare", "--mount", "true"], capture_output=True,
                              check=False).returncode == 0 and os.geteuid() == 0
    except FileNotFoundError:
        return False


def can_kill_safely():
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


class Cluster:
    def __init__(self, program, *words, environment=None, begin=True, ports=None):
        """`begin` false: the folder is there, `start` is still to be called. `ports`, "A-B": for its
        workers, where a few hundred do not do; nobody keeps others from them."""
        self.program = pathlib.Path(program)
        # Short, for sockets lie in it.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-t-"))
        self.state = self.folder / "state"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
        self.environment.update(environment or {})
        self.own_ports = None if ports else own_ports()
        self.ports = ports or self.own_ports
        self.said = []
        self.up = None
        if begin:
            self.start(*words)

    def start(self, *words):
        """Starts it, anew or again with the same state, and waits until it is ready."""
        self.said = []
        self.up = subprocess.Popen(
            [self.program, "up", "--http", "127.0.0.1:0", "--ports", self.ports, "--state", self.state,
             *map(str, words)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment)
        self.listener = threading.Thread(target=self._listen, args=(self.up.stdout, self.said), daemon=True)
        self.listener.start()
        line = wait_until("orrery up to be ready", lambda: self.line("ready in") or self.ended())
        if not line or line is True:
            raise AssertionError("orrery up ended: " + "".join(self.said))
        self.environment["ORRERY_SERVER"] = re.search(r"http://[\d.:]+", line).group()
        self.ready_s = float(re.search(r"ready in ([\d.]+) s", line).group(1))

    @staticmethod
    def _listen(pipe, said):
        with pipe:
            for line in pipe:
                said.append(line)

    def ended(self):
        return self.up is None or self.up.poll() is not None

    def line(self, beginning):
        return next((line for line in list(self.said) if line.startswith(beginning)), "")

    def orrery(self, *words):
        return subprocess.run([self.program, *map(str, words)], capture_output=True, text=True,
                              env=self.environment, timeout=PATIENCE_S, check=False)

    def json(self, *words):
        done = self.orrery(*words, "--json")
        return json.loads(done.stdout) if done.returncode == 0 else None

    def job(self, name):
        """What `describe` says; an empty document where the controller is away."""
        return self.json("describe", name) or {}

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def daemons(self):
        """Process ids of the controller ("controller") and of the agents (by node name)."""
        found = {}
        for pid, words in processes_of(self.state).items():
            match = re.search(r" (controller|agent) --config (\S+)", words)
            # What a daemon has forked has its words until it becomes another program.
            if match and parent_of(pid) == self.up.pid:
                name = "controller" if match.group(1) == "controller" else \
                    pathlib.Path(match.group(2)).stem.replace("agent-", "node-")
                found[name] = pid
        return found

    def interrupt(self, number=signal.SIGINT):
        self.up.send_signal(number)

    def wait(self):
        """Its exit code. What it said last has been read then, unless others hold its output open."""
        code = self.up.wait(PATIENCE_S)
        self.listener.join(5)
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if not self.ended():
            self.interrupt()
            self.wait()
        self.close()

    def _kill_all(self):
        """Whether nothing was left to kill."""
        left = processes_of(self.folder)
        for pid in left:
            kill_process(pid, self.folder)
        return not left

    def _check_replay(self):
        """That the journal, replayed, orders what its controllers said they had ordered."""
        program = self.program.parent / "orrery"
        journal = self.state / "journal.db"
        if not program.exists() or not journal.exists():
            return
        done = subprocess.run([program, "replay", journal, "--log", self.state / "controller.log"],
                              capture_output=True, text=True, check=False)
        # A journal that the test has damaged, or whose first records were dropped, says so.
        if done.returncode == 3:
            raise AssertionError("the journal, replayed, orders otherwise:\n" + done.stdout)

    def close(self):
        """Ends whatever is left, for the sake of the machine."""
        if not self.ended():
            self.up.kill()
            self.up.wait()
        # What dies may still hold a port, which the next test would be given.
        wait_until("the last of its processes to be gone", self._kill_all)
        try:
            self._check_replay()
        finally:
            self._remove()

    def _remove(self):
        subprocess.run(["rm", "-rf", self.folder], check=False)
        if self.own_ports:
            give_back(self.own_ports)
            self.own_ports = None
