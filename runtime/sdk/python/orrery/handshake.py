"""Who speaks to whom: keys, proofs, certificates."""

import base64
import hashlib
import hmac
import ipaddress
import re
import secrets
import ssl

from . import errors

PROTOCOL = 1
PATIENCE_S = 10  # All of the handshake must be done within.

CALLER_NAME = re.compile(r"(?:driver:)?[A-Za-z0-9._-]{1,64}")
HEX_64 = re.compile(r"[0-9a-f]{64}")
NONCE = re.compile(r"[0-9a-f]{32}")


def key_of(token, caller):
    """The key between a caller and the worker that has this token."""
    return hmac.new(token.encode(), b"orrery-call/1 " + caller.encode(), hashlib.sha256).digest()


def nonce():
    return secrets.token_hex(16)


def proof(key, who, caller_nonce, callee_nonce, certificate):
    text = "\n".join((who, caller_nonce, callee_nonce, certificate))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def is_proof(found, needed):
    """Takes as long for every wrong one."""
    return isinstance(found, str) and hmac.compare_digest(found.encode("utf-8", "replace"),
                                                          needed.encode())


def callee_context(path):
    """TLS of a listener from a file with certificate and key, and the certificate's SHA-256."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(path)
    with open(path, encoding="ascii", errors="replace") as file:
        found = re.search("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", file.read(),
                          re.DOTALL)
    return context, hashlib.sha256(base64.b64decode(found.group(1))).hexdigest()


def caller_context():
    """TLS of a caller. Which certificate is the right one is in the directory, so no authority is
    asked: see check_certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def check_certificate(transport, needed):
    """Compares the certificate that a caller was shown with that of the directory."""
    if not needed:
        return
    connection = transport.get_extra_info("ssl_object")
    shown = connection.getpeercert(binary_form=True) if connection else None
    found = hashlib.sha256(shown).hexdigest() if shown else "none"
    if not hmac.compare_digest(found, needed):
        raise errors.NotAuthorised(
            f"found the certificate {found}, needed {needed}, which the directory has for this "
            "worker; another process answers at its address")


def is_loopback(address):
    """Whether what goes to this address stays on the machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
