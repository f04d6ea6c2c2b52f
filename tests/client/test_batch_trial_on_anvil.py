"""The trial of a batch at the caller's node: code that does more or less is refused there, too."""

import secrets

import msgspec
import pytest

from quietswap.client import node_calls
from quietswap.client.errors import UnsafeQuote
from quietswap.client.flows import simulation
from quietswap.rules.routers.batch import SwapBatch
from quietswap.rules.trial import codec, next_block
from quietswap.rules.trial.swap_trial import SwapTrial
from quietswap.rules.trial.verdict import WalletBefore
from tests.batches import delegated
from tests.chain.small_chain import WALLET, odd, small_chain
from tests.chain.test_simulate_batched import AMOUNT, BUY, ROUTER, SELL, route

GAS = 500_000


async def tried(name: str) -> simulation.SwapSimulation:
    """Try the batch of a wallet that is delegated to the odd contract `name`."""
    trial = SwapTrial(WALLET, ROUTER, SELL.address, AMOUNT, BUY.address, AMOUNT, is_batched=True)
    data = SwapBatch(SELL.address, ROUTER, AMOUNT, route().data).calldata()
    async with small_chain() as small:
        await small.give(SELL, WALLET, 3 * AMOUNT)
        await small.raw.call("anvil_setCode", WALLET, delegated(odd(name).address))
        await small.mine()
        header = await small.raw.call("eth_getBlockByNumber", "latest", False)
        head = node_calls.latest_block().read(msgspec.json.encode(header))
        block = next_block.NextBlock.after(head, secrets.randbelow)
        swap = codec.call_object(WALLET, WALLET, data, value=0, gas=GAS, max_fee=block.view_fee)
        call = simulation._call(trial, swap, block)
        ran = call.read(msgspec.json.encode(await small.raw.call(call.method, *call.params)))
    return simulation._judge(ran, trial, WalletBefore(3 * AMOUNT, 0, 0))


async def test_code_that_makes_both_calls_passes() -> None:
    assert (await tried("SoladyDelegate")).delivers == AMOUNT


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("UnsureDelegate", "does not support the mode"),
        ("ForgetfulDelegate", f"leaves the router an allowance of {AMOUNT}"),
        ("LeakyDelegate", "moves ETH out of the wallet"),
        ("DeafDelegate", f"delivers 0, not {AMOUNT}"),
    ],
)
async def test_code_that_does_more_or_less_is_refused(name: str, broken: str) -> None:
    with pytest.raises(UnsafeQuote, match=broken):
        await tried(name)
