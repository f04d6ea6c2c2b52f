"""Secrets that the settings name instead of holding them: `file:PATH` and `env:NAME`.

They are possible in every setting that may hold a secret (`SECRETS`), in the settings file and in
its overrides. A file is read at each load, so a reload takes a rotated secret.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietswap.service.settings import SECRETS

_FILE, _ENVIRONMENT = "file:", "env:"
_LARGEST = 64 << 10
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class UnreadableSecret(Exception):
    """The named secret cannot be used. The message has the reason and never the value."""


@dataclass(frozen=True, slots=True)
class SecretOrigin:
    """Where one setting comes from, in words: `origin` contains no value."""

    setting: str
    origin: str


def resolve(
    tree: dict[str, Any], environment: Mapping[str, str], overrides: Mapping[str, str]
) -> tuple[list[SecretOrigin], list[str]]:
    """Replace references in a settings tree; return all origins, and one line for each fault.

    `overrides`: the environment variable of each setting that one overrides, by dotted path.
    """
    origins: list[SecretOrigin] = []
    faults: list[str] = []
    for holder, key, path in list(_places(tree)):
        named = path.partition(", number ")[0]
        place = overrides.get(named)
        written = f"environment variable {place}" if place else "settings file"
        try:
            value, origin = _resolved(holder[key], environment)
        except UnreadableSecret as error:
            faults.append(f"{path}: {error}")
        else:
            holder[key] = value
            by = f", named by {place}" if place else ""
            origins.append(SecretOrigin(path, f"{origin}{by}" if origin else written))
    return origins, faults


def _places(tree: dict[str, Any], path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """Yield each text that may be a secret: its container, its key there, its dotted path."""
    for name, value in tree.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, dict):
            yield from _places(value, where)
        elif name in SECRETS and isinstance(value, str):
            yield tree, name, where
        elif name in SECRETS and isinstance(value, list):
            texts = [(at, one) for at, one in enumerate(value) if isinstance(one, str)]
            yield from ((value, at, f"{where}, number {at + 1}") for at, _ in texts)


def _resolved(text: str, environment: Mapping[str, str]) -> tuple[str, str | None]:
    """Return the value and, for a reference, its origin. Raises UnreadableSecret."""
    if text.startswith(_FILE):
        path = _path(text.removeprefix(_FILE))
        return _checked(_read(path), f"file {path}"), f"file {path}"
    if text.startswith(_ENVIRONMENT):
        name = text.removeprefix(_ENVIRONMENT)
        if not _NAME.fullmatch(name):
            raise UnreadableSecret("after env: stands the name of an environment variable")
        if name not in environment:
            raise UnreadableSecret(f"environment variable {name} is not set")
        origin = f"environment variable {name}"
        return _checked(environment[name], origin), origin
    for prefix in (_FILE, _ENVIRONMENT):
        if text.lstrip().lower().startswith(prefix):
            raise UnreadableSecret(f"write {prefix} in lower case, with nothing before it")
    return text, None


def _path(text: str) -> Path:
    """Return the path of `file:/x` and of `file:///x`."""
    path = text.removeprefix("//") if text.startswith("///") else text
    if not path or "\0" in path:
        raise UnreadableSecret("after file: stands the path of a file")
    return Path(path)


def _read(path: Path) -> str:
    try:
        body = _head(path)
        if len(body) > _LARGEST:
            raise UnreadableSecret(f"file {path} is larger than {_LARGEST >> 10} KiB")
        return body.decode("utf-8")
    except OSError as error:
        raise UnreadableSecret(f"file {path}: {error.strerror or 'it cannot be read'}") from error
    except UnicodeDecodeError:
        raise UnreadableSecret(f"file {path} is not text in UTF-8") from None


def _head(path: Path) -> bytes:
    """Return the first bytes of a regular file, one more than a secret may have."""
    # Without O_NONBLOCK, to open a FIFO waits for its writer.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise UnreadableSecret(f"file {path} is not a regular file")
        with os.fdopen(number, "rb", closefd=False) as file:
            return file.read(_LARGEST + 1)
    finally:
        os.close(number)


def _checked(text: str, origin: str) -> str:
    """Return the secret without the blanks and line ends around it."""
    secret = text.strip()
    if not secret:
        raise UnreadableSecret(f"{origin} is empty")
    if any(not char.isprintable() for char in secret):
        raise UnreadableSecret(f"{origin} has more than one line, or a control character")
    return secret
