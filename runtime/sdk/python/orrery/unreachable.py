"""Why a controller could not be asked, where no later try can do better."""

import http.client
import socket
import ssl
import urllib.parse

from . import errors, handshake

_PROBE_S = 5.0
# What OpenSSL says of an answer that is no TLS.
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG")


def for_good(url, error, timeout):
    """The error that callers are told where the failed request to `url` fails for ever; None where
    another try may help. May ask the address once more, for up to `timeout` seconds."""
    target = urllib.parse.urlsplit(url)
    if target.scheme == "https" and isinstance(error, ssl.SSLError):
        return _of_tls(url, error)
    # A controller that serves TLS ends a connection that begins otherwise; so does one that dies.
    if target.scheme == "http" and isinstance(error, (http.client.BadStatusLine, ConnectionError)) \
            and not isinstance(error, ConnectionRefusedError) \
            and _speaks_tls(target.hostname, target.port or 80, min(timeout, _PROBE_S)):
        return errors.BadArguments(f"found the controller's address {url}, where TLS is spoken, "
                                   "needed https://; write it so, and name the file of the "
                                   "cluster's authority (ca=, ORRERY_CA)")
    return None


def _of_tls(url, error):
    reason = error.reason or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        return errors.NotAuthorised(
            f"found a certificate of the controller at {url} that is not to be trusted "
            f"({reason}: {error.verify_message}), needed one that the cluster's authority has made "
            "for this address; name the authority's file (ca=, ORRERY_CA)")
    if reason in _NO_TLS:
        return errors.BadArguments(f"found the controller's address {url}, where no TLS is spoken "
                                   f"({reason}), needed http://; write it so, or let the "
                                   "controller serve TLS")
    if "ALERT" in reason and ("CERTIFICATE" in reason or "UNKNOWN_CA" in reason):
        return errors.NotAuthorised(f"the controller at {url} refused this client's certificate "
                                    f"({reason}), needed one that the cluster's authority has "
                                    "made; name its file (certificate=)")
    return None


def _speaks_tls(host, port, timeout):
    """Nothing is sent there but the beginning of TLS."""
    try:
        with socket.create_connection((host, port), timeout) as plain, \
                handshake.caller_context().wrap_socket(plain):
            return True
    except (OSError, ValueError):
        return False
