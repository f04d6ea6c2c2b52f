"""SwapRouter02 itself: no changed call takes more than its terms; minimum and deadline bind."""

import sys
from collections import Counter
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from quietswap.rules.routers import swap_router02
from quietswap.rules.routers.swap_router02 import Leg, encode
from quietswap.rules.safety.calldata import UnboundCalldata, decode
from quietswap.sandbox.chain.local_chain import LocalChain
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.pools import USDC, WETH
from tests.hostile.trial import WALLET, Outcome, Trade, approved_chain, breach, tried
from tests.hostile.uniswap_mutants import COUNT, DEADLINE, Mutant, mutants, paths_between

pytestmark = pytest.mark.asyncio(loop_scope="module")
_AT_ONCE = 20
AMOUNT = 20 * 10**18


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with approved_chain() as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ran(chain: LocalChain) -> list[tuple[Mutant, Outcome]]:
    """All mutants, as the router runs them."""
    cases, outcomes = list(mutants()), list[Outcome]()
    for start in range(0, COUNT, _AT_ONCE):
        some = cases[start : start + _AT_ONCE]
        outcomes += await tried(chain, [Trade(addresses.UNISWAP, data) for data, *_ in some])
    return list(zip(cases, outcomes, strict=True))


def judged(ran: list[tuple[Mutant, Outcome]]) -> tuple[Counter[str], list[str]]:
    """Return how many mutants end how, and the violations of what is accepted."""
    counts, failures = Counter[str](), []
    for (data, sell, buy, amount, least), outcome in ran:
        try:
            terms = decode(addresses.UNISWAP, data)
        except UnboundCalldata:
            terms = None
        if terms is None or terms.recipient != WALLET:
            counts["refused"] += 1
            stolen = breach(outcome, sell.address, amount, buy.address, least)
            counts["refused thefts"] += stolen is not None
            continue
        counts["delivered" if outcome.succeeded else "reverted"] += 1
        tokens = (terms.sell_token, terms.buy_token)
        if not set(tokens) <= set(outcome.gained):
            failures += [data.hex()] * outcome.succeeded
            continue
        wrong = breach(outcome, tokens[0], terms.sell_amount, tokens[1], terms.min_buy_amount)
        failures += [f"{wrong}: {data.hex()}"] if wrong else []
    return counts, failures


async def test_no_changed_call_takes_more_than_its_terms(
    ran: list[tuple[Mutant, Outcome]],
) -> None:
    counts, failures = judged(ran)
    sys.stdout.write(f"\n{dict(counts)}\n")
    assert not failures, failures[:3]
    assert sum(counts[each] for each in ("refused", "delivered", "reverted")) == COUNT
    assert all(counts[each] for each in ("refused thefts", "delivered", "reverted")), counts


class _Anything(bytes):
    """Bytes that differ from none."""

    def __ne__(self, other: object) -> bool:
        return False


async def test_it_would_find_a_forgotten_rule(
    ran: list[tuple[Mutant, Outcome]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Legs that sell another token than the last one."""
    monkeypatch.setattr(swap_router02, "_check_legs", lambda _: None)
    monkeypatch.setattr(swap_router02, "encode", lambda *_: _Anything())
    decode.cache_clear()
    _, failures = judged(ran)
    decode.cache_clear()
    assert failures


LEGS = {
    "one V3 pool": [Leg(AMOUNT, (WETH.address, USDC.address), (500,))],
    "one V2 pair": [Leg(AMOUNT, (WETH.address, USDC.address))],
    "several": [
        Leg(AMOUNT // 4, *path) for path in paths_between(WETH, USDC)[:4]
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", LEGS)
async def test_a_unit_more_than_it_gives_reverts(chain: LocalChain, name: str) -> None:
    legs = LEGS[name]
    (first,) = await _run(chain, encode(legs, DEADLINE, 1, WALLET))
    received = first.gained[USDC.address]
    assert first.lost == {WETH.address: AMOUNT}
    exact, short = await _run(
        chain, *(encode(legs, DEADLINE, received + more, WALLET) for more in (0, 1))
    )
    assert exact.gained[USDC.address] == received
    assert not short.succeeded
    assert not short.lost


@pytest.mark.parametrize("name", LEGS)
async def test_a_second_past_the_deadline_reverts(chain: LocalChain, name: str) -> None:
    head = int((await chain.rpc.head())["timestamp"], 16)
    data = encode(LEGS[name], head + 60, 1, WALLET)
    in_time, late = await tried(
        chain, [Trade(addresses.UNISWAP, data, time=head + 60 + more) for more in (0, 1)]
    )
    assert in_time.succeeded
    assert not late.succeeded
    assert b"Transaction too old" in late.answer


async def _run(chain: LocalChain, *data: bytes) -> list[Outcome]:
    return list(await tried(chain, [Trade(addresses.UNISWAP, each) for each in data]))
