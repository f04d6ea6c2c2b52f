"""`quietswap orders export`: every stored order of a range as CSV or JSON, for accounting."""

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from quietswap.chain.address import Address
from quietswap.cli.options.client import owner_of, owner_options
from quietswap.cli.options.operator import read_settings, settings_option, with_storage
from quietswap.cli.options.times import SINCE
from quietswap.cli.output.tokens import wallet_address
from quietswap.clock import SystemClock
from quietswap.contract.exports import FORMATS
from quietswap.orders.export import ExportOrders
from quietswap.orders.ids import PREFIXES
from quietswap.orders.statistics import ExportFilter, ExportPage
from quietswap.server.settings.load import BadSettings
from quietswap.storage.factory import Storage
from quietswap.storage.order_export import OrderExportStore

_PAGE = 1_000


@click.command()
@settings_option
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True,
    help="Lines of CSV, or one JSON array.",
)  # fmt: skip
@click.option(
    "--from", "since", type=SINCE, metavar="TIME",
    help="Created at this time or later: 2026-01-01 (UTC), 12h, 7d.",
)  # fmt: skip
@click.option(
    "--to", "until", type=SINCE, metavar="TIME", help="Created before this time; by default now."
)
@click.option("--wallet", help="Only orders of this wallet.")
@owner_options
@click.option(
    "--output", type=click.Path(dir_okay=False, path_type=Path),
    help="A new file; by default standard output.",
)  # fmt: skip
def export(
    settings_path: Path | None, form: str, since: int | None, until: int | None,
    wallet: str | None, client: str | None, key_id: str | None, output: Path | None,
) -> None:  # fmt: skip
    """Write every order of a range with amounts, fees, hashes and times.

    Orders of a client come oldest first. Without --client and --key they come by kind (swap, wrap,
    cancel, approval, transaction), and those of a kind oldest first. Memory does not grow
    with the number of orders. Whole tokens need the service's node: without it these columns are
    empty.
    """
    since_ms = since or 0
    until_ms = SystemClock().now_ms() + 1 if until is None else until
    if since_ms >= until_ms:
        raise click.UsageError("--to: it must be later than --from")
    wanted = ExportFilter(
        since_ms=since_ms,
        until_ms=until_ms,
        client_id=owner_of(settings_path, client, key_id),
        wallet=Address(wallet_address(wallet)) if wallet else None,
    )

    async def work(storage: Storage) -> None:
        await _write(storage, settings_path, wanted, form, output)

    with_storage(settings_path, work)


async def _write(
    storage: Storage, path: Path | None, wanted: ExportFilter, form: str, output: Path | None
) -> None:
    from quietswap.orders.http_export import WRITERS

    write, _ = WRITERS[form]
    with _target(output) as file:
        async for chunk in write(_pages(storage, path, wanted)):
            file.write(chunk)
        file.flush()


async def _pages(
    storage: Storage, path: Path | None, wanted: ExportFilter
) -> AsyncGenerator[ExportPage]:
    """Yield the pages, with the tokens that the service's node knows."""
    from quietswap.server.container import adapters_of_a_command

    orders = OrderExportStore(storage.database, PREFIXES, _PAGE)
    settings = read_settings(path, "node")
    async with contextlib.AsyncExitStack() as stack:
        chain = None
        if settings.node.urls:
            with contextlib.suppress(BadSettings):
                chain = (await stack.enter_async_context(adapters_of_a_command(settings))).chain
        async for page in ExportOrders(orders, chain)(wanted):
            yield page


@contextlib.contextmanager
def _target(output: Path | None) -> Iterator[BinaryIO]:
    """Open a new file that only its owner reads, or standard output."""
    if output is None:
        yield sys.stdout.buffer
        return
    try:
        handle = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise click.UsageError(f"--output: {output} exists already") from None
    except OSError as error:
        raise click.UsageError(f"--output: {output}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
    except BaseException:  # a part of an export is none, and would be in the way of the next one
        output.unlink(missing_ok=True)
        raise
