"""The rows about a signed transaction: submission, and its decoding alone."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

from eth_account import Account
from eth_account.signers.local import LocalAccount

from benchmarks.speed.load import load, post
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import (
    BUY,
    SELL,
    SELL_AMOUNT,
    SLIPPAGE_BPS,
    Served,
    Stage,
    ready_to_swap,
)
from benchmarks.speed.upstreams import RELAY
from quietswap.client import AsyncQuietswapClient, SwapRequest
from quietswap.client.flows.swap import order_call
from quietswap.client.signing import to_sign
from quietswap.client.wire import encode
from quietswap.rules.chain.records import signed_swap
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.orders.order import Order, OrderEvent
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tx.signed import decode
from quietswap.service.base.clock import SystemClock
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from quietswap.service.relays.mev_blocker import MevBlocker
from quietswap.service.storage.factory import open_storage
from tests.stored_orders import order

_KEYS = 0xB0B0_0000
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Signed:
    """What a wallet posts: the raw transaction and the whole request."""

    raw: str
    request: bytes


async def submission(stage: Stage, rounds: int) -> list[Row]:
    """One client posts orders, beside the sum of what cannot be avoided, each part alone."""
    ours = await stage.service("submission")
    accounts = [Account.from_key((_KEYS + n).to_bytes(32)) for n in range(80 * (rounds + 1))]
    await ready_to_swap(stage.sandbox, [account.address for account in accounts])
    posts, alone = [], []
    for start in range(0, len(accounts), 80):
        signed = [await signed_order(stage, ours, a) for a in accounts[start : start + 80]]
        result = await load(ours.service.port, 1, len(signed), [s.request for s in signed])
        parts = await _parts(stage, signed, start, result.p50 / 1000)
        if start:  # the first round warms everything up
            posts.append(result.p50)
            alone.append(parts)
    share = Spread.of(p / sum(a[:4]) for p, a in zip(posts, alone, strict=True))
    run_share = Spread.of(p / (sum(a[:4]) - a[1] + a[4]) for p, a in zip(posts, alone, strict=True))
    names = ("decode and recover", "one RPC batch", "one commit", "one relay call")
    told = ", ".join(
        f"{name} {shown(Spread.of(a[n] for a in alone), 'ms')}" for n, name in enumerate(names)
    )
    what = "order submission, relay and node answering at once"
    beside = f"{shown(Spread.of(posts), 'ms')}; alone: {told}"
    run = f"its RPC batch with the dry run {shown(Spread.of(a[4] for a in alone), 'ms')}"
    return [
        Row(f"{what}: over its parts", share, beside, Goal(1.5, "×")),
        Row(f"{what}: over its parts with the dry run", run_share, run, Goal(1.5, "×")),
    ]


async def signed_order(stage: Stage, ours: Served, account: LocalAccount) -> Signed:
    """Quote a swap and sign it as issued."""
    quote, request = await quoted_swap(ours, account.address)
    transaction = to_sign(quote.mev_protection.transaction_params)
    raw = account.sign_transaction(transaction).raw_transaction.to_0x_hex()
    call = order_call(quote, request, raw, time.time_ns() // 1_000_000)
    return Signed(raw, post("/api/v1/mev/orders", ours.key, encode(call.body)))


async def signed_orders(
    stage: Stage, ours: Served, accounts: Sequence[LocalAccount]
) -> Sequence[bytes]:
    """Return a request for each account, a few at a time. A quote is valid for 30 seconds."""
    requests: list[bytes] = []
    for start in range(0, len(accounts), _AT_ONCE):
        some = accounts[start : start + _AT_ONCE]
        signed = await asyncio.gather(*(signed_order(stage, ours, one) for one in some))
        requests += [one.request for one in signed]
    return requests


async def quoted_swap(ours: Served, owner: str) -> tuple[SwapQuoteResponse, SwapRequest]:
    """Return a quote and what was asked."""
    request = SwapRequest(SELL.address, BUY.address, SELL_AMOUNT, owner, SLIPPAGE_BPS)
    async with AsyncQuietswapClient(ours.service.url, ours.key) as client:
        return await client.quote(request), request


async def _parts(stage: Stage, signed: Sequence[Signed], start: int, pace_s: float) -> list[float]:
    """Return the median milliseconds of each part alone, over these transactions."""
    http, clock = HttpClient(), SystemClock()
    decoded = [decode(one.raw) for one in signed]
    chain = NodeChain(
        NodeRpcClient(http, [stage.sandbox.chain.url], clock, timeout_s=3, max_lag_blocks=3), clock
    )
    relay = MevBlocker(
        http, clock, referrer="bench", name="MEV Blocker",
        base_url=f"{stage.upstreams_url}/{RELAY}", tracking_base=None, timeout_s=5,
    )  # fmt: skip
    file = stage.folder / f"commit-{start}.sqlite3"
    storage = await open_storage(f"sqlite:///{file}", clock=clock, rates_url=None)
    raws = iter([bytes.fromhex(one.raw[2:]) for one in signed])
    orders = iter(
        [order(order_id=f"ord_{n}", tx_hash=one.hash, raw=one.raw) for n, one in enumerate(decoded)]
    )
    senders = iter([one.sender for one in decoded])
    swaps = iter([signed_swap(one, BUY.address, 1) for one in decoded])
    texts = iter([one.raw for one in signed])

    async def decoding() -> None:
        decode(next(texts))

    async def asking() -> None:
        await chain.wallet(next(senders), SELL.address, decoded[0].params.to)

    async def committing() -> None:
        one: Order = next(orders)
        line = OrderEvent(one.order_id, one.created_at_ms, "posted", None, one.status, "")
        await storage.orders.add(one, line)

    async def relaying() -> None:
        await relay.submit(next(raws), EndpointType.NOREVERTS, ShareMode.SHARE_SAFE)

    async def trying() -> None:
        await chain.wallet_and_dry_run(next(swaps), SELL.address, decoded[0].params.to)

    parts = decoding, asking, committing, relaying, trying
    times = await _medians_ms(parts, len(signed), pace_s)
    await storage.close()
    await http.close()
    return times


async def _medians_ms(
    parts: Sequence[Callable[[], Awaitable[None]]], count: int, pace_s: float
) -> list[float]:
    """Time the parts in turn, every `pace_s` seconds, as orders take them.

    In a row of its like each is quicker: nothing has to be fetched or woken.
    """
    times: list[list[float]] = [[] for _ in parts]
    start = time.perf_counter()
    for turn in range(count):
        await asyncio.sleep(max(start + turn * pace_s - time.perf_counter(), 0))
        for part, taken in zip(parts, times, strict=True):
            began = time.perf_counter()
            await part()
            taken.append((time.perf_counter() - began) * 1000)
    return [median(taken) for taken in times]
