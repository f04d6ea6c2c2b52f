"""0x's Deployer and Settler: which Settlers are genuine, and when both revert."""

import pytest

from quietswap.rules.routers import settlers
from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import TREASURY, WALLETS
from quietswap.sandbox.vendors import zeroex as zeroex_stand_in
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.sandbox.accounts import send
from tests.sandbox.restored_chain import chain, module_chain

__all__ = ["chain", "module_chain"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

STRANGER = WALLETS[0].address


async def genuine(chain: LocalChain) -> frozenset[Address]:
    """Call the Deployer as the service does."""
    answers = [await answer(chain, data) for data in (settlers.OWNER_OF, settlers.PREV)]
    return settlers.genuine(*answers)


async def answer(chain: LocalChain, data: bytes) -> bytes | None:
    try:
        return await chain.call(settlers.DEPLOYER, data)
    except CallReverted:
        return None


async def change(chain: LocalChain, signature: str, *values: object) -> None:
    data = abi.call(signature, *values)
    await send(chain, TREASURY.address, settlers.DEPLOYER, data)
    await chain.mine()


async def test_the_current_and_the_previous_settler_are_genuine(chain: LocalChain) -> None:
    assert settlers.DEPLOYER == addresses.SETTLER_DEPLOYER
    assert await genuine(chain) == {addresses.SETTLER, addresses.SETTLER_BEFORE}


async def test_a_release_moves_both_on(chain: LocalChain) -> None:
    await change(chain, "deploy(uint128,address)", 2, addresses.SHY_SETTLER)
    assert await genuine(chain) == {addresses.SHY_SETTLER, addresses.SETTLER}


async def test_without_an_earlier_one_there_is_one(chain: LocalChain) -> None:
    await change(chain, "remove(uint128,address)", 2, addresses.SETTLER_BEFORE)
    with pytest.raises(CallReverted) as caught:
        await chain.call(settlers.DEPLOYER, settlers.PREV)
    assert caught.value.data == abi.call("NoInstance()")
    assert await genuine(chain) == {addresses.SETTLER}


async def test_a_removed_head_gives_way_to_the_one_before(chain: LocalChain) -> None:
    await change(chain, "remove(uint128,address)", 2, addresses.SETTLER)
    assert await genuine(chain) == {addresses.SETTLER_BEFORE}


async def test_a_pause_leaves_none(chain: LocalChain) -> None:
    await change(chain, "removeAll(uint128)", 2)
    with pytest.raises(CallReverted) as caught:
        await chain.call(settlers.DEPLOYER, settlers.OWNER_OF)
    assert caught.value.data == abi.call("ERC721NonexistentToken(uint256)", 2)
    assert await genuine(chain) == frozenset()


async def test_the_fault_is_a_pause_and_ends(chain: LocalChain) -> None:
    await chain.rpc.batch(stand_ins()["zeroex"].under("settlers_removed"))
    assert await genuine(chain) == frozenset()
    await chain.rpc.batch(stand_ins()["zeroex"].under(None))
    assert await genuine(chain) == set(zeroex_stand_in.GENUINE)


async def test_what_is_next_is_nobodys_code(chain: LocalChain) -> None:
    data = abi.call("next(uint128)", 2)
    (upcoming,) = [(await chain.call(settlers.DEPLOYER, data))[12:]]
    assert await chain.rpc.call("eth_getCode", "0x" + upcoming.hex(), "latest") == "0x"


async def test_a_stranger_deploys_nothing(chain: LocalChain) -> None:
    data = abi.call("deploy(uint128,address)", 2, addresses.THIEF)
    with pytest.raises(CallReverted) as caught:
        await chain.call(settlers.DEPLOYER, data, sender=STRANGER)
    assert caught.value.data == abi.call("PermissionDenied()")
