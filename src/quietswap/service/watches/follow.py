"""Follows the prices that clients wait for, in the process that leads.

A watch is met by the database alone: its state changes once, in the transaction that writes its
event. So a kill, and a change of the leader, neither lose nor repeat it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.stores import LeaderLock
from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import bounded_gather
from quietswap.service.clients.failures import guarded
from quietswap.service.node import work as node_work
from quietswap.service.storage.watches import WatchStore

_EVERY_S = 12.0
"""The time of a block: a price changes no more often."""
_LEAD_S = 1.0
"""So often a process that does not lead looks whether it does."""
_SWAPS = 100
"""Swaps that are priced in one turn; the next turn goes on after them."""
_PARALLEL = 4


@dataclass(slots=True, kw_only=True)
class FollowWatches:
    """Ask `own_amount` once a turn for each swap that is waited for, whoever waits for it.

    Without a price, and with a node that does not answer, watches wait. `chain_clock` decides when
    their time is over. A swap is priced on the account of the client that waits longest.
    """

    watches: WatchStore
    own_amount: Callable[[str, IndicativePriceRequest], Awaitable[int | None]]
    leadership: LeaderLock
    clock: Clock
    chain_clock: Clock
    most: int = _SWAPS
    _last: IndicativePriceRequest | None = field(default=None, init=False)

    async def run(self) -> None:
        """Take a turn for each block while this process leads, until it is cancelled."""
        while True:
            is_leading = self.leadership.is_held
            await self.step()
            await self.clock.sleep(_EVERY_S if is_leading else _LEAD_S)

    async def step(self) -> None:
        """Take one turn if this process leads; trouble ends the turn, never the loop."""
        if self.leadership.is_held:
            await guarded("watches", self._turn, observe.watches_waiting)

    async def _turn(self) -> None:
        await self.watches.expire(self.chain_clock.now_ms())
        now_ms = self.clock.now_ms()
        swaps = await self.watches.open_swaps(self._last, now_ms, self.most)
        self._last = swaps[-1] if len(swaps) == self.most else None
        await bounded_gather(swaps, self._price, limit=_PARALLEL)

    async def _price(self, swap: IndicativePriceRequest) -> None:
        now_ms = self.clock.now_ms()
        watches = await self.watches.open_of(swap, now_ms)
        if not watches:
            return
        node_work.begin(watches[0].client_id)
        try:
            promised = await self.own_amount(watches[0].client_id, swap)
        except (NodeUnavailable, RequestError):
            return
        for watch in watches:
            if promised is None or not watch.is_met_by(promised):
                continue
            if await self.watches.meet(watch.watch_id, promised, self.clock.now_ms()):
                observe.watch_met(watch.watch_id, watch.client_id)
