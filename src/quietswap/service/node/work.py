"""One account of node work: what clients and visitors make the nodes do takes a place, in turn.

Whoever asks the node, for quotes, prices, simulations, orders, balances or a wallet: while a
request is served, each batch that executes code has a place at the node, and a client, or all
visitors together, has only a part of the places. Visitors take turns among themselves. The
service's own work (the tracker, health) and what all requests share (the head, prices by a feed)
has no party and needs no place.

Code of a token costs what its author likes, up to the gas limit of each call. So batches about a
token whose cost is not known have few places, and no client fills the others with them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from cachetools import TTLCache

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import RpcCall
from quietswap.rules.clients import Party, party_of
from quietswap.rules.tx.address import Address
from quietswap.service.base.clock import Clock
from quietswap.service.base.fair_turns import FairTurns
from quietswap.service.base.http_client import HttpReply

EXECUTES = frozenset(("eth_call", "eth_estimateGas", "eth_simulateV1"))
"""Methods that run code, for which the service takes places."""
_MOST_TOKENS = 10_000
_CHEAP_S, _DEAR_S = 3600.0, 300.0
TURN_S = 10.0
"""So long a batch waits for a place."""


class Lane(StrEnum):
    """Places at each node; a value is the name of its row in `PLACES`."""

    OPEN = "open"
    """Calls that a wallet chose: they have all gas that the node gives."""
    FOREIGN = "foreign"
    """Reads of the service about a token whose cost is not known, and estimates of gas."""
    USUAL = "usual"
    """All other reads."""


PLACES = {Lane.OPEN: (2, 1), Lane.FOREIGN: (4, 2), Lane.USUAL: (32, 16)}
"""Batches at one node at a time, and those of them that one client may have."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Whose request is being served, and about which tokens."""

    party: Party
    tokens: tuple[Address, ...] = ()


_asking: ContextVar[Asking | None] = ContextVar("asking", default=None)
"""Each request runs in its own task. Its child tasks inherit the variable."""


def begin(client_id: str) -> None:
    """Account what this request makes the node do to its client or visitor, from now on."""
    _asking.set(Asking(party_of(client_id)))


def name_tokens(*tokens: Address) -> None:
    """Note the tokens of the request: their code decides what it costs."""
    asking = _asking.get()
    if asking is not None:
        _asking.set(replace(asking, tokens=tokens))


def asking_party() -> str:
    """Return the party of the request, whose reads in flight it may share; "" without one."""
    asking = _asking.get()
    return asking.party.name if asking else ""


@contextmanager
def shared() -> Iterator[None]:
    """Read what all requests share, and no input decides: nobody waits for the turn of another."""
    token = _asking.set(None)
    try:
        yield
    finally:
        _asking.reset(token)


class TokenCosts:
    """What the code of tokens was measured to cost. `trusted` tokens are cheap."""

    def __init__(self, clock: Clock, trusted: Collection[Address] = ()) -> None:
        self._trusted = frozenset(trusted)
        self._cheap: TTLCache[Address, None]
        self._cheap = TTLCache(_MOST_TOKENS, _CHEAP_S, timer=clock.monotonic)
        self._dear: TTLCache[Address, None]
        self._dear = TTLCache(_MOST_TOKENS, _DEAR_S, timer=clock.monotonic)

    def measured(self, tokens: Collection[Address], *, is_cheap: bool) -> None:
        costs = self._cheap if is_cheap else self._dear
        for token in self._trusted.union(tokens) - self._trusted:
            costs[token] = None

    def are_cheap(self, tokens: Collection[Address]) -> bool:
        return all(map(self._is_cheap, tokens))

    def _is_cheap(self, token: Address) -> bool:
        return token in self._trusted or (token in self._cheap and token not in self._dear)


class NodeWork:
    """The places at each node, by URL and lane."""

    def __init__(self, costs: TokenCosts) -> None:
        self._costs = costs
        self._turns: defaultdict[tuple[str, Lane], FairTurns]
        self._turns = defaultdict(lambda: FairTurns(1, 1))
        self._exchanges: set[asyncio.Task[HttpReply]] = set()

    def lane(self, calls: Sequence[RpcCall]) -> Lane | None:
        """Return the lane of a batch of the service; None if it needs no place."""
        asking = _asking.get()
        methods = {call.method for call in calls} & EXECUTES
        if asking is None or not methods:
            return None
        is_usual = "eth_estimateGas" not in methods and self._costs.are_cheap(asking.tokens)
        return Lane.USUAL if is_usual else Lane.FOREIGN

    async def in_turn(
        self, lane: Lane, url: str, send: Callable[[], Coroutine[Any, Any, HttpReply]]
    ) -> HttpReply:
        """Send a batch of this request in its turn, and return the response.

        Raises HttpError, and NodeUnavailable without a place in time.
        """
        asking = _asking.get()
        assert asking is not None
        return await self.held(lane, url, asking.party, send)

    async def held(
        self,
        lane: Lane,
        url: str,
        party: Party,
        send: Callable[[], Coroutine[Any, Any, HttpReply]],
        within_s: float | None = None,
    ) -> HttpReply:
        """The same for a party. Its place is given back when the exchange has ended.

        A node does not stop because nobody waits any more: neither if the caller is cancelled nor
        after `within_s`, which raises TimeoutError.
        """
        key = url, lane
        if key not in self._turns:
            self._turns[key] = FairTurns(*PLACES[lane])
        turns = self._turns[key]
        if not await turns.take(party, TURN_S):
            text = f"no place at the node within {TURN_S:g} s: earlier reads are still there"
            raise NodeUnavailable(text)
        exchange = asyncio.create_task(send())
        self._exchanges.add(exchange)
        exchange.add_done_callback(lambda done: self._ended(turns, party, done))
        done, _ = await asyncio.wait({exchange}, timeout=within_s)
        if not done:
            raise TimeoutError
        return exchange.result()

    def _ended(self, turns: FairTurns, party: Party, exchange: "asyncio.Task[HttpReply]") -> None:
        self._exchanges.discard(exchange)
        if not exchange.cancelled():
            exchange.exception()  # nobody may wait for it any more
        turns.give_back(party)

    async def close(self) -> None:
        """Cancel the exchanges that nobody waits for any more."""
        for exchange in self._exchanges:
            exchange.cancel()
        await asyncio.gather(*self._exchanges, return_exceptions=True)
