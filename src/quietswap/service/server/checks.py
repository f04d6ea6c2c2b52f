"""One real request to each external dependency, for `quietswap sources check`."""

import asyncio
from dataclasses import asdict, dataclass
from typing import Any

from quietswap.rules.chain.records import NodeUnavailable, UnreadableToken
from quietswap.rules.quotes.quote import NoRoute, NoRouteReason, Route, RouteRequest
from quietswap.rules.relays import BACKUP_TIER
from quietswap.rules.tokens.token import USDC, WETH, Token
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.http_client import HttpError
from quietswap.service.node.multicall import MULTICALL3
from quietswap.service.quoting.sources import Source
from quietswap.service.relays.relay import Relay
from quietswap.service.server.container import ExternalServices

_ETHER = Token(WETH, 18, "WETH")
_USDC = Token(USDC, 6, "USDC")
_WALLET = Address("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
"""The first example address of EIP-55. A route request needs a wallet; its balance is not used."""
_TIMEOUT_S = 10.0
_ADVICE = {
    NoRouteReason.REFUSED: "read what it says; set or check source.{name}.api_key; some vendors"
    " block servers",
    NoRouteReason.RATE_LIMITED: "lower source.{name}.per_second, or ask the vendor for a key",
    NoRouteReason.TIMED_OUT: "check the network; until then quotes use the other sources",
    NoRouteReason.UNAVAILABLE: "check the network and source.{name}.url",
    NoRouteReason.BAD_REPLY: "the vendor's format changed: disable it until a release supports it",
}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result for one dependency; `ms` is the response time, None without a response."""

    kind: str
    name: str
    works: bool
    ms: int | None
    found: str
    advice: str = ""

    def row(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        return asdict(self)


async def check_dependencies(outside: ExternalServices, clock: Clock) -> list[CheckResult]:
    """Return one result for each source, node, relay and price."""
    groups = await asyncio.gather(
        asyncio.gather(*(_source(source, clock) for source in outside.sources)),
        _nodes(outside),
        asyncio.gather(*(_relay(*each, clock) for each in outside.relays.items())),
        _simulation(outside, clock),
        _prices(outside, clock),
    )
    return [finding for group in groups for finding in group]


def _trial_request(clock: Clock) -> RouteRequest:
    later = clock.now_ms() // 1000 + 3600
    return RouteRequest(_ETHER, _USDC, 10**18, _WALLET, 50, 10**9, later)


async def _source(source: Source, clock: Clock) -> CheckResult:
    request = _trial_request(clock)
    started = clock.monotonic()
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            route = await source.adapter.route(request)
    except NoRoute as miss:
        advice = _ADVICE.get(miss.miss, "").format(name=source.name)
        advice = "check node.urls" if source.is_own and advice else advice
        return CheckResult("source", source.name, False, _since(started, clock), str(miss), advice)
    except TimeoutError:
        advice = _ADVICE[NoRouteReason.TIMED_OUT]
        return CheckResult("source", source.name, False, None, "no answer in 10 s", advice)
    price_text = f"1 WETH for {route.buy_amount / 10**6:.2f} USDC"
    return CheckResult("source", source.name, True, _since(started, clock), price_text)


async def _nodes(outside: ExternalServices) -> list[CheckResult]:
    findings = []
    states = await outside.rpc.probe()
    meanwhile = "; the next URL is used meanwhile" if len(states) > 1 else ""
    for state in states:
        works = state.reason is None and not state.lags
        state_text = state.reason or f"block {state.height}{', lagging' if state.lags else ''}"
        advice = "" if works else f"check node.urls{meanwhile}"
        findings.append(
            CheckResult("node", state.name, works, round(state.seconds * 1000), state_text, advice)
        )
    return findings


async def try_quote(outside: ExternalServices, clock: Clock) -> str | None:
    """Read and simulate at the node as a quote does: the same batches, one route for each source.

    Return why routes cannot be simulated; None if they can. Raises NodeUnavailable: then even what
    a quote reads first is not answered.
    """
    try:
        prepared = await outside.chain.prepare_simulation(_trial_request(clock), [MULTICALL3])
    except UnreadableToken as error:
        raise NodeUnavailable(f"WETH cannot be read: {error}") from error
    route = Route(
        "check", "check", MULTICALL3, MULTICALL3, 0, bytes(4), (WETH, _USDC.address), 1, 1, None,
        None,
    )  # fmt: skip
    results = await prepared.simulate([route] * max(len(outside.sources), 1))
    failed = (result.reason for result in results if result.succeeded is None)
    return next((reason or "no result" for reason in failed), None)


async def _simulation(outside: ExternalServices, clock: Clock) -> list[CheckResult]:
    """Check that one of the nodes simulates: without, no swap is quoted."""
    started = clock.monotonic()
    try:
        fault = await try_quote(outside, clock)
    except NodeUnavailable as error:
        fault = str(error)
    advice = (
        "use a node with eth_simulateV1: until then no swap is quoted, unless"
        " quotes.require_verification = false offers routes that were not simulated"
    )
    ms, works = _since(started, clock), fault is None
    trial_text = "routes can be simulated" if fault is None else f"eth_simulateV1: {fault}"
    return [
        CheckResult("simulation", "eth_simulateV1", works, ms, trial_text, "" if works else advice)
    ]


async def _relay(tier: int, relay: Relay, clock: Clock) -> CheckResult:
    started = clock.monotonic()
    advice = f"check relay.{'backup' if tier == BACKUP_TIER else 'first'}.url"
    try:
        reply = await relay.probe(_TIMEOUT_S)
    except HttpError as error:
        return CheckResult("relay", relay.name, False, None, str(error), advice)
    works = reply.status == 200
    zero = "accepts priority fee 0 by its documentation" if _takes_zero(relay) else _UNKNOWN
    reply_text = zero if works else f"status {reply.status}"
    advice = "" if works else advice
    return CheckResult("relay", relay.name, works, _since(started, clock), reply_text, advice)


_UNKNOWN = "priority fee 0: unknown, ask its operator"


def _takes_zero(relay: Relay) -> bool:
    return type(relay).__name__ == "MevBlocker"


async def _prices(outside: ExternalServices, clock: Clock) -> list[CheckResult]:
    findings = []
    for token in (_ETHER, _USDC):
        started = clock.monotonic()
        try:
            [price] = await outside.prices.usd(token.address)
        except NodeUnavailable:
            price = None
        price_text = f"{price:.4f} USD" if price is not None else "no trustworthy price"
        advice = "" if price is not None else "quotes work without; USD figures are then missing"
        findings.append(
            CheckResult(
                "price", token.symbol, price is not None, _since(started, clock), price_text, advice
            )
        )
    return findings


def _since(started: float, clock: Clock) -> int:
    return round((clock.monotonic() - started) * 1000)
