"""Replays recorded node and price answers where the folder with them exists.

QUIETSWAP_FIXTURES names the folder; it is no part of the project.
"""

import json
import os
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from quietswap.chain.reads import receipt
from quietswap.chain.rpc import NodeRpcClient
from quietswap.chain.rpc_wire import Result, RpcErrorObject, read_replies
from quietswap.chain.simulation.codec import SimulatedCall, read_calls
from quietswap.http_client import HttpClient
from quietswap.prices.feeds import FEEDS
from quietswap.prices.usd import Chainlink, CoinGecko, DefiLlama
from quietswap.sandbox.contracts import abi
from quietswap.tokens.token import WETH
from tests.chain.fake_node import fake_node
from tests.defaults import NODE
from tests.fake_web import Answer, serving
from tests.manual_clock import ManualClock

FIXTURES = Path(
    os.environ.get("QUIETSWAP_FIXTURES", Path(__file__).parents[3] / "shared" / "fixtures")
)
RELAYS = FIXTURES / "relays"
pytestmark = pytest.mark.skipif(not RELAYS.is_dir(), reason="no recorded answers here")


def exchange(name: str) -> tuple[dict[str, Any], Result]:
    """Return the request of an .io file and its response, read as a batch of one."""
    lines = (RELAYS / "node" / f"{name}.io").read_text().splitlines()
    [asked] = [line[3:] for line in lines if line.startswith(">> ")]
    [answered] = [line[3:] for line in lines if line.startswith("<< ")]
    request = json.loads(asked)
    [result] = read_replies(f"[{answered}]".encode(), request["id"], 1)
    return request, result


def price(name: str) -> Any:
    return json.loads((RELAYS / "prices" / name).read_text())


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    client = HttpClient()
    yield client
    await client.close()


def test_a_simulation_that_works() -> None:
    _, result = exchange("eth_simulateV1.ethSimulate-simple")
    assert read_calls(result, 2) == [SimulatedCall(None, 21_000, 21_000, "")] * 2


def test_a_simulation_that_reverts() -> None:
    _, result = exchange("eth_simulateV1.ethSimulate-eth-send-should-not-produce-logs-on-revert")
    gas = 0x5355
    assert read_calls(result, 1) == [SimulatedCall(None, gas, gas, "Always reverting contract")]


@pytest.mark.parametrize(
    "name",
    [
        "eth_simulateV1.ethSimulate-basefee-too-low-with-validation-38012",
        "eth_simulateV1.ethSimulate-gas-fees-and-value-error-38014-with-validation",
    ],
)
def test_a_simulation_that_is_refused(name: str) -> None:
    _, result = exchange(name)
    assert isinstance(result, RpcErrorObject)
    assert result.is_verdict


def test_a_receipt_of_geth() -> None:
    request, result = exchange("eth_getTransactionReceipt.get-dynamic-fee")
    assert isinstance(result, msgspec.Raw)
    found = receipt(result, request["params"][0])
    assert found is not None
    assert (found.block_number, found.gas_used, found.succeeded) == (0x1B, 0xCA9C, True)
    assert found.effective_gas_price == 0x3B9ACA01
    assert receipt(result, "0x" + "11" * 32) is None


def test_no_receipt_of_geth() -> None:
    request, result = exchange("eth_getTransactionReceipt.get-notfound-tx")
    assert isinstance(result, msgspec.Raw)
    assert receipt(result, request["params"][0]) is None


async def test_a_round_of_chainlink(http: HttpClient) -> None:
    recorded = price("constructed.chainlink-latestRoundData.json")
    assert recorded["to"] == FEEDS[WETH].address
    clock = ManualClock(recorded["decoded"]["updatedAt"])
    results = [(True, bytes(32)), (True, bytes.fromhex(recorded["result"][2:]))]
    answer = "0x" + abi.encode("((bool,bytes)[])", (results,)).hex()
    async with fake_node(eth_call=answer) as node:
        chainlink = Chainlink(NodeRpcClient(http, [node.url], clock, **NODE), clock)
        assert await chainlink.usd(WETH) == Decimal(recorded["decoded"]["price"])


async def test_prices_of_the_web(http: HttpClient) -> None:
    llama = price("constructed.defillama-current.json")
    gecko = price("constructed.coingecko-token_price.json")

    clock = ManualClock()
    async with serving(lambda _: Answer(json.dumps(llama).encode())) as web:
        assert await DefiLlama(http, clock, url=web.url).usd(WETH) == Decimal("3000.12")
    async with serving(lambda _: Answer(json.dumps(gecko).encode())) as web:
        assert await CoinGecko(http, clock, url=web.url).usd(WETH) == Decimal("3000.1")
