"""The trial's request on a real node: what a contract sees there, and what a fee takes."""

import secrets
from collections.abc import Sequence

import msgspec
import pytest

from quietswap.client import node_calls
from quietswap.client.errors import UnsafeQuote
from quietswap.client.flows import simulation
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.wire import decode
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.trial import verdict
from quietswap.rules.trial.codec import SimulatedCall
from quietswap.rules.trial.next_block import NextBlock
from quietswap.rules.trial.swap_trial import RanTrial
from quietswap.rules.tx.address import Address
from tests.chain.small_chain import WALLET, SmallChain, odd, small_chain
from tests.client.fake_servers import MINIMUM, calldata, swap_quote
from tests.response_json import quotes
from tests.routers.router_calldata import ROUTER_OF


async def tried(name: str) -> None:
    """Probe the odd token `name`; the router has no code here, so the wallet is given the token."""
    token, router = odd(name), ROUTER_OF["velora"]
    data = calldata("velora", minimum=MINIMUM + 1, buy=token.address)
    plain = swap_quote(target=router, data=data, buy_token=Address(token.address))
    quote = decode(msgspec.json.encode(quotes.swap_quote_response(plain)), SwapQuoteResponse)
    request = SwapRequest(odd("Ordinary").address, token.address, 10**18, WALLET)
    async with small_chain() as small:
        await small.give(token, WALLET, 2 * MINIMUM)
        views = await views_after(small, quote, request)
    trial = simulation.trial_of(quote, request, is_batched=False)
    swap = SimulatedCall(0, 200_000, 200_000, "", [])
    before = verdict.WalletBefore(0, 0, 10**18)
    assert views[1].number == 2 * MINIMUM
    simulation._judge(RanTrial("", swap, views), trial, before)


async def views_after(
    small: SmallChain, quote: SwapQuoteResponse, request: SwapRequest
) -> Sequence[SimulatedCall]:
    """Return the views of the block after the swap."""
    head = await small.raw.call("eth_getBlockByNumber", "latest", False)
    block = node_calls.latest_block().read(msgspec.json.encode(head))
    trial = simulation.trial_of(quote, request, is_batched=False)
    swap = simulation._swap(quote, trial.wallet)
    call = simulation._call(trial, swap, NextBlock.after(block, secrets.randbelow))
    ran = await small.raw.call(call.method, *call.params)
    return call.read(msgspec.json.encode(ran)).views


@pytest.mark.parametrize("name", ["Bought", "Logging"])
async def test_a_token_without_a_fee_passes(name: str) -> None:
    await tried(name)


@pytest.mark.parametrize("name", ["TaxedByCode", "TaxedByOrigin", "Taxed"])
async def test_a_fee_that_only_the_payer_pays_is_refused(name: str) -> None:
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer"):
        await tried(name)
