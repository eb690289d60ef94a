"""Drivers: programs that call the workers of a job, inside it or outside."""

import json
import os
import re
import secrets
import socket
import time
import urllib.parse

from . import channel, checks, client, directory, errors, futures, group

_REQUEST_S = 60.0
_URL = "http://127.0.0.1:22100"


def own_name():
    """The machine, the process and a random word: no two drivers are the same one."""
    host = re.sub("[^A-Za-z0-9_-]", "-", socket.gethostname().partition(".")[0])[:30]
    return f"{host}-{os.getpid()}-{secrets.token_hex(4)}"


class Driver:
    """A caller of one job's workers."""

    def __init__(self, controller, job, name=""):
        if not job:
            raise errors.BadArguments("found no job, needed its name; name it, or set ORRERY_JOB")
        self.controller, self.job = controller, job
        self.client = client.Client(directory.Directory(controller, job, name))

    @classmethod
    def from_environment(cls, environment=None, job="", name=""):
        """Inside a job: with the token of this worker, under its name. Outside with what the
        command line reads too: ORRERY_SERVER, ORRERY_TOKEN or ORRERY_TOKEN_FILE, ORRERY_CA."""
        environment = os.environ if environment is None else environment
        url = environment.get("ORRERY_SERVER_URL") or environment.get("ORRERY_SERVER") or _URL
        token = environment.get("ORRERY_TOKEN", "")
        if not token and environment.get("ORRERY_TOKEN_FILE"):
            with open(environment["ORRERY_TOKEN_FILE"], encoding="utf-8") as file:
                token = file.read().strip()
        controller = directory.Controller(url, token, ca=environment.get("ORRERY_CA", ""),
                                          url_file=environment.get("ORRERY_SERVER_URL_FILE", ""))
        is_worker = bool(environment.get("ORRERY_WORKER")) and not name
        return cls(controller, job or environment.get("ORRERY_JOB", ""),
                   "" if is_worker else name or own_name())

    @classmethod
    def connect(cls, url, job, token="", ca="", certificate="", name=""):
        """Outside, as driver:NAME. `token` of role user; `ca` the file with the authority's
        certificate; `certificate` a file with a certificate of role user and its key, in place
        of the token. Drivers of one name count as one to a group; without a name each has its
        own."""
        return cls(directory.Controller(url, token, ca, certificate), job, name or own_name())

    @classmethod
    def find(cls, url, job, deadline=futures.DEADLINE_DEFAULT, **options):
        """As connect(), for a job that is there: raises NoSuchWorker where it is not."""
        found = cls.connect(url, job, **options)
        found.peers(deadline)
        return found

    def peers(self, deadline=futures.DEADLINE_DEFAULT):
        """The job's workers as they are now: a directory.Listing."""
        return self.client.directory.ask(time.monotonic() + checks.seconds(deadline))

    def peer(self, role, rank=0):
        """The worker of a role that has this rank in it."""
        return self.client.peer(role, rank)

    def group(self, role, sharding=None, **options):
        """The workers of a role, called together: see WorkerGroup."""
        return group.WorkerGroup(self, role, sharding, **options)

    def channel(self, name, owner, capacity=None, weight_max=0):
        """A queue that lives in the worker `owner`, a role and a rank in it. With `capacity` it
        is made there if it is not yet."""
        return channel.opened(self.client, name, owner, capacity, weight_max)

    def scale(self, role, replicas, deadline=_REQUEST_S):
        """Sets how many replicas a role shall have. For users and administrators; a worker has
        Worker.add_replicas()."""
        path = f"/api/v1/jobs/{urllib.parse.quote(self.job)}/scale"
        replicas = checks.whole("replicas", replicas, least=1)
        self.controller.checked("POST", path, time.monotonic() + checks.seconds(deadline),
                                json.dumps({"role": role, "replicas": replicas}).encode())

    def stop(self, deadline=_REQUEST_S):
        """Ends the job."""
        path = f"/api/v1/jobs/{urllib.parse.quote(self.job)}/stop"
        self.controller.checked("POST", path, time.monotonic() + checks.seconds(deadline))

    def close(self):
        """Ends all connections, and with them the claims of groups."""
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
