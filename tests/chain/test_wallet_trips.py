"""How often a quote of a wrap or of a cancel waits for the node: once."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.sandbox.contracts import abi
from tests.chain.small_chain import VENUE, WALLET, SmallChain, odd, small_chain
from tests.chain.test_dry_run import Counting

TOKEN = odd("Ordinary").address


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


def call(signature: str, amount: int) -> UnsignedTransaction:
    return UnsignedTransaction(TOKEN, abi.call(signature, VENUE, amount), 0, 100_000, 0, None)


async def test_head_facts_and_gas_are_one_trip(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Counting(small, monkeypatch)
    approval = call("approve(address,uint256)", 1)
    head, facts, gas = await small.chain.wallet_and_gas(WALLET, TOKEN, approval)
    assert len(seen.batches) == 1
    assert facts.head == head.number
    assert gas == await small.chain.estimate_gas(WALLET, approval)


async def test_gas_of_a_call_that_fails_is_none(small: SmallChain) -> None:
    transfer = call("transfer(address,uint256)", 10**30)
    _, facts, gas = await small.chain.wallet_and_gas(WALLET, TOKEN, transfer)
    assert (facts.token_balance < 10**30, gas) == (True, None)
