"""One piece of work on the operator's database, for commands that need no running service."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from quietswap.adapters.clock import SystemClock
from quietswap.cli.outcomes import NotReached
from quietswap.cli.settings_option import read_settings
from quietswap.ports.stores import StoreDown
from quietswap.storage.migrate import SchemaTooNew, SchemaTooOld
from quietswap.storage.open import BadDatabaseUrl, Storage, open_storage

T = TypeVar("T")


def place(path: Path | None) -> str:
    """Return where the database is, without user and password."""
    scheme, _, rest = read_settings(path).storage.url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def with_storage(path: Path | None, work: Callable[[Storage], Awaitable[T]]) -> T:
    """Return what `work` returns; an unreachable or unfit database ends the command in words."""
    settings = read_settings(path)

    async def run() -> T:
        storage = await open_storage(settings.storage.url, clock=SystemClock())
        try:
            return await work(storage)
        finally:
            await storage.close()

    try:
        return asyncio.run(run())
    except StoreDown as error:
        raise NotReached(f"{error}: is storage.url right, and the database up?") from error
    except BadDatabaseUrl as error:
        raise click.UsageError(str(error)) from error
    except (SchemaTooNew, SchemaTooOld) as error:
        raise click.ClickException(str(error)) from error
