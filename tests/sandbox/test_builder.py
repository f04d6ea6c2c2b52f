"""The block builder on a real chain: selection, order, and privacy of transactions."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from quietswap.sandbox.chain.anvil import ReadWriteLock
from quietswap.sandbox.chain.transactions import pending
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import WETH
from quietswap.sandbox.relay import RelayTransactionState
from quietswap.sandbox.rpc import RpcError
from tests.sandbox.small_network import ALICE, BOB, GWEI, SmallNetwork, running_small_network
from tests.waiting import WITHIN_S


@pytest.fixture
async def town() -> AsyncIterator[SmallNetwork]:
    async with running_small_network() as running:
        yield running


async def test_a_private_transaction_without_a_tip_is_mined(town: SmallNetwork) -> None:
    tx = await town.signed(tip=0)
    await town.hold(tx)
    assert await town.block_of(tx) is None
    number = await town.builder.mine(1)
    assert await town.block_of(tx) == number
    assert tx.hash not in town.public


async def test_private_ones_come_first_in_the_order_of_their_arrival(town: SmallNetwork) -> None:
    public = await town.signed(BOB, to=ALICE.address, tip=GWEI)
    await town.chain.send_raw(public.raw)
    first = await town.signed(ALICE)
    second = await town.signed(ALICE, nonce=1)
    await town.hold(first)
    await town.hold(second)
    await town.builder.mine(1)
    assert await town.mined() == [first.hash, second.hash, public.hash]
    assert public.hash in town.public


async def test_public_ones_are_mined_by_tip(town: SmallNetwork) -> None:
    low = await town.signed(BOB, to=ALICE.address, tip=GWEI)
    high = await town.signed(ALICE, tip=2 * GWEI)
    private = await town.signed(ALICE, nonce=1)
    await town.chain.send_raw(low.raw)
    await town.chain.send_raw(high.raw)
    await town.hold(private)
    await town.builder.mine(1)
    assert await town.mined() == [high.hash, private.hash, low.hash]


async def test_a_gap_in_the_nonces_is_waited_for_in_private(town: SmallNetwork) -> None:
    later = await town.signed(nonce=1)
    await town.hold(later)
    await town.builder.mine(1)
    content = await town.chain.rpc.call("txpool_content")
    assert content == {"pending": {}, "queued": {}}
    first = await town.signed(nonce=0)
    await town.hold(first)
    await town.builder.mine(1)
    assert await town.mined() == [first.hash, later.hash]


async def test_of_two_with_one_nonce_the_public_one_wins(town: SmallNetwork) -> None:
    private = await town.signed(tip=0)
    cancelling = await town.signed(to=ALICE.address, value=0, tip=GWEI)
    await town.hold(private)
    await town.chain.send_raw(cancelling.raw)
    await town.builder.mine(1)
    assert await town.mined() == [cancelling.hash]
    await town.builder.mine(1)
    assert await town.mined() == []


@pytest.mark.parametrize(("endpoint", "mined"), [("fast", 1), ("noreverts", 0), ("fullprivacy", 1)])
async def test_a_revert_is_mined_only_where_it_is_not_protected(
    town: SmallNetwork, endpoint: str, mined: int
) -> None:
    too_much = abi.call("transfer(address,uint256)", BOB.address, 10**30)
    tx = await town.signed(to=WETH.address, data=too_much, gas=100_000, value=0)
    held = await town.hold(tx, endpoint)
    await town.builder.mine(1)
    assert len(await town.mined()) == mined
    if not mined:
        assert (held.state, held.simulation_error) == (
            RelayTransactionState.FAILED,
            "execution reverted",
        )
        again = await town.hold(tx, endpoint)
        assert (again.state, again.submissions) == (RelayTransactionState.HELD, 2)


async def test_below_the_base_fee_it_waits_unseen(town: SmallNetwork) -> None:
    tx = await town.signed(max_fee=GWEI // 2)
    held = await town.hold(tx)
    await town.builder.mine(2)
    assert await town.block_of(tx) is None
    assert held.state is RelayTransactionState.HELD
    assert await pending(town.chain.rpc, town.public) == []


async def test_withheld_transactions_wait_until_the_fault_is_off(town: SmallNetwork) -> None:
    tx = await town.signed()
    town.active_faults.put("relay", "withhold")
    await town.hold(tx)
    await town.builder.mine(2)
    assert await town.block_of(tx) is None
    town.active_faults.clear("relay")
    assert await town.builder.mine(1) == await town.block_of(tx)


async def test_after_a_reorg_everything_comes_back(town: SmallNetwork) -> None:
    private = await town.signed(ALICE)
    public = await town.signed(BOB, to=ALICE.address, tip=GWEI)
    await town.hold(private)
    await town.chain.send_raw(public.raw)
    number = await town.builder.mine(1)
    old = await town.chain.head()
    assert await town.builder.reorg(1) == number
    new = await town.chain.head()
    assert (new["number"], new["transactions"]) == (old["number"], [])
    assert new["hash"] != old["hash"]
    assert await town.block_of(private) is None
    assert await town.builder.mine(1) == number + 1
    assert await town.mined() == [private.hash, public.hash]
    assert private.hash not in town.public


async def test_what_is_settled_is_not_offered_again(town: SmallNetwork) -> None:
    held = await town.hold(await town.signed())
    await town.builder.mine(2)
    assert held.state is RelayTransactionState.HELD
    assert town.relay.offers(100) == []
    await town.builder.reorg(2)
    assert town.relay.offers(100) == [held]


async def test_a_chain_put_back_by_a_snapshot_is_noticed(town: SmallNetwork) -> None:
    snapshot = await town.chain.rpc.call("evm_snapshot")
    tx = await town.signed()
    await town.hold(tx)
    await town.builder.mine(3)
    await town.chain.rpc.call("evm_revert", snapshot)
    assert await town.block_of(tx) is None
    await town.builder.mine(1)
    assert await town.mined() == [tx.hash]


@pytest.mark.parametrize("depth", range(1, 7))
async def test_reorgs_of_every_depth(town: SmallNetwork, depth: int) -> None:
    tx = await town.signed()
    await town.hold(tx)
    head = await town.builder.mine(6)
    assert await town.builder.reorg(depth) == head
    assert (await town.block_of(tx) is None) == (depth == 6)
    await town.builder.mine(1)
    assert await town.block_of(tx) is not None


async def test_nobody_can_look_while_a_block_is_built(town: SmallNetwork) -> None:
    for nonce in range(5):
        await town.hold(await town.signed(nonce=nonce))
    seen: set[str] = set()
    done = asyncio.Event()

    async def watch() -> None:
        while not done.is_set():
            async with town.chain_lock.visit():
                content = await town.chain.rpc.call("txpool_content")
            seen.update(tx["hash"] for by in content["pending"].values() for tx in by.values())

    watcher = asyncio.create_task(watch())
    await town.builder.mine(4)
    done.set()
    await watcher
    assert seen == set()
    assert await town.nonce() == 5


async def test_a_waiting_builder_comes_before_new_visitors() -> None:
    chain_lock, log = ReadWriteLock(), []

    async def build() -> None:
        async with chain_lock.build():
            log.append("builder")

    async def visit(name: str) -> None:
        async with chain_lock.visit():
            log.append(name)
            await asyncio.sleep(0)

    async with chain_lock.visit():
        builder = asyncio.create_task(build())
        await asyncio.sleep(0)
        late = asyncio.create_task(visit("late"))
        await asyncio.sleep(0)
        assert log == []
    await asyncio.gather(builder, late)
    assert log == ["builder", "late"]


async def test_it_builds_by_itself_unless_paused(town: SmallNetwork) -> None:
    town.builder.block_time = 0.01
    start = int((await town.chain.head())["number"], 16)
    running = asyncio.create_task(town.builder.run())
    async with asyncio.timeout(WITHIN_S):
        while int((await town.chain.head())["number"], 16) < start + 3:
            pass
    town.builder.paused = True
    async with town.chain_lock.visit():
        paused_at = int((await town.chain.head())["number"], 16)
    for _ in range(50):
        await town.chain.rpc.call("eth_blockNumber")
    assert int((await town.chain.head())["number"], 16) <= paused_at + 1
    town.builder.halt()
    await running


async def test_one_that_cannot_start_does_not_hold_up_the_rest(town: SmallNetwork) -> None:
    dear = [await town.signed(nonce=nonce, value=600 * 10**18) for nonce in range(2)]
    other = await town.signed(BOB, to=ALICE.address)
    await town.hold(dear[0])
    later = await town.hold(dear[1])
    await town.hold(other)
    await town.builder.mine(1)
    assert await town.mined() == [dear[0].hash, other.hash]
    assert later.state is RelayTransactionState.HELD
    assert await pending(town.chain.rpc, town.public) == []


async def test_a_broke_sender_is_refused_by_the_relay(town: SmallNetwork) -> None:
    with pytest.raises(RpcError, match="insufficient funds for gas"):
        await town.hold(await town.signed(value=10**30))


FEE_GUARD = "0x" + "fe" * 20
FEE_CODE = "0x3a600210600b57600080fd5b00"
"""Reverts unless `tx.gasprice` is above 2 wei, as a token may require."""


@pytest.mark.parametrize("endpoint", ["fast", "noreverts"])
async def test_what_asks_for_a_gas_price_is_mined(town: SmallNetwork, endpoint: str) -> None:
    """https://github.com/cowprotocol/services/issues/2696: a simulation without fees."""
    await town.chain.rpc.call("anvil_setCode", FEE_GUARD, FEE_CODE)
    tx = await town.signed(to=FEE_GUARD, gas=60_000, value=0)
    await town.hold(tx, endpoint)
    number = await town.builder.mine(1)
    assert await town.block_of(tx) == number
