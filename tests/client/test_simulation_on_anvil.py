"""The trial's request on a real node: what a contract sees there, and what a fee takes."""

import secrets

import msgspec
import pytest

from quietswap.client import node_calls
from quietswap.client.errors import UnsafeQuote
from quietswap.client.flows import simulation
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.wire import decode
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.tokens.token import WETH
from quietswap.rules.trial.codec import NextBlock
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
    request = SwapRequest(str(WETH), token.address, 10**18, WALLET)
    async with small_chain() as small:
        await small.give(token, WALLET, 2 * MINIMUM)
        outcome = await outcome_of(small, quote, request)
    assert simulation._amount(outcome.buy) == 2 * MINIMUM
    simulation._check_fee(outcome, quote, missing=0)


async def outcome_of(
    small: SmallChain, quote: SwapQuoteResponse, request: SwapRequest
) -> simulation._Outcome:
    head = await small.raw.call("eth_getBlockByNumber", "latest", False)
    block = node_calls.NodeBlock(
        int(head["number"], 16),
        head["hash"],
        int(head["timestamp"], 16),
        int(head["gasLimit"], 16),
        int(head["baseFeePerGas"], 16),
        Address(head["miner"]),
    )
    call = simulation._call(quote, request, NextBlock.after(block, secrets.randbelow))
    return call.read(await small.raw.call(call.method, *call.params))


@pytest.mark.parametrize("name", ["Bought", "Logging"])
async def test_a_token_without_a_fee_passes(name: str) -> None:
    await tried(name)


@pytest.mark.parametrize("name", ["TaxedByCode", "TaxedByOrigin", "Taxed"])
async def test_a_fee_that_only_the_payer_pays_is_refused(name: str) -> None:
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer"):
        await tried(name)
