"""The trial's request on a real node: what a contract sees there, and what a fee takes."""

import msgspec
import pytest

from quietswap.chain.address import Address
from quietswap.client import node_calls
from quietswap.client.errors.flow import UnsafeQuote
from quietswap.client.flows import simulation
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.wire import decode
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.sandbox.contracts import abi
from quietswap.tokens.token import WETH
from tests.adapters.small_chain import WALLET, SmallChain, odd, small_chain
from tests.adapters.test_simulate_aware import SIGNS
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
        outcome = await outcome_of(small, quote, request)
    assert simulation._amount(outcome.buy) == 2 * MINIMUM
    simulation._check_fee(outcome, quote, missing=0)


async def outcome_of(
    small: SmallChain, quote: SwapQuoteResponse, request: SwapRequest
) -> simulation._Outcome:
    head = await small.raw.call("eth_getBlockByNumber", "latest", False)
    block = node_calls.NodeBlock(
        int(head["number"], 16),
        int(head["timestamp"], 16),
        int(head["gasLimit"], 16),
        int(head["baseFeePerGas"], 16),
        Address(head["miner"]),
    )
    call = simulation._call(quote, request, block)
    return call.read(await small.raw.call(call.method, *call.params))


@pytest.mark.parametrize("name", ["Bought", "Logging"])
async def test_a_token_without_a_fee_passes(name: str) -> None:
    await tried(name)


@pytest.mark.parametrize("name", ["TaxedByCode", "TaxedByOrigin", "Taxed"])
async def test_a_fee_that_only_the_payer_pays_is_refused(name: str) -> None:
    with pytest.raises(UnsafeQuote, match="takes a fee on transfer"):
        await tried(name)


AWARE, AMOUNT = odd("Aware").address, 1_000_000


@pytest.mark.parametrize("sign", range(len(SIGNS)), ids=SIGNS)
async def test_what_pays_only_where_it_sees_a_trial_does_not_pay_in_ours(
    monkeypatch: pytest.MonkeyPatch, sign: int
) -> None:
    monkeypatch.setattr(simulation, "measures_itself", lambda _: False)
    sell, buy = odd("Ordinary"), odd("Bought")
    data = abi.call(
        "swap(address,address,uint256,uint256)", sell.address, buy.address, AMOUNT, sign
    )
    plain = swap_quote(target=AWARE, data=data, buy_token=buy.address)
    quote = decode(msgspec.json.encode(quotes.swap_quote_response(plain)), SwapQuoteResponse)
    request = SwapRequest(sell.address, buy.address, AMOUNT, WALLET)
    async with small_chain() as small:
        await small.raw.call("anvil_setCoinbase", "0x" + "cb" * 20)
        await small.give(sell, WALLET, 3 * AMOUNT)
        await small.send(sell.address, "approve(address,uint256)", AWARE, 2 * AMOUNT)
        await small.mine()
        outcome = await outcome_of(small, quote, request)
    assert (outcome.swap.succeeded, simulation._amount(outcome.buy)) == (True, 0)
    assert simulation._amount(outcome.sell) == 2 * AMOUNT
