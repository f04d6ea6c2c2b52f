"""When a quote has a batched form: what is asked of the node for it, and why there is none."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from quietswap.rules.chain.records import AccountState, SimulationResult
from quietswap.rules.quotes.issued_quote import BatchTerms, SwapOrderTerms, issued_swap
from quietswap.rules.quotes.quote import BatchForm, Route
from quietswap.rules.routers import batch
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.sandbox.contracts.addresses import CALIBUR
from tests.batches import STRANGER, Batch, delegated
from tests.quoting.test_quote_simulated import (
    AMOUNT,
    ASK,
    PROMISE,
    ROUTER,
    WALLET,
    OneSimulation,
    quoted,
)

PLAIN = SimulationResult(True, PROMISE, 180_000, gas_limit=300_000)
BATCHED = SimulationResult(True, PROMISE, 200_000, gas_limit=320_000)
CODE = bytes.fromhex(delegated()[2:])
WRAPPED = replace(ASK, conversion=WrapOperation.WRAP)
SENDER = AccountState(3, 3, 10**18, AMOUNT, {ROUTER: 0}, CODE)


@dataclass
class Node(OneSimulation):
    """A chain that counts the simulations of a batched form."""

    batched: SimulationResult = BATCHED
    asked: list[Route] = field(default_factory=list)
    conversions: list[WrapOperation | None] = field(default_factory=list)

    async def simulate_batched(
        self, route: Route, conversion: WrapOperation | None = None
    ) -> SimulationResult:
        self.asked.append(route)
        self.conversions.append(conversion)
        return self.batched


def test_it_is_the_transaction_that_was_simulated() -> None:
    node = Node(PLAIN, SENDER)
    quote = quoted(PLAIN, node=node)
    assert quote.batch is not None
    good = Batch(WALLET, WETH, ROUTER, AMOUNT, quote.route.data)
    expected = UnsignedTransaction(WALLET, good.data, 0, 320_000, 2 * 10**9, 3)
    assert (quote.batch.params, quote.batch.gas, quote.batch.reason) == (expected, 200_000, None)
    assert [route.gas for route in node.asked] == [180_000 + batch.FIRST_GAS]
    issued = issued_swap(quote, "client", "id", 30_000)
    assert isinstance(issued.terms, SwapOrderTerms)
    assert issued.terms.batch == BatchTerms(320_000, 2 * 10**9)
    assert issued.batched == expected
    assert issued.params == quote.params


def test_with_eth_it_also_wraps_what_is_sold() -> None:
    rich = replace(SENDER, eth_balance=AMOUNT + 10**18)
    node = Node(PLAIN, rich)
    quote = quoted(PLAIN, node=node, ask=WRAPPED)
    assert node.conversions == [WrapOperation.WRAP]
    [asked] = node.asked
    assert asked.gas == 180_000 + batch.FIRST_GAS + 46_000
    good = Batch(WALLET, WETH, ROUTER, AMOUNT, quote.route.data, wrapped=AMOUNT)
    expected = UnsignedTransaction(WALLET, good.data, 0, 320_000, 2 * 10**9, 3)
    assert quote.batch == BatchForm(
        Address(CALIBUR), expected, 200_000, conversion=WrapOperation.WRAP
    )
    issued = issued_swap(quote, "client", "id", 30_000)
    assert issued.batched == expected
    assert issued.params == quote.params
    assert quote.params.value == 0


def test_the_fee_cap_leaves_what_is_wrapped() -> None:
    poor = replace(SENDER, eth_balance=AMOUNT + 320_000 * 15 * 10**8)
    quote = quoted(PLAIN, node=Node(PLAIN, poor), ask=WRAPPED)
    assert quote.batch is not None
    assert quote.batch.params is not None
    assert quote.batch.params.max_fee_per_gas == 15 * 10**8


def test_eth_for_the_wrap_and_its_gas_is_needed() -> None:
    held = AMOUNT + 320_000 * 10**9
    quote = quoted(PLAIN, node=Node(PLAIN, replace(SENDER, eth_balance=held)), ask=WRAPPED)
    assert quote.batch is not None
    assert quote.batch.params is None
    cost = AMOUNT + 320_000 * 125 * 10**7
    assert quote.batch.reason == f"the wallet holds {held} wei of ETH, and it may cost {cost} wei"
    assert issued_swap(quote, "client", "id", 30_000).batched is None


def test_its_fee_cap_follows_its_own_gas_limit() -> None:
    """The wallet can lock 1.5 gwei for each unit of its gas."""
    poor = replace(SENDER, eth_balance=320_000 * 15 * 10**8)
    quote = quoted(PLAIN, node=Node(PLAIN, poor))
    assert quote.batch is not None
    assert quote.batch.params is not None
    assert quote.batch.params.max_fee_per_gas == 15 * 10**8
    assert quote.params.max_fee_per_gas > 15 * 10**8


@pytest.mark.parametrize("code", [b"", b"\x60\x80", CODE + b"\0"])
def test_nothing_is_asked_for_a_wallet_that_is_not_delegated(code: bytes) -> None:
    node = Node(PLAIN, replace(SENDER, code=code))
    assert quoted(PLAIN, node=node).batch is None
    assert not node.asked


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"code": bytes.fromhex(delegated(STRANGER)[2:])}, "was not read"),
        ({"allowances": {ROUTER: 1}}, "allowance is 1"),
        ({"allowances": {ROUTER: 2 * AMOUNT}}, f"allowance is {2 * AMOUNT}"),
        ({"allowances": {}}, "does not tell"),
        ({"pending_nonce": 4}, "not mined yet"),
    ],
)
def test_a_wallet_that_cannot_use_it_is_told_why_at_once(
    changes: dict[str, Any], words: str
) -> None:
    node = Node(PLAIN, replace(SENDER, **changes))
    found = quoted(PLAIN, node=node).batch
    assert found is not None
    assert (found.params, found.gas) == (None, None)
    assert words in (found.reason or "")
    assert not node.asked


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (SimulationResult(None, reason="node away"), "it could not be simulated: node away"),
        (SimulationResult(False, reason="no"), "it would revert: no"),
        (replace(BATCHED, broken="it takes more"), "it takes more"),
        (replace(BATCHED, received=0), "it delivers 0, less than its minimum 2985000000"),
        (
            replace(BATCHED, received=None),
            "it delivers 0, less than its minimum 2985000000",
        ),
    ],
)
def test_a_batch_that_fails_is_not_offered(result: SimulationResult, reason: str) -> None:
    quote = quoted(PLAIN, node=Node(PLAIN, SENDER, batched=result))
    assert quote.batch is not None
    assert (quote.batch.params, quote.batch.reason) == (None, reason)
    issued = issued_swap(quote, "client", "id", 30_000)
    assert issued.batched is None
