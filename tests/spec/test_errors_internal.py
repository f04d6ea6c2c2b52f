"""500 INTERNAL_SERVER_ERROR: the one row nobody should ever see."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patient import open_database
from tests.spec.api_client import SOLD, ApiClient
from tests.spec.coverage import shows
from tests.spec.wire import refused


@contextmanager
def without_table(desk: ApiClient, name: str) -> Iterator[None]:
    """Break the service's database behind its back, and mend it again."""
    rename(desk.database_url, name, f"{name}_gone")
    try:
        yield
    finally:
        rename(desk.database_url, f"{name}_gone", name)


def rename(url: str, table: str, name: str) -> None:
    async def run() -> None:
        database = await open_database(url)
        try:
            await database.change(f"ALTER TABLE {table} RENAME TO {name}")
        finally:
            await database.close()

    asyncio.run(run())


@shows("error: 500 INTERNAL_SERVER_ERROR")
def test_500_internal_server_error_on_the_order_status(desk: ApiClient) -> None:
    taken = desk.order(desk.wallet())
    with without_table(desk, "orders"):
        answer = desk.api.get(f"/api/v1/mev/orders/{taken['orderId']}")
    told = refused(answer, 500, "INTERNAL_SERVER_ERROR")
    assert told["details"] == {"requestId": answer.headers["x-request-id"]}
    assert "table" not in answer.text
    assert desk.status(taken["orderId"])["orderId"] == taken["orderId"]


@shows("error: 500 INTERNAL_SERVER_ERROR")
def test_500_internal_server_error_on_the_swap_quote(desk: ApiClient) -> None:
    wallet = desk.wallet()
    with without_table(desk, "quotes"):
        answer = desk.ask_quote(wallet)
    told = refused(answer, 500, "INTERNAL_SERVER_ERROR")
    assert told["details"] == {"requestId": answer.headers["x-request-id"]}
    assert "table" not in answer.text
    assert desk.quote(wallet)["sellAmount"] == str(SOLD)
