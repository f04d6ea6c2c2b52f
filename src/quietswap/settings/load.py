"""Settings are read from one TOML file and the environment.

An unknown name or a bad value refuses to start and says which. A setting `node.urls` is overridden
by the environment variable `QUIETSWAP_NODE__URLS` (section and name joined by two underscores,
upper case; lists separated by commas).
"""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from quietswap.settings.schema import Section, Settings, Source

PREFIX = "QUIETSWAP_"
_CLIENT_ENVIRONMENT = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "URL", "API_KEY", "RPC_URL", "PRIVATE_KEY", "KEYSTORE", "KEYSTORE_PASSWORD",
        "SETTINGS", "ANVIL", "FIXTURES", "PROJECT_ROOT",
    )
)  # fmt: skip


class BadSettings(Exception):
    """The settings cannot be used; each line of the message names a setting and the reason."""


def load(path: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a file (or the defaults) under the environment's overrides.

    Raises BadSettings with the setting's name and the reason.
    """
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise BadSettings(f"{path}: {error.strerror or 'cannot be read'}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadSettings(f"{path}: not a TOML file: {error}") from error
    faults: list[str] = []
    for name, value in sorted((environment or os.environ).items()):
        if name.startswith(PREFIX) and name not in _CLIENT_ENVIRONMENT:
            try:
                _override(tree, name, value)
            except BadSettings as error:
                faults.append(str(error))
    faults += _faults(tree)
    if faults:
        raise BadSettings("\n".join(faults))
    return msgspec.convert(tree, Settings)


def _faults(tree: dict[str, Any]) -> list[str]:
    """Return what is wrong in each section: one fault of a section hides its others."""
    faults = []
    for name, section in tree.items():
        try:
            msgspec.convert({name: section}, Settings)
        except msgspec.ValidationError as error:
            faults.append(_explained(str(error)))
    return faults


def _override(tree: dict[str, Any], name: str, text: str) -> None:
    path = name.removeprefix(PREFIX).lower().split("__")
    kind: Any = Settings
    for part in path:
        kind = _field_type(kind, part, name)
    if _is_section(_section_of(kind)):
        raise BadSettings(f"{name}: names a whole section, not one setting")
    *sections, last = path
    for part in sections:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            raise BadSettings(f"{name}: {part} in the file is not a section")
    tree[last] = _parsed(text, kind, name)


def _field_type(kind: Any, part: str, name: str) -> Any:
    if kind == dict[str, Source]:
        return Source
    kind = _section_of(kind)
    if not _is_section(kind):
        raise BadSettings(f"{name}: there is no such setting")
    for field in msgspec.structs.fields(kind):
        if field.name == part:
            return field.type
    near = difflib.get_close_matches(name, _variables(Settings, PREFIX), 1, 0.9)
    meant = f"; did you mean {near[0]}?" if near else ""
    raise BadSettings(f"{name}: there is no setting {part}{meant}")


def _variables(section: type[Section], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(section):
        name, kind = prefix + field.name.upper(), _section_of(field.type)
        if _is_section(kind):
            yield from _variables(kind, f"{name}__")
        else:
            yield name


def _section_of(kind: Any) -> Any:
    """Return the section inside `Annotated` or `| None`, else the kind itself."""
    if hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    return next((k for k in getattr(kind, "__args__", ()) if _is_section(k)), kind)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _parsed(text: str, kind: Any, name: str) -> Any:
    if "tuple" in str(kind):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadSettings(f"{name}: {_explained(str(error))}") from error


def _explained(message: str) -> str:
    text, _, where = message.partition(" - at `$.")
    text = text.replace("Object contains unknown field", "there is no setting")
    return f"{where.rstrip('`')}: {text}" if where else text
