"""A summary of the settings without their values, for the log and the audit log."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from quietswap.service.server.settings import setting_names
from quietswap.service.settings import KEYS, SECRETS, Settings


def settings_summary(settings: Settings, file: Path | None) -> dict[str, Any]:
    """Return the file, the variables that override it, and a fingerprint without secrets.

    Keys, and user, password and query of a URL, do not change the fingerprint. The rest of a URL
    does; a key in its path has too many bits to be found by trial.
    """
    plain = json.dumps(_without_secrets(msgspec.to_builtins(settings)), sort_keys=True)
    return {
        "file": str(file.resolve()) if file else None,
        "environment": setting_names(os.environ),
        "fingerprint": hashlib.sha256(plain.encode()).hexdigest()[:16],
    }


def _without_secrets(section: dict[str, Any]) -> dict[str, Any]:
    return {name: _public(name, value) for name, value in section.items() if name not in KEYS}


def _public(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return _without_secrets(value)
    if name not in SECRETS or value is None:
        return value
    return _place(value) if isinstance(value, str) else [_place(url) for url in value]


def _place(url: str) -> str:
    """Return scheme, host, port and path."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("#")[0].partition("?")[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
