"""What a simulation means for the quote: its gas limit, its refusals, tokens without an answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from quietswap.rules.chain.records import AccountState, Head, SimulationResult, UnreadableToken
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import InsufficientLiquidity, ServiceUnavailable
from quietswap.rules.errors.requests import TokenNotSupported
from quietswap.rules.orders.nonces import OwnNonces
from quietswap.rules.quotes.quote import Route, RouteRequest, SourceOutcome, SwapQuote
from quietswap.rules.quotes.request import SwapQuoteRequest
from quietswap.rules.relays import FIRST_TIER
from quietswap.rules.tokens.token import WETH, Token, TokenPolicy
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.routes import CollectRoutes
from quietswap.service.quoting.sources import Source
from quietswap.service.quoting.swap import QuoteSwap
from quietswap.service.quoting.verify import VerifyRoutes
from quietswap.service.server.factories import swap_terms
from quietswap.service.settings import Settings
from tests.routers.router_calldata import ENCODERS
from tests.scripted_relay import ScriptedRelay
from tests.vendors.router import Swap
from tests.virtual_time import LoopClock, run

USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
AMOUNT, PROMISE = 10**18, 3_000_000_000
ASK = SwapQuoteRequest(WETH, USDC, AMOUNT, WALLET, 50)
SENDER = AccountState(3, 3, 10**18, 0, {})
KEY = ApiKey("key-1", "a wallet", 0, None, "client-1")


TIME_S = 1_000_000


@dataclass
class OneSimulation:
    """A chain on which every swap ends as `simulation`; None: the sell token cannot be read."""

    simulation: SimulationResult | None
    sender: AccountState = SENDER
    next_base_fee: int = 10**9
    fork_s: int | None = None
    time_s: int = TIME_S
    is_amsterdam: bool = False

    async def head(self, max_age_s: float | None = None) -> Head:
        return Head(1, "0x1", "0x0", self.time_s, 10**9, 10**9, is_amsterdam=self.is_amsterdam)

    async def next_fork(self, after_s: int) -> int | None:
        return self.fork_s if self.fork_s is not None and self.fork_s > after_s else None

    async def tokens(self, *addresses: Address) -> list[Token]:
        return [Token(address, 18 if address == WETH else 6) for address in addresses]

    def has_read(self, *addresses: Address) -> bool:
        return True

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "OneSimulation":
        if self.simulation is None:
            raise UnreadableToken("its balances cannot be read")
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        assert self.simulation is not None
        return [self.simulation] * len(candidates)


class OneRoute:
    """An aggregator with one honest route, and a claim of its price impact."""

    name = "kyberswap"
    slippage_bps = (0, 10_000)

    def __init__(self, impact: Decimal | None) -> None:
        self._impact = impact

    async def route(self, request: RouteRequest) -> Route:
        minimum = PROMISE * 9950 // 10_000
        data = ENCODERS["kyberswap"](Swap(WETH, USDC, AMOUNT, minimum, WALLET))
        return Route(
            source=self.name, dex="dex", target=ROUTER, spender=ROUTER, value=0, data=data,
            path=(WETH, USDC), buy_amount=PROMISE, min_buy_amount=minimum, gas=200_000,
            impact_percent=self._impact,
        )  # fmt: skip


class Nothing:
    """Prices, quotes and orders that know nothing and keep nothing."""

    async def usd(self, *tokens: Address) -> list[None]:
        return [None] * len(tokens)

    by_pools = usd

    async def save(self, quote: object) -> None: ...

    async def refresh(self) -> None: ...

    async def own_nonces(self, client_id: str, wallet: Address) -> OwnNonces:
        return OwnNonces((), ())


def quoted(
    simulation: SimulationResult | None,
    impact: Decimal | None = None,
    *,
    source: OneRoute | None = None,
    reads: Nothing | None = None,
    node: OneSimulation | None = None,
    ask: SwapQuoteRequest = ASK,
) -> SwapQuote:
    async def work() -> SwapQuote:
        chain: Any = node or OneSimulation(simulation)
        nothing: Any = reads or Nothing()
        clock = LoopClock()
        verify = VerifyRoutes(chain, {"kyberswap": [ROUTER]}, required=False)
        sources = [Source(source or OneRoute(impact), RequestBudget(1000.0), clock)]
        collect = CollectRoutes(sources, verify, clock, soft_s=0.6, hard_s=3.0)
        quote = QuoteSwap(
            chain=chain, prices=nothing, price=nothing, collect_routes=collect,
            pauses=nothing, usage=nothing, quotes=nothing, orders=nothing,
            relays={FIRST_TIER: ScriptedRelay()},
            tokens=TokenPolicy(), terms=swap_terms(Settings()), clock=clock, new_id=lambda: "swq_1",
        )  # fmt: skip
        return await quote(KEY, ask)

    return run(work())


@pytest.mark.parametrize(
    ("block_s", "base_s"),
    [
        (TIME_S - 3_600, TIME_S - 3_600),  # a clock ahead would keep it executable for longer
        (TIME_S, TIME_S),
        (TIME_S + 3_600, TIME_S + 3_600),
        (TIME_S + 8 * 86_400, TIME_S + 3_600),  # as would blocks days ahead of the clock
    ],
)
def test_a_route_is_executable_by_the_time_of_blocks_an_hour_ahead_at_most(
    block_s: int, base_s: int
) -> None:
    deadlines: list[int] = []

    class Noting(OneRoute):
        async def route(self, request: RouteRequest) -> Route:
            deadlines.append(request.deadline)
            return await super().route(request)

    works = SimulationResult(True, PROMISE, 200_000, gas_limit=250_000)
    quoted(works, source=Noting(None), node=OneSimulation(works, time_s=block_s))
    assert deadlines == [base_s + swap_terms(Settings()).calldata_life_ms // 1000]


def test_a_source_is_asked_before_what_it_does_not_need() -> None:
    asked: list[str] = []

    class OtherRoute(OneRoute):
        async def route(self, request: RouteRequest) -> Route:
            asked.append("source")
            return await super().route(request)

    class Reads(Nothing):
        async def usd(self, *tokens: Address) -> list[None]:
            asked.append("prices")
            return await super().usd(*tokens)

        async def own_nonces(self, client_id: str, wallet: Address) -> OwnNonces:
            asked.append("nonces")
            return await super().own_nonces(client_id, wallet)

    class Node(OneSimulation):
        async def prepare_simulation(
            self, request: RouteRequest, spenders: Sequence[Address]
        ) -> OneSimulation:
            asked.append("wallet")
            return await super().prepare_simulation(request, spenders)

    simulation = SimulationResult(True, PROMISE, 180_000, gas_limit=300_000)
    quoted(simulation, source=OtherRoute(None), reads=Reads(), node=Node(simulation))
    assert asked[0] == "source"
    assert sorted(asked) == ["nonces", "prices", "source", "wallet"]


def test_the_limit_issued_is_the_one_simulated() -> None:
    quote = quoted(SimulationResult(True, PROMISE, 180_000, gas_limit=300_000))
    assert quote.params.gas_limit == 300_000
    assert quote.gas == 180_000


def test_an_unverified_route_gets_a_limit_of_its_source_s_own_figure() -> None:
    quote = quoted(SimulationResult(None, reason="the node is away"))
    assert quote.params.gas_limit == 250_000 + 88_000  # a quarter more, and a new slot (EIP-8037)
    assert quote.gas == 200_000


@pytest.mark.parametrize("claim", ["0", "0.01", "99", "1e30"])
def test_a_claimed_impact_does_not_soothe_where_no_price_is_known(claim: str) -> None:
    works = SimulationResult(True, PROMISE, 180_000, gas_limit=300_000)
    quote, unclaimed = quoted(works, Decimal(claim)), quoted(works)
    assert quote.impact_percent is None
    assert (quote.threat_known, quote.threat_level) == (False, unclaimed.threat_level)


def test_a_sell_token_that_cannot_be_read_is_not_supported() -> None:
    with pytest.raises(TokenNotSupported) as caught:
        quoted(None)
    assert caught.value.details == {
        "token": WETH,
        "reason": "sellToken: its balances cannot be read",
    }


def test_a_route_that_takes_too_much_is_refused_and_named() -> None:
    """No quote, and no 503: asking again will not help."""
    theft = "it moves 0xabc out of the wallet"
    with pytest.raises(InsufficientLiquidity) as caught:
        quoted(SimulationResult(True, PROMISE, 180_000, broken=theft, gas_limit=300_000))
    assert caught.value.details == {
        "sources": [{"source": "kyberswap", "outcome": SourceOutcome.UNSAFE, "reason": theft}]
    }


@pytest.mark.parametrize(
    ("left_s", "is_quoted"), [(601, True), (600, False), (0, True), (-9, True)]
)
def test_no_swap_is_quoted_shortly_before_a_fork(left_s: int, is_quoted: bool) -> None:
    """Its gas limit follows the old rules, and it could be mined after the fork."""
    works = SimulationResult(True, PROMISE, 200_000, gas_limit=250_000)
    node = OneSimulation(works, fork_s=TIME_S + left_s)
    if is_quoted:
        quoted(works, node=node)
        return
    with pytest.raises(ServiceUnavailable, match="rules of Ethereum change"):
        quoted(works, node=node)
