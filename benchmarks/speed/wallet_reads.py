"""The rows about reads through a wallet's RPC URL, beside the node alone."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from benchmarks.speed.load import load, post
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import SELL, Served, Stage
from benchmarks.speed.upstreams import wallet
from quietswap.service.base.http_client import HttpClient

CLIENTS = 64
COUNT = 5_000
_OWNER = wallet(0)
_BALANCE_OF = "0x70a08231" + _OWNER[2:].lower().rjust(64, "0")
READS: Mapping[str, list[Any]] = {
    "eth_blockNumber": [],
    "eth_call": [{"to": SELL.address, "data": _BALANCE_OF}, "latest"],
}


async def wallet_reads(stage: Stage, rounds: int) -> list[Row]:
    """Ask one process and the node alone the same, in turn: single requests of 64 clients.

    The process needs the node for each answer, so both share the machine.
    """
    ours = await stage.service("wallet reads")
    path = await _rpc_path(ours)
    node = urlsplit(stage.sandbox.chain.url).port
    assert node is not None
    return [await _row(ours, path, node, call, rounds) for call in READS.items()]


async def _row(ours: Served, path: str, node: int, call: tuple[str, list[Any]], rounds: int) -> Row:
    method, params = call
    port = ours.service.port
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    through, alone = [post(path, "none", body)], [post("/", "none", body)]
    answers = [(await load(port, 1, 2, through)).last, (await load(node, 1, 2, alone)).last]
    results = [msgspec.json.decode(answer).get("result") for answer in answers]
    if results[0] is None or results[0] != results[1]:
        raise RuntimeError(f"the answers differ: {answers}")
    shares, rates, costs = [], [], []
    for number in range(rounds + 1):
        bare = (await load(node, CLIENTS, COUNT, alone)).per_second
        before = ours.cpu_s()
        served = (await load(port, CLIENTS, COUNT, through)).per_second
        if number:  # the first round warms everything up
            shares.append(served / bare)
            rates.append((served, bare))
            costs.append((ours.cpu_s() - before) / COUNT * 1e6)
    through_us, node_alone = (Spread.of(one) for one in zip(*rates, strict=True))
    beside = (
        f"{shown(through_us, '/s')}, {shown(Spread.of(costs), 'µs')} of CPU each; "
        f"the node alone {shown(node_alone, '/s')}"
    )
    what = f"{method} through an RPC URL: share of the node alone"
    return Row(what, Spread.of(shares), beside, Goal(0.5, "%", least=True))


async def _rpc_path(ours: Served) -> str:
    """Return the path of a new RPC URL."""
    http = HttpClient()
    reply = await http.post(
        f"{ours.service.url}/api/v1/mev/rpc",
        msgspec.json.encode({"wallets": [_OWNER]}),
        headers={"x-api-key": ours.key},
        timeout_s=30,
    )
    await http.close()
    return urlsplit(str(reply.json()["data"]["token"]["url"])).path
