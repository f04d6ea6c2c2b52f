"""TLS: additional trusted certificates, and texts for certificate errors."""

from pathlib import Path
from typing import Any

_PEM = b"-----BEGIN CERTIFICATE-----"
_UNTRUSTED = ("UnknownIssuer", "UnknownCA")
_CERTIFICATE_FAULT = "invalid peer certificate: "


def read_ca_file(path: str | Path) -> bytes:
    """Return the certificates of a PEM file. Raises ValueError, which names the file."""
    try:
        pem = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(f"ca_file {path}: {error.strerror or error}") from error
    if _PEM not in pem:
        raise ValueError(f"ca_file {path}: no certificate in PEM format")
    return pem


def fault(error: Exception) -> str | None:
    """Return the fault of a server's certificate and its remedy.

    None if the connection failed for another reason. The error texts are those of rustls
    (https://docs.rs/rustls/latest/rustls/enum.CertificateError.html).
    """
    said = _certificate_fault(error)
    if said is None:
        return None
    if any(word in said for word in _UNTRUSTED):
        return (
            "its TLS certificate is self-signed, or signed by an authority unknown here: if it is"
            " yours, trust it with --ca-file FILE (`ca_file` in Python)"
        )
    if "CaUsedAsEndEntity" in said:
        return (
            "its TLS certificate is self-signed and marked as an authority (CA:TRUE), which cannot"
            " stand for a server: make it with -addext basicConstraints=critical,CA:FALSE, then"
            " trust it with --ca-file FILE (`ca_file` in Python)"
        )
    if "not valid for name" in said:
        return "its TLS certificate is for another host name"
    if "Expired" in said:
        return "its TLS certificate has expired"
    return f"its TLS certificate is not valid ({said[:80]})"


def _certificate_fault(error: Exception) -> str | None:
    details: dict[str, Any] = getattr(error, "details", None) or {}
    for cause in details.get("causes") or []:
        message = str(cause.get("message", ""))
        if _CERTIFICATE_FAULT in message:
            return message.partition(_CERTIFICATE_FAULT)[2]
    return None
