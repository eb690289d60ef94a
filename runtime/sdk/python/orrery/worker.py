"""A worker of a job: its place, its membership, the calls that it serves, and what it reports."""

import atexit
import contextlib
import json
import logging
import os
import secrets
import signal
import sys
import threading
import time
import urllib.parse

from . import (agent, channel, channel_owner, checks, driver, errors, frames, futures, group,
               listener, loop, membership, methods, serving, turns)

EXIT_DRAINED = 143

_REQUEST_S = 60.0
_FLUSH_S = 1.0
_DIAGNOSIS_S = 10.0  # What is charged hangs on it, and the agent may be starting anew.

_LEASE_MIN_S, _LEASE_MAX_S = 1, 3600

_log = logging.getLogger("orrery")

_FAULTS = ("mine", "node", "peer")
_DIAGNOSIS_BYTES = 512
# Of what is reported; keys of a program's own may be below it.
_FROM_ZERO = frozenset(("done", "rate", "efficiency", "epoch", "remaining_s", "step_time_s",
                        "throughput", "batch_size"))


class Worker:
    """This process as a worker. Made by Worker.join()."""

    def __init__(self, environment, hello=True, message_max=frames.MESSAGE_MAX,
                 drain_on_sigterm=True, concurrent_max=serving.CONCURRENT_MAX):
        self.name = environment.get("ORRERY_WORKER", "")
        self.job = environment.get("ORRERY_JOB", "")
        self.role = environment.get("ORRERY_ROLE", "")
        self.role_rank = int(environment.get("ORRERY_LOCAL_RANK") or 0)
        self._environment = environment
        self._token = environment.get("ORRERY_TOKEN", "")
        first = membership.newest(membership.from_file(environment.get("ORRERY_MEMBERSHIP", "")),
                                  membership.from_environment(environment))
        self._agent = None
        path = environment.get("ORRERY_SOCKET", "")
        self._memberships = membership.Followed(
            first, "" if path else environment.get("ORRERY_MEMBERSHIP", ""))
        self._served = serving.Served(self.name, self.role, self.role_rank, self._memberships,
                                      concurrent_max)
        self._memberships.on_told = self._served.wake
        self._claims = group.Claims(self._served, self.role)
        self._channels = channel_owner.Channels(self._served)
        self._listener = listener.Listener(self._served, self.name, self._token, message_max)
        self._client = None
        self._lock = threading.Lock()
        self._exit_code = None
        self._diagnosed = False
        self._instance = None
        self._thread = None
        if path:
            self._agent = agent.Agent(path, self.name, self._token, self._memberships.tell)
            # A program that reports and ends at once has reported.
            atexit.register(self._agent.flush, _FLUSH_S)
            self._watch_for_losses()
            if hello:
                self._agent.start()
        self._handles_sigterm = drain_on_sigterm
        loop.get()  # Before a signal can ask for it.

    @classmethod
    def join(cls, environment=None, **options):
        """This process, from its environment.

        `hello`             tell the agent at once that this worker follows memberships; False: once
                            it serves, which is when a role with ORRERY_READY=hello counts as ready
        `message_max`       the largest payload that it takes, in bytes
        `drain_on_sigterm`  from serve() or start() on SIGTERM ends the worker in good order; False:
                            the program handles the signal
        `concurrent_max`    so many concurrent calls run at once; more wait
        """
        return cls(dict(os.environ if environment is None else environment), **options)

    def __repr__(self):
        return f"Worker({self.name!r}, {self.role!r}, {self.role_rank})"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self._blame_for(error)
        self.close()

    # --- its place ---

    @property
    def membership(self):
        """The membership that was taken up last."""
        return self._memberships.taken

    @property
    def told(self):
        """The newest membership that the agent has told, whether it was taken up or not."""
        return self._memberships.told

    @property
    def rank(self):
        return self.membership.rank

    @property
    def world_size(self):
        return self.membership.world_size

    @property
    def generation(self):
        return self.membership.generation

    def safe_point(self):
        """For a program's own loop: takes up a new membership and returns it; None where there is
        nothing new since the last time."""
        return self._memberships.safe_point()

    @property
    def is_draining(self):
        """Whether SIGTERM has come: finish the step, save, exit with 143."""
        return self._exit_code == EXIT_DRAINED

    def drain_on_sigterm(self):
        """From now on SIGTERM sets is_draining and ends serve(). On the main thread; elsewhere
        it does nothing. serve() and start() do it by themselves."""
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._on_sigterm)

    # --- being called ---

    def listen(self):
        """Listens for calls and tells the agent where; serve() and start() do it by themselves."""
        with self._lock:
            if self._listener.port:
                return
            for name in ("ORRERY_WORKER", "ORRERY_TOKEN", "ORRERY_CALL_ADDRESS"):
                if not self._environment.get(name):
                    raise errors.BadArguments(f"found no {name} in the environment, needed it for "
                                              "a worker that can be called; start the program as a "
                                              "worker of a job")
            loop.run(self._listen())
            if self._agent is not None:
                self._agent.start()

    async def _listen(self):
        await self._listener.listen(self._environment["ORRERY_CALL_ADDRESS"],
                                    self._environment.get("ORRERY_CALL_CERTIFICATE", ""))
        if self._agent is not None:
            self._agent.set_endpoint(self._listener.port, self._listener.certificate)

    def serve(self, instance=None):
        """Runs the calls of an object's methods on this thread, one after the other, until the
        worker is drained or stop() is called. Returns the exit code for the program:
        sys.exit(worker.serve(x)).

        Of the object are called, where it has them: `on_membership(membership)` at the safe
        point between two calls, `on_drain()` after the last call when the worker is drained.
        """
        found = {} if instance is None else methods.methods_of(instance)
        if self._handles_sigterm:
            self.drain_on_sigterm()
        self._memberships.on_taken = getattr(instance, "on_membership", None)
        self._instance = instance
        self.listen()
        self._served.open(found)
        try:
            self._served.serve()
            if self.is_draining:
                getattr(instance, "on_drain", lambda: None)()
        except errors.WorkerLost as lost:
            self._blame_for(lost)
            raise
        finally:
            self.close()
        return self._exit_code

    def group(self, role, sharding=None, **options):
        """The workers of a role, to be driven by this one: see WorkerGroup."""
        return group.WorkerGroup(self, role, sharding, **options)

    def start(self, instance=None, loop_takes_membership=False):
        """Serves on a thread of its own beside a program's main loop.

        `loop_takes_membership`: a new membership is taken up in safe_point() alone; else between
        two calls as well. End with finish(), which raises what ended the thread, the exit of a
        method included.
        """
        self._memberships.only_by_program = loop_takes_membership
        if self._handles_sigterm:
            self.drain_on_sigterm()
        self.listen()

        def serve():
            try:
                self.serve(instance)
            except BaseException as error:  # finish() raises it on the thread that cares.
                self._failure = error
                sys.excepthook(type(error), error, error.__traceback__)
        self._failure = None
        self._thread = threading.Thread(target=serve, name="orrery-serve", daemon=True)
        self._thread.start()

    def finish(self, code=0):
        """Ends what start() began, after the call that runs; the exit code for the program."""
        self.stop(code)
        if self._thread is not None:
            self._thread.join()
            if self._failure is not None:
                raise self._failure
        return self._exit_code

    def stop(self, code=0):
        """Has serve() return `code` after the call that runs. From any thread, also from a
        method."""
        self._begin_end(code, errors.Cancelled("the worker ends; call the workers that go on"))

    def _on_sigterm(self, number, frame):
        self._begin_end(EXIT_DRAINED, errors.Cancelled(
            "the worker is being drained; call again once the job has recovered"))

    def _begin_end(self, code, error):
        # Also in a handler of a signal, so without any lock.
        if self._exit_code is None:
            self._exit_code = code
        self._served.end(error)

    def close(self):
        """Ends the listener, after all answers have gone out, and the connection to the agent."""
        loop.run(self._listener.close())
        if self._agent is not None:
            self._agent.close()

    # --- calling others ---

    @property
    def client(self):
        with self._lock:
            if self._client is None:
                self._client = driver.Driver.from_environment(self._environment).client
            return self._client

    def peer(self, role, rank=0):
        """The worker of a role that has this rank in it."""
        return self.client.peer(role, rank)

    def channel(self, name, capacity=None, owner=None, weight_max=0):
        """A queue that lives in a worker: owner=("role", rank), by default this one. With
        `capacity` it is made there if it is not yet."""
        if owner is None:
            self.listen()
            owner = self.role, self.role_rank
        return channel.opened(self.client, name, owner, capacity, weight_max)

    # --- what it says to its agent and its controller ---

    def report_profiling(self, **numbers):
        """Of the whole job: step_time_s, throughput (examples a second), batch_size (examples a
        step). What is not finite, and of these what is below 0, is left out, with a warning in the
        log."""
        said = _reported(numbers)
        if said or not numbers:
            self._say({"profiling": {key: float(value) for key, value in said.items()}})

    def report_progress(self, done, rate=None, checkpointed=False, **more):
        """`done` units of work so far, `rate` of them a second; also efficiency, epoch,
        remaining_s. What is not finite, and of these what is below 0, is left out, with a warning in
        the log; without `done` nothing is said."""
        if rate is not None:
            more["rate"] = rate
        progress = _reported({"done": done, **more})
        if "done" in progress:
            self._say({"progress": {**progress, "checkpointed": bool(checkpointed)}})

    def diagnose(self, fault, message="", role=None, rank=None):
        """Says whose fault it will be that this worker fails, before it does: `fault` is "mine",
        "node", or "peer" with the `role` of another worker of the job and its `rank` in it, both
        as in peer(role, rank). What was said last counts, and nothing of it where the worker ends
        with code 0. `message` is for people: of more than 512 bytes the beginning is kept.

        Waits, at most ten seconds, until the agent has been told. Raises BadArguments."""
        is_peer = isinstance(role, str) and role and isinstance(rank, int) and rank >= 0
        if fault not in _FAULTS or (fault == "peer") != bool(is_peer) or (
                fault != "peer" and (role is not None or rank is not None)):
            raise errors.BadArguments(
                f"found fault {fault!r} with role {role!r} and rank {rank!r}, needed \"mine\" or "
                "\"node\", or \"peer\" with a role and a rank from 0 on; name whose fault it is")
        self._diagnosed = True
        if self._agent is None:
            return
        text = str(message).encode("utf-8", "replace")[:_DIAGNOSIS_BYTES].decode("utf-8", "ignore")
        said = {"fault": fault, "message": text}
        if is_peer:
            said.update(role=role, rank=rank)
        self._agent.start()
        self._agent.set_diagnosis({"diagnosis": said})
        if not loop.is_current():
            self._agent.flush(_DIAGNOSIS_S)

    def _blame_for(self, error):
        """An error that nothing caught: a worker that was lost is the peer to blame, unless the
        program has said whose fault it is."""
        if self._diagnosed or not isinstance(error, errors.WorkerLost):
            return
        role, rank = error.fields.get("role"), error.fields.get("role_rank")
        if isinstance(role, str) and role and isinstance(rank, int) and rank >= 0 and \
                self._is_of_own_job(error.fields.get("worker")):
            self.diagnose("peer", error.message, role=role, rank=rank)

    def _is_of_own_job(self, worker):
        """Whether a worker's name, JOB-INCARNATION-RANK, is of this job. The role and rank of
        another job's worker would name an innocent one of this job."""
        return not worker or str(worker).partition("-")[0] == self.name.partition("-")[0]

    def _watch_for_losses(self):
        before = sys.excepthook

        def hook(kind, error, trace):
            try:
                self._blame_for(error)
            finally:
                before(kind, error, trace)
        sys.excepthook = hook

    def turn(self, lease_s=30.0, deadline=futures.DEADLINE_DEFAULT):
        """`with worker.turn(): ...` for workers that sit on the same devices: inside, no other
        worker of the job that asks for its turn uses them. It is renewed from the SDK's own thread;
        a process that stands still for longer than `lease_s` is killed by its agent. Raises Timeout
        after `deadline` seconds. Where there is no agent, every worker has its turn."""
        lease = checks.number("lease_s", lease_s)
        if lease is None or not _LEASE_MIN_S <= lease <= _LEASE_MAX_S:
            raise errors.BadArguments(f"found lease_s {lease_s!r}, needed {_LEASE_MIN_S} to "
                                      f"{_LEASE_MAX_S} seconds")
        deadline = checks.seconds(deadline)
        if self._agent is None:
            return contextlib.nullcontext()
        self._agent.start()
        return turns.Turn(self._agent.turns, lease, deadline)

    def lead(self, on_word):
        """For a sub-master: on_word({"role": ..., "incident": ..., "word": ...}) on the SDK's
        loop, where it must not wait; say_as_sub_master() answers. What it raises is logged."""
        if self._agent is not None:
            self._agent.on_sub_master = on_word

    def say_as_sub_master(self, role, incident, word):
        """`word`: ask_state, ask_restart or done."""
        self._say({"sub_master": {"role": role, "incident": incident, "word": word}})

    def _say(self, line):
        """Dropped where there is no agent, so that a program runs by hand as well."""
        if self._agent is not None:
            self._agent.start()
            self._agent.say(line)

    def replicas(self):
        """The addresses of the job's workers, in rank order."""
        return self._replicas("GET")

    def add_replicas(self, count):
        """Asks for so many more replicas of every role, which is what a worker's token may. Raises
        BadArguments with the controller's reason where it refuses."""
        return self._replicas("POST", count)

    def remove_replicas(self, count):
        """Asks for so many fewer replicas of every role."""
        return self._replicas("DELETE", count)

    def _replicas(self, method, count=None):
        path = f"/v2alpha1/{urllib.parse.quote(self.job)}/replicas"
        headers, body = {"X-Orrery-Worker": self.name}, None
        if count is not None:
            count = checks.whole("the number of replicas", count, least=1)
            # One for all tries: a lost answer must not add them twice.
            headers["Idempotency-Key"] = secrets.token_hex(16)
            body = json.dumps({"replicas": count}).encode()
        answer = self.client.directory.controller.checked(method, path,
                                                          time.monotonic() + _REQUEST_S, body,
                                                          headers)
        return answer.get("data")


def _reported(numbers):
    """Numbers that can be said. A loss that is not finite or a negative rest ends no training."""
    said = {}
    for key, value in numbers.items():
        number = checks.number(key, value)
        if number is None:
            _log.warning("%s is %s and not reported: it is not finite", key, value)
        elif number < 0 and key in _FROM_ZERO:
            _log.warning("%s is %s and not reported: it is below 0", key, value)
        else:
            said[key] = number
    return said
