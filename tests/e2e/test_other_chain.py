"""A node whose URL begins to lead elsewhere ends no order: another chain, or a fork's count."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

from quietswap.sandbox.chain.anvil import start_anvil
from quietswap.sandbox.http_server import HttpResponse
from tests import loopback
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving
from tests.reports.proxy import Calls, RpcProxy, proxy
from tests.spec.api_client import ApiClient
from tests.spec.wire import data
from tests.waiting import wait_until

SEPOLIA = 11155111
ENOUGH = 8
"""Blocks in which a used nonce without a receipt was a verdict after two."""
FAST = {"TRACKING__POLL_S": "0.1"}
RELAYS = ("relay", "backup_relay")


class Elsewhere:
    """Another chain behind the same URL while `is_on`; each fifth request adds a block to it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_on = threading.Event()
        self.served = 0
        self._http = loopback.AsyncClient(base_url=url, timeout=10)

    async def trouble(self, _: RpcProxy, body: Calls) -> HttpResponse | None:
        if not self.is_on.is_set():
            return None
        self.served += 1
        if self.served % 5 == 0:
            await self._http.post("", json=_call("evm_mine"))
        reply = await self._http.post("", json=body)
        return HttpResponse(reply.status_code, reply.content, "application/json")

    async def close(self) -> None:
        await self._http.aclose()

    def asks(self, method: str, *params: object) -> None:
        with loopback.Client(base_url=self.url, timeout=60) as http:
            assert "error" not in http.post("", json=_call(method, *params)).json()


def _call(method: str, *params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@asynccontextmanager
async def elsewhere() -> AsyncIterator[Elsewhere]:
    anvil = await start_anvil(int(time.time()) - 100_000, chain_id=SEPOLIA)
    found = Elsewhere(anvil.url)
    try:
        yield found
    finally:
        await found.close()
        await anvil.stop()


def of(served: Served) -> Town:
    return replace(served.town, facts=served.town.facts | {"baseUrl": served.url})


def height(desk: ApiClient) -> int:
    return int(desk.rpc("eth_blockNumber"), 16)


async def test_another_chain_behind_the_url_ends_no_order(town: Town, tmp_path: Path) -> None:
    def follow(url: str, other: Elsewhere) -> None:
        with (
            serving(town, tmp_path, NODE__URLS=url, **FAST) as served,
            ApiClient(of(served), f"sqlite:///{tmp_path / 'own.sqlite3'}") as desk,
        ):
            wallet = desk.wallet()
            for relay in RELAYS:
                desk.town.fault(relay, "withhold")
            order = data(desk.submit(desk.swap(wallet)))["order"]
            other.asks("anvil_setNonce", wallet.address, hex(50))
            other.asks("anvil_mine", hex(height(desk) + 200))
            other.is_on.set()
            wait_until(lambda: other.served > 60, "the service asks the other chain")
            other.is_on.clear()
            seen = desk.status(order["orderId"])
            desk.town.heal(*RELAYS)
            assert seen["status"] not in ("cancelled", "failed"), seen
            assert desk.follow(order["orderId"])["status"] == "confirmed"
            said = [line for line in served.lines() if line.get("event") == "node_failed"]
            assert any(f"serves chain {SEPOLIA}" in str(line["reason"]) for line in said)

    try:
        async with elsewhere() as other, proxy(town.facts["rpcUrl"], other.trouble) as one:
            await asyncio.to_thread(follow, one.url, other)
    finally:
        town.heal(*RELAYS)


class Flipping:
    """A backend of a fork: it counts a transaction more than the chain has, while `is_on`."""

    def __init__(self, url: str) -> None:
        self.is_on = threading.Event()
        self.flipped = 0
        self._http = loopback.AsyncClient(base_url=url, timeout=10)

    async def trouble(self, _: RpcProxy, body: Calls) -> HttpResponse | None:
        calls = body if isinstance(body, list) else [body]
        counts = {call["id"] for call in calls if call["method"] == "eth_getTransactionCount"}
        if not self.is_on.is_set() or not counts:
            return None
        replies = (await self._http.post("", json=calls)).json()
        for reply in replies:
            if reply["id"] in counts:
                self.flipped += 1
                reply["result"] = hex(int(reply["result"], 16) + 1)
        return HttpResponse(200, msgspec.json.encode(replies), "application/json")

    async def close(self) -> None:
        await self._http.aclose()


async def test_a_count_that_no_block_agrees_with_ends_no_order(town: Town, tmp_path: Path) -> None:
    def follow(url: str, fork: Flipping) -> None:
        with (
            serving(town, tmp_path, NODE__URLS=url, **FAST) as served,
            ApiClient(of(served), f"sqlite:///{tmp_path / 'own.sqlite3'}") as desk,
        ):
            wallet = desk.wallet()
            for relay in RELAYS:
                desk.town.fault(relay, "withhold")
            order = data(desk.submit(desk.swap(wallet)))["order"]
            fork.is_on.set()
            before = height(desk)
            wait_until(lambda: height(desk) > before + ENOUGH, "blocks come")
            wait_until(lambda: fork.flipped >= 2, "the service reads the count")
            seen = desk.status(order["orderId"])
            fork.is_on.clear()
            desk.town.heal(*RELAYS)
            assert seen["status"] not in ("cancelled", "failed"), seen
            assert desk.follow(order["orderId"])["status"] == "confirmed"

    fork = Flipping(town.facts["rpcUrl"])
    try:
        async with proxy(town.facts["rpcUrl"], fork.trouble) as one:
            await asyncio.to_thread(follow, one.url, fork)
    finally:
        await fork.close()
        town.heal(*RELAYS)
