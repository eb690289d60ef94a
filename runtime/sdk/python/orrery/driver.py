"""Drivers: programs that call the workers of a job, inside it or outside."""

import json
import os
import time
import urllib.parse

from . import channel, client, directory, futures, group

_REQUEST_S = 60.0


class Driver:
    """A caller of one job's workers."""

    def __init__(self, controller, job, name=""):
        self.controller, self.job = controller, job
        self.client = client.Client(directory.Directory(controller, job, name))

    @classmethod
    def from_environment(cls, environment=None):
        """Inside a job: with the token of this worker, under its name."""
        environment = os.environ if environment is None else environment
        controller = directory.Controller(environment.get("ORRERY_SERVER_URL", ""),
                                          environment.get("ORRERY_TOKEN", ""), ca=environment.get("ORRERY_CA", ""))
        return cls(controller, environment.get("ORRERY_JOB", ""))

    @classmethod
    def connect(cls, url, job, token="", ca="", certificate="", name="driver"):
        """Outside, as driver:NAME. `token` of role user; `ca` the file with the authority's certificate;
        `certificate` a file with a certificate of role user and its key, in place of the token."""
        return cls(directory.Controller(url, token, ca, certificate), job, name)

    @classmethod
    def find(cls, url, job, deadline=futures.DEADLINE_DEFAULT, **options):
        """As connect(), for a job that is there: raises NoSuchWorker where it is not."""
        found = cls.connect(url, job, **options)
        found.peers(deadline)
        return found

    def peers(self, deadline=futures.DEADLINE_DEFAULT):
        """The job's workers as they are now: a directory.Listing."""
        return self.client.directory.ask(time.monotonic() + deadline)

    def peer(self, role, rank=0):
        """The worker of a role that has this rank in it."""
        return self.client.peer(role, rank)

    def group(self, role, sharding=None, **options):
        """The workers of a role, called together: see WorkerGroup."""
        return group.WorkerGroup(self, role, sharding, **options)

    def channel(self, name, owner, capacity=None, weight_max=0):
        """A queue that lives in the worker `owner`, a role and a rank in it. With `capacity` it is made there
        if it is not yet."""
        return channel.opened(self.client, name, owner, capacity, weight_max)

    def scale(self, role, replicas, deadline=_REQUEST_S):
        """Sets how many replicas a role shall have. For users and administrators; a worker has
        Worker.add_replicas()."""
        path = f"/api/v1/jobs/{urllib.parse.quote(self.job)}/scale"
        self.controller.checked("POST", path, time.monotonic() + deadline,
                                json.dumps({"role": role, "replicas": replicas}).encode())

    def stop(self, deadline=_REQUEST_S):
        """Ends the job."""
        path = f"/api/v1/jobs/{urllib.parse.quote(self.job)}/stop"
        self.controller.checked("POST", path, time.monotonic() + deadline)

    def close(self):
        """Ends all connections, and with them the claims of groups."""
        self.client.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
