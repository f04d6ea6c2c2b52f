"""The sandbox's control address: switch faults, make blocks and reorgs, read what happened."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quietswap.sandbox.builder import Builder, TooDeep
from quietswap.sandbox.chain import Chain
from quietswap.sandbox.faults import PARTS, BadFault, FaultBoard
from quietswap.sandbox.mempool import PublicRecord
from quietswap.sandbox.places import FEEDS
from quietswap.sandbox.relay import Relay
from quietswap.sandbox.relay_pool import Held
from quietswap.sandbox.searcher import Searcher
from quietswap.sandbox.web import Answer, Reply, Request, json_reply

_MOST_BLOCKS = 1000
ROUTES = {
    "GET /faults": "what is switched on, by part",
    "PUT /faults/{part}": 'switch a fault on: {"fault": "lie:2.0"}',
    "DELETE /faults/{part}": "switch a part's fault off",
    "POST /mine": 'build blocks at once: {"blocks": 1}',
    "POST /reorg": 'replace the newest blocks by empty ones: {"depth": 1}',
    "POST /pause_mining": "build no blocks by itself",
    "POST /resume_mining": "build blocks by itself again",
    "PUT /feed": 'make a Chainlink feed answer: {"pair": "ETH / USD", "usd": "3000", "age": 0}',
    "GET /relay": "what each relay was given, and what became of it",
    "GET /mempool-leaks": "hashes a relay was given that were ever public",
    "GET /searcher": "the sandwiches that were mined",
}
"""Every request the control address answers, for its own index page, the help and the docs."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """What the control address reaches; `settled` returns when fault changes have taken effect."""

    chain: Chain
    board: FaultBoard
    builder: Builder
    relays: Sequence[Relay]
    searcher: Searcher
    public: PublicRecord
    settled: Callable[[], Awaitable[None]]


class _BadRequest(Exception):
    """The body does not say what it should."""


class Control:
    """`handle` serves the routes of `ROUTES`."""

    def __init__(self, controlled: Controlled) -> None:
        self._on = controlled
        self._methods: dict[str, Callable[[Request], Awaitable[Any]]] = {
            "GET /": self._index,
            "GET /faults": self._faults,
            "POST /mine": self._mine,
            "POST /reorg": self._reorg,
            "POST /pause_mining": self._pause,
            "POST /resume_mining": self._resume,
            "PUT /feed": self._feed,
            "GET /relay": self._relay,
            "GET /mempool-leaks": self._leaks,
            "GET /searcher": self._searched,
        }

    async def handle(self, request: Request) -> Answer:
        """Answer one request; 400 with `error` says what is wrong with it."""
        path = "/" + request.path.strip("/")
        method = self._methods.get(f"{request.method} {path}")
        try:
            if path.startswith("/faults/"):
                return await self._switch(request, path.removeprefix("/faults/"))
            if method is None:
                return json_reply({"error": "not found", "routes": ROUTES}, 404)
            return json_reply(await method(request))
        except (BadFault, TooDeep, _BadRequest) as error:
            return json_reply({"error": str(error)}, 400)

    async def _switch(self, request: Request, part: str) -> Reply:
        if request.method == "PUT":
            self._on.board.put(part, str(_field(request, "fault", str)))
        elif request.method == "DELETE":
            self._on.board.clear(part)
        else:
            return json_reply({"error": "use PUT or DELETE"}, 405)
        await self._on.settled()
        return json_reply({"faults": self._on.board.active()})

    async def _index(self, _: Request) -> Any:
        return {"routes": ROUTES, "parts": PARTS}

    async def _faults(self, _: Request) -> Any:
        return {"faults": self._on.board.active()}

    async def _mine(self, request: Request) -> Any:
        return {"head": await self._on.builder.mine(_count(request, "blocks"))}

    async def _reorg(self, request: Request) -> Any:
        return {"head": await self._on.builder.reorg(_count(request, "depth"))}

    async def _pause(self, _: Request) -> Any:
        self._on.builder.paused = True
        return {"paused": True}

    async def _resume(self, _: Request) -> Any:
        self._on.builder.paused = False
        return {"paused": False}

    async def _feed(self, request: Request) -> Any:
        pair, usd = _field(request, "pair", str), _field(request, "usd", str)
        age = _field(request, "age", int, 0)
        if pair not in FEEDS or not usd.replace(".", "", 1).isdecimal():
            raise _BadRequest(f"pair must be one of {', '.join(FEEDS)}, usd a decimal number")
        updated_at = int((await self._on.chain.head())["timestamp"], 16) - age if age else 0
        await self._on.chain.set_price(pair, Decimal(usd), updated_at)
        return {"pair": pair, "usd": usd, "age": age}

    async def _relay(self, _: Request) -> Any:
        return {relay.name: await self._holdings(relay) for relay in self._on.relays}

    async def _holdings(self, relay: Relay) -> Any:
        held = list(relay.pool)
        receipts = await self._on.chain.rpc.batch(
            [("eth_getTransactionReceipt", (one.transaction.hash,)) for one in held]
        )
        rows = [_row(one, receipt) for one, receipt in zip(held, receipts, strict=True)]
        return {"transactions": rows, "refused": relay.pool.refused}

    async def _leaks(self, _: Request) -> Any:
        given = (held.transaction.hash for relay in self._on.relays for held in relay.pool)
        return {"leaks": sorted({one for one in given if one in self._on.public})}

    async def _searched(self, _: Request) -> Any:
        return [attack.as_json() for attack in self._on.searcher.attacks]


def _row(held: Held, receipt: dict[str, Any] | None) -> dict[str, Any]:
    """Return a held transaction; its bytes are nobody's business, not even here."""
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


def _count(request: Request, name: str) -> int:
    number = _field(request, name, int, 1)
    if isinstance(number, bool) or not 1 <= number <= _MOST_BLOCKS:
        raise _BadRequest(f"{name} must be from 1 to {_MOST_BLOCKS}")
    return int(number)


def _field(request: Request, name: str, kind: type, default: Any = None) -> Any:
    try:
        body = request.json() if request.body else {}
    except ValueError as error:
        raise _BadRequest("the body is not JSON") from error
    value = body.get(name, default) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise _BadRequest(f'write {{"{name}": …}}')
    return value
