"""The rules of Amsterdam begin while the service runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.rules.tx.fees import FORK_MARGIN_S
from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.contracts.pools import ALL_TOKENS
from quietswap.sandbox.http_server import HttpResponse
from tests.e2e.serving import serving
from tests.nodes.town import GethDesk, GethTown, listening, running_geth_town, visited
from tests.reports.proxy import Calls, RpcProxy
from tests.spec.wire import data, refused

NEVER_S = 10**9
"""Thirty years: the genesis names the fork, and with it its blobs, as geth wants it."""
SETTINGS = {"QUOTES__SOURCES": "sushi", "QUOTES__VALIDITY_S": "3600"}
"""Each route is over the same V2 pair: the gas of a quote from before suffices after the fork. A
first swap over a V3 pool fills slots, which then costs more. A quote outlives the node's start.
"""


def amsterdam_at(time: int) -> tuple[str, str]:
    """Return the option of geth that overrides its genesis."""
    return "--override.amsterdam", str(time)


def is_amsterdam(desk: GethDesk) -> bool:
    return "blockAccessListHash" in desk.rpc("eth_getBlockByNumber", "latest", False)


async def silent_about_forks(proxy: RpcProxy, calls: Calls) -> HttpResponse:
    """Answer `eth_config` as geth 1.17.5 does, which names no fork; hand everything else on."""

    async def method(name: str, params: list[Any]) -> Any:
        if name == "eth_config":
            return {"current": {}, "next": None, "last": None}
        return await proxy.rpc.call(name, *params)

    return await rpc_server.answer(calls, method)


@pytest.fixture(scope="module")
def forking_town() -> Iterator[GethTown]:
    """Whether and when its rules change is a matter of geth's options."""
    with running_geth_town(NEVER_S) as running:
        yield running


@pytest.mark.capability("no quote shortly before a fork")
def test_no_quote_shortly_before_the_rules_change(forking_town: GethTown, tmp_path: Path) -> None:
    """geth names the fork, older ones do not: then the operator's setting stops the quotes.

    Ten minutes are longer than all waits here may take.
    """
    town = forking_town
    fork = town.stop_blocks() + FORK_MARGIN_S
    with (
        town.options(*amsterdam_at(fork)),
        listening(RpcProxy(town.geth.url, silent_about_forks)) as silent,
    ):
        for name, settings in {
            "named": {"NODE__URLS": town.geth.url},
            "set": {"NODE__URLS": silent, "NODE__FORK_TIMES": str(fork)},
        }.items():
            (tmp_path / name).mkdir()
            with serving(town, tmp_path / name, **settings) as served:
                body = refused(served.town.quote(), 503, "SERVICE_UNAVAILABLE")
                assert body["details"] == {"forkAt": fork}
                assert "fork" not in warnings(served.town.api)


@pytest.mark.capability("the fork to Amsterdam in the middle")
def test_the_rules_change_while_the_service_runs(forking_town: GethTown, tmp_path: Path) -> None:
    town = forking_town
    with (
        listening(RpcProxy(town.geth.url, silent_about_forks)) as silent,
        visited(town, tmp_path, GethDesk, NODE__URLS=silent, **SETTINGS) as desk,
    ):
        assert "fork" in warnings(desk.api)
        signed = desk.swap(desk.wallet())
        assert not is_amsterdam(desk)
        fork = town.stop_blocks() + 1
        town.restart(*town.geth.options, *amsterdam_at(fork))
        desk.until(lambda: is_amsterdam(desk))
        desk.until(desk.is_well)
        for late in (signed, desk.swap(desk.wallet())):
            order = data(desk.submit(late))["order"]
            assert desk.follow(order["orderId"])["status"] == "confirmed"
        assert "fork" not in warnings(desk.api)


def warnings(api: httpx.Client) -> dict[str, str]:
    return dict(api.get("/readyz").json().get("warnings", {}))


@pytest.mark.capability("no route is dropped for gas that its trial lacked")
@pytest.mark.parametrize("symbol", ["USDC", "USDT", "DAI", "WBTC"])
def test_no_good_route_is_dropped(town: GethTown, desk: GethDesk, symbol: str) -> None:
    """A wallet without the bought token: after Amsterdam its new balance costs most of the gas."""
    wallet = desk.fresh_wallet()
    quote = desk.quote(wallet, buyToken=ALL_TOKENS[symbol].address)
    reasons = {row["source"]: (row["outcome"], row["reason"]) for row in quote["sources"]}
    assert not [one for one in reasons.values() if "revert" in str(one[1])]
    assert quote["verification"]["status"] == "verified"
