"""Access to the service's database for operator commands. The service need not run."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from quietswap.adapters.clock import SystemClock
from quietswap.cli.options.settings_option import read_settings
from quietswap.cli.output.exit_codes import DependencyUnreachable
from quietswap.ports.stores import StoreUnavailable
from quietswap.storage.database import IN_MEMORY, ForeignDatabase
from quietswap.storage.database_url import SQLITE, BadDatabaseUrl, missing_file
from quietswap.storage.factory import Storage, open_storage
from quietswap.storage.migrate import SchemaTooNew, SchemaTooOld
from quietswap.storage.sqlite_to_postgres import CannotCopy

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
