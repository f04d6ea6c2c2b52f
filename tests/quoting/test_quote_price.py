"""Indicative prices: who is asked, at whose cost, and what is said when nobody answers."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pytest

from quietswap.rules.chain.records import Head, NodeUnavailable
from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.base import InsufficientLiquidity, ServiceUnavailable
from quietswap.rules.errors.requests import InvalidParameter, TokenNotSupported
from quietswap.rules.quotes.indicative_price import IndicativePrice, SourcePriceRequest
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, SourceOutcome
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.quotes.scoring import SourcePrice
from quietswap.rules.tokens.token import WETH, Token, TokenPolicy
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.vendor import RequestBudget
from quietswap.service.quoting.price import ANSWER_TTL_S, QuotePrice
from quietswap.service.quoting.sources import Source
from tests.stored_orders import USDC
from tests.virtual_time import LoopClock, run

ASK = IndicativePriceRequest(WETH, USDC, 10**18)
PLENTY = RequestBudget(1000.0)
HEAD = Head(1, "0x" + "11" * 32, "0x" + "22" * 32, 0, 10**9, 10**9)


def key(name: str = "k") -> ApiKey:
    return ApiKey(f"key of {name}", name, 0, None, name)


@dataclass
class Scripted:
    """An aggregator that answers `answer` after `seconds`, to each request."""

    name: str
    answer: int | NoRoute = 3_000_000_000
    seconds: float = 0.1
    gas: int | None = None
    impact: Decimal | None = None
    asked: list[SourcePriceRequest] = field(default_factory=list)

    async def price(self, request: SourcePriceRequest) -> SourcePrice:
        self.asked.append(request)
        await asyncio.sleep(self.seconds)
        if isinstance(self.answer, NoRoute):
            raise self.answer
        return SourcePrice(self.name, self.answer, self.gas, self.impact)


class NoPauses:
    async def refresh(self) -> None: ...


@dataclass
class Chain:
    """A chain with any token, at a base fee of 1 gwei."""

    down: bool = False

    async def tokens(self, *addresses: Address) -> list[Token | None]:
        if self.down:
            raise NodeUnavailable("away")
        known = {WETH: Token(WETH, 18), USDC: Token(Address(USDC), 6)}
        return [known.get(address) for address in addresses]

    async def head(self) -> Head:
        return HEAD


@dataclass
class Usd:
    """USD prices of ETH and both tokens."""

    eth: Decimal | None = Decimal(3000)
    usdc: Decimal | None = Decimal(1)
    pools: dict[Address, Decimal] | None = None

    async def usd(self, *tokens: Address) -> list[Decimal | None]:
        return [self.eth if token == WETH else self.usdc for token in tokens]

    async def by_pools(self, *tokens: Address) -> list[Decimal | None]:
        return [self.pools and self.pools[token] for token in tokens]


def desk(
    *aggregators: Scripted,
    own: str = "",
    budget: RequestBudget = PLENTY,
    policy: TokenPolicy | None = None,
    chain: Chain | None = None,
    usd: Usd | None = None,
) -> QuotePrice:
    clock = LoopClock()
    return QuotePrice(
        chain=chain or Chain(),  # type: ignore[arg-type]
        prices=usd or Usd(),
        sources=[
            Source(one, budget, clock, is_own=one.name == own)  # type: ignore[arg-type]
            for one in aggregators
        ],
        pauses=NoPauses(),  # type: ignore[arg-type]
        tokens=policy or TokenPolicy(),
        clock=clock,
        soft_s=0.6,
        hard_s=3.0,
    )


def price(make: Any, ask: IndicativePriceRequest = ASK) -> IndicativePrice:
    """Return the price of a desk that is made inside the virtual loop."""

    async def work() -> IndicativePrice:
        found: IndicativePrice = await make()(key(), ask)
        return found

    return run(work())


def asked(work: Coroutine[Any, Any, Any]) -> Any:
    return run(work)


def test_a_price_is_as_old_as_its_request() -> None:
    """Its time is when the sources were asked, also if they answered late."""

    async def age_ms() -> int:
        quick = desk(Scripted("a", seconds=0.5))
        before = quick.clock.now_ms()
        found = await quick(key(), ASK)
        assert quick.clock.now_ms() - before == 500
        return found.asked_at_ms - before

    assert asked(age_ms()) == 0


def test_the_best_promise_wins_and_each_source_has_its_row() -> None:
    silent = NoRoute(NoRouteReason.NO_ROUTE, "no route")
    found = price(
        lambda: desk(
            Scripted("a", 2_990_000_000),
            Scripted("b", 3_000_000_000, gas=200_000, impact=Decimal("0.3")),
            Scripted("c", silent),
        )
    )
    assert (found.best.source, found.best.buy_amount) == ("b", 3_000_000_000)
    rows = [(row.source, row.outcome, row.promised, row.reason) for row in found.sources]
    assert rows == [
        ("a", SourceOutcome.ANSWERED, 2_990_000_000, None),
        ("b", SourceOutcome.WON, 3_000_000_000, None),
        ("c", SourceOutcome.NO_ROUTE, None, "no route"),
    ]
    assert found.impact_percent == Decimal("0.3")
    assert found.gas_cost_usd == Decimal("0.6")
    assert found.net_value_usd == Decimal("2999.4")


def test_gas_is_weighed_and_a_lone_wild_promise_is_not_believed() -> None:
    dear = Scripted("dear", 3_000_500_000, gas=1_000_000)  # 0.5 USDC more for 2.55 USD more gas
    found = price(lambda: desk(dear, Scripted("lean", 3_000_000_000, gas=150_000)))
    assert found.best.source == "lean"
    wild = Scripted("wild", 9_000_000_000)
    found = price(lambda: desk(wild, Scripted("x", 3_000_000_000), Scripted("y", 2_999_000_000)))
    assert found.best.source == "x"


def test_without_usd_prices_the_unknown_is_none() -> None:
    found = price(lambda: desk(Scripted("a"), usd=Usd(None, None)))
    assert (found.impact_percent, found.net_value_usd, found.gas_cost_usd) == (None, None, None)


def test_a_late_price_is_waited_for_only_while_it_is_the_only_one() -> None:
    slow = Scripted("slow", seconds=2.0)
    assert price(lambda: desk(slow)).best.source == "slow"
    found = price(lambda: desk(Scripted("quick"), Scripted("slow", 9, seconds=2.0)))
    outcomes = [row.outcome for row in found.sources]
    assert outcomes == [SourceOutcome.WON, SourceOutcome.TIMED_OUT]


def test_the_first_late_price_ends_the_wait() -> None:
    found = price(
        lambda: desk(Scripted("slow", seconds=1.0), Scripted("slower", 9 * 10**9, seconds=2.0))
    )
    outcomes = [row.outcome for row in found.sources]
    assert outcomes == [SourceOutcome.WON, SourceOutcome.TIMED_OUT]


def test_equal_requests_share_one_answer_for_two_seconds() -> None:
    source = Scripted("a")

    async def work() -> list[int]:
        use = desk(source)
        first = await asyncio.gather(*(use(key(str(n)), ASK) for n in range(5)))
        assert len(set(map(id, first))) == 1
        await asyncio.sleep(ANSWER_TTL_S - 0.2)
        await use(key(), ASK)
        counts = [len(source.asked)]
        await use(key(), IndicativePriceRequest(WETH, USDC, 2 * 10**18))
        counts.append(len(source.asked))
        await asyncio.sleep(ANSWER_TTL_S)
        await use(key(), ASK)
        return [*counts, len(source.asked)]

    assert asked(work()) == [1, 2, 3]


def test_a_price_takes_from_the_budget_that_quotes_have() -> None:
    source = Scripted("a")

    async def work() -> list[SourceOutcome]:
        use = desk(source, Scripted("b", 1), budget=RequestBudget(1.0))
        await use.sources[0].refusal("k")  # what a quote of this client took
        found = await use(key(), ASK)
        return [row.outcome for row in found.sources]

    assert asked(work()) == [SourceOutcome.SKIPPED, SourceOutcome.WON]
    assert source.asked == []


POOLS = {WETH: Decimal(3000), Address(USDC): Decimal(1)}


@pytest.mark.parametrize(
    ("promise", "pools", "asked_vendors"),
    [
        (2_995_000_000, POOLS, 0),
        (2_900_000_000, POOLS, 1),
        (3_100_000_000, POOLS, 1),
        (2_995_000_000, None, 1),
        (NoRoute(NoRouteReason.NO_ROUTE, "no pool"), POOLS, 1),
    ],
)
def test_vendors_are_asked_only_if_the_own_source_gives_no_fair_price(
    promise: int | NoRoute, pools: dict[Address, Decimal] | None, asked_vendors: int
) -> None:
    vendor, own = Scripted("vendor", 2_999_000_000), Scripted("own", promise)
    found = price(lambda: desk(vendor, own, own="own", usd=Usd(pools=pools)))
    assert (len(vendor.asked), len(own.asked)) == (asked_vendors, 1)
    assert [row.source for row in found.sources] == ["vendor", "own"]
    if not asked_vendors:
        assert found.best.source == "own"
        assert found.sources[0].outcome is SourceOutcome.SKIPPED


@pytest.mark.parametrize("promise", [2_000_000_000, NoRoute(NoRouteReason.NO_ROUTE, "no pool")])
def test_a_price_of_the_own_source_alone_asks_no_vendor(promise: int | NoRoute) -> None:
    """However far from the pools it is, and however late, and whatever others have asked."""

    async def work() -> None:
        vendor, own = Scripted("vendor"), Scripted("own", promise, seconds=2.0)
        use = desk(vendor, own, own="own", usd=Usd(pools=POOLS))
        await use(key(), ASK)
        assert len(vendor.asked) == 1
        if isinstance(promise, NoRoute):
            with pytest.raises(InsufficientLiquidity):
                await use(key(), replace(ASK, only_own=True))
        else:
            assert (await use(key(), replace(ASK, only_own=True))).best.buy_amount == promise
        assert (len(vendor.asked), len(own.asked)) == (1, 2)

    run(work())


def test_a_service_without_an_own_source_says_so() -> None:
    with pytest.raises(InvalidParameter, match="no source of its own"):
        price(lambda: desk(Scripted("vendor")), replace(ASK, only_own=True))


def test_a_price_leaves_the_vendors_to_the_quote_that_follows() -> None:
    async def work() -> list[str | None]:
        vendor, own = Scripted("vendor"), Scripted("own")
        use = desk(vendor, own, own="own", usd=Usd(pools=POOLS), budget=RequestBudget(1.0))
        await use(key(), ASK)
        return [await source.refusal("k") for source in use.sources]

    assert asked(work()) == [None, "its own rate limit is spent"]


def test_a_silent_own_source_is_not_waited_for_to_the_end() -> None:
    async def work() -> float:
        use = desk(Scripted("vendor"), Scripted("own", seconds=9), own="own")
        started = use.clock.monotonic()
        await use(key(), ASK)
        return use.clock.monotonic() - started

    assert asked(work()) == pytest.approx(0.7)


def test_who_has_no_share_left_spoils_no_price_of_another() -> None:
    """A visitor asks for the same price all the time, and has used up its share long ago."""
    visitor = key("web_00ab1")

    async def work() -> list[list[SourceOutcome]]:
        use = desk(Scripted("a"), Scripted("b", 1), budget=RequestBudget(1.0))
        for source in use.sources:
            for _ in range(9):
                await source.refusal(visitor.client_id)
        rude = [asyncio.create_task(use(visitor, ASK)) for _ in range(3)]
        await asyncio.sleep(0)
        polite = [asyncio.create_task(use(key("k"), ASK)) for _ in range(3)]
        found = await asyncio.gather(*rude, *polite, return_exceptions=True)
        found.append(await use(key("another"), ASK))
        return [
            [] if isinstance(one, BaseException) else [row.outcome for row in one.sources]
            for one in found
        ]

    whole = [SourceOutcome.WON, SourceOutcome.ANSWERED]
    assert asked(work()) == [[], [], [], whole, whole, whole, whole]


def test_a_source_that_says_too_many_is_left_alone_by_prices_too() -> None:
    tired = Scripted("tired", NoRoute(NoRouteReason.RATE_LIMITED, "429", retry_after=60))

    async def work() -> list[SourceOutcome]:
        use = desk(tired, Scripted("b"))
        await use(key(), ASK)
        found = await use(key(), IndicativePriceRequest(WETH, USDC, 5))
        return [row.outcome for row in found.sources]

    assert asked(work()) == [SourceOutcome.SKIPPED, SourceOutcome.WON]
    assert len(tired.asked) == 1


@pytest.mark.parametrize(
    ("reason", "error"),
    [
        (NoRouteReason.NO_ROUTE, InsufficientLiquidity),
        (NoRouteReason.TOKEN_UNKNOWN, TokenNotSupported),
        (NoRouteReason.UNAVAILABLE, ServiceUnavailable),
    ],
)
def test_without_any_price_the_error_is_that_of_a_quote(
    reason: NoRouteReason, error: type[Exception]
) -> None:
    with pytest.raises(error):
        price(lambda: desk(Scripted("a", NoRoute(reason, "why"))))


def test_an_error_is_not_kept() -> None:
    source = Scripted("a", NoRoute(NoRouteReason.NO_ROUTE, "why"))

    async def work() -> int:
        use = desk(source)
        for _ in range(2):
            with pytest.raises(InsufficientLiquidity):
                await use(key(), ASK)
        return len(source.asked)

    assert asked(work()) == 2


def test_tokens_that_are_none_or_refused_and_a_node_that_is_away() -> None:
    other = IndicativePriceRequest(WETH, Address("0x" + "1" * 40), 1)
    with pytest.raises(TokenNotSupported, match="buyToken is not an ERC-20"):
        price(lambda: desk(Scripted("a")), other)
    denied = TokenPolicy(denied=frozenset({WETH}))
    with pytest.raises(TokenNotSupported, match="deny list"):
        price(lambda: desk(Scripted("a"), policy=denied))
    with pytest.raises(ServiceUnavailable, match="node"):
        price(lambda: desk(Scripted("a"), chain=Chain(down=True)))
