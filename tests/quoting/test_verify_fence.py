"""What a simulation finds against a route, and what is left of a route without one."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pytest

from quietswap.rules.chain.records import AccountState, SimulationResult
from quietswap.rules.quotes.quote import Route, RouteRequest, SourceOutcome, VerificationStatus
from quietswap.rules.routers.method import Measure
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.service.quoting.verify import VerificationResult, VerifyRoutes
from tests.quoting.verifying import verify_once
from tests.routers.router_calldata import ENCODERS, ROUTER_OF, WRITTEN
from tests.vendors.router import EXECUTOR, Swap

SENDER = AccountState(0, 0, 10**18, 0, {})
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
USDT = Address("0xdAC17F958D2ee523a2206206994597C13D831ec7")
WALLET = Address("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")
AMOUNT, PROMISE = 10**9, 10**9
MINIMUM = PROMISE * 9950 // 10_000


@dataclass
class Ends:
    """A chain on which the simulations end as `simulations`, the last one for all others."""

    simulations: Sequence[SimulationResult]
    sender: AccountState = SENDER
    next_base_fee: int = 10**9

    async def settlers(self) -> Collection[Address]:
        return [EXECUTOR]

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> "Ends":
        return self

    async def simulate(self, candidates: Sequence[Route]) -> Sequence[SimulationResult]:
        missing = len(candidates) - len(self.simulations)
        return [*self.simulations, *[self.simulations[-1]] * missing]


def verified(source: str, simulation: SimulationResult, buy: Address = USDT) -> VerificationResult:
    [verdict] = all_verified(source, [simulation], buy)
    return verdict


def all_verified(
    source: str, simulations: Sequence[SimulationResult], buy: Address
) -> list[VerificationResult]:
    sell = USDC if buy == WETH else WETH
    request = RouteRequest(Token(sell, 18), Token(buy, 18), AMOUNT, WALLET, 50, 10**9, 2**31)
    router = ROUTER_OF[source]
    minimum = MINIMUM + WRITTEN[source].dust
    route = Route(
        source=source, dex="dex", target=router, spender=router, value=0,
        data=ENCODERS[source](Swap(sell, buy, AMOUNT, minimum, WALLET)), path=(sell, buy),
        buy_amount=PROMISE, min_buy_amount=MINIMUM, gas=None, impact_percent=None,
    )  # fmt: skip
    chain = Ends(simulations)
    verify = VerifyRoutes(chain, {source: [router]}, required=False)  # type: ignore[arg-type]
    return asyncio.run(verify_once(verify, request, [route] * len(simulations)))


@pytest.mark.parametrize("source", ENCODERS)
def test_a_rule_broken_in_the_simulation_is_unsafe_and_named(source: str) -> None:
    theft = "it moves 0xabc out of the wallet"
    verdict = verified(
        source, SimulationResult(True, PROMISE, 150_000, broken=theft, gas_limit=300_000)
    )
    assert (verdict.outcome, verdict.candidate, verdict.reason) == (
        SourceOutcome.UNSAFE,
        None,
        theft,
    )


@pytest.mark.parametrize("source", ENCODERS)
def test_a_candidate_keeps_the_limit_it_was_simulated_with(source: str) -> None:
    verdict = verified(source, SimulationResult(True, PROMISE, 150_000, gas_limit=300_000))
    assert verdict.candidate is not None
    assert (verdict.candidate.gas, verdict.candidate.gas_limit) == (150_000, 300_000)


@pytest.mark.parametrize("source", ENCODERS)
def test_without_a_simulation_no_router_that_measures_itself_is_offered(source: str) -> None:
    """A token with a fee on transfer would reach the wallet short of the minimum, unseen."""
    verdict = verified(source, SimulationResult(None, reason="away"))
    if WRITTEN[source].measure is Measure.SELF:
        assert (verdict.outcome, verdict.candidate) == (SourceOutcome.UNVERIFIED, None)
        assert verdict.reason == (
            "not verified: away; this router would not see a fee on transfer of the buy token"
        )
    else:
        assert verdict.outcome is SourceOutcome.ANSWERED
        assert verdict.candidate is not None
        assert verdict.candidate.verification is VerificationStatus.UNVERIFIED


@pytest.mark.parametrize("buy", [WETH, USDC])
@pytest.mark.parametrize("source", ENCODERS)
def test_some_tokens_are_known_to_take_no_fee(source: str, buy: Address) -> None:
    verdict = verified(source, SimulationResult(None, reason="away"), buy=buy)
    assert (verdict.outcome, verdict.reason) == (SourceOutcome.ANSWERED, "not verified: away")


@pytest.mark.parametrize(
    "other", [SimulationResult(True, PROMISE, 150_000), SimulationResult(False)]
)
@pytest.mark.parametrize("source", ENCODERS)
def test_what_alone_cannot_be_simulated_is_dropped(source: str, other: SimulationResult) -> None:
    """It may be built so that nobody sees what it does."""
    hidden, seen = all_verified(source, [SimulationResult(None, reason="too large"), other], WETH)
    assert (hidden.outcome, hidden.candidate) == (SourceOutcome.UNVERIFIED, None)
    assert hidden.reason == "not verified: too large"
    assert (seen.candidate is not None) == bool(other.succeeded)
