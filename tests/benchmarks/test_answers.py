"""Answers that are grown to a real size keep their swap."""

import json

import pytest

from benchmarks.speed.answers import grown, lengthened
from quietswap.routers.calldata import decode
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.pools import DAI, WETH
from quietswap.sandbox.vendors.market import routes_between
from quietswap.sandbox.vendors.router_calldata import RouterSwap
from quietswap.sandbox.vendors.stand_in import stand_ins
from tests.signing import WALLET

SOURCES = ("kyberswap", "velora", "sushi", "openocean")
ROUTE = routes_between(WETH.address, DAI.address)[0]


def calldata(source: str) -> bytes:
    return stand_ins()[source].encode(RouterSwap(ROUTE, 10**18, 2_900 * 10**18, WALLET.address))


@pytest.mark.parametrize("source", SOURCES)
def test_nothing_to_add_changes_no_byte(source: str) -> None:
    assert lengthened(source, calldata(source), 0) == calldata(source)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("length", [2_000, 17_000])
def test_longer_calldata_has_the_same_terms(source: str, length: int) -> None:
    longer = lengthened(source, calldata(source), length)
    assert length - 64 <= len(longer) <= length
    router = addresses.ROUTERS[source]
    terms = [decode(router, data, accept_unbound=True) for data in (calldata(source), longer)]
    assert terms[0] == terms[1]
    assert terms[0].sell_amount == 10**18


def test_the_gas_and_the_legs_grow_with_the_calldata() -> None:
    hop = {
        "pool": "0x" + "Ab" * 20,
        "poolType": "uniswapv3",
        "swapAmount": "1001",
        "amountOut": "7",
    }
    answer = {"data": {"routeSummary": {"gas": "150000", "route": [[hop]]}}}
    summary = json.loads(grown("kyberswap", json.dumps(answer), 1_800))["data"]["routeSummary"]
    assert [path[0]["swapAmount"] for path in summary["route"]] == ["335", "333", "333"]
    assert {path[0]["pool"] for path in summary["route"]} == {"0x" + "ab" * 20}
    assert summary["gas"] == "330000"
