"""Random calldata with hostile inner parts, run on the chain: never a loss beyond the terms.

`make hostile` runs HOSTILE_CASES of them (6 000) from HOSTILE_SEED; the suite runs a few hundred.
What a case is asked for, and whether it would be offered, is decided as the service decides it.
"""

import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from quietswap.rules.routers.method import Measure, RouterMethod
from quietswap.rules.safety import calldata
from quietswap.rules.safety.calldata import DecodedCalldata, UnboundCalldata
from quietswap.rules.safety.methods import METHODS
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts.pools import FEE
from quietswap.sandbox.vendors.zeroex import GENUINE
from tests.hostile.cases import MAKERS, Case, make
from tests.hostile.draw import Draw
from tests.hostile.trial import WALLET, Outcome, approved_chain, breach, tried

CASES = int(os.environ.get("HOSTILE_CASES", "440"))
SEED = os.environ.get("HOSTILE_SEED", "1")
_AT_ONCE = 20
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


@dataclass
class Tally:
    """The results of a method's cases."""

    executed: int = 0
    offered: int = 0
    delivered: int = 0
    thefts: int = 0
    """Rejected cases that would have stolen."""


def offered(case: Case) -> DecodedCalldata | None:
    """The service's terms for the case's request; None when it rejects the route."""
    try:
        terms = calldata.decode(case.trade.to, case.trade.data, buy_token=case.buy)
    except UnboundCalldata:
        return None
    is_asked = (terms.sell_token, terms.buy_token) == (case.sell, case.buy)
    is_ours = terms.recipient in (None, WALLET)
    is_genuine = terms.settler is None or terms.settler in GENUINE
    return terms if is_asked and is_ours and is_genuine else None


def least(terms: DecodedCalldata) -> int:
    """The received minimum: a transfer fee reduces one that the router measures itself."""
    taxed = terms.buy_token == FEE.address and terms.measure is Measure.SELF
    return terms.min_buy_amount * 99 // 100 if taxed else terms.min_buy_amount


def judged(tally: Tally, case: Case, outcome: Outcome) -> str | None:
    """Count a case and return its violation, if the service accepts it."""
    terms = offered(case)
    tally.executed += 1
    if terms is None:
        stolen = breach(outcome, case.sell, case.amount, case.buy, case.least)
        tally.thefts += stolen is not None
        return None
    tally.offered += 1
    tally.delivered += outcome.succeeded
    wrong = breach(outcome, terms.sell_token, terms.sell_amount, terms.buy_token, least(terms))
    return wrong and f"{case.method}, seed {case.seed}: {wrong}; terms {terms}"


async def tallied(
    chain: LocalChain, method: str, cases: int, seed: str = SEED
) -> tuple[Tally, list[str]]:
    """Run cases of a method and return the counts and the violations."""
    tally, failures = Tally(), []
    for start in range(0, cases, _AT_ONCE):
        numbers = range(start, min(start + _AT_ONCE, cases))
        some = [make(method, f"{seed}.{number}") for number in numbers]
        outcomes = await tried(chain, [case.trade for case in some])
        found = (judged(tally, *pair) for pair in zip(some, outcomes, strict=True))
        failures += [text for text in found if text]
    return tally, failures


async def test_no_bound_call_takes_more_than_its_terms_say(chain: LocalChain) -> None:
    totals, failures = Counter[str](), []
    for method in MAKERS:
        tally, wrong = await tallied(chain, method, -(-CASES // len(MAKERS)))
        sys.stdout.write(f"\n{method}: {tally}")
        totals.update(vars(tally))
        failures += wrong
        # if all calls reverted, the test would prove nothing
        assert tally.delivered
    sys.stdout.write(f"\nall: {dict(totals)}\n")
    assert not failures, "\n".join(failures[:5])
    assert totals["executed"] >= CASES
    assert totals["delivered"] * 10 > totals["executed"]
    assert totals["thefts"]


async def test_every_bound_method_is_tried() -> None:
    names = {key for key, method in METHODS.items() if is_offered(method)}
    made = {(router, maker(Draw("0"))[:4].hex()) for router, maker in MAKERS.values()}
    assert made == names


def is_offered(method: RouterMethod) -> bool:
    return method.layout is not None


@pytest.mark.parametrize(
    ("rule", "method"),
    [
        ("_check_flags", "oneinch swap"),
        ("_check_flags", "kyberswap swap"),
        ("_check_pools", "velora swapExactAmountInOnUniswapV3"),
        ("_derived", "oneinch unoswap"),
        ("_least", "velora swapExactAmountIn"),
        ("_least", "velora swapExactAmountInOnCurveV1"),
    ],
)
async def test_it_would_find_a_forgotten_rule(
    chain: LocalChain, monkeypatch: pytest.MonkeyPatch, rule: str, method: str
) -> None:
    monkeypatch.setattr(calldata, rule, FORGETFUL[rule])
    _, failures = await tallied(chain, method, 120, "1")
    assert failures


FORGETFUL: dict[str, Callable[..., Any]] = {
    "_check_flags": lambda *_: None,
    "_check_pools": lambda *_: None,
    "_derived": lambda _sell, buy, _dex: buy,
    "_least": lambda layout, words, _: words.uint(layout.minimum),
}
"""Each rule without its checks."""
