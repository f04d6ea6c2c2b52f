"""500 INTERNAL_SERVER_ERROR: the one row nobody should ever see."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.spec.coverage import shows
from tests.spec.desk import Desk
from tests.spec.wire import refused

pytestmark = pytest.mark.xdist_group("interface")


@contextmanager
def without_table(desk: Desk, name: str) -> Iterator[None]:
    """Break the service's database behind its back, and mend it again."""
    path = desk.database_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"ALTER TABLE {name} RENAME TO {name}_gone")
        try:
            yield
        finally:
            database.execute(f"ALTER TABLE {name}_gone RENAME TO {name}")


@shows("error: 500 INTERNAL_SERVER_ERROR")
def test_500_internal_server_error_on_the_order_status(desk: Desk) -> None:
    taken = desk.order(desk.wallet())
    with without_table(desk, "orders"):
        answer = desk.api.get(f"/api/v1/mev/orders/{taken['orderId']}")
    told = refused(answer, 500, "INTERNAL_SERVER_ERROR")
    assert told["details"] == {"requestId": answer.headers["x-request-id"]}
    assert "table" not in answer.text
    assert desk.status(taken["orderId"])["orderId"] == taken["orderId"]


@shows("error: 500 INTERNAL_SERVER_ERROR")
def test_500_internal_server_error_on_the_swap_quote(desk: Desk) -> None:
    wallet = desk.wallet()
    with without_table(desk, "quotes"):
        answer = desk.ask_quote(wallet)
    told = refused(answer, 500, "INTERNAL_SERVER_ERROR")
    assert told["details"] == {"requestId": answer.headers["x-request-id"]}
    assert "table" not in answer.text
    assert desk.quote(wallet)["sellAmount"] == "1000000000000000000"
