"""URLs of the database and of Redis: what they may be, and what they name."""

import math
import re
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from quietswap.rules.foreign_text import host_is_ambiguous
from quietswap.service.storage.database import IN_MEMORY

SQLITE = "sqlite:///"
_POSTGRES = ("postgresql://", "postgres://")
_REDIS = ("redis://", "rediss://", "valkey://", "unix://")
_WORDS = {
    "sslmode": {"disable", "allow", "prefer", "require", "verify-ca", "verify-full"},
    "target_session_attrs": {
        "any", "primary", "standby", "prefer-standby", "read-write", "read-only",
    },
}  # fmt: skip
"""https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS"""
_LAST_PORT = 65_535
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.%]+\]|[^:\[\]]*)(?::\d{1,5})?")


class BadDatabaseUrl(ValueError):
    """The database URL is invalid; the message contains the valid forms."""


def is_embedded(url: str, name: str = "storage.url") -> bool:
    """Return True for SQLite and False for PostgreSQL. Raises BadDatabaseUrl.

    `name` is the setting or option of the URL, for the error message.
    """
    if url.startswith(SQLITE) and len(url) > len(SQLITE):
        if "?" in url or "\0" in url:
            raise BadDatabaseUrl(f"{name}: a SQLite URL is a path and takes no ?options")
        return True
    if url.startswith(_POSTGRES):
        _check_hosts(url, name, most_ats=1)  # asyncpg takes what follows the first @ for the host
        _check_words(url, name)
        _check_extra("postgres", "asyncpg", name)
        return False
    raise BadDatabaseUrl(
        f"{name}: a database URL is sqlite:///path/to/file, sqlite:////absolute/path, "
        "sqlite:///:memory: or postgresql://user:password@host/name"
    )


def missing_file(url: str) -> Path | None:
    """Return the file of a SQLite URL if there is none yet; opening it would create it. Raises
    BadDatabaseUrl, also if that cannot be seen.
    """
    name = url.removeprefix(SQLITE)
    if not is_embedded(url) or name == IN_MEMORY:
        return None
    try:
        return None if Path(name).exists() else Path(name)
    except OSError as error:
        raise BadDatabaseUrl(f"storage.url: {name}: {error.strerror}") from error


def check_redis_url(url: str | None) -> None:
    """Raise BadDatabaseUrl unless `url` is None or a valid URL of Redis or Valkey."""
    if url is None:
        return
    if not url.startswith(_REDIS):
        raise BadDatabaseUrl(
            "storage.redis_url: it must be redis://, rediss://, valkey:// or unix://, of one server"
            " or a name that leads to the master; no Sentinel or Cluster is asked (docs/scaling.md)"
        )
    if not url.startswith("unix://"):
        _check_hosts(url, "storage.redis_url")
    _check_extra("redis", "redis", "storage.redis_url")
    from quietswap.service.storage.redis_rate_limits import RedisRateStore

    path = urlsplit(url).path.strip("/")
    try:
        if path.isdecimal() or not path or url.startswith("unix://"):
            RedisRateStore.open(url).check()
            return
    except (ValueError, TypeError, AttributeError):
        pass  # the text may contain the password
    raise BadDatabaseUrl(
        "storage.redis_url: the database is a number, as in /0, and each ?option one of redis-py's"
    )


def shown_host(url: str) -> str:
    """Return hosts and ports of a checked URL, without user and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def shown_url(url: str) -> str:
    """Return a checked database URL without user, password and query."""
    if is_embedded(url):
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{shown_host(url)}{parts.path}"


def _check_hosts(url: str, name: str, most_ats: float = math.inf) -> None:
    """Refuse what the drivers would refuse, with a message that never contains the password."""
    try:
        is_cut = host_is_ambiguous(url) or urlsplit(url).netloc.count("@") > most_ats
        hosts = [":"] if is_cut else shown_host(url).split(",")
    except ValueError:
        hosts = [":"]
    if not all(_HOST.fullmatch(host) and _port(host) <= _LAST_PORT for host in hosts):
        raise BadDatabaseUrl(
            f"{name}: its host and port cannot be read; write special characters of a password as "
            "%40 for @, %23 for #, %2F for /, %3F for ?"
        )


def _port(host: str) -> int:
    _, colon, port = host.rpartition("]")[2].partition(":")
    return int(port) if colon else 0


def _check_extra(extra: str, package: str, name: str) -> None:
    if find_spec(package) is None:
        raise BadDatabaseUrl(
            f"{name}: its driver is not installed: install quietswap again with the extra "
            f"'{extra}', from the same wheel or index"
        )


def _check_words(url: str, name: str) -> None:
    if "\0" in unquote(url):
        raise BadDatabaseUrl(f"{name}: %00 cannot stand in it")
    for word, values in parse_qs(urlsplit(url).query).items():
        if word in _WORDS and not _WORDS[word].issuperset(values):
            raise BadDatabaseUrl(f"{name}: {word} is one of {', '.join(sorted(_WORDS[word]))}")


def is_same_database(one: str, other: str) -> bool:
    """Return whether two URLs certainly name the same database."""
    if one == other:
        return True
    first, second = urlsplit(one), urlsplit(other)
    if first.scheme == second.scheme == "sqlite":
        return Path(first.path[1:]).resolve() == Path(second.path[1:]).resolve()
    return (first.hostname, first.port or 5432, first.path) == (
        second.hostname, second.port or 5432, second.path,
    )  # fmt: skip
