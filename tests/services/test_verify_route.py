"""Real calldata through the money rules and a scripted simulation."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from quietswap.domain.address import Address
from quietswap.domain.quote import Outcome
from quietswap.domain.route import Route, SwapRequest
from quietswap.domain.token import WETH, Token
from quietswap.ports.outside import Sender, Simulation
from quietswap.services.verify_route import Verdict, VerifyRoutes
from tests.domain.router_calldata import ENCODERS, Swap

SENDER = Sender(0, 0, 10**18)
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
REQUEST = SwapRequest(Token(WETH, 18), Token(USDC, 6), 10**18, WALLET, 50, 10**9, 2**31)
PROMISE = 3_000_000_001
MINIMUM = PROMISE * 9950 // 10_000


@dataclass
class Delivers:
    """A chain on which every candidate delivers `amount`; it keeps what it was shown."""

    amount: int
    seen: Sequence[Route] = ()
    sender: Sender = SENDER

    async def rehearse(self, request: SwapRequest, spenders: Sequence[Address]) -> "Delivers":
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[Simulation]:
        self.seen = candidates
        return [Simulation(True, self.amount, 150_000)] * len(candidates)


def a_route(enforced: int, source: str = "kyberswap") -> Route:
    """Return a route that says `MINIMUM`, and whose calldata enforces `enforced`."""
    swap = Swap(WETH, USDC, REQUEST.sell_amount, enforced, WALLET)
    return Route(
        source=source, dex="dex", target=ROUTER, spender=ROUTER, value=0,
        data=ENCODERS[source](swap), path=(WETH, USDC), buy_amount=PROMISE,
        min_buy_amount=MINIMUM, gas=None, impact_percent=None,
    )  # fmt: skip


def verified(chain: Delivers, *routes: Route) -> list[Verdict]:
    pinned = {source: [ROUTER] for source in ENCODERS}
    verify = VerifyRoutes(chain, pinned, required=True)  # type: ignore[arg-type]

    async def work() -> list[Verdict]:
        return await verify(REQUEST, asyncio.create_task(verify.rehearse(REQUEST)), routes)

    return asyncio.run(work())


@pytest.mark.parametrize("source", ENCODERS)
@pytest.mark.parametrize("gap", [0, 1, 2])
def test_the_minimum_issued_is_the_one_the_calldata_enforces(source: str, gap: int) -> None:
    """Delivering exactly that is delivering enough, though it is less than integers would ask."""
    chain = Delivers(MINIMUM - gap)
    [verdict] = verified(chain, a_route(MINIMUM - gap, source))
    assert verdict.outcome is Outcome.ANSWERED
    assert verdict.candidate is not None
    assert verdict.candidate.route.min_buy_amount == MINIMUM - gap
    assert [route.min_buy_amount for route in chain.seen] == [MINIMUM - gap]


def test_a_larger_gap_is_unsafe_and_never_simulated() -> None:
    chain = Delivers(PROMISE)
    verdicts = verified(chain, a_route(MINIMUM), a_route(MINIMUM - 4), a_route(MINIMUM - 1))
    assert [verdict.outcome for verdict in verdicts] == [
        Outcome.ANSWERED,
        Outcome.UNSAFE,
        Outcome.ANSWERED,
    ]
    assert verdicts[1].reason == f"its calldata enforces only {MINIMUM - 4} of {MINIMUM}"
    assert [route.min_buy_amount for route in chain.seen] == [MINIMUM, MINIMUM - 1]


def test_less_than_the_settled_minimum_is_short() -> None:
    [verdict] = verified(Delivers(MINIMUM - 2), a_route(MINIMUM - 1))
    assert verdict.outcome is Outcome.SHORT_DELIVERY


def test_a_router_of_another_source_is_unsafe() -> None:
    stranger = replace(a_route(MINIMUM), source="nobody")
    [verdict] = verified(Delivers(PROMISE), stranger)
    assert verdict.outcome is Outcome.UNSAFE
    assert verdict.candidate is None
