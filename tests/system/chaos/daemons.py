"""Controllers and agents of a test's own: each a process that it starts, kills, and starts again."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "up"))
from cluster import kill_process, processes_of, wait_until  # pylint: disable=wrong-import-position
from own_ports import give_back, own_port, own_ports  # pylint: disable=wrong-import-position

ENDS_S = 60


def call(url, body=None, timeout=5):
    """(status, document) of a call; (0, None) where no controller answers."""
    request = urllib.request.Request(url, data=body and body.encode(),
                                     headers={"Content-Type": "application/yaml"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as reply:
            return reply.status, json.load(reply)
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (OSError, ValueError):
        return 0, None


class Daemons:
    def __init__(self, program):
        self.program = pathlib.Path(program).resolve()
        # Short, for sockets lie in it.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-c-"))
        self.commands = {}  # By name.
        self.running = {}
        self.away = set()   # Are not started again.
        self.urls = {}      # Of controllers.
        self.listens = {}   # Where agents connect to them.
        self.ports = []

    # --- what there is ---

    def add_controller(self, name, store, settings, **more):
        """One on loopback. `store`, `settings`: YAML maps."""
        http, agents = own_port(), own_port()
        self.urls[name] = f"http://127.0.0.1:{http}"
        self.listens[name] = f"127.0.0.1:{agents}"
        self.add(name, "controller", f"name: {name}\nhttp_address: 127.0.0.1:{http}\n"
                 f"agents_address: 127.0.0.1:{agents}\nstore: {store}\nsettings: {settings}\n", **more)

    def add_agent(self, name, state=None, **more):
        """One of four cores and no devices, with ports of its own."""
        self.ports.append(own_ports())
        self.add(name, "agent", f"node: {name}\ncontrollers: [{', '.join(self.listens.values())}]\n"
                 f"state: {state or self.folder / f'state-{name}'}\n"
                 f"inventory: {{cpu: 4, memory: 4GiB, devices: 0, ports: {self.ports[-1]}}}\n"
                 "kill_workers_at_exit: true\n", **more)

    def add(self, name, verb, config, inside=(), environment=None):
        """`inside`: words before the command; `environment`: variables beside the test's own."""
        path = self.folder / f"{name}.yaml"
        path.write_text(config)
        self.commands[name] = ([*inside, str(self.program), verb, "--config", str(path)],
                               {k: v for k, v in os.environ.items() if not k.startswith("ORRERY_")}
                               | (environment or {}))

    def add_program(self, name, words, environment):
        """`environment`: variables beside the test's own."""
        self.commands[name] = (words, os.environ | environment)

    # --- their lives ---

    def start(self, *names):
        for name in names or self.commands:
            self.away.discard(name)
            if self.runs(name):
                continue
            words, environment = self.commands[name]
            with open(self.folder / f"{name}.log", "ab") as log:
                self.running[name] = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log,
                                                      stderr=log, cwd=self.folder, env=environment)

    def runs(self, name):
        return name in self.running and self.running[name].poll() is None

    def keep(self):
        """Starts again what has ended, but for what is to be away."""
        ended = [name for name in self.commands if name not in self.away and not self.runs(name)]
        if ended:
            self.start(*ended)

    def kill(self, name, stays_away=False):
        """SIGKILL; whether it ran."""
        if stays_away:
            self.away.add(name)
        ran = self.runs(name)
        if ran:
            self.running[name].kill()
            self.running[name].wait()
        return ran

    def end(self, *names):
        """In order, as an operator does."""
        for name in names:
            self.away.add(name)
            if self.runs(name):
                self.running[name].send_signal(signal.SIGTERM)
        for name in names:
            if name in self.running:
                self.running[name].wait(ENDS_S)

    # --- asked ---

    def ask(self, path, body=None):
        """The document of the controller that takes requests; None where none does."""
        for url in self.urls.values():
            status, document = call(url + path, body)
            if status == 200:
                return document
            # 307: another leads; 503: none does, or nothing can be made durable.
            assert status in (0, 307, 503), f"{path}: {status} {document}"
        return None

    def admission(self, name):
        status, document = call(self.urls[name] + "/readyz", timeout=2)
        if isinstance(document, str) and status:
            try:
                document = json.loads(document)
            except ValueError:
                return None
        return document.get("admission") if isinstance(document, dict) else None

    def leading(self):
        """The controller that takes requests, or None."""
        return next((name for name in self.urls
                     if self.runs(name) and self.admission(name) == "open"), None)

    def nodes(self):
        """By name: what the leading controller says of each."""
        document = self.ask("/api/v1/nodes")
        return {node["name"]: node for node in document["nodes"]} if document else {}

    def all_ready(self):
        agents = [name for name, (words, _) in self.commands.items() if "agent" in words]
        nodes = self.nodes()
        return all(nodes.get(name, {}).get("connected") and nodes[name]["state"] == "ready"
                   for name in agents)

    # --- the end ---

    def check_replay(self, journal, name):
        """That the journal, replayed, orders what the controller said it had ordered."""
        program = self.program.parent / "orrery"
        if not program.exists():
            return
        done = subprocess.run([program, "replay", journal, "--log", self.folder / f"{name}.log"],
                              capture_output=True, text=True, check=False)
        # A journal whose first records were dropped says so.
        assert done.returncode != 3, f"the journal, replayed, orders otherwise:\n{done.stdout}"

    def tell(self):
        """What helps to understand a failure."""
        for log in sorted(self.folder.glob("*.log")):
            print(f"--- {log.name}\n" + "".join(log.read_text(errors="replace").splitlines(True)[-30:]))

    def _kill_all(self):
        left = processes_of(self.folder)
        for pid in left:
            kill_process(pid, self.folder)
        return not left

    def stop_all(self):
        for program in self.running.values():
            if program.poll() is None:
                program.send_signal(signal.SIGCONT)
                program.kill()
                program.wait()
        # What dies may still hold a port, which the next test would be given.
        wait_until("the last of its processes to be gone", self._kill_all)
        for ports in self.ports:
            give_back(ports)

    def remove(self):
        subprocess.run(["rm", "-rf", self.folder], check=False)
