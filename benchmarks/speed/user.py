"""The rows about quotes as a user meets them: nothing is chosen so that the service looks fast.

Several pairs, amounts and wallets; answers as long and as nested as the vendors' real ones; a
quarter of the wallets without an allowance; each tenth request for a token that the service has not
seen; a database with orders of the past, and live orders that the tracker follows.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path
from statistics import median
from typing import Any

from eth_account import Account

from benchmarks.speed import fresh, user_database
from benchmarks.speed.answers import grown
from benchmarks.speed.fanout import calls_of_a_quote, fan_out
from benchmarks.speed.load import Result, get, load
from benchmarks.speed.quotes import CLIENTS, DELAY_MS, apart
from benchmarks.speed.row import Goal, Row, Spread, shown
from benchmarks.speed.stage import (
    SLIPPAGE_BPS,
    SOURCES,
    Served,
    Stage,
    answers_of,
    ready_to_swap,
    recording_request,
    repeating,
)
from benchmarks.speed.submission import signed_orders
from benchmarks.speed.upstreams import Recorded, terms, wallet, write
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.contracts.abi import Call, set_storage
from quietswap.sandbox.contracts.pools import DAI, TOKENS, USDC, USDT, WBTC, WETH, SandboxToken
from quietswap.service.base.http_client import HttpClient
from quietswap.service.settings import TrackingConfig

PAIRS = (
    (WETH, USDC), (USDC, WETH), (WETH, USDT), (DAI, WETH), (WETH, DAI), (WBTC, USDC), (USDT, DAI),
)  # fmt: skip
LEVELS = ((100, 1_000), (600, 2_000), (3_000, 4_500), (12_000, 9_000), (40_000, 17_000))
"""USD sold, and bytes of the calldata: a larger swap is split over more pools."""
WALLETS, FIRST_WALLET = 256, 1_000
_FRESH_EVERY = 10
_UNAPPROVED_EVERY = 4
_KEYS = 0xB0B2_0000
_PLACED_AT_ONCE = 100
_PATIENCE_S = 60
_ATTEMPTS = 5
"""A busy machine may miss a deadline."""
WHAT = "quote, as a user meets it"


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is: stored orders, live orders, requests before the first round, and of a
    round by the rows' clients.
    """

    orders: int = 100_000
    live: int = 1_000
    warm: int = _FRESH_EVERY * len(PAIRS) * len(LEVELS)
    alone: int = 40
    together: int = 1_280


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: a swap of a wallet; `fresh` is the number of the fresh token in it, if any."""

    sell: Address
    buy: Address
    amount: int
    owner: Address
    fresh: int | None = None

    def http(self, key: str) -> bytes:
        """Return the request."""
        query = f"sellToken={self.sell}&buyToken={self.buy}&sellAmount={self.amount}"
        rest = f"userAddress={self.owner}&slippageBps={SLIPPAGE_BPS}"
        return get(f"/api/v1/quote?{query}&{rest}", key)


def asks() -> Iterator[Ask]:
    """Return requests without end: all pairs, amounts and wallets in turn.

    Each tenth buys or sells a fresh token, in turn; no two have the same fresh token.
    """
    for place in count():
        owner = owner_at(place)
        sell, buy = PAIRS[place % len(PAIRS)]
        usd, _ = LEVELS[place // len(PAIRS) % len(LEVELS)]
        if place % _FRESH_EVERY < _FRESH_EVERY - 1:
            yield Ask(sell.address, buy.address, _amount(sell, usd), owner)
            continue
        number = place // _FRESH_EVERY
        if number % 2:
            yield Ask(fresh.token(number), WETH.address, _amount(DAI, usd), owner, number)
        else:
            yield Ask(WETH.address, fresh.token(number), _amount(WETH, usd), owner, number)


def owner_at(place: int) -> Address:
    """Return the wallet of a request."""
    return wallet(FIRST_WALLET + place % WALLETS)


def has_approved(place: int) -> bool:
    """Return whether the wallet of a request has approved the routers; a quarter has not."""
    return place % WALLETS % _UNAPPROVED_EVERY != _UNAPPROVED_EVERY - 1


def _amount(sell: SandboxToken, usd: int) -> int:
    return sell.units(usd / sell.usd)


async def user(stage: Stage, rounds: int, size: Size | None = None) -> list[Row]:
    """Measure one client with upstreams of 100 ms, then 32 clients with a core for the service.

    Each round begins with a new block, so that the tracker works in it.
    """
    size = size or Size()
    stage = await _recorded(stage)

    async def fill(database: Path, _: str) -> None:
        await user_database.fill(database, size.orders)

    ours = await stage.service("user", fill=fill)
    await _wallets(stage)
    checked = len(PAIRS) * len(LEVELS)
    wanted = list(islice(asks(), size.warm + rounds * (size.alone + size.together)))
    routers = [addresses.ROUTERS[source] for source in SOURCES]
    fresh_ones = (
        (ask.fresh, ask.owner, routers if has_approved(place) else ())
        for place, ask in enumerate(wanted)
        if ask.fresh is not None
    )
    await fresh.deploy(stage.sandbox, fresh_ones)
    queue = iter(wanted)
    await _check(ours, list(islice(queue, checked)))
    rest = [ask.http(ours.key) for ask in islice(queue, size.warm - checked)]
    await load(ours.service.port, 4, len(rest), rest)
    await _live(stage, ours, size.live)
    return [
        *await _alone(stage, ours, queue, rounds, size.alone),
        await _together(stage, ours, queue, rounds, size),
    ]


async def _alone(
    stage: Stage, ours: Served, queue: Iterator[Ask], rounds: int, number: int
) -> list[Row]:
    calls = await calls_of_a_quote(stage)
    sent = await stage.world(delay_ms=DELAY_MS)
    limits, results, cold = [], [], []
    for _ in range(rounds):
        limits.append((await fan_out(calls.slowest, 1, 10, None))[0].p50)
        await stage.sandbox.chain.mine()
        wanted = list(islice(queue, number))
        result = await load(ours.service.port, 1, number, [ask.http(ours.key) for ask in wanted])
        results.append(result)
        times = zip(result.ms, wanted, strict=True)
        cold.append(median(ms for ms, ask in times if ask.fresh is not None))
    sent = await stage.world() - sent
    slowest = Spread.of(limits).median
    p50, p99, unseen_p50 = (
        Spread.of(figure - slowest for figure in figures)
        for figures in (
            [result.p50 for result in results],
            [result.p99 for result in results],
            cold,
        )
    )
    what = f"{WHAT}: 1 client, 100 ms upstreams: beyond the slowest"
    beside = f"with a token not seen before {shown(unseen_p50, 'ms')}; {_busy(sent)}"
    return [
        Row(f"{what}, p50", p50, beside, Goal(8, "ms")),
        Row(f"{what}, p99", p99, f"of {number} quotes a round", Goal(20, "ms")),
    ]


async def _together(
    stage: Stage, ours: Served, queue: Iterator[Ask], rounds: int, size: Size
) -> Row:
    number = size.together
    sent = await stage.world()
    results: list[Result] = []
    cpu = []
    async with apart(ours.pids):
        for _ in range(rounds):
            requests = [ask.http(ours.key) for ask in islice(queue, number)]
            await stage.sandbox.chain.mine()
            before = ours.cpu_s()
            results.append(await load(ours.service.port, CLIENTS, number, requests))
            cpu.append((ours.cpu_s() - before) / number * 1000)
    sent = await stage.world() - sent
    what = f"{WHAT}: quotes a second on one core, {CLIENTS} clients, 0 ms upstreams"
    beside = (
        f"{shown(Spread.of(cpu), 'ms')} of CPU a quote, with the tracker's; "
        f"p99 {shown(Spread.of(result.p99 for result in results), 'ms')}; {_busy(sent)}"
    )
    rate = Spread.of(result.per_second for result in results)
    return Row(what, rate, beside, Goal(400, "/s", least=True))


def _busy(sent: int) -> str:
    return f"the tracker sends {sent} orders again meanwhile"


async def _recorded(stage: Stage) -> Stage:
    """Return the stage with an answer for each pair and amount, and prices, at its upstreams."""
    rows = []
    for sell, buy in PAIRS:
        for usd, length in LEVELS:
            request = recording_request(sell, buy, _amount(sell, usd))
            name = terms(sell.address, buy.address, request.sell_amount)
            for source in SOURCES:
                bodies = await answers_of(stage.sandbox.venues, source, request)
                rows += [
                    Recorded(f"/{source}{path}", grown(source, body, length), name)
                    for path, body in bodies.items()
                ]
    recording = stage.folder / "user.json"
    write(recording, rows)
    url = await repeating(stage.stack, recording)
    return replace(stage, upstreams_url=url, prices_url=url)


async def _wallets(stage: Stage) -> None:
    """Give the wallets ETH and tokens, and three quarters of them their approvals."""
    calls: list[Call] = []
    for place in range(WALLETS):
        owner = owner_at(place)
        calls.append(("anvil_setBalance", (owner, hex(10**19))))
        spenders = [addresses.ROUTERS[one] for one in SOURCES] if has_approved(place) else []
        for token in TOKENS.values():
            calls.append(set_storage(token.address, token.balance_key(owner), token.units(10**6)))
            calls += [
                set_storage(token.address, token.allowance_key(owner, spender), 2**200)
                for spender in spenders
            ]
    for start in range(0, len(calls), 500):
        await stage.sandbox.chain.rpc.batch(calls[start : start + 500])
    await stage.sandbox.chain.mine()


async def _check(ours: Served, wanted: Sequence[Ask]) -> None:
    """Raise RuntimeError unless each source has a route for each swap, and each route succeeds.

    By default OpenOcean's routes are read and checked, but refused before their simulation.
    """
    http = HttpClient()
    for ask in wanted:
        for attempt in range(_ATTEMPTS):
            bad = await _failed_sources(http, ours, ask)
            if not bad:
                break
            if attempt == _ATTEMPTS - 1:
                raise RuntimeError(f"a quote lacks a source: {ask}: {bad}")
            await asyncio.sleep(1)
    await http.close()


async def _failed_sources(http: HttpClient, ours: Served, ask: Ask) -> list[Any]:
    line = ask.http(ours.key).split(b" ")[1].decode()
    reply = await http.get(ours.service.url + line, headers={"x-api-key": ours.key}, timeout_s=10)
    sources = reply.json()["data"]["sources"]
    if len(sources) != len(SOURCES):
        return list(sources)
    return [one for one in sources if one.get("reason") and one["outcome"] != "unbound"]


async def _live(stage: Stage, ours: Served, number: int) -> None:
    """Place orders of as many wallets, which no block includes, and let them come due again."""
    accounts = [Account.from_key((_KEYS + place).to_bytes(32)) for place in range(number)]
    await ready_to_swap(stage.sandbox, [account.address for account in accounts])
    for start in range(0, number, _PLACED_AT_ONCE):
        some = accounts[start : start + _PLACED_AT_ONCE]
        requests = await signed_orders(stage, ours, some)
        await load(ours.service.port, 1, len(requests), requests)
    sent = await stage.world()
    for _ in range(TrackingConfig().resend_every_blocks):
        await stage.sandbox.chain.mine()
    until = time.monotonic() + _PATIENCE_S
    while await stage.world() == sent:
        if time.monotonic() > until:
            raise RuntimeError("the tracker sends no live order again")
        await asyncio.sleep(0.2)
