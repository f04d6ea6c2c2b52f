"""Every stored order of a range as CSV or JSON, for accounting."""

import contextlib
import os
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import BinaryIO

import click

from quietswap.cli.options.operator import OperatorContext
from quietswap.rules.orders.export import ExportFilter, ExportPage
from quietswap.service.orders.export import ExportOrders
from quietswap.service.server.settings import BadSettings
from quietswap.service.storage.factory import Storage
from quietswap.service.storage.order_export import OrderExportStore

_PAGE = 1_000


async def write_orders(
    storage: Storage, context: OperatorContext, wanted: ExportFilter, form: str, output: Path | None
) -> None:
    """Write the orders in a format of `WRITERS` to a new file, or to standard output."""
    from quietswap.service.orders.exported_orders import WRITERS

    write, _ = WRITERS[form]
    with _target(output) as file:
        async for chunk in write(_pages(storage, context, wanted)):
            file.write(chunk)
        file.flush()


async def _pages(
    storage: Storage, context: OperatorContext, wanted: ExportFilter
) -> AsyncGenerator[ExportPage]:
    """Yield the pages, with the tokens that the service's node knows."""
    orders = OrderExportStore(storage.database, _PAGE)
    settings, chain = context.settings("node"), None
    async with contextlib.AsyncExitStack() as stack:
        if settings.node.urls:
            from quietswap.service.server.container import adapters_of_a_command

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
