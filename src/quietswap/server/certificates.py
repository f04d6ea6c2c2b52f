"""Checks of the TLS files: whether the server accepts them, and the certificate's validity.

The server loads them with OpenSSL at its start and with rustls in each worker. rustls accepts
fewer forms of keys and certificates. Known differences have a message of their own here;
`certificate_trial` finds the others.
"""

import asyncio
import os
import re
import socket
import ssl
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# Trial TLS handshake with the two TLS files, by granian in a separate process.
#
# granian aborts its process when it rejects a file, so only a trial proves that it accepts them.
# `python -m quietswap.server.certificates CERTIFICATE KEY` exits with 0 after a handshake.


_WITHIN_S = 20.0
_ASK_EVERY_S = 0.02
_HERE = "127.0.0.1"
_REASON = re.compile(r"an `Err` value: (.+)")


def trial_fault(certificate: str, key: str) -> str | None:
    """Return why granian cannot serve with these PEM files; None if it can."""
    command = (sys.executable, "-m", "quietswap.server.certificates", certificate, key)
    try:
        done = subprocess.run(  # noqa: S603  our own command line
            command, capture_output=True, text=True, timeout=_WITHIN_S, check=False
        )
    except subprocess.TimeoutExpired:
        return "no TLS handshake was made in time"
    except OSError as error:
        return f"they could not be tried: {error.strerror}"
    if done.returncode == 0:
        return None
    reason = _REASON.search(done.stderr)
    return reason[1] if reason else f"the trial ended with exit code {done.returncode}"


async def _nothing(scope: Any, receive: Any, send: Any) -> None:
    """Empty application: the trial sends no request."""


async def _handshake(port: int) -> bytes | None:
    """Return the served certificate (DER) once the server listens."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while True:
        try:
            _, writer = await asyncio.open_connection(_HERE, port, ssl=context)
        except ConnectionRefusedError:
            await asyncio.sleep(_ASK_EVERY_S)
            continue
        served: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return served


async def _serve_once(certificate: str, key: str) -> None:
    from granian.constants import HTTPModes, Interfaces, SSLProtocols
    from granian.server.embed import Server

    with socket.socket() as probe:
        probe.bind((_HERE, 0))
        port = probe.getsockname()[1]
    server = Server(
        _nothing,
        address=_HERE,
        port=port,
        interface=Interfaces.ASGINL,
        websockets=False,
        log_enabled=False,
        http=HTTPModes.http1,
        ssl_cert=Path(certificate),
        ssl_key=Path(key),
        ssl_protocol_min=SSLProtocols.tls13,
    )
    serving = asyncio.create_task(server.serve())
    asking = asyncio.create_task(_handshake(port))
    await asyncio.wait({serving, asking}, return_when=asyncio.FIRST_COMPLETED)
    os._exit(0 if asking.done() and asking.exception() is None and asking.result() else 1)


if __name__ == "__main__":
    asyncio.run(_serve_once(*sys.argv[1:3]))


_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)
_KEY = re.compile(r"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----")
_KEY_FORMS = ("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
_V3 = 3
_SEQUENCE, _INTEGER, _OID, _VERSION, _UTC_TIME = 0x30, 0x02, 0x06, 0xA0, 0x17
_EC_KEY = bytes.fromhex("2a8648ce3d0201")
_PLAIN_KEYS = (bytes.fromhex("2a864886f70d010101"), bytes.fromhex("2b6570"))
"""RSA (RFC 8017, appendix A.1) and Ed25519 (RFC 8410, section 3)."""
_CURVES = (bytes.fromhex("2a8648ce3d030107"), bytes.fromhex("2b81040022"))
"""P-256 and P-384 (RFC 5480, section 2.1.1.1). With another curve the worker exits at its start."""


def tls_faults(certificate: str, key: str) -> list[str]:
    """Return one line for each reason why the server cannot use the two files."""
    faults: list[str] = []
    chain = _text(certificate, "server.tls_cert", faults)
    secret = _text(key, "server.tls_key", faults)
    if chain is not None and not _CERTIFICATE.search(chain):
        faults.append(f"server.tls_cert: {certificate} holds no PEM certificate")
    if secret is not None:
        faults.extend(_key_faults(secret, key))
    return faults or _pair_faults(certificate, key)


def _text(path: str, name: str, faults: list[str]) -> str | None:
    try:
        text = Path(path).read_text("latin-1")
    except OSError as error:
        faults.append(f"{name}: {path}: {error.strerror or 'it cannot be read'}")
        return None
    if not text.strip():
        faults.append(f"{name}: {path} is empty")
        return None
    return text


def _key_faults(text: str, path: str) -> list[str]:
    found = _KEY.search(text)
    if found is None:
        return [f"server.tls_key: {path} holds no PEM private key"]
    if "ENCRYPTED" in found[1] or "Proc-Type: 4,ENCRYPTED" in text:
        return [f"server.tls_key: {path} is encrypted; decrypt it: openssl pkey -in KEY -out NEW"]
    if found[1] not in _KEY_FORMS:
        return [f"server.tls_key: {path} is a {found[1]}; make it PKCS#8: openssl pkey -in KEY"]
    return []


def _pair_faults(certificate: str, key: str) -> list[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password="")
        if not _is_usable(certificate):
            return [f"server.tls_cert: {certificate} is not of RSA, P-256, P-384 or Ed25519"]
        if (version := _version(certificate)) != _V3:
            fault = f"{certificate} is an X.509 v{version} certificate and the server takes only v3"
            return [f"server.tls_cert: {fault}: reissue it with its names in subjectAltName"]
        expires_at(certificate)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return [f"server.tls_key: {key} is not the private key of {certificate}"]
        reason = (error.reason or "unreadable").replace("_", " ").lower()
        both = [f"server.tls_cert and server.tls_key cannot be loaded: {reason}"]
        return _unreadable(certificate, key) or both
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        return [f"server.tls_cert: {certificate} cannot be read: {why}"]
    if (refused := trial_fault(certificate, key)) is not None:
        return [f"server.tls_cert and server.tls_key: the server cannot use them: {refused}"]
    return []


def _unreadable(certificate: str, key: str) -> list[str]:
    """Return which of the two files holds what nothing can read: OpenSSL does not say it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificates

    faults = []
    try:
        load_pem_x509_certificates(Path(certificate).read_bytes())
    except ValueError:
        faults.append(f"server.tls_cert: {certificate} holds a broken certificate: export it again")
    try:
        load_pem_private_key(Path(key).read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        faults.append(f"server.tls_key: {key} holds a broken private key: export it again")
    return faults


def validity_fault(certificate: str, now: datetime) -> str | None:
    """Return one line that says why the certificate is not valid at `now`; None if it is valid.

    Raises OSError and ValueError as `expires_at` does.
    """
    begins, expires = _validity(certificate)
    if now < begins:
        return (
            f"the certificate is not valid before {begins:%Y-%m-%d %H:%M} UTC: clients refuse it; "
            "check this machine's clock, or wait"
        )
    if now > expires:
        return f"the certificate expired {expires:%Y-%m-%d}: clients refuse it; renew it"
    return None


def expires_at(certificate: str) -> datetime:
    """Return `notAfter` of the first certificate in a PEM file, which is the server certificate.

    Raises OSError, and ValueError if there is no readable certificate (RFC 5280, section 4.1).
    """
    return _validity(certificate)[1]


def _validity(certificate: str) -> tuple[datetime, datetime]:
    """Return notBefore and notAfter."""
    validity, _ = _fields(certificate)
    before, rest = _moment(validity)
    return before, _moment(rest)[0]


def _moment(data: bytes) -> tuple[datetime, bytes]:
    """Return the DER time at the start of `data`, and the bytes after it."""
    text, rest = _inside(data, data[0])
    form = "%y%m%d%H%M%SZ" if data[0] == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return datetime.strptime(text.decode("ascii"), form).replace(tzinfo=UTC), rest


def _is_usable(certificate: str) -> bool:
    """Return whether rustls can sign with this kind of key."""
    _, algorithm = _fields(certificate)
    name, parameters = _inside(algorithm, _OID)
    return name in _PLAIN_KEYS or (name == _EC_KEY and _inside(parameters, _OID)[0] in _CURVES)


def _version(certificate: str) -> int:
    """Return 1, 2 or 3. DER omits the default, version 1."""
    body = _body(certificate)
    if body[:1] != bytes([_VERSION]):
        return 1
    return int.from_bytes(_inside(_inside(body, _VERSION)[0], _INTEGER)[0]) + 1


def _body(certificate: str) -> bytes:
    """Return the first certificate's tbsCertificate, without its DER header. Raises ValueError."""
    found = _CERTIFICATE.search(Path(certificate).read_text("latin-1"))
    if found is None:
        raise ValueError("there is no PEM certificate")
    return _inside(_inside(ssl.PEM_cert_to_DER_cert(found[0]), _SEQUENCE)[0], _SEQUENCE)[0]


def _fields(certificate: str) -> tuple[bytes, bytes]:
    """Return validity and key algorithm, without their DER headers. Raises ValueError."""
    body = _body(certificate)
    if body[:1] == bytes([_VERSION]):
        body = _inside(body, _VERSION)[1]
    for kind in (_INTEGER, _SEQUENCE, _SEQUENCE):  # serial number, algorithm, issuer
        body = _inside(body, kind)[1]
    validity, body = _inside(body, _SEQUENCE)
    body = _inside(body, _SEQUENCE)[1]  # subject
    public_key = _inside(body, _SEQUENCE)[0]
    return validity, _inside(public_key, _SEQUENCE)[0]


def _inside(data: bytes, kind: int) -> tuple[bytes, bytes]:
    """Return the content of the DER value at the start of `data`, and the bytes after it."""
    if len(data) < 2 or data[0] != kind:
        raise ValueError("it is not an X.509 certificate")
    size, at = data[1], 2
    if size & 0x80:
        at += size & 0x7F
        size = int.from_bytes(data[2:at])
    if len(data) < at + size:
        raise ValueError("the certificate is cut off: export it again")
    return data[at : at + size], data[at + size :]
