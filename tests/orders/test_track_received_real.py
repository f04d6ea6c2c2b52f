"""`received` equals the change of the wallet's balance on a real node, for unusual tokens, too."""

import pytest

from quietswap.rules.orders.order import Inclusion, Order, OrderKind, OrderStatus
from quietswap.rules.tokens.token import NATIVE
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import FEE, USDC, WETH
from tests.chain.small_chain import odd, odd_runtimes
from tests.orders.test_track_real_chain import Place, place
from tests.sandbox.small_network import ALICE

__all__ = ["place"]

SHOP, REBASING = odd("Shop").address, odd("Rebasing").address
AMOUNT = 10**18 + 7


async def held(place: Place, token: Address, block: int) -> int:
    """Return Alice's balance at a block; of ETH for NATIVE."""
    rpc = place.town.chain.rpc
    if token == NATIVE:
        return int(await rpc.call("eth_getBalance", ALICE.address, hex(block)), 16)
    call = {"to": token, "data": "0x" + abi.call("balanceOf(address)", ALICE.address).hex()}
    return int(await rpc.call("eth_call", call, hex(block)), 16)


async def deploy(place: Place) -> None:
    rpc, codes = place.town.chain.rpc, odd_runtimes()
    await rpc.call("anvil_setCode", SHOP, codes["Shop"])
    await rpc.call("anvil_setCode", REBASING, codes["Rebasing"])
    for token in (FEE, USDC):
        word = f"0x{AMOUNT * 9:064x}"
        await rpc.call("anvil_setStorageAt", token.address, token.balance_key(SHOP), word)


async def confirmed(
    place: Place, to: Address, data: bytes, buy: Address, **changes: object
) -> Order:
    """Return an order of Alice with this call, once it is confirmed."""
    tx = await place.town.signed(to=to, data=data, gas=200_000, value=0)
    order = await place.order(tx, order_id=f"ord_{tx.hash}", buy_token=buy, **changes)
    for _ in range(6):
        await place.blocks()
    return await stored(place, order)


async def stored(place: Place, order: Order) -> Order:
    found = await place.storage.orders.find(order.order_id)
    assert found is not None
    return found


def block_of(order: Order) -> Inclusion:
    assert order.status is OrderStatus.CONFIRMED
    assert order.inclusion is not None
    return order.inclusion


@pytest.mark.parametrize(("token", "expected"), [(USDC, AMOUNT), (FEE, AMOUNT - AMOUNT // 100)])
async def test_a_fee_on_transfer_is_not_received(
    place: Place, token: object, expected: int
) -> None:
    await deploy(place)
    address = token.address  # type: ignore[attr-defined]
    data = abi.call("buy(address,uint256)", address, AMOUNT)
    order = await confirmed(place, SHOP, data, address)
    before, after = [
        await held(place, address, block_of(order).block_number + step) for step in (-1, 0)
    ]
    assert block_of(order).received == after - before == expected


async def test_a_later_rebase_does_not_change_what_was_received(place: Place) -> None:
    await deploy(place)
    first = await confirmed(place, REBASING, abi.call("buy(uint256)", AMOUNT), REBASING)
    number = block_of(first).block_number
    assert block_of(first).received == AMOUNT == await held(place, REBASING, number)
    rebase = await confirmed(place, REBASING, abi.call("rebase(uint256)", 10**17), REBASING)
    assert await held(place, REBASING, block_of(rebase).block_number) == AMOUNT * 11 // 10
    assert block_of(rebase).received == 0
    assert block_of(await stored(place, first)).received == AMOUNT
    second = await confirmed(place, REBASING, abi.call("buy(uint256)", AMOUNT), REBASING)
    number = block_of(second).block_number
    change = await held(place, REBASING, number) - await held(place, REBASING, number - 1)
    # balances round down to whole units, so a difference of balances is off by up to one
    assert abs(change - (block_of(second).received or 0)) <= 1


async def test_an_unwrap_brings_the_eth_of_its_log(place: Place) -> None:
    data = abi.call("withdraw(uint256)", 10**16)
    order = await confirmed(
        place, WETH.address, data, NATIVE, sell_token=WETH.address, kind=OrderKind.WRAP
    )
    block = block_of(order)
    before, after = [await held(place, NATIVE, block.block_number + step) for step in (-1, 0)]
    assert block.received == 10**16
    assert after - before == 10**16 - block.gas_used * block.effective_gas_price


async def test_a_reorganisation_takes_the_amount_back_until_it_is_mined_again(place: Place) -> None:
    await deploy(place)
    await place.blocks(4)
    data = abi.call("buy(address,uint256)", FEE.address, AMOUNT)
    order = await confirmed(place, SHOP, data, FEE.address)
    first = block_of(order)
    await place.town.builder.reorg(6)
    await place.look()
    assert (await stored(place, order)).inclusion is None
    await place.blocks(6)
    again = block_of(await stored(place, order))
    assert again.block_hash != first.block_hash
    assert again.received == first.received == AMOUNT - AMOUNT // 100
