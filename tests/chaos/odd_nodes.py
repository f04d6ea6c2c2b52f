"""Nodes that answer wrongly in one respect, for a share of the requests."""

from collections.abc import Callable
from typing import Any

import msgspec

from quietswap.sandbox.http_server import HttpResponse
from tests.reports.proxy import Calls, RpcProxy, Trouble, late

_SEPOLIA = 11155111
_DAYS_AHEAD = 8 * 86400
Reply = dict[str, Any]


def _altered(method: str, alter: Callable[[Reply], None], share: float) -> Trouble:
    """Return the trouble of a node whose replies to `method` are altered."""

    async def trouble(one: RpcProxy, body: Calls) -> HttpResponse | None:
        calls = body if isinstance(body, list) else [body]
        asked = {call.get("id") for call in calls if call.get("method") == method}
        if not asked or one.chance.random() >= share:
            return None
        answered = await one.rpc.forward(msgspec.json.encode(calls))
        try:
            replies = msgspec.json.decode(answered)
        except msgspec.DecodeError:  # the node behind it has a fault of its own
            return HttpResponse(200, answered)
        for reply in replies:
            if reply.get("id") in asked and reply.get("result") is not None:
                alter(reply)
        return HttpResponse(200, msgspec.json.encode(replies if body is calls else replies[0]))

    return trouble


def _one_more(reply: Reply) -> None:
    reply["result"] = hex(int(reply["result"], 16) + 1)


def _of_sepolia(reply: Reply) -> None:
    reply["result"] = hex(_SEPOLIA)


def _days_ahead(reply: Reply) -> None:
    reply["result"]["timestamp"] = hex(int(reply["result"]["timestamp"], 16) + _DAYS_AHEAD)


def _indexing(reply: Reply) -> None:
    del reply["result"]
    reply["error"] = {"code": -32000, "message": "transaction indexing is in progress"}


ODD_NODES = (
    _altered("eth_getTransactionCount", _one_more, 0.5),
    _altered("eth_chainId", _of_sepolia, 1.0),
    _altered("eth_getBlockByNumber", _days_ahead, 0.5),
    _altered("eth_getTransactionReceipt", _indexing, 0.7),
    late(3, 0.5),
)
"""A fork's count behind a balancer, another chain, a wrong clock, a start, a lagging backend."""
