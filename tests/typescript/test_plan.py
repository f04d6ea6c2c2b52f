"""plan() of the TypeScript client: that of the Python client, and what `swap` then signs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from quietswap.rules.tokens.token import WETH, WrapOperation
from tests.api.scripted_use_cases import ROUTER
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import (
    ETHER,
    MINIMUM,
    FakeService,
    calldata,
    ok,
    swap_quote,
    wrap_answer,
)
from tests.quoting.loss_table import LOSSES
from tests.quoting.loss_table import quoted as losses
from tests.response_json import quotes
from tests.stored_orders import USDC
from tests.typescript.both import Outside, Prepare, Scenario, but, ends
from tests.typescript.package import TypeScript
from tests.typescript.prepare import node, quoted, says
from tests.typescript.scenarios import NO_ALLOWANCE, SWAP, SWAPS

pytestmark = pytest.mark.xdist_group("typescript")
PLAN = replace(SWAP, method="plan")
ETHER_PLAN = but(PLAN, node(balance=0), sell_token="ETH")
IN_UNWRAPPED = 3 * 10**14


def wrapped(**changes: object) -> Prepare:
    """The service answers a wrap of 1 ETH with another transaction."""

    def prepare(_: FakeChain, service: FakeService) -> None:
        answer = wrap_answer(WrapOperation.WRAP, ETHER)
        answer["mevProtection"]["transactionParams"] |= changes
        service.next("wrap quote", ok({"quote": answer}))

    return prepare


def buys_weth(_: FakeChain, service: FakeService) -> None:
    """The service sells 1 USDC for WETH."""
    data = calldata(sell=USDC, buy=WETH, amount=10**6, minimum=IN_UNWRAPPED)
    quote = quotes.swap_quote_response(swap_quote(data=data))
    quote |= {"sellToken": USDC, "buyToken": WETH, "sellAmount": str(10**6)}
    quote |= {"buyAmount": str(IN_UNWRAPPED + 1), "minBuyAmount": str(IN_UNWRAPPED)}
    service.quote = lambda: quote


PLANS: dict[str, tuple[Scenario, list[str]]] = {
    "tried": (but(PLAN, node(delivers=MINIMUM + 5)), ["swap"]),
    "no trial at this node": (PLAN, ["swap"]),
    "alone": (replace(but(PLAN, approval="never"), node=False), ["swap"]),
    "approval": (but(PLAN, NO_ALLOWANCE), ["approve", "swap"]),
    "approval of the maximum": (but(PLAN, NO_ALLOWANCE, approval="max"), ["approve", "swap"]),
    "reset": (
        but(PLAN, node(allowances={ROUTER.lower(): 5}, resets_first=True)),
        ["reset", "approve", "swap"],
    ),
    "from ETH": (but(ETHER_PLAN, NO_ALLOWANCE), ["wrap", "approve", "swap"]),
    "from ETH, approved": (ETHER_PLAN, ["wrap", "swap"]),
    "to ETH": (
        but(PLAN, buys_weth, sell_token=USDC, buy_token="ETH", sell_amount=10**6,
            max_loss_percent=100),
        ["swap", "unwrap"],
    ),
}  # fmt: skip
"""Plans that may be signed, with their steps."""

REFUSED: dict[str, tuple[Scenario, str]] = {
    "a loss": (
        but(PLAN, says("quote", quoted(**losses(LOSSES["impact of a question"])))), "it may lose"
    ),
    "a minimum": (but(PLAN, at_least=MINIMUM + 1), "is below"),
    "no approval": (but(PLAN, NO_ALLOWANCE, approval="never"), "approval is never"),
    "a nonce": (but(PLAN, NO_ALLOWANCE, nonce=7), "only nonce"),
    "too little": (but(PLAN, node(balance=ETHER - 1)), "smallest units of the sell token"),
    "too little ETH": (but(PLAN, node(ether=10**9)), "the transaction may cost"),
    "a trial": (but(PLAN, node(delivers=MINIMUM - 1)), ""),
    "ETH without the gas of all steps": (
        but(ETHER_PLAN, NO_ALLOWANCE, node(ether=ETHER + 10**14)), "wrap, "
    ),
    "the gas of the wrap": (
        but(ETHER_PLAN, wrapped(gasLimit="10000000", maxFeePerGas=str(6 * 10**9))),
        "the gas of the wrap may cost",
    ),
}  # fmt: skip
UNSAFE: dict[str, Scenario] = {
    "another contract": but(ETHER_PLAN, wrapped(to=ROUTER)),
    "another value": but(ETHER_PLAN, wrapped(value=str(2 * ETHER))),
    "another call": but(ETHER_PLAN, wrapped(data="0x2e1a7d4d")),
    "a dear fee cap": but(ETHER_PLAN, wrapped(maxFeePerGas=str(10**12))),
    "another nonce": but(PLAN, nonce=8),
    "a node behind": but(PLAN, node(nonce=6)),
    "a wrong chain": but(PLAN, node(chain_id=5)),
}


@pytest.fixture(scope="module")
def outside() -> Iterator[Outside]:
    servers = Outside()
    yield servers
    servers.servers.close()


def same(scenario: Scenario, typescript: TypeScript, outside: Outside) -> dict[str, Any]:
    """Return how a scenario ends with the Python client: as with TypeScript's, and unsigned."""
    expected, made = ends(scenario, typescript, outside)
    assert made == expected
    assert (expected["posted"], expected["approvals"]) == ([], [])
    return expected


@pytest.mark.parametrize("name", PLANS)
def test_a_plan(typescript: TypeScript, outside: Outside, name: str) -> None:
    scenario, steps = PLANS[name]
    plan = same(scenario, typescript, outside)["result"]
    assert (plan["steps"], plan["refusal"]) == (steps, None)


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_be_declined_is_the_refusal(
    typescript: TypeScript, outside: Outside, name: str
) -> None:
    scenario, words = REFUSED[name]
    refusal = same(scenario, typescript, outside)["result"]["refusal"]
    assert words in (refusal["declined"] or "")


@pytest.mark.parametrize("name", UNSAFE)
def test_what_nobody_may_sign_is_no_plan(
    typescript: TypeScript, outside: Outside, name: str
) -> None:
    assert same(UNSAFE[name], typescript, outside)["error"]["name"]


@pytest.mark.parametrize("name", ["usual", "approval", "reset first"])
def test_a_swap_signs_its_plan(typescript: TypeScript, outside: Outside, name: str) -> None:
    """One signature for each step of the plan, and the transaction that it has."""
    planned = ends(replace(SWAPS[name], method="plan"), typescript, outside)[1]["result"]
    signed = ends(SWAPS[name], typescript, outside)[1]
    assert len(signed["posted"]) + len(signed["approvals"]) == planned["signatures"]
    assert signed["result"]["approvals"] == planned["approvals"]
