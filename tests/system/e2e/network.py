"""Hosts as network namespaces behind a switch, and a controller on one of them asked over its socket."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess


class NoNamespaces(Exception):
    """They cannot be made here; says why."""


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """A switch and hosts, each a namespace of its own; gone at the end whatever happens."""

    def __init__(self, hosts):
        self.prefix = f"orrery{os.getpid()}"
        self.switch = f"{self.prefix}sw"
        self.made = []
        self.hosts = hosts

    def __enter__(self):
        if os.geteuid() != 0:
            raise NoNamespaces("making network namespaces needs root")
        if shutil.which("ip") is None:
            raise NoNamespaces("no ip (package iproute2)")
        try:
            self.add(self.switch)
            ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
            ip("-n", self.switch, "link", "set", "br0", "up")
            for name, address in self.hosts.items():
                self.add_host(name, address)
        except (OSError, subprocess.CalledProcessError) as error:
            self.__exit__()
            raise NoNamespaces(f"no network namespaces: {getattr(error, 'stderr', '') or error}") from error
        return self

    def __exit__(self, *_):
        for namespace in reversed(self.made):
            subprocess.run(["ip", "netns", "delete", namespace], check=False)

    def add(self, namespace):
        ip("netns", "add", namespace)
        self.made.append(namespace)

    def add_host(self, name, address):
        namespace = self.namespace(name)
        self.add(namespace)
        ip("-n", self.switch, "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0",
           "netns", namespace)
        ip("-n", self.switch, "link", "set", f"to-{name}", "master", "br0", "up")
        ip("-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
        ip("-n", namespace, "link", "set", "eth0", "up")
        ip("-n", namespace, "link", "set", "lo", "up")

    def namespace(self, name):
        return f"{self.prefix}{name}"

    def inside(self, name, command):
        return ["ip", "netns", "exec", self.namespace(name), *command]

    def link(self, name, state):
        """The cable between a host and the switch, pulled or plugged."""
        ip("-n", self.switch, "link", "set", f"to-{name}", state)


class Admin:
    """Asks a controller as an administrator, over TLS on its Unix socket."""

    class Connection(http.client.HTTPConnection):
        def __init__(self, path, tls):
            super().__init__("localhost", timeout=5)
            self.path, self.tls = path, tls

        def connect(self):
            plain = socket.socket(socket.AF_UNIX)
            plain.settimeout(self.timeout)
            plain.connect(str(self.path))
            self.sock = self.tls.wrap_socket(plain, server_hostname="localhost")

    def __init__(self, path, pki):
        self.path = path
        self.tls = ssl.create_default_context(cafile=pki / "ca.pem")
        self.tls.load_cert_chain(pki / "admin-ann.pem", pki / "admin-ann.key")

    def ask(self, target, method="GET", body=None):
        """(status, JSON) of a call; (0, None) where no controller answers."""
        try:
            connection = Admin.Connection(self.path, self.tls)
            connection.request(method, target, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "null")
        except (OSError, ValueError, http.client.HTTPException):
            return 0, None
