"""The `--settings` option of all operator commands."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from quietswap.cli.output.exit_codes import DependencyUnreachable
from quietswap.clock import SystemClock
from quietswap.orders.stores import StoreUnavailable
from quietswap.server.settings.load import BadSettings, load, load_sections
from quietswap.server.settings.schema import Settings
from quietswap.storage.database import (
    IN_MEMORY,
    SQLITE,
    BadDatabaseUrl,
    ForeignDatabase,
    missing_file,
)
from quietswap.storage.factory import Storage, open_storage
from quietswap.storage.migrate import SchemaTooNew, SchemaTooOld
from quietswap.storage.sqlite_to_postgres import CannotCopy

F = TypeVar("F", bound=Callable[..., Any])

settings_option: Callable[[F], F] = click.option(
    "--settings",
    "settings_path",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="QUIETSWAP_SETTINGS",
    show_envvar=True,
    help="TOML file; every setting can also be an environment variable QUIETSWAP_SECTION__NAME.",
)


def read_settings(path: Path | None, *sections: str) -> Settings:
    """Return the settings. Raises click.UsageError with one line for each fault.

    With `sections`, the caller reads these only: a variable that names no setting is an error only
    if it may be meant for them, and a warning otherwise.
    """
    try:
        if not sections:
            return load(path)
        settings, strays = load_sections(path, sections)
    except BadSettings as error:
        raise click.UsageError(_in_lines(error)) from error
    _warn_of(strays)
    return settings


def _warn_of(strays: Collection[str]) -> None:
    """Name each variable on standard error, once in a command."""
    context = click.get_current_context(silent=True)  # none where the output is being closed
    told: set[str] = context.meta.setdefault(__name__, set()) if context else set()
    for name in strays:
        if name not in told:
            told.add(name)
            text = f"careful: {name} names no setting and is ignored; `quietswap serve` refuses it"
            click.echo(text, err=True)


def _in_lines(error: BadSettings) -> str:
    first, *more = str(error).splitlines()
    if not more:
        return f"the settings cannot be used: {first}"
    return "the settings cannot be used:\n" + "\n".join(f"- {line}" for line in (first, *more))


# Access to the service's database for operator commands. The service need not run.


T = TypeVar("T")


def storage_url(path: Path | None) -> str:
    """Return the database URL without user and password."""
    scheme, _, rest = read_settings(path, "storage").storage.url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def with_storage(
    path: Path | None,
    work: Callable[[Storage], Awaitable[T]],
    *,
    creates: bool = False,
    checked: bool = True,
    rates: bool = False,
) -> T:
    """Open the storage and return the result of `work`. Raises as `storage_errors` does.

    Only with `creates`, a missing SQLite file is created. Otherwise `work` gets an empty database
    in memory: the path may be mistyped. `checked` is that of `open_storage`. With `rates` the
    shared rate store is opened, too, if one is set.
    """

    async def run() -> T:
        chosen = read_settings(path, "storage").storage
        url, redis_url = chosen.url, chosen.redis_url if rates else None
        if not creates and (missing := missing_file(url)) and missing.parent.is_dir():
            url = SQLITE + IN_MEMORY
        storage = await open_storage(url, clock=SystemClock(), rates_url=redis_url, checked=checked)
        try:
            return await work(storage)
        finally:
            await storage.close()

    with storage_errors():
        return asyncio.run(run())


@contextmanager
def storage_errors() -> Iterator[None]:
    """Turn storage errors into click errors: exit code 1, 2 or 3 with a message."""
    try:
        yield
    except StoreUnavailable as error:
        raise DependencyUnreachable(
            f"{error}: is storage.url right, and the database up?"
        ) from error
    except BadDatabaseUrl as error:
        raise click.UsageError(str(error)) from error
    except (SchemaTooNew, SchemaTooOld, ForeignDatabase, CannotCopy) as error:
        raise click.ClickException(str(error)) from error
