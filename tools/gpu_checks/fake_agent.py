"""The agent's end of a worker's socket."""

import contextlib
import json
import socket
import threading


class FakeAgent:
    """The agent's side of the worker protocol, for one worker."""

    def __init__(self, path):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.connections = []
        self.generation = 1
        self.lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *unused):
        self.listener.close()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with self.lock:
                self.connections.append(connection)
                self.send(connection)
            threading.Thread(target=self.drop_words, args=(connection,), daemon=True).start()

    @staticmethod
    def drop_words(connection):
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass

    def send(self, connection):
        line = {"membership": {"generation": self.generation, "rank": 0, "world_size": 1,
                               "members": []}}
        with contextlib.suppress(OSError):
            connection.sendall((json.dumps(line) + "\n").encode())

    def form(self, generation):
        with self.lock:
            self.generation = generation
            for connection in self.connections:
                self.send(connection)
