"""The rows about waiting: how many times one operation waits for a far upstream.

Every upstream is behind a proxy that answers late. Requests that overlap are one trip: a trip
begins after the one before it has ended. Counts do not depend on how fast the machine is.
"""

import asyncio
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount

from benchmarks.speed.row import Goal, Row, once
from benchmarks.speed.stage import BUY, ROOT, SELL, SELL_AMOUNT, SOURCES, Stage, ready_to_swap
from quietswap.client import AsyncQuietswapClient, PollingPolicy, SwapRequest
from quietswap.client.errors import ClientError
from quietswap.client.signing import sign, to_sign
from quietswap.rules.contract.transactions import TransactionParams
from quietswap.sandbox.faults import RELAYS
from quietswap.service.base.http_client import HttpClient

_NODE_S, _VENDOR_S, _RELAY_S = 0.1, 0.2, 0.08
_KEYS = 0x7121_0000
_POST = ("/mev/orders", "/mev/wrap/order")


@dataclass(slots=True)
class Proxy:
    """Passes requests on to `target` and answers `late_s` later; `seen` has begin, end and path.

    `mine` is called after a transaction: its block is there when the sender looks.
    """

    target: str
    late_s: float
    http: HttpClient
    mine: Callable[[], Awaitable[None]]
    url: str = ""
    seen: list[tuple[float, float, str]] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the other side closes it."""
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                first, *lines = head.strip().split("\r\n")
                headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                writer.write(await self._answer(*first.split()[:2], headers, body))
                await writer.drain()
        writer.close()

    async def _answer(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        began, url = time.monotonic(), self.target.rstrip("/") + path
        kept = {k: v for k, v in headers.items() if k in ("x-api-key", "content-type")}
        if method == "GET":
            reply = await self.http.get(url, headers=kept, timeout_s=60)
        else:
            reply = await self.http.post(url, body, headers=kept, timeout_s=60, max_bytes=2**24)
        if b"eth_sendRawTransaction" in body and path == "/":
            await self.mine()
        await asyncio.sleep(self.late_s)
        self.seen.append((began, time.monotonic(), path))
        head = f"HTTP/1.1 {reply.status} -\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(reply.body)}\r\n\r\n".encode() + reply.body

    def trips(self, after: float = 0.0, before: float = float("inf")) -> int:
        """Return how many requests followed one another; those that overlap are one trip."""
        count, last = 0, after
        for began, ended, _ in sorted(self.seen, key=lambda each: each[1]):
            if last <= began < before:
                count, last = count + 1, ended
        return count


@dataclass(frozen=True, slots=True)
class _Far:
    """A service whose upstreams are all far, and a node of the caller that is as far."""

    stage: Stage
    proxies: Mapping[str, Proxy]
    node: Proxy
    service: Proxy
    key: str

    async def counted(self, work: Awaitable[Any]) -> Any:
        """Do it with nothing seen before it, once the last answers of before are out."""
        await asyncio.sleep(2 * _VENDOR_S)
        for proxy in (*self.proxies.values(), self.node, self.service):
            proxy.seen.clear()
        return await work

    def posted(self) -> float:
        """Return when the last order was posted."""
        return max((b for b, _, path in self.service.seen if path.endswith(_POST)), default=0.0)

    def client(self) -> AsyncQuietswapClient:
        polling = PollingPolicy(interval_s=0.3, node_interval_s=0.3)
        return AsyncQuietswapClient(self.service.url, self.key, rpc_url=self.node.url,
                                    polling=polling)  # fmt: skip


async def _far(stage: Stage) -> _Far:
    http = HttpClient()
    stage.stack.push_async_callback(http.close)

    async def proxy(target: str, late_s: float) -> Proxy:
        made = Proxy(target, late_s, http, stage.sandbox.chain.mine)
        server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
        stage.stack.callback(server.close)
        made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return made

    # a block between plan and signature costs one more trial
    await http.post(f"{stage.sandbox.control_url}/pause_mining", b"", timeout_s=5)
    urls = stage.sandbox.urls
    late = dict.fromkeys(SOURCES, _VENDOR_S) | dict.fromkeys(RELAYS, _RELAY_S)
    proxies = {name: await proxy(urls[name], late_s) for name, late_s in late.items()}
    proxies["node"] = await proxy(stage.sandbox.chain.url, _NODE_S)
    served = await stage.service("trips", urls={name: one.url for name, one in proxies.items()})
    own = await proxy(stage.sandbox.chain.url, _NODE_S)
    return _Far(stage, proxies, own, await proxy(served.service.url, 0), served.key)


async def trips(stage: Stage, _: int) -> list[Row]:
    """Count the trips of each operation, beside the least that it could take."""
    far = await _far(stage)
    accounts = [Account.from_key((_KEYS + number).to_bytes(32)) for number in range(8)]
    await ready_to_swap(stage.sandbox, [account.address for account in accounts])
    rows = [*await _of_the_service(far, accounts), *await _of_a_client(far, accounts)]
    return [
        Row(f"{what}: trips", once(count), beside, Goal(least, "trips"))
        for what, count, beside, least in rows
    ]


Counts = list[tuple[str, int, str, int]]


def _signed(params: TransactionParams, account: LocalAccount) -> str:
    return sign(to_sign(params, 0), account, account.address)


async def _of_the_service(far: _Far, accounts: Sequence[LocalAccount]) -> Counts:
    node, rows = far.proxies["node"], Counts()
    relays = [far.proxies[name] for name in RELAYS]

    async def count(what: str, work: Awaitable[Any]) -> Any:
        answer = await far.counted(work)
        beside = f"{sum(relay.trips() for relay in relays)} of the relay"
        rows.append((what, node.trips(), beside, 1))
        return answer

    async with far.client() as client:
        swapper, wrapper = accounts[:2]
        request = SwapRequest(SELL.address, BUY.address, SELL_AMOUNT, swapper.address)
        await client.quote(request)  # tokens and layouts are known from here on
        quote = await far.counted(client.quote(request))
        slowest = max(end for name in SOURCES for _, end, _ in far.proxies[name].seen)
        after = node.trips(after=slowest)
        rows.append(("quote of a swap", after, "of the node, after the slowest source", 1))
        raw = _signed(quote.mev_protection.transaction_params, swapper)
        order = await count("order post", client.submit_order(quote, request, raw))
        stop = await count("quote of a cancel", client.cancel_quote(order.order.order_id))
        raw = _signed(stop.transaction_params, swapper)
        await count("cancel post", client.submit_cancel(stop, raw))
        wrap = await count("quote of a wrap", client.wrap_quote("wrap", "0.1", wrapper.address))
        raw = _signed(wrap.mev_protection.transaction_params, wrapper)
        await count("order post of a wrap", client.submit_wrap_order(wrap, raw))
    return rows


async def _of_a_client(far: _Far, accounts: Sequence[LocalAccount]) -> Counts:
    rows: Counts = []
    words = "of the caller's node, before the order is posted"

    async def until_posted(what: str, least: int, work: Callable[[Any], Awaitable[Any]]) -> None:
        async with far.client() as client:
            running = asyncio.ensure_future(far.counted(work(client)))
            began = time.monotonic()
            while not (far.posted() >= began or running.done()):  # noqa: ASYNC110  by a proxy
                await asyncio.sleep(0.05)
            took_s = far.posted() - began
            running.cancel()
            with suppress(asyncio.CancelledError, ClientError):
                await running
        beside = f"{words}, after {took_s:.1f} s"
        rows.append((what, far.node.trips(before=far.posted()), beside, least))

    def swap(account: LocalAccount) -> Callable[[Any], Awaitable[Any]]:
        request = SwapRequest(SELL.address, BUY.address, SELL_AMOUNT, account.address)
        return lambda client: client.swap(request, account)

    fresh = Account.from_key((_KEYS + 99).to_bytes(32))
    await ready_to_swap(far.stage.sandbox, [fresh.address], approved=False)
    await until_posted("swap by the client, approved", 2, swap(accounts[2]))
    await until_posted("swap by the client, with an approval", 4, swap(fresh))
    await until_posted("wrap by the client", 2, lambda client: client.wrap("0.1", accounts[3]))
    await until_posted("quietswap swap", 2, lambda _: _command(far, accounts[4]))
    return rows


async def _command(far: _Far, account: LocalAccount) -> None:
    """Run the command until its task is cancelled."""
    variables = {
        "QUIETSWAP_URL": far.service.url, "QUIETSWAP_API_KEY": far.key,
        "QUIETSWAP_RPC_URL": far.node.url, "XDG_STATE_HOME": str(far.stage.folder),
        "QUIETSWAP_PRIVATE_KEY": "0x" + bytes(account.key).hex(),
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "quietswap", "swap", "1", "WETH", "USDC", "--yes",
        env=os.environ | variables, cwd=ROOT, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        if await process.wait():
            raise RuntimeError("the command ended in an error")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
