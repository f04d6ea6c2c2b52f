"""The sandbox's HTTP control API: faults, blocks, reorgs, and reports of what happened."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quietswap.sandbox.block_builder import BlockBuilder, ReorgTooDeep
from quietswap.sandbox.chain.local_chain import NotOnThisNode
from quietswap.sandbox.contracts.addresses import FEEDS
from quietswap.sandbox.faults import PARTS, ActiveFaults, UnknownFault
from quietswap.sandbox.http_server import Answer, HttpRequest, HttpResponse, json_reply
from quietswap.sandbox.relay import RelayTransaction, SandboxRelay
from quietswap.sandbox.vendors.market import FeedUpdater

_MOST_BLOCKS = 1000
ROUTES = {
    "GET /faults": "list the active faults by part",
    "PUT /faults/{part}": 'set the fault of a part: {"fault": "lie:2.0"}',
    "DELETE /faults/{part}": "end the fault of a part",
    "POST /mine": 'build blocks at once: {"blocks": 1}',
    "POST /reorg": 'replace the newest blocks by empty ones: {"depth": 1}',
    "POST /pause_mining": "stop building blocks by time",
    "POST /resume_mining": "build blocks by time again",
    "PUT /feed": 'set a Chainlink feed: {"pair": "ETH / USD", "usd": "3000", "age": 0}',
    "DELETE /feed": 'let a feed follow the pools again: {"pair": "ETH / USD"}',
    "GET /relay": "list the transactions that each relay received, and their states",
    "GET /mempool-leaks": "list hashes of relay transactions that were ever public",
    "GET /searcher": "list the sandwiches that were mined",
}
"""Every request of the control API, for its index page, the help and the docs."""


class _BadRequest(Exception):
    """The body is invalid; the message says why."""


@dataclass(frozen=True, slots=True)
class ControlApi:
    """`handle` serves the routes of `ROUTES`. `settled` waits until fault changes take effect."""

    builder: BlockBuilder
    active_faults: ActiveFaults
    feeds: FeedUpdater
    settled: Callable[[], Awaitable[None]]

    async def handle(self, request: HttpRequest) -> Answer:
        path = "/" + request.path.strip("/")
        try:
            if path.startswith("/faults/"):
                return await self._switch(request, path.removeprefix("/faults/"))
            answer = await self._answer(f"{request.method} {path}", request)
        except (UnknownFault, ReorgTooDeep, NotOnThisNode, _BadRequest) as error:
            return json_reply({"error": str(error)}, 400)
        if answer is None:
            return json_reply({"error": "not found", "routes": ROUTES}, 404)
        return json_reply(answer)

    async def _switch(self, request: HttpRequest, part: str) -> HttpResponse:
        if request.method == "PUT":
            self.active_faults.put(part, str(_field(request, "fault", str)))
        elif request.method == "DELETE":
            self.active_faults.clear(part)
        else:
            return json_reply({"error": "use PUT or DELETE"}, 405)
        await self.settled()
        return json_reply({"faults": self.active_faults.active()})

    async def _answer(self, route: str, request: HttpRequest) -> Any:
        """Return the answer to a request; None for an unknown route."""
        match route:
            case "GET /":
                return {"routes": ROUTES, "parts": PARTS}
            case "GET /faults":
                return {"faults": self.active_faults.active()}
            case "POST /mine":
                return {"head": await self.builder.mine(_count(request, "blocks"))}
            case "POST /reorg":
                return {"head": await self.builder.reorg(_count(request, "depth"))}
            case "POST /pause_mining" | "POST /resume_mining":
                self.builder.paused = route == "POST /pause_mining"
                return {"paused": self.builder.paused}
            case "PUT /feed":
                return await self._feed(request)
            case "DELETE /feed":
                await self.feeds.follow(pair := _pair(request))
                return {"pair": pair, "usd": "pools"}
            case "GET /relay":
                return {relay.name: await self._holdings(relay) for relay in self.builder.relays}
            case "GET /mempool-leaks":
                relayed = {
                    held.transaction.hash for relay in self.builder.relays for held in relay.pool
                }
                return {"leaks": sorted(one for one in relayed if one in self.builder.public)}
            case "GET /searcher":
                return self.builder.searcher.attacks
        return None

    async def _feed(self, request: HttpRequest) -> Any:
        pair, usd = _pair(request), _field(request, "usd", str)
        age = _field(request, "age", int, 0)
        if not usd.replace(".", "", 1).isdecimal():
            raise _BadRequest("usd must be a decimal number")
        updated_at = int((await self.builder.chain.head())["timestamp"], 16) - age if age else 0
        self.feeds.by_hand(pair)
        await self.builder.chain.set_price(pair, Decimal(usd), updated_at)
        return {"pair": pair, "usd": usd, "age": age}

    async def _holdings(self, relay: SandboxRelay) -> Any:
        pool = list(relay.pool)
        hashes = [one.transaction.hash for one in pool]
        receipts = await self.builder.chain.rpc.each("eth_getTransactionReceipt", hashes)
        rows = [_row(one, receipt) for one, receipt in zip(pool, receipts, strict=True)]
        return {"transactions": rows, "refused": relay.pool.refused}


def _row(held: RelayTransaction, receipt: dict[str, Any] | None) -> dict[str, Any]:
    """Return a relay transaction without its signed bytes, which stay private."""
    return {
        "hash": held.transaction.hash,
        "sender": held.transaction.sender,
        "nonce": held.transaction.fields.nonce,
        "endpoint": held.terms.endpoint,
        "share": held.terms.share,
        "referrer": held.terms.referrer,
        "state": held.state.value,
        "submissions": held.submissions,
        "simulationError": held.simulation_error,
        "block": int(receipt["blockNumber"], 16) if receipt else None,
    }


def _pair(request: HttpRequest) -> str:
    pair = str(_field(request, "pair", str))
    if pair not in FEEDS:
        raise _BadRequest(f"pair must be one of {', '.join(FEEDS)}")
    return pair


def _count(request: HttpRequest, name: str) -> int:
    number = _field(request, name, int, 1)
    if isinstance(number, bool) or not 1 <= number <= _MOST_BLOCKS:
        raise _BadRequest(f"{name} must be from 1 to {_MOST_BLOCKS}")
    return int(number)


def _field(request: HttpRequest, name: str, kind: type, default: Any = None) -> Any:
    try:
        body = request.json() if request.body else {}
    except ValueError as error:
        raise _BadRequest("the body is not JSON") from error
    value = body.get(name, default) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise _BadRequest(f'the body must have the form {{"{name}": …}}')
    return value
