"""The trial's request on a real node: a fee that only a contract's transfer pays shows."""

import msgspec
import pytest

from quietswap.client import UnsafeQuote, node_calls
from quietswap.client.flows import simulation
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.wire import decode
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.domain.address import Address
from quietswap.domain.token import WETH
from tests.adapters.small_chain import WALLET, odd, small_chain
from tests.client.fake_servers import MINIMUM, calldata, swap_quote
from tests.domain.router_calldata import ROUTER_OF
from tests.response_json import quotes


async def tried(name: str) -> None:
    """Probe the odd token `name`; the router has no code here, so the wallet is given the token."""
    token, router = odd(name), ROUTER_OF["velora"]
    data = calldata("velora", minimum=MINIMUM + 1, buy=token.address)
    plain = swap_quote(target=router, data=data, buy_token=Address(token.address))
    quote = decode(msgspec.json.encode(quotes.swap_quote_response(plain)), SwapQuoteResponse)
    request = SwapRequest(str(WETH), token.address, 10**18, WALLET)
    async with small_chain() as small:
        await small.give(token, WALLET, 2 * MINIMUM)
        head = await small.raw.call("eth_getBlockByNumber", "latest", False)
        block = node_calls.NodeBlock(
            int(head["number"], 16),
            int(head["timestamp"], 16),
            int(head["gasLimit"], 16),
            int(head["baseFeePerGas"], 16),
            Address(head["miner"]),
        )
        call = simulation._call(quote, request, block)
        outcome = call.read(await small.raw.call(call.method, *call.params))
    assert simulation._amount(outcome.buy) == 2 * MINIMUM
    simulation._check_fee(outcome, quote, missing=0)


@pytest.mark.parametrize("name", ["Bought", "Logging"])
async def test_a_token_without_a_fee_passes(name: str) -> None:
    await tried(name)


@pytest.mark.parametrize("name", ["TaxedByCode", "TaxedByOrigin", "Taxed"])
async def test_a_fee_that_only_the_payer_pays_is_refused(name: str) -> None:
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer"):
        await tried(name)
