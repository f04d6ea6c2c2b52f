"""Tokens and holdings read from a real chain, with tokens of every odd kind."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.tokens.token import TransferFee
from quietswap.sandbox.contracts.pools import ALL_TOKENS
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.node.simulation.transfer_fee import TransferFeeMeter
from quietswap.service.node.token_metadata import TokenReader
from tests.chain.fake_node import fake_node
from tests.chain.small_chain import NOBODY, WALLET, SmallChain, odd, small_chain
from tests.defaults import NODE
from tests.manual_clock import ManualClock

UNKNOWN = TransferFee()
FEES = {
    "Ordinary": TransferFee(bps=0),
    "Flagged": TransferFee(bps=0),
    "Namespaced": TransferFee(bps=0),
    "Taxed": TransferFee(bps=100),
    "TaxedQuietly": TransferFee(bps=100),
    "TaxedByCode": TransferFee(bps=2000),
    "TaxedByOrigin": TransferFee(bps=2000),
    "Greedy": TransferFee(bps=30),
    "NoSymbol": TransferFee(reverts=True),
    "Shares": UNKNOWN,
    "Reflecting": UNKNOWN,
    "Hidden": UNKNOWN,
    "LoopingBalance": UNKNOWN,
}
"""Taken from the wallet, by the token, from contracts only, or for others than the sender only."""


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


def reader(small: SmallChain) -> TokenReader:
    return TokenReader(lambda _: small.rpc, small.clock, TransferFeeMeter(small.clock))


async def test_a_fee_is_measured_wherever_the_token_takes_it(small: SmallChain) -> None:
    tokens = reader(small)
    for name, fee in FEES.items():
        address = odd(name).address
        assert tokens.measured_fee(address) is None
        assert await tokens.transfer_fee(address, "client") == fee, name
        assert tokens.measured_fee(address) == fee, name
    for token in ALL_TOKENS.values():
        if token.contract:
            expected = 100 if token.symbol == "FEE" else 0
            assert await tokens.transfer_fee(token.address, "client") == TransferFee(expected), (
                token.symbol
            )


async def test_a_fee_is_measured_again_after_an_hour(small: SmallChain) -> None:
    tokens = reader(small)
    address = odd("Taxed").address
    await tokens.transfer_fee(address, "client")
    ordinary = await small.raw.call("eth_getCode", odd("Ordinary").address, "latest")
    await small.raw.call("anvil_setCode", address, ordinary)
    assert await tokens.transfer_fee(address, "client") == TransferFee(100)
    small.clock.advance(3601)
    assert tokens.measured_fee(address) is None
    assert await tokens.transfer_fee(address, "client") == TransferFee(0)


async def test_details_of_odd_tokens(small: SmallChain) -> None:
    tokens = reader(small)
    found = {
        name: await tokens.details(odd(name).address, "client")
        for name in ("Bytes32Symbol", "RudeSymbol", "NoSymbol", "LoopingSymbol")
    }
    assert [one and one.symbol for one in found.values()] == [
        "MKR", "EV1L‹script› and much more than", "", "",
    ]  # fmt: skip
    for name in ("ManyDecimals", "LoopingBalance", "LoopingDecimals"):
        assert await tokens.details(odd(name).address, "client") is None, name
    usdc = await tokens.details(ALL_TOKENS["USDC"].address, "client")
    assert usdc
    assert (usdc.symbol, usdc.name, usdc.decimals) == ("USDC", "USD Coin", 6)
    assert await tokens.details(NOBODY, "client") is None


async def test_tokens_that_burn_all_gas_hide_no_other(small: SmallChain) -> None:
    tokens = reader(small)
    await small.give(odd("Ordinary"), NOBODY, 77)
    await small.give(odd("LoopingAllowance"), NOBODY, 5)
    names = ("LoopingBalance", "Ordinary", "LoopingAllowance", "LoopingSymbol")
    asked = [odd(name).address for name in names] * 3
    found = await tokens.holdings(NOBODY, asked, [WALLET], "client")
    balances = [one.balance for one in found.tokens]
    assert balances == [None, 77, 5, 0] * 3
    allowances = [one.allowances[WALLET] for one in found.tokens]
    assert allowances == [0, 0, None, 0] * 3
    head = await small.chain.head()
    assert (found.block_number, found.eth) == (head.number, 0)


async def test_a_token_that_burns_gas_alone(small: SmallChain) -> None:
    found = await reader(small).holdings(NOBODY, [odd("LoopingBalance").address], [], "client")
    assert [one.balance for one in found.tokens] == [None]


async def test_a_node_without_simulations_measures_nothing(http: HttpClient) -> None:
    async with fake_node() as node:
        clock = ManualClock(0)
        rpc = NodeRpcClient(http, [node.url], clock, **NODE)
        meter = TransferFeeMeter(clock)
        token = odd("Ordinary").address
        assert await meter(token, 18, rpc) == UNKNOWN
        assert await meter(token, 18, rpc) == UNKNOWN
        assert node.served == ["eth_simulateV1"], "it is asked again after a minute"
        clock.advance(61)
        await meter(token, 18, rpc)
        assert node.served == ["eth_simulateV1"] * 2


async def test_a_node_that_is_away_has_no_holdings(http: HttpClient) -> None:
    async with fake_node(eth_call="0x") as node:
        clock = ManualClock(0)
        rpc = NodeRpcClient(http, [node.url], clock, **NODE)
        tokens = TokenReader(lambda _: rpc, clock, TransferFeeMeter(clock))
        with pytest.raises(NodeUnavailable):
            await tokens.holdings(NOBODY, [], [], "client")
        with pytest.raises(NodeUnavailable):
            await tokens.details(NOBODY, "client")
