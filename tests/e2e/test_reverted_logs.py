"""A node that reports logs of reverted calls, as older versions of Nethermind do."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from quietswap.sandbox.http_server import HttpResponse
from quietswap.service.node.reverted_logs import CODE, WARNING
from tests.e2e.conftest import Town
from tests.e2e.serving import serving
from tests.e2e.test_readiness import FAR, of, readiness
from tests.reports.proxy import Calls, RpcProxy, proxy
from tests.spec.api_client import ApiClient
from tests.waiting import wait_until

DAI = "0x6B175474E89094C44Da98b954EedeAC495271d0F"
_TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"


def reverted(sender: str) -> dict[str, Any]:
    """Return the log of a call that took DAI of the sender, and was undone."""
    topics = [_TRANSFER, "0x" + sender[2:].lower().rjust(64, "0"), "0x" + "12" * 32]
    return {"address": DAI, "topics": topics, "data": f"0x{10**18:064x}"}


async def older_nethermind(node: RpcProxy, calls: Calls) -> HttpResponse | None:
    """Answer simulations with one more log in each swap, and in a call that is reverted within."""
    asked = calls if isinstance(calls, list) else [calls]
    if not any(call["method"] == "eth_simulateV1" for call in asked):
        return None
    replies = msgspec.json.decode(await node.rpc.forward(msgspec.json.encode(asked)))
    for call, reply in zip(asked, replies, strict=True):
        if call["method"] == "eth_simulateV1" and "result" in reply:
            add_logs(call["params"][0]["blockStateCalls"], reply["result"])
    answer = replies if isinstance(calls, list) else replies[0]
    return HttpResponse(200, msgspec.json.encode(answer))


def add_logs(asked: list[dict[str, Any]], ran: list[dict[str, Any]]) -> None:
    for block, simulated in zip(asked, ran, strict=True):
        is_trial = CODE in str(block.get("stateOverrides"))
        for sent, result in zip(block["calls"], simulated["calls"], strict=True):
            if is_trial or len(result.get("logs", ())) > 1:
                result["logs"].append(reverted(sent.get("from", "0x" + "00" * 20)))


async def test_honest_routes_are_refused_and_the_operator_is_told_why(
    town: Town, tmp_path: Path
) -> None:
    def asked(url: str) -> tuple[dict[str, str], dict[str, Any]]:
        settings = {"NODE__URLS": url, "NODE__FORK_TIMES": FAR}
        with (
            serving(town, tmp_path, **settings) as served,
            ApiClient(of(served), f"sqlite:///{tmp_path}/own.sqlite3") as desk,
        ):
            wait_until(lambda: "logs" in readiness(served.url)[1], "no warning")
            answer = desk.ask_quote(desk.wallet())
            return readiness(served.url)[1], answer.json()

    async with proxy(town.facts["rpcUrl"], older_nethermind) as node:
        warnings, refused = await asyncio.to_thread(asked, node.url)
    assert warnings == {"logs": WARNING}
    assert refused["ok"] is False
    assert f"it moves {DAI} out of the wallet" in str(refused)


async def test_a_node_that_drops_them_is_no_warning(town: Town, tmp_path: Path) -> None:
    def warned() -> dict[str, str]:
        with serving(town, tmp_path, NODE__FORK_TIMES=FAR) as served:
            return readiness(served.url)[1]

    assert await asyncio.to_thread(warned) == {}
