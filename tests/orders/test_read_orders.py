"""Reading orders: a client sees only its own, and an export names the tokens it can."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.errors.requests import OrderNotFound
from quietswap.rules.orders.export import ExportFilter, ExportRow
from quietswap.rules.orders.order import OrderEvent
from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tokens.token import NATIVE, WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.service.orders.export import ExportOrders
from quietswap.service.orders.history import GetOrderStatus
from quietswap.service.storage.factory import Storage
from tests.manual_clock import ManualClock
from tests.orders.submitting import KEY, OTHER_KEY
from tests.patient import open_storage
from tests.stored_orders import NOW_MS, USDC, order


@pytest.fixture
async def storage() -> AsyncIterator[Storage]:
    storage = await open_storage("sqlite:///:memory:", clock=ManualClock(NOW_MS // 1000))
    yield storage
    await storage.close()


async def test_a_client_reads_its_own_order_and_no_other(storage: Storage) -> None:
    mine = order()
    line = OrderEvent(mine.order_id, NOW_MS, "posted", None, mine.status, "test")
    await storage.orders.add(mine, line)
    status = GetOrderStatus(storage.orders)
    assert (await status(KEY, mine.order_id)).order_id == mine.order_id
    for key, order_id in ((OTHER_KEY, mine.order_id), (KEY, "ord_none")):
        with pytest.raises(OrderNotFound):
            await status(key, order_id)


@dataclass
class Chain:
    """A node that knows `tokens`, and is away while `is_away`."""

    tokens: dict[Address, Token]
    is_away: bool = False
    asked: list[Address] = field(default_factory=list)

    async def token(self, address: Address) -> Token | None:
        self.asked.append(address)
        if self.is_away:
            raise NodeUnavailable("away")
        return self.tokens.get(address)


class Pages:
    """An export of the given pages."""

    def __init__(self, *pages: Sequence[ExportRow]) -> None:
        self._pages = pages

    async def pages(self, _: ExportFilter) -> AsyncGenerator[Sequence[ExportRow]]:
        for page in self._pages:
            yield page


def row(sell: Address, buy: Address) -> ExportRow:
    names = dict.fromkeys(OrderView._fields) | {"sell_token": sell, "buy_token": buy}
    return ExportRow("client-1", UNKNOWN, None, 2, None, OrderView(**cast("Any", names)))


USDC_TOKEN, WETH_TOKEN = Token(Address(USDC), 6, "USDC"), Token(WETH, 18, "WETH")
ETHER = Token(NATIVE, 18, "ETH")
UNKNOWN = Address("0x000000000000000000000000000000000000dEaD")


async def exported(chain: Chain | None) -> list[dict[Address, Token]]:
    """Return the tokens of each page of two."""
    pages = Pages([row(WETH, UNKNOWN), row(NATIVE, WETH)], [row(WETH, Address(USDC))])
    export = ExportOrders(cast("Any", pages), cast("Any", chain))
    return [dict(page.tokens) async for page in export(ExportFilter(0, 1))]


async def test_an_export_has_the_tokens_that_the_node_knows() -> None:
    chain = Chain({WETH: WETH_TOKEN, Address(USDC): USDC_TOKEN})
    assert await exported(chain) == [
        {NATIVE: ETHER, WETH: WETH_TOKEN},
        {NATIVE: ETHER, WETH: WETH_TOKEN, Address(USDC): USDC_TOKEN},
    ]
    assert NATIVE not in chain.asked


async def test_an_export_does_not_wait_for_a_node_that_is_away() -> None:
    chain = Chain({WETH: WETH_TOKEN}, is_away=True)
    assert await exported(chain) == [{NATIVE: ETHER}] * 2
    assert len(chain.asked) <= 2, "the tokens of the first page at most"
    assert await exported(None) == [{NATIVE: ETHER}] * 2
