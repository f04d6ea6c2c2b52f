"""Simulate swaps before a resend: a swap that would fail now is not sent now."""

from collections.abc import Sequence

from quietswap.domain.order.dry_run import DryRun, stored_swap
from quietswap.domain.tracking.rules import TrackedOrder
from quietswap.ports.chain import ChainReader, NodeUnavailable
from quietswap.ports.relay import Relay
from quietswap.services.tracking.order_cache import OrderCache

MOST_TRIED = 32
"""Swaps simulated per block, in one batch; further ones are resent without a simulation."""
WOULD_FAIL, WOULD_WORK = "would_fail", "would_work"
"""Event types."""


class ResendDryRun:
    """Run at most one batch per block. A failing swap is simulated again at its next resend."""

    def __init__(self, board: OrderCache, chain: ChainReader) -> None:
        self._board = board
        self._chain = chain

    async def failing(self, swaps: Sequence[TrackedOrder], relays: dict[str, Relay]) -> set[str]:
        """Return the ids of swaps that would fail now, and store an event for each change.

        `relays` by order id: the relay's hint becomes part of the event. Without a result from the
        node no order is held back.
        """
        raws = await self._board.orders.raws([watch.order.order_id for watch in swaps])
        known = [(w, stored_swap(w.order, raws.get(w.order.order_id, b""))) for w in swaps]
        signed = [(watch, swap) for watch, swap in known if swap is not None]
        try:
            runs = await self._chain.dry_runs([swap for _, swap in signed])
        except NodeUnavailable:
            return set()
        failing: set[str] = set()
        for (watch, swap), run in zip(signed, runs, strict=True):
            fault = run.fault(swap)
            if fault is not None:
                failing.add(watch.order.order_id)
            await self._note(watch, fault, run, relays.get(watch.order.order_id))
        return failing

    async def _note(
        self, watch: TrackedOrder, fault: str | None, run: DryRun, relay: Relay | None
    ) -> None:
        """Store an event if the result has changed; an unknown result changes nothing."""
        if run.succeeded is None or watch.would_fail == (fault is not None):
            return
        watch.would_fail = fault is not None
        if fault is None:
            await self._board.remark(watch, WOULD_WORK, f"{run.words}; it is sent again")
            return
        hint = await relay.status_hint(watch.order.tx_hash) if relay is not None else None
        text = f"on the latest state it would fail: {fault}; it is not sent again for now"
        await self._board.remark(watch, WOULD_FAIL, f"{text}; the relay: {hint or 'nothing'}")
