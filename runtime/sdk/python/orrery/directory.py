"""The directory: asks the controller who is in the job, where it listens, and for the keys."""

import asyncio
import dataclasses
import http.client
import json
import math
import random
import socket
import ssl
import threading
import time
import urllib.parse
from typing import Tuple

from . import errors, forks, handshake, threads, unreachable

_REQUEST_S = 10.0
_REDIRECTS_MAX = 5
_ANSWER_MAX = 64 << 20
# A worker's token is unknown for a moment after a change of controllers, until its node is back.
_UNKNOWN_TOKEN_S = 30.0
_WORKER_TOKEN = "orrery_worker_"  # As agents make them; users' tokens begin otherwise.
_PAUSE_FIRST_S, _PAUSE_MAX_S = 0.05, 2.0


def pauses():
    """Seconds to wait between tries: doubling, with jitter, so that many callers do not come at
    once."""
    pause = _PAUSE_FIRST_S
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(pause * 2, _PAUSE_MAX_S)


@dataclasses.dataclass(frozen=True)
class Peer:
    """A worker as the directory has it. `port` 0: it does not listen yet."""
    worker: str
    role: str
    rank: int
    role_rank: int
    node: str
    address: str
    port: int
    certificate: str
    key: bytes = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Listing:
    """The job's workers at one moment."""
    job: str
    generation: int
    phase: str
    caller: str
    peers: Tuple[Peer, ...]
    asked: float  # Monotonic time before the question, so nothing older than this is in it.

    def role(self, role):
        """The workers of a role by their rank in it."""
        return sorted((peer for peer in self.peers if peer.role == role),
                      key=lambda peer: peer.role_rank)

    def find(self, role, role_rank):
        return next((peer for peer in self.peers
                     if peer.role == role and peer.role_rank == role_rank), None)


def _listing(body, asked):
    try:
        peers = tuple(Peer(worker=each["worker"], role=each["role"], rank=int(each["rank"]),
                           role_rank=int(each["role_rank"]), node=each.get("node", ""),
                           address=each["address"], port=int(each["port"]),
                           certificate=each.get("certificate") or "",
                           key=bytes.fromhex(each.get("key") or "")) for each in body["peers"])
        return Listing(job=body["job"], generation=int(body["generation"]),
                       phase=body.get("phase", ""), caller=body["caller"], peers=peers, asked=asked)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise errors.Protocol(f"found a list of peers that cannot be read ({error!r}), needed that "
                              "of /api/v1/jobs/{job}/peers; is the controller of another version?"
                              ) from None


# A directory has one question under way at most. A controller that does not answer holds up no
# other one, so there is a thread for each.
_questions = threads.Pool(math.inf, "orrery-directory")
# A question ends with the deadline of the call that asks, but not before it could have an answer,
# which serves the next call.
_QUESTION_MIN_S, _QUESTION_MAX_S = 1.0, 30.0


class _Away(Exception):
    """The controller cannot answer now; another try may help."""


class _Hopeless(Exception):
    """No other try at this address can help: `error` is what callers are told."""

    def __init__(self, error):
        super().__init__(error.message)
        self.error = error


class _UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _check_address(url, token):
    """Raises BadArguments for an address that cannot be asked, or where the token could be read
    on its way."""
    try:
        target = urllib.parse.urlsplit(url)
        is_http = target.scheme in ("http", "https") and target.hostname and target.port != 0
        is_unix = target.scheme == "unix" and target.path
    except ValueError:  # Of what is no port, or no address in brackets.
        is_http = is_unix = False
    if not is_http and not is_unix:
        raise errors.BadArguments(f"found the controller's address {url!r}, needed "
                                  "http://host:port, https://host:port or unix:/path; look at "
                                  "ORRERY_SERVER_URL")
    if token and target.scheme == "http" and not handshake.is_loopback(target.hostname):
        raise errors.BadArguments(f"found the controller's address {url}, where the token would "
                                  "travel in clear, needed https://; let the controller serve TLS")


def _read(name, needed, path, read):
    """What read() gives. Raises BadArguments that names the file."""
    try:
        return read()
    except (OSError, ValueError) as error:
        raise errors.BadArguments(f"{name}: found the file {path!r}, which cannot be read "
                                  f"({getattr(error, 'strerror', None) or error}), needed one in PEM with {needed}; "
                                  "name another file") from None


class Controller:
    """Requests to the controller's HTTP address, or its Unix socket (unix:/path). Of several,
    joined by commas, the next is asked where one does not answer. `token` of a worker or of a
    user; `ca` a file with the certificate of the cluster's authority; `certificate` a file with
    the client's own and its key; `url_file` a file that holds the address of the one that leads
    now, once it is there, in place of `url`."""

    def __init__(self, url, token="", ca="", certificate="", url_file=""):
        self._urls = [each.strip().rstrip("/") for each in url.split(",")]
        self._url_file = url_file
        self._token = token
        self._unknown_since = None  # When it was first told that the token is not known.
        self.trouble = ""  # Why the last try had no answer; nothing where it had one.
        for each in self._urls:
            _check_address(each, token)
        self._tls = None
        if ca or certificate or "https:" in url:
            self._tls = _read("ca", "the authority's certificate", ca,
                              lambda: ssl.create_default_context(cafile=ca or None))
            if certificate:
                _read("certificate", "a certificate and its key", certificate,
                      lambda: self._tls.load_cert_chain(certificate))

    @property
    def url(self):
        """The address that is asked first at the moment."""
        return self._urls[0]

    def _look_who_leads(self):
        """Takes the address in `url_file`, which the agent replaces when another one leads."""
        try:
            with open(self._url_file, encoding="utf-8") as file:
                url = file.read().strip().rstrip("/")
        except OSError:  # It is not there yet.
            return
        if url and url not in self._urls:
            _check_address(url, self._token)
            self._urls = [url]

    def why_away(self):
        """Why there is no answer of it at the moment, for a message."""
        return (f"found no answer of the controller at {self.url} "
                f"({self.trouble or 'it has not answered yet'})")

    def timeout(self):
        """The error of who has waited for it until the deadline."""
        return errors.Timeout(f"{self.why_away()}, needed one by the deadline; look whether it "
                              "runs")

    def ask(self, method, path, deadline, body=None, headers=None):
        """The status and the JSON of the answer; waits until `deadline` while the controller is
        away, does not lead, or cannot make things durable. What can never get better at any of its
        addresses is raised at once. Blocks: not for the loop."""
        hopeless = set()
        for pause in pauses():
            left = deadline - time.monotonic()
            if left <= 0:
                raise self.timeout()
            if self._url_file:
                self._look_who_leads()
            try:
                status, answer = self._follow(method, path, min(_REQUEST_S, left), body, headers)
                if not self._may_become_known(status):
                    self.trouble = ""
                    return status, answer
                self.trouble = _said(answer)
            except errors.CallError:
                raise
            except (OSError, http.client.HTTPException, ValueError, _Away, _Hopeless) as error:
                self.trouble = str(error) or type(error).__name__
                if isinstance(error, _Hopeless):
                    hopeless.add(self.url)
                    if hopeless.issuperset(self._urls):
                        raise error.error from None
                self._urls = self._urls[1:] + self._urls[:1]
            time.sleep(max(0.0, min(pause, deadline - time.monotonic())))

    def _may_become_known(self, status):
        """Whether the token was refused, and may be known in a moment. That moment begins with the
        first refusal and ends with the first other answer, however many questions are asked."""
        if status != 401:
            self._unknown_since = None
            return False
        if not self._token.startswith(_WORKER_TOKEN):
            return False
        if self._unknown_since is None:
            self._unknown_since = time.monotonic()
        return time.monotonic() - self._unknown_since < _UNKNOWN_TOKEN_S

    def checked(self, method, path, deadline, body=None, headers=None):
        """The JSON of a good answer; what the controller refuses is raised."""
        status, answer = self.ask(method, path, deadline, body, headers)
        if 200 <= status < 300:
            return answer
        message = f"the controller refused {method} {path} ({status}): {_said(answer)}"
        if status in (401, 403):
            raise errors.NotAuthorised(message)
        if status == 404:
            raise errors.NoSuchWorker(message)
        raise errors.BadArguments(message, status=status)

    def _follow(self, method, path, timeout, body, headers):
        url = self.url
        for _ in range(_REDIRECTS_MAX):
            status, answer, location = self._once(url, method, path, timeout, body, headers)
            if status == 307 and location:
                target = urllib.parse.urlsplit(location)
                url = f"{target.scheme}://{target.netloc}"
                _check_address(url, self._token)
                continue
            if status == 307 or status == 408 or status >= 500:
                raise _Away(f"{status}: {_said(answer)}")
            return status, answer
        raise _Away(f"more than {_REDIRECTS_MAX} redirections between controllers")

    def _once(self, url, method, path, timeout, body, headers):
        target = urllib.parse.urlsplit(url)
        if target.scheme == "unix":
            connection = _UnixConnection(target.path, timeout)
        elif target.scheme == "https":
            connection = http.client.HTTPSConnection(target.hostname, target.port or 443,
                                                     timeout=timeout, context=self._tls)
        else:
            connection = http.client.HTTPConnection(target.hostname, target.port or 80,
                                                    timeout=timeout)
        try:
            sent = {"Accept": "application/json", **(headers or {})}
            if self._token:
                sent["Authorization"] = f"Bearer {self._token}"
            connection.request(method, path, body=body, headers=sent)
            response = connection.getresponse()
            text = response.read(_ANSWER_MAX)
            return response.status, json.loads(text) if text else {}, response.getheader("Location")
        except (OSError, http.client.HTTPException) as error:
            told = unreachable.for_good(url, error, timeout)
            if told is not None:
                raise _Hopeless(told) from None
            raise
        finally:
            connection.close()


def _said(answer):
    answer = answer if isinstance(answer, dict) else {}
    error = answer.get("error")
    if not isinstance(error, dict):
        return str(answer.get("message") or "without a reason")  # As /v2alpha1 has it.
    return "; ".join([str(error.get("message", "")), *map(str, error.get("details", ()))])


class Directory:
    """The listing of one job, asked anew as needed. Questions that come at once share one
    answer."""

    def __init__(self, controller, job, caller=""):
        self._path = f"/api/v1/jobs/{urllib.parse.quote(job)}/peers"
        if caller:
            if not handshake.CALLER_NAME.fullmatch(caller) or ":" in caller:
                raise errors.BadArguments(f"found the driver's name {caller!r}, needed 1 to 64 "
                                          "letters, digits, dots, _ and -; choose another name")
            self._path += "?caller=" + urllib.parse.quote(caller)
        self.controller = controller
        self.job = job
        self._listing = None
        self.forget()
        forks.forgets(self)

    def forget(self):
        """In a forked child nothing is asked yet."""
        self._asking = None
        self._lock = threading.Lock()

    def ask(self, deadline):
        """A new listing. Blocks."""
        asked = time.monotonic()
        listing = _listing(self.controller.checked("GET", self._path, deadline), asked)
        with self._lock:
            if self._listing is None or self._listing.asked < asked:
                self._listing = listing
        return listing

    def known(self):
        """The last listing; None before the first."""
        return self._listing

    async def listing(self, deadline, newer_than=None):
        """The last listing, or one that was asked for after `newer_than`. On the loop."""
        while True:
            known = self._listing
            if known is not None and (newer_than is None or known.asked > newer_than):
                return known
            try:
                known = await asyncio.wait_for(asyncio.shield(self._shared_question(deadline)),
                                               max(deadline - time.monotonic(), 0))
            except (asyncio.TimeoutError, errors.Timeout):
                if time.monotonic() >= deadline:
                    raise self.controller.timeout() from None

    def is_asking(self):
        """Whether a question is under way. On the loop."""
        return self._asking is not None and not self._asking.done()

    def _shared_question(self, deadline):
        """The question that is under way, or a new one, on a thread: HTTP would hold up the loop.
        A call that joins and has more time asks again."""
        if self._asking is None or self._asking.done():
            loop = asyncio.get_running_loop()
            asking = self._asking = loop.create_future()
            # Looked at here, so that an error that no call waits for is no complaint of asyncio.
            asking.add_done_callback(lambda future: future.exception())
            now = time.monotonic()
            until = min(max(deadline, now + _QUESTION_MIN_S), now + _QUESTION_MAX_S)
            _questions.submit(self._answer, loop, asking, until)
        return self._asking

    def _answer(self, loop, asking, until):
        try:
            listing, error = self.ask(until), None
        except Exception as raised:
            listing, error = None, raised

        def tell():
            if error is None:
                asking.set_result(listing)
            else:
                asking.set_exception(error)
        loop.call_soon_threadsafe(tell)
