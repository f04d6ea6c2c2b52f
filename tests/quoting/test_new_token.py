"""A token that was not read yet: it is read while the sources are asked, not before."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from quietswap.rules.chain.records import NodeUnavailable, SimulationResult
from quietswap.rules.errors.base import ServiceUnavailable
from quietswap.rules.errors.requests import TokenNotSupported
from quietswap.rules.quotes.quote import UNREAD_DECIMALS, Route, RouteRequest
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.routes import CollectRoutes
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.verify import VerifyRoutes
from tests.quoting.test_quote_simulated import (
    AMOUNT,
    PROMISE,
    ROUTER,
    TIME_S,
    USDC,
    WALLET,
    OneRoute,
    OneSimulation,
    quoted,
)
from tests.virtual_time import LoopClock, run

WORKS = SimulationResult(True, PROMISE, 200_000, gas_limit=250_000)
TRIP_S = 0.1


@dataclass
class NewToken(OneSimulation):
    """A node that takes `TRIP_S` to read tokens, and then tells `answer` of each."""

    answer: Token | Exception | None = field(default_factory=lambda: Token(Address("0x"), 6))
    events: list[str] = field(default_factory=list)

    def has_read(self, *addresses: Address) -> bool:
        return False

    async def tokens(self, *addresses: Address) -> list[Token | None]:  # type: ignore[override]
        await asyncio.sleep(TRIP_S)
        self.events.append("tokens")
        if isinstance(self.answer, Exception):
            raise self.answer
        return [self.answer and Token(one, self.answer.decimals) for one in addresses]

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "OneSimulation":
        self.events.append("wallet")
        return await super().prepare_simulation(request, spenders)


class Asked(OneRoute):
    """A source that answers after two trips, and notes when it was asked and for which decimals."""

    def __init__(self, node: NewToken, *, needs_decimals: bool) -> None:
        super().__init__(None)
        self.needs_decimals = needs_decimals
        self.at_s: list[float] = []
        self.decimals: list[int] = []
        self._events = node.events

    async def route(self, request: RouteRequest) -> Route:
        self._events.append("source")
        self.at_s.append(LoopClock().monotonic())
        self.decimals.append(request.sell.decimals)
        await asyncio.sleep(2 * TRIP_S)
        return await super().route(request)


def test_a_source_that_needs_no_decimals_does_not_wait_for_them() -> None:
    node = NewToken(WORKS)
    quote = quoted(None, source=Asked(node, needs_decimals=False), node=node)
    assert node.events == ["source", "tokens", "wallet"]
    assert quote.buy_amount == PROMISE


def test_one_that_needs_them_has_them() -> None:
    node = NewToken(WORKS)
    source = Asked(node, needs_decimals=True)
    quoted(None, source=source, node=node)
    assert node.events[0] == "tokens"
    assert source.decimals == [6]


@pytest.mark.parametrize(("needs_decimals", "is_spent"), [(True, False), (False, True)])
def test_what_is_no_token_spends_no_budget_of_a_source_that_waits_for_decimals(
    needs_decimals: bool, is_spent: bool
) -> None:
    async def is_spent_after() -> bool:
        node: Any = NewToken(WORKS)
        adapter: Any = Asked(node, needs_decimals=needs_decimals)
        source = Source(adapter, RequestBudget(1.0, per_day=1), LoopClock())
        verify = VerifyRoutes(node, {"kyberswap": [ROUTER]}, required=False)
        collect = CollectRoutes([source], verify, LoopClock(), soft_s=0.6, hard_s=3.0)
        sell, buy = Token(WETH, UNREAD_DECIMALS), Token(USDC, UNREAD_DECIMALS)
        request = RouteRequest(sell, buy, AMOUNT, WALLET, 50, 10**9, TIME_S)
        reading = asyncio.get_running_loop().create_future()
        reading.set_exception(TokenNotSupported(token=USDC, reason="no token"))
        with pytest.raises(TokenNotSupported):
            await collect("client", request, None, reading)
        assert bool(adapter.at_s) is is_spent
        return await source.refusal("client") is not None

    assert run(is_spent_after()) is is_spent


@pytest.mark.parametrize("needs_decimals", [True, False])
@pytest.mark.parametrize(
    ("answer", "error"),
    [(None, TokenNotSupported), (NodeUnavailable("away"), ServiceUnavailable)],
)
def test_its_error_is_told_without_waiting_for_a_source(
    answer: Exception | None, error: type[Exception], needs_decimals: bool
) -> None:
    node = NewToken(WORKS, answer=answer)
    source = Asked(node, needs_decimals=needs_decimals)
    with pytest.raises(error):
        quoted(None, source=source, node=node)
    assert "wallet" not in node.events
