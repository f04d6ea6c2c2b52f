"""Signed swaps on a real node: what they would do, in one round trip, with their very fields."""

from collections.abc import AsyncIterator, Sequence

import pytest

from quietswap.rules.chain.records import DryRun, SignedSwap
from quietswap.rules.chain.rpc_wire import Result, RpcCall, RpcErrorObject
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.sandbox.contracts import abi
from tests.chain.small_chain import VENUE, WALLET, SmallChain, odd, small_chain
from tests.chain.test_simulate import asking

AMOUNT = 1_000_000
BOUGHT, ORDINARY = odd("Bought"), odd("Ordinary")


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        await chain.give(ORDINARY, WALLET, AMOUNT)
        await chain.send(ORDINARY.address, "approve(address,uint256)", VENUE, AMOUNT)
        await chain.mine()
        yield chain


def swap(rate: int = 2000, *, nonce: int = 0, gas: int = 500_000) -> SignedSwap:
    """Return a swap that pays `rate` thousandths of the amount."""
    signature = "swap(address,address,uint256,uint256)"
    data = abi.call(signature, ORDINARY.address, BOUGHT.address, AMOUNT, rate)
    params = UnsignedTransaction(Address(VENUE), data, 0, gas, 10**11, nonce)
    return SignedSwap(WALLET, params, BOUGHT.address, 2 * AMOUNT)


class Counting:
    """Counts round trips; `unsupported` methods are not known."""

    def __init__(self, small: SmallChain, monkeypatch: pytest.MonkeyPatch, *unsupported: str):
        self.batches: list[list[str]] = []
        inner = small.rpc.batch

        async def batch(calls: Sequence[RpcCall]) -> list[Result]:
            self.batches.append([call.method for call in calls])
            results = await inner(calls)
            return [
                RpcErrorObject(-32601, "the method does not exist")
                if c.method in unsupported
                else r
                for c, r in zip(calls, results, strict=True)
            ]

        monkeypatch.setattr(small.rpc, "batch", batch)


async def test_it_says_what_is_delivered_and_what_reverts(small: SmallChain) -> None:
    good, short, empty = await small.chain.dry_runs([swap(), swap(1), swap(gas=21_000 + 5_000)])
    assert good == DryRun(True, 2 * AMOUNT)
    assert good.fault(swap()) is None
    assert short.received == AMOUNT // 1000
    assert "less than its minimum" in (short.fault(swap()) or "")
    assert empty.succeeded is not True


async def test_the_facts_and_the_run_are_one_round_trip(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    await small.chain.head()
    seen = Counting(small, monkeypatch)
    facts, run = await small.chain.wallet_and_dry_run(swap(), ORDINARY.address, Address(VENUE))
    assert len(seen.batches) == 1
    assert (facts.token_balance, facts.allowance) == (AMOUNT, AMOUNT)
    assert run == DryRun(True, 2 * AMOUNT)


@pytest.mark.parametrize(("blocks", "trips"), [(0, 1), (1, 2)])
async def test_a_head_that_the_tracker_has_read_is_no_trip_of_its_own(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch, blocks: int, trips: int
) -> None:
    """A block that came since costs one more: its header comes with the first run."""
    await small.chain.head()
    small.clock.advance(3)
    if blocks:
        await small.mine(blocks)
    seen = Counting(small, monkeypatch)
    _, run = await small.chain.wallet_and_dry_run(swap(), ORDINARY.address, Address(VENUE))
    assert (len(seen.batches), run) == (trips, DryRun(True, 2 * AMOUNT))


async def test_a_swap_behind_another_open_one_is_run_all_the_same(small: SmallChain) -> None:
    [run] = await small.chain.dry_runs([swap(nonce=99)])
    assert run.succeeded is True


async def test_a_node_without_simulation_is_called_plainly(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Counting(small, monkeypatch, "eth_simulateV1")
    good = swap()
    broken = SignedSwap(
        WALLET,
        UnsignedTransaction(ORDINARY.address, abi.call("transfer(address,uint256)", VENUE, 10**30),
                          0, 500_000, 10**11, 0),
        BOUGHT.address,
        1,
    )  # fmt: skip
    ran = await small.chain.dry_runs([good, broken])
    assert ran[0] == DryRun(True)
    assert ran[1].succeeded is False
    assert ran[1].fault(broken)
    assert [len(batch) for batch in seen.batches if "eth_call" in batch] == [2]
    again = await small.chain.dry_runs([good])
    assert again == [DryRun(True)]
    assert seen.batches[-1] == ["eth_call"]  # it is not asked in vain again


async def test_an_approval_in_the_newest_block_counts(small: SmallChain) -> None:
    """The head is remembered for a moment; a swap must not fail for what came in since."""
    await small.send(ORDINARY.address, "approve(address,uint256)", VENUE, 0)
    await small.mine()
    [refused] = await small.chain.dry_runs([swap()])
    assert refused.succeeded is False
    await small.send(ORDINARY.address, "approve(address,uint256)", VENUE, AMOUNT)
    await small.mine()
    [taken] = await small.chain.dry_runs([swap()])
    assert taken == DryRun(True, 2 * AMOUNT)


async def test_what_the_newest_block_took_away_counts(small: SmallChain) -> None:
    await small.chain.head()
    await small.send(ORDINARY.address, "approve(address,uint256)", VENUE, 0)
    await small.mine()
    facts, run = await small.chain.wallet_and_dry_run(swap(), ORDINARY.address, Address(VENUE))
    assert (facts.allowance, run.succeeded) == (0, False)


async def test_a_rehearsal_starts_from_the_newest_block(small: SmallChain) -> None:
    remembered = await small.chain.head()
    await small.mine()
    assert await small.chain.head() == remembered
    await small.chain.prepare_simulation(asking(ORDINARY), [Address(VENUE)])
    assert (await small.chain.head()).number == remembered.number + 1
