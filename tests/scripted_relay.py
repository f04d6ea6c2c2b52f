"""A relay that answers what a test tells it to, and remembers what it was sent."""

import asyncio
from collections.abc import Sequence

from quietswap.rules.chain.relay_refund import ReportedRefund
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.service.relays.answers import RelayOutcome, RelayResponse


class ScriptedRelay:
    """A `Relay`. `gate` holds every answer back while it is set."""

    name = "Test Relay"
    is_up = True
    last_miss: tuple[int, str] | None = None
    pays_rebates = True

    def __init__(self, *outcomes: RelayOutcome) -> None:
        self.outcomes: Sequence[RelayOutcome] = outcomes or (RelayOutcome.ACCEPTED,)
        self.sent: list[bytes] = []
        self.endpoints: list[tuple[EndpointType, ShareMode]] = []
        self.cancelled: list[str] = []
        self.gate: asyncio.Event | None = None
        self.reached = asyncio.Event()
        self.says: str | None = None
        self.refunds: dict[str, ReportedRefund] = {}
        self.asked: list[str] = []

    @property
    def is_answering(self) -> bool:
        return self.is_up

    def answers(self, *outcomes: RelayOutcome) -> None:
        """Answer these in turn, the last one for ever."""
        self.outcomes = outcomes

    def drops_reverts(self, kind: EndpointType) -> bool:
        return kind is EndpointType.NOREVERTS

    def endpoint(self, kind: EndpointType, share: ShareMode) -> str:
        return f"https://relay.test/{kind}?{share}"

    def tracking_url(self, tx_hash: str) -> str:
        return f"https://relay.test/tx/{tx_hash}"

    async def submit(self, raw: bytes, kind: EndpointType, share: ShareMode) -> RelayResponse:
        self.sent.append(raw)
        self.endpoints.append((kind, share))
        outcome, *rest = self.outcomes
        self.outcomes = rest or [outcome]
        self.reached.set()
        if self.gate is not None:
            await self.gate.wait()
        return RelayResponse(outcome)

    async def cancel(self, tx_hash: str) -> None:
        self.cancelled.append(tx_hash)

    async def refund(self, tx_hash: str) -> ReportedRefund | None:
        self.asked.append(tx_hash)
        return self.refunds.get(tx_hash)

    async def status_hint(self, tx_hash: str) -> str | None:
        return self.says
