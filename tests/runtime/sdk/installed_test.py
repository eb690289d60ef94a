"""A program outside the tree finds, compiles, links and runs with the installed SDK.

Usage: installed_test.py CMAKE BUILD SOURCE COMPILER
"""

import hashlib
import hmac
import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

TOKENS = {"7-1-0": "token 0", "7-1-1": "token 1"}
PORTS = {}
LISTENING = threading.Condition()


class Directory(http.server.BaseHTTPRequestHandler):
    """The controller's list of workers."""

    def do_GET(self):
        caller = "driver:" + self.path.rpartition("=")[2]
        peers = [{"worker": name, "role": "trainer", "rank": rank, "role_rank": rank, "node": "n0",
                  "address": "127.0.0.1", "port": PORTS[name], "certificate": "",
                  "key": hmac.new(token.encode(), f"orrery-call/1 {caller}".encode(),
                                  hashlib.sha256).hexdigest()}
                 for rank, (name, token) in enumerate(TOKENS.items())]
        body = json.dumps({"job": "default.means", "generation": 1, "phase": "Running",
                           "caller": caller, "peers": peers}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve_worker(connection):
    """The agent's side: learns where a worker listens."""
    name = ""
    for line in connection.makefile():
        said = json.loads(line)
        name = said.get("hello", {}).get("worker", name)
        if "endpoint" in said:
            with LISTENING:
                PORTS[name] = said["endpoint"]["port"]
                LISTENING.notify_all()


def accept(listener):
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve_worker, args=[connection], daemon=True).start()


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=240, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")


def main():
    cmake, build, source, compiler = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        prefix, there = pathlib.Path(folder, "prefix"), pathlib.Path(folder, "build")
        run(cmake, "--install", build, "--component", "sdk", "--prefix", prefix)
        if shutil.which("ccache"):  # As the build does; in whichever folder it is, it is the same program.
            os.environ |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": folder,
                           "CCACHE_NOHASHDIR": "1"}
        if shutil.which("ninja"):
            os.environ["CMAKE_GENERATOR"] = "Ninja"
        # That the compiler works and has threads was found out by Orrery's own build.
        run(cmake, "-S", pathlib.Path(source, "docs/examples/sdk/cpp"), "-B", there,
            f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_CXX_COMPILER_WORKS=ON",
            "-DCMAKE_HAVE_LIBC_PTHREAD=ON")
        run(cmake, "--build", there)
        for header in prefix.rglob("*.hpp"):
            assert '"runtime/' not in header.read_text() and '"core/' not in header.read_text(), header

        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(folder, "agent"))
        listener.listen()
        threading.Thread(target=accept, args=[listener], daemon=True).start()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Directory)
        threading.Thread(target=server.serve_forever, daemon=True).start()

        around = {"ORRERY_JOB": "default.means", "ORRERY_ROLE": "trainer", "ORRERY_WORLD_SIZE": "2",
                  "ORRERY_GENERATION": "1", "ORRERY_SOCKET": os.path.join(folder, "agent")}
        program = str(there / "means")
        workers = [subprocess.Popen([program], env=around | {
            "ORRERY_WORKER": name, "ORRERY_TOKEN": token, "ORRERY_RANK": str(rank),
            "ORRERY_LOCAL_RANK": str(rank)}) for rank, (name, token) in enumerate(TOKENS.items())]
        try:
            with LISTENING:
                assert LISTENING.wait_for(lambda: len(PORTS) == 2, timeout=60), "workers listen"
            told = subprocess.run([program, "drive"], stdout=subprocess.PIPE, text=True, timeout=60,
                                  check=True, env={
                                      "ORRERY_SERVER_URL": f"http://127.0.0.1:{server.server_port}",
                                      "ORRERY_JOB": "default.means"})
            assert told.stdout == "250.5\n750.5\n", told.stdout
            for worker in workers:
                worker.terminate()
            assert [worker.wait(timeout=60) for worker in workers] == [143, 143]
        finally:
            for worker in workers:
                worker.kill()


if __name__ == "__main__":
    main()
