"""A job without a cluster: a fake directory, a fake agent for each worker, and real processes."""

import functools
import hashlib
import hmac
import http.server
import json
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import forked

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE = HERE.parents[3] / "runtime" / "sdk" / "python"
PATIENCE_S = 60  # Machines of tests may be very slow; nothing waits for long where all is well.
# Nothing is written beside the sources; compiling the package takes longer than most programs here run.
BYTECODE = ({"PYTHONPYCACHEPREFIX": sys.pycache_prefix} if sys.pycache_prefix else {"PYTHONDONTWRITEBYTECODE": "1"})

if str(PACKAGE) not in sys.path:
    sys.path.insert(0, str(PACKAGE))


@functools.lru_cache(maxsize=None)
def starter():
    """What all workers of this process are started by."""
    return forked.Starter(PACKAGE)


def wait_for(condition, what, predicate, patience_s=PATIENCE_S):
    """Waits on a threading.Condition until the predicate holds; fails with `what`."""
    with condition:
        if not condition.wait_for(predicate, patience_s):
            raise AssertionError(f"waited {patience_s} s for {what}")
        return predicate()


class FakeAgent:
    """Speaks with one worker over a Unix socket, by the lines of docs/workers.md."""

    def __init__(self, path, worker, token, membership, changed):
        self.path, self._worker, self._token = str(path), worker, token
        self._membership, self._changed = membership, changed
        self.lines = []  # What the worker has said, but for hello.
        self.hellos = 0
        self.ended = 0  # Connections that the worker has ended.
        self.endpoint = None
        self._connections = []
        self._server = None
        self.open()

    def open(self):
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self.path)
        self._server.listen(8)
        threading.Thread(target=self._accept, args=(self._server,), daemon=True).start()

    def close(self):
        """As an agent that was killed: it forgets the endpoint."""
        server, self._server = self._server, None
        if server is None:
            return
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        os.unlink(self.path)
        for connection in self._connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            connection.close()
        with self._changed:
            self._connections = []
            self.endpoint = None
            self._changed.notify_all()

    def send(self, line):
        for connection in list(self._connections):
            try:
                connection.sendall(json.dumps(line).encode() + b"\n")
            except OSError:
                pass

    def _accept(self, server):
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            with connection.makefile("rb") as file:
                for text in file:
                    self._take(connection, json.loads(text))
        except (OSError, ValueError):
            pass
        with self._changed:
            self.ended += 1
            self._changed.notify_all()

    def _take(self, connection, line):
        with self._changed:
            if "hello" in line:
                good = line["hello"] == {"worker": self._worker, "token": self._token}
                self.hellos += good
                answer = {"membership": self._membership()} if good else {"error": "wrong token"}
                try:
                    connection.sendall(json.dumps(answer).encode() + b"\n")
                except OSError:
                    pass  # It has ended; what it said before that is still to be read.
                if good:
                    self._connections.append(connection)
            elif "endpoint" in line:
                self.endpoint = line["endpoint"]
            self.lines.append(line)
            self._changed.notify_all()


class FakeWorker:
    """One place of the job, and the process that has it now."""

    def __init__(self, role, role_rank, rank, program, environment):
        self.role, self.role_rank, self.rank = role, role_rank, rank
        self.program, self.environment = program, environment
        self.incarnation = -1
        self.name = self.token = self.agent = self.process = self.certificate = None


class FakeJob:
    """The directory, the agents and the processes of one job."""

    def __init__(self, job="default.train", number=7):
        self.job, self.number = job, number
        self.generation = 1
        self.phase = "Running"
        self.workers = []
        self.changed = threading.Condition()
        self.requests = []  # Paths that the directory was asked.
        self.refusals = []  # Answers to give first: (status, headers, body).
        self.lies = {}  # Worker's name: fields of its entry that are wrong.
        self.posts = []
        self.drivers = []
        self._is_closed = False
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="orrery-sdk-"))
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.handler = self._server.RequestHandlerClass
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self._is_closed:
            return
        self._is_closed = True
        for worker in self.workers:
            if worker.process is not None and worker.process.poll() is None:
                worker.process.kill()
                worker.process.wait(PATIENCE_S)
            if worker.agent is not None:
                worker.agent.close()
        self._server.shutdown()
        self._server.server_close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- processes ---

    def add(self, role, program="probe.py", count=1, environment=None, waits=True):
        """Starts so many workers of a role; returns them."""
        first = sum(1 for worker in self.workers if worker.role == role)
        added = [FakeWorker(role, first + index, len(self.workers) + index, program, environment or {})
                 for index in range(count)]
        self.workers += added
        for worker in added:
            self.start(worker)
        if waits:
            self.wait_listening(added)
        return added

    def start(self, worker):
        """Starts the next incarnation of a worker."""
        worker.incarnation += 1
        if worker.agent is not None:
            worker.agent.close()
        worker.name = f"{self.number}-{worker.incarnation}-{worker.rank}"
        worker.token = "orrery_worker_" + secrets.token_hex(16)
        path = self.folder / f"{worker.name}.sock"
        worker.agent = FakeAgent(path, worker.name, worker.token, lambda: self.membership(worker), self.changed)
        worker.process = starter().start(HERE / worker.program, self.environment(worker), self.folder)

    def environment(self, worker):
        return {**{name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ},
                "PYTHONPATH": str(PACKAGE), **BYTECODE,
                "ORRERY_JOB": self.job, "ORRERY_ROLE": worker.role, "ORRERY_RANK": str(worker.rank),
                "ORRERY_LOCAL_RANK": str(worker.role_rank), "ORRERY_WORLD_SIZE": str(len(self.workers)),
                "ORRERY_GENERATION": str(self.generation), "ORRERY_WORKER": worker.name,
                "ORRERY_TOKEN": worker.token, "ORRERY_SOCKET": worker.agent.path,
                "ORRERY_SERVER_URL": self.url, "ORRERY_CALL_ADDRESS": "127.0.0.1", **worker.environment}

    def restart(self, worker):
        if worker.process.poll() is None:
            worker.process.kill()
        worker.process.wait(PATIENCE_S)
        self.start(worker)

    def kill(self, worker):
        worker.process.kill()
        worker.process.wait(PATIENCE_S)

    def freeze(self, worker):
        """Returns once it stands still, until SIGCONT."""
        worker.process.send_signal(signal.SIGSTOP)
        threads = pathlib.Path(f"/proc/{worker.process.pid}/task")
        until(lambda: all(path.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T"
                          for path in threads.glob("*/stat")), "a worker that stands still")

    def drain(self, worker):
        worker.process.send_signal(signal.SIGTERM)
        return worker.process.wait(PATIENCE_S)

    def wait_listening(self, workers=None):
        workers = self.workers if workers is None else workers
        wait_for(self.changed, "workers that listen",
                 lambda: all(worker.agent.endpoint or worker.process.poll() is not None for worker in workers))
        for worker in workers:
            if worker.process.poll() is not None:
                raise AssertionError(f"worker {worker.name} ended with {worker.process.returncode}")

    def next_generation(self):
        self.generation += 1
        for worker in self.workers:
            worker.agent.send({"membership": self.membership(worker)})

    def membership(self, worker):
        members = [{"rank": each.rank, "role": each.role, "local_rank": each.role_rank, "node": "n0",
                    "address": "127.0.0.1", "first_port": 22270} for each in self.workers]
        return {"generation": self.generation, "rank": worker.rank, "world_size": len(self.workers),
                "master": {"address": "127.0.0.1", "port": 22270}, "members": members}

    # --- the directory ---

    def key(self, worker, caller):
        return hmac.new(worker.token.encode(), f"orrery-call/1 {caller}".encode(), hashlib.sha256).hexdigest()

    def peers(self, caller):
        peers = []
        for worker in self.workers:
            endpoint = worker.agent.endpoint or {"port": 0, "certificate": ""}
            peers.append({"worker": worker.name, "role": worker.role, "rank": worker.rank,
                          "role_rank": worker.role_rank, "node": "n0", "address": "127.0.0.1",
                          "port": endpoint["port"], "certificate": endpoint["certificate"],
                          "key": self.key(worker, caller) if endpoint["port"] else "",
                          **self.lies.get(worker.name, {})})
        return {"job": self.job, "generation": self.generation, "phase": self.phase, "caller": caller,
                "peers": peers}

    def _handler(job):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                with job.changed:
                    job.requests.append(self.path)
                    refusal = job.refusals.pop(0) if job.refusals else None
                    job.changed.notify_all()
                if refusal is not None:
                    return self._answer(*refusal)
                path = urllib.parse.urlsplit(self.path)
                if path.path == f"/v2alpha1/{job.job}/replicas":
                    return self._answer(200, {}, {"success": True, "code": 0, "message": "", "data": ["127.0.0.1"]})
                if path.path != f"/api/v1/jobs/{job.job}/peers":
                    return self._answer(404, {}, {"error": {"message": "no such job"}})
                token = self.headers.get("Authorization", "").removeprefix("Bearer ")
                own = next((worker for worker in job.workers if worker.token == token), None)
                if token and own is None:
                    return self._answer(401, {}, {"error": {"message": "the token is of no worker that runs"}})
                name = urllib.parse.parse_qs(path.query).get("caller", ["anonymous"])[0]
                self._answer(200, {}, job.peers(own.name if own else f"driver:{name}"))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with job.changed:
                    job.posts.append((self.command, self.path, dict(self.headers), json.loads(body or "null")))
                    refusal = job.refusals.pop(0) if job.refusals else None
                    job.changed.notify_all()
                if refusal is not None:
                    return self._answer(*refusal)
                self._answer(200, {}, {"jobs": [{"name": job.job}], "warnings": [], "data": None})

            do_DELETE = do_POST

            def _answer(self, status, headers, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
        return Handler

    def driver(self, name="test"):
        import orrery
        self.drivers.append(orrery.Driver.connect(self.url, self.job, name=name))
        return self.drivers[-1]

    # --- for the next test ---

    def is_untouched(self):
        """Whether all that a test has done to it can be taken back."""
        return (self.generation, self.phase) == (1, "Running") and all(
            worker.incarnation == 0 and worker.process.poll() is None and worker.agent.hellos == 1
            for worker in self.workers)

    def begin_anew(self):
        """The calls and groups of its drivers end; its workers, probes, forget what they were called with."""
        for driver in self.drivers:
            driver.close()
        self.drivers, self.refusals, self.lies = [], [], {}
        with self.driver("between_tests") as driver:
            for worker in self.workers:
                driver.peer(worker.role, worker.role_rank).call("begin_anew", deadline=PATIENCE_S)
                # The agent has taken all that the worker said before.
                wait_for(self.changed, "the last of its words",
                         lambda worker=worker: {"begins": "anew"} in worker.agent.lines)
                worker.agent.lines[:] = [line for line in worker.agent.lines if "hello" in line or "endpoint" in line]
        self.drivers, self.requests, self.posts = [], [], []


def kept_job(test, role, count=1, environment=None):
    """A job with so many probes of a role: that of the test before, of the same class, where it passed and left
    its workers alive and in their place."""
    job = vars(type(test)).get("kept")
    type(test).kept = None
    if job is not None:
        job.begin_anew()
    else:
        job = FakeJob()
        test.addClassCleanup(job.close)
        job.add(role, count=count, environment=environment)

    def keep_or_close():
        if test._outcome.success and len(job.workers) == count and job.is_untouched():
            type(test).kept = job
        else:
            job.close()
    test.addCleanup(keep_or_close)
    return job


def certificate(folder, name):
    """The path of a new certificate and its key, made with openssl; good for 127.0.0.1."""
    key, made, both = folder / f"{name}.key", folder / f"{name}.crt", folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-keyout", key, "-out", made, "-days", "2", "-subj", f"/CN={name}",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=60)
    both.write_bytes(made.read_bytes() + key.read_bytes())
    return str(both)


def until(condition, what, patience_s=PATIENCE_S):
    """Asks again and again until `condition()` is true, and returns what it gave; fails with `what`.

    For states of other processes, which cannot be waited for but only asked."""
    end = time.monotonic() + patience_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience_s} s for {what}")
        time.sleep(0.005)
