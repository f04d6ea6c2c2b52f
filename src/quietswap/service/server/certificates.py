"""Checks of the TLS files: whether the server accepts them, and the certificate's validity.

The server loads them with OpenSSL at its start and with rustls in each worker. rustls accepts
fewer forms of keys and certificates. Known differences have a message of their own here;
`trial_fault` finds the others.
"""

import re
import ssl
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from quietswap.service.server.trial_handshake import trial_fault

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)
_KEY = re.compile(r"-----BEGIN ((?:[A-Z]+ )*PRIVATE KEY)-----")
_KEY_FORMS = ("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
_CURVES = ("secp256r1", "secp384r1")
"""P-256 and P-384. With another curve the worker exits at its start."""


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
    pem = _KEY.search(text)
    if pem is None:
        return [f"server.tls_key: {path} holds no PEM private key"]
    if "ENCRYPTED" in pem[1] or "Proc-Type: 4,ENCRYPTED" in text:
        return [f"server.tls_key: {path} is encrypted; decrypt it: openssl pkey -in KEY -out NEW"]
    if pem[1] not in _KEY_FORMS:
        return [f"server.tls_key: {path} is a {pem[1]}; make it PKCS#8: openssl pkey -in KEY"]
    return []


def _pair_faults(certificate: str, key: str) -> list[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key, password="")
        if not _is_usable(certificate):
            return [f"server.tls_cert: {certificate} is not of RSA, P-256, P-384 or Ed25519"]
        if _leaf(certificate).version.name != "v3":
            fault = f"{certificate} is an X.509 v1 certificate and the server takes only v3"
            return [f"server.tls_cert: {fault}: reissue it with its names in subjectAltName"]
        expires_at(certificate)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            return [f"server.tls_key: {key} is not the private key of {certificate}"]
        reason = (error.reason or "unreadable").replace("_", " ").lower()
        both = [f"server.tls_cert and server.tls_key cannot be loaded: {reason}"]
        return _unreadable(certificate, key) or both
    except (OSError, ValueError) as error:
        detail = getattr(error, "strerror", None) or error
        return [f"server.tls_cert: {certificate} cannot be read: {detail}"]
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
    leaf = _leaf(certificate)
    begins, expires = leaf.not_valid_before_utc, leaf.not_valid_after_utc
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

    Raises OSError, and ValueError if there is no readable certificate.
    """
    return _leaf(certificate).not_valid_after_utc


def _leaf(certificate: str) -> "Certificate":
    """Return the first certificate of a PEM file. Raises OSError and ValueError."""
    from cryptography.x509 import InvalidVersion, load_pem_x509_certificate

    try:
        return load_pem_x509_certificate(Path(certificate).read_bytes())
    except InvalidVersion as error:
        raise ValueError(str(error)) from error


def _is_usable(certificate: str) -> bool:
    """Return whether rustls can sign with this kind of key."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    try:
        key = _leaf(certificate).public_key()
    except UnsupportedAlgorithm:
        return False
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.curve.name in _CURVES
    return isinstance(key, rsa.RSAPublicKey | ed25519.Ed25519PublicKey)
