"""Load the settings from one TOML file and the environment.

An unknown name or an invalid value is an error that names it; only a command that reads a few
sections leaves alone a variable that cannot be meant for them. The environment variable
`QUIETSWAP_NODE__URLS` overrides the setting `node.urls`: section and name in upper case, joined by
two underscores. Lists are separated by commas. A setting that may hold a secret may name it
instead, see below. Why not a library: docs/decisions/0005-stack.md.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from quietswap.service.server.secret_settings import SecretOrigin, resolve
from quietswap.service.settings import Section, Settings, SourceConfig

PREFIX = "QUIETSWAP_"
_CLIENT_ENVIRONMENT = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "URL", "API_KEY", "RPC_URL", "PRIVATE_KEY", "KEYSTORE", "KEYSTORE_PASSWORD",
        "WALLET_RPC_URL", "CA_FILE", "MCP_TOKEN", "SETTINGS", "ANVIL", "GETH", "FIXTURES",
        "PROJECT_ROOT",
    )
)  # fmt: skip


_MEANT = 0.6
"""Least likeness of a variable to the name of a setting for which it may be meant."""

_TYPES = re.compile(r"Expected `(?P<wanted>[^`]+)`(?:, got `(?P<given>[^`]+)`)?")
_WORDS = {
    "int": "a whole number", "float": "a number", "decimal": "a number", "bool": "true or false",
    "str": "text", "array": "a list", "object": "a section", "null": "",
}  # fmt: skip
"""The types of settings, by their names in the messages of msgspec."""


REMOVED = (
    "OpenOcean and accept_unbound were removed: only routes whose router is proven to enforce"
    " their terms are offered; leave them out"
)


class BadSettings(Exception):
    """The settings are invalid. Each line of the message names a setting and the reason."""


class _NoSetting(BadSettings):
    """A variable names no setting."""


def load(path: Path | None, environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of a file, or the defaults, with the overrides of the environment.

    Raises BadSettings with the name of the setting and the reason.
    """
    return _loaded(path, environment)[0]


def load_sections(
    path: Path | None, sections: Collection[str], environment: Mapping[str, str] | None = None
) -> tuple[Settings, list[str]]:
    """Return the settings for a command that reads `sections` only, and the variables left alone.

    A variable that names no setting is left alone, unless it may be a misspelt one of these
    sections: `QUIETSWAP_STORAGE_URL` would let the command work on another database. Raises
    BadSettings.
    """
    settings, _, unknown = _loaded(path, environment, sections)
    return settings, unknown


def secret_origins(
    path: Path | None, environment: Mapping[str, str] | None = None
) -> list[SecretOrigin]:
    """Return where each given setting that may hold a secret comes from, without its value.

    Raises BadSettings.
    """
    return _loaded(path, environment)[1]


def _loaded(
    path: Path | None,
    environment: Mapping[str, str] | None,
    sections: Collection[str] | None = None,
) -> tuple[Settings, list[SecretOrigin], list[str]]:
    """Return the settings, where secrets come from, and the variables that were left alone."""
    tree: dict[str, Any] = {}
    if path is not None:
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise BadSettings(f"{path}: {error.strerror or 'cannot be read'}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadSettings(f"{path}: not a TOML file: {error}") from error
    faults: list[str] = []
    variables = environment or os.environ
    overrides: dict[str, str] = {}
    unknown: list[str] = []
    for name in setting_names(variables):
        try:
            _override(tree, name, variables[name])
            overrides[".".join(_path_of(name))] = name
        except _NoSetting as error:
            if sections is None or _may_be_meant(name, sections):
                faults.append(str(error))
            else:
                unknown.append(name)
        except BadSettings as error:
            faults.append(str(error))
    origins, unreadable = resolve(tree, variables, overrides)
    faults += unreadable + _faults(tree)
    if faults:
        raise BadSettings("\n".join(faults))
    return msgspec.convert(tree, Settings), origins, unknown


def _may_be_meant(name: str, sections: Collection[str]) -> bool:
    """Return whether a variable that names no setting may be a misspelt one of these sections."""
    plain = name.removeprefix(PREFIX)
    prefixes = tuple(section.upper() for section in sections)
    nearest = difflib.get_close_matches(plain, _variables(Settings, ""), 1, _MEANT)
    return any(text.startswith(prefixes) for text in (plain, *nearest))


def setting_names(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that override settings, in alphabetical order."""
    return sorted(n for n in environment if n.startswith(PREFIX) and n not in _CLIENT_ENVIRONMENT)


def _faults(tree: dict[str, Any]) -> list[str]:
    """Return the error of each setting."""
    faults = []
    for single in _single_settings(tree):
        path = _path_in(single)
        if _is_removed(path):
            faults.append(f"{'.'.join(path)}: {REMOVED}")
            continue
        try:
            msgspec.convert(single, Settings)
        except msgspec.ValidationError as error:
            fault = _explained(str(error))
            if isinstance(sources := single.get("source"), dict):  # msgspec names no keys
                fault = fault.replace("source[...]", ".".join(("source", *sources)))
            faults.append(fault)
    return list(dict.fromkeys(faults))


def _single_settings(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a tree for each setting. No setting is required, so each is valid by itself or not."""
    for name, value in tree.items():
        if isinstance(value, dict) and value:
            yield from ({name: inner} for inner in _single_settings(value))
        else:
            yield {name: value}


def _path_in(single: dict[str, Any]) -> list[str]:
    """Return the names that lead to the only setting of a tree."""
    ((name, inner),) = single.items()
    return [name, *(_path_in(inner) if isinstance(inner, dict) and inner else ())]


def _is_removed(path: Sequence[str]) -> bool:
    return path[0] == "source" and ("openocean" in path[1:2] or "accept_unbound" in path[2:])


def _override(tree: dict[str, Any], name: str, text: str) -> None:
    path = _path_of(name)
    if _is_removed(path):
        raise BadSettings(f"{name}: {REMOVED}")
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


def _path_of(variable: str) -> list[str]:
    return variable.removeprefix(PREFIX).lower().split("__")


def _field_type(kind: Any, part: str, name: str) -> Any:
    if kind == dict[str, SourceConfig]:
        return SourceConfig
    kind = _section_of(kind)
    if not _is_section(kind):
        raise _NoSetting(f"{name}: there is no such setting")
    for field in msgspec.structs.fields(kind):
        if field.name == part:
            return field.type
    near = difflib.get_close_matches(name, _variables(Settings, PREFIX), 1, 0.9)
    advice = f"; did you mean {near[0]}?" if near else ""
    raise _NoSetting(f"{name}: there is no setting {part}{advice}")


def _variables(section: type[Section], prefix: str) -> Iterator[str]:
    for field in msgspec.structs.fields(section):
        name, kind = prefix + field.name.upper(), _section_of(field.type)
        if _is_section(kind):
            yield from _variables(kind, f"{name}__")
        else:
            yield name


def _section_of(kind: Any) -> Any:
    """Return the section type inside `Annotated` or `| None`, else the type itself."""
    if hasattr(kind, "__metadata__"):
        kind = kind.__origin__
    return next((k for k in getattr(kind, "__args__", ()) if _is_section(k)), kind)


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Section)


def _parsed(text: str, kind: Any, name: str) -> Any:
    parts: object = text
    if "tuple" in str(kind):
        parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        value = msgspec.convert(parts, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadSettings(f"{name}: {_explained(str(error))}{_one_of(kind)}") from error
    return list(value) if isinstance(value, tuple) else value  # a list, as a file has it


def _one_of(kind: Any) -> str:
    """Return the allowed values of an enumerated setting for an error message, else ""."""
    values = choices(kind)
    return f"; there is {', '.join(values)}" if values else ""


def choices(kind: Any) -> tuple[str, ...]:
    """Return the allowed values of a setting of this type; empty if any value is allowed."""
    return get_args(kind) if get_origin(kind) is Literal else ()


def _kind_at(where: str) -> Any:
    """Return the type of the setting at this path; None if there is none."""
    kind: Any = Settings
    for part in where.split("."):
        types = {f.name: f.type for f in msgspec.structs.fields(kind)} if _is_section(kind) else {}
        kind = types.get(part)
        kind = kind if choices(kind) else _section_of(kind)
    return kind


def _plain_type(found: re.Match[str]) -> str:
    """Return "must be a whole number, not text" for "Expected `int`, got `str`"."""
    words = [_WORDS.get(part) for part in found["wanted"].split(" | ")]
    expected_type = " or ".join(word for word in words if word) or found["wanted"]
    given_type = "a fraction" if found["given"] == "float" else _WORDS.get(found["given"] or "")
    return f"must be {expected_type}" + (f", not {given_type}" if given_type else "")


def _explained(message: str) -> str:
    text, _, where = message.partition(" - at `$.")
    text = text.replace("Object contains unknown field", "there is no setting")
    text = _TYPES.sub(_plain_type, text)
    if not where:
        return text
    where = where.rstrip("`")
    return f"{where}: {text}{_one_of(_kind_at(where))}"
