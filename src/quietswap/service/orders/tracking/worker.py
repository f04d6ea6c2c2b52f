"""The tracker's loop: one process leads and follows the orders, the others wait for the lead."""

import asyncio

from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.orders.stores import LeaderLock, StoreUnavailable
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.orders.tracking.tracker import OrderTracker


class TrackerWorker:
    """`poll_s` is how often the head is looked at: about a quarter of a block's time."""

    def __init__(
        self, tracker: OrderTracker, leadership: LeaderLock, clock: Clock, *, poll_s: float
    ) -> None:
        self._tracker = tracker
        self._leadership = leadership
        self._clock = clock
        self._poll_s = poll_s
        self._is_started = False
        self._stop = asyncio.Event()

    def stop(self) -> None:
        """Let `run` end after the turn under way."""
        self._stop.set()

    async def run(self) -> None:
        """Follow the orders while this process leads, until `stop`."""
        stopping = asyncio.create_task(self._stop.wait())
        try:
            while not self._stop.is_set():
                await self.step()
                await self._pause(stopping)
        finally:
            stopping.cancel()
            self._end_turns()
            await self._leadership.release()

    async def step(self) -> None:
        """Take one turn if this process leads; trouble ends the turn, never the loop."""
        if not await self._leadership.acquire_or_renew():
            self._end_turns()
            return
        try:
            await self._turn()
        except (NodeUnavailable, StoreUnavailable) as trouble:
            observe.tracker_waiting(f"{type(trouble).__name__}: {trouble}")
        except Exception as fault:  # noqa: BLE001 - logged, and memory is built anew from the store
            observe.tracker_failed(fault)
            self._is_started = False

    async def _turn(self) -> None:
        if self._is_started:
            await self._tracker.run_once()
        else:
            await self._tracker.start()
            self._is_started = True
            observe.tracker_started(self._tracker.watched)

    def _end_turns(self) -> None:
        if self._is_started:
            observe.tracker_stopped()
        self._is_started = False

    async def _pause(self, stopping: "asyncio.Task[bool]") -> None:
        """Wait for the next look, or less when the worker is stopped."""
        pause = asyncio.ensure_future(self._clock.sleep(self._poll_s))
        await asyncio.wait({pause, stopping}, return_when=asyncio.FIRST_COMPLETED)
        pause.cancel()
