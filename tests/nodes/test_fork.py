"""The rules of Amsterdam begin while the service runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.sandbox import rpc as rpc_server
from quietswap.sandbox.contracts.pools import ALL_TOKENS
from quietswap.sandbox.http_server import HttpResponse
from tests.e2e.serving import serving
from tests.nodes.town import GethDesk, GethTown, listening, running_geth_town, visited
from tests.reports.proxy import Calls, RpcProxy
from tests.spec.wire import data, refused

UNTIL_FORK_S = 45


@contextmanager
def forking_town() -> Iterator[tuple[GethTown, int]]:
    """Yield a town whose rules change soon, and the Unix time of that."""
    with running_geth_town(UNTIL_FORK_S) as town:
        genesis = json.loads((town.geth.folder / "genesis.json").read_text("utf-8"))
        yield town, genesis["config"]["amsterdamTime"]


def is_amsterdam(desk: GethDesk) -> bool:
    return "blockAccessListHash" in desk.rpc("eth_getBlockByNumber", "latest", False)


async def silent_about_forks(proxy: RpcProxy, calls: Calls) -> HttpResponse:
    """Answer `eth_config` as geth 1.17.5 does, which names no fork; hand everything else on."""

    async def method(name: str, params: list[Any]) -> Any:
        if name == "eth_config":
            return {"current": {}, "next": None, "last": None}
        return await proxy.rpc.call(name, *params)

    return await rpc_server.answer(calls, method)


@pytest.mark.capability("the fork to Amsterdam in the middle")
def test_the_rules_change_while_the_service_runs(tmp_path: Path) -> None:
    """geth names the fork, older ones do not: then the operator's setting stops the quotes."""
    with (
        forking_town() as (town, fork),
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
        with visited(town, tmp_path, GethDesk, NODE__URLS=silent) as desk:
            assert "fork" in warnings(desk.api)
            signed = desk.swap(desk.wallet())
            assert not is_amsterdam(desk)
            desk.until(lambda: is_amsterdam(desk))
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
