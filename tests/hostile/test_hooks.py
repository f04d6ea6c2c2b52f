"""A token that tells its receivers: what is measured at the wallet meanwhile proves nothing.

A payout that the wallet is owed comes in the middle of a transfer. A router that subtracts what the
wallet lost then believes that it took less than it did.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import pytest
import pytest_asyncio

from quietswap.rules.safety.calldata import UnboundCalldata, decode
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.kyberswap import VENDOR
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import WALLETS
from tests.chain.small_chain import odd, odd_runtimes
from tests.sandbox.accounts import send
from tests.vendors.kyberswap import called, simple_work

pytestmark = pytest.mark.asyncio(loop_scope="module")
WALLET, STRANGER = WALLETS[0].address, WALLETS[1].address
SOLD, BOUGHT = odd("Telling").address, odd("Bought").address
DEBTOR, THIEF = odd("Debtor").address, odd("HookThief").address
AMOUNT, OWED, PRICE = 1_000, 1_000, 3_000
HELD = 10 * AMOUNT


@dataclass(frozen=True)
class Taken:
    """What left the wallet and what it was owed, and what it received."""

    succeeded: bool
    sold: int
    bought: int


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def chain() -> AsyncIterator[LocalChain]:
    async with running_chain() as running:
        for name in ("Telling", "Bought", "Debtor", "HookThief"):
            await running.rpc.call("anvil_setCode", odd(name).address, odd_runtimes()[name])
        await done(running, STRANGER, SOLD, "mint(address,uint256)", WALLET, HELD)
        await done(running, STRANGER, SOLD, "mint(address,uint256)", DEBTOR, OWED)
        await done(running, STRANGER, DEBTOR, "owe(address,address)", SOLD, WALLET)
        learn = "learn(address,address,address,uint256)"
        await done(running, STRANGER, THIEF, learn, DEBTOR, BOUGHT, WALLET, PRICE)
        approve = "approve(address,uint256)"
        await done(running, WALLET, SOLD, approve, VENDOR.router, 2**255)
        yield running


async def done(
    chain: LocalChain, sender: Address, to: Address, signature: str, *values: object
) -> None:
    await send(chain, sender, to, abi.call(signature, *values), gas=1_000_000)
    await chain.mine()


async def taken(chain: LocalChain, data: bytes) -> Taken:
    """Mine the call of the router, and take it back."""
    snapshot = await chain.rpc.call("evm_snapshot")
    tx_hash = await send(chain, WALLET, VENDOR.router, data, gas=3_000_000)
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    held = [await chain.token_balance(SOLD, owner) for owner in (WALLET, DEBTOR)]
    found = Taken(
        receipt["status"] == "0x1",
        HELD + OWED - sum(held),
        await chain.token_balance(BOUGHT, WALLET),
    )
    await chain.rpc.call("evm_revert", snapshot)
    return found


def swap(flags: int, work: bytes, amounts: Sequence[int], fees: Sequence[int]) -> bytes:
    shares = [THIEF] * len(amounts), amounts, [THIEF] * len(fees), fees
    description = (SOLD, BOUGHT, *shares, WALLET, AMOUNT, PRICE, flags, b"")
    return called(THIEF, work, description)


async def test_a_fee_on_the_sold_token_takes_the_amount_twice(chain: LocalChain) -> None:
    data = swap(0x200, b"\1", [AMOUNT], [AMOUNT])
    assert await taken(chain, data) == Taken(True, 2 * AMOUNT, PRICE)
    with pytest.raises(UnboundCalldata, match="a fee from the token sold"):
        decode(VENDOR.router, data)


async def test_simple_mode_takes_the_amount_twice(chain: LocalChain) -> None:
    work = simple_work([(THIEF, AMOUNT, b""), (THIEF, AMOUNT, b"")], b"")
    data = swap(0x220, work, [], [])
    assert await taken(chain, data) == Taken(True, 2 * AMOUNT, PRICE)
    with pytest.raises(UnboundCalldata, match="its flag 0x20 is not allowed"):
        decode(VENDOR.router, data)


async def test_what_is_accepted_takes_the_amount_once(chain: LocalChain) -> None:
    data = swap(0x200, b"\1", [AMOUNT], [])
    assert decode(VENDOR.router, data).sell_amount == AMOUNT
    assert await taken(chain, data) == Taken(True, AMOUNT, PRICE)
    assert await taken(chain, swap(0x200, b"\1", [AMOUNT, AMOUNT], [])) == Taken(False, 0, 0)
