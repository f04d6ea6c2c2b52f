"""Watches: prices that clients wait for. Nothing is signed or sent when one is met."""

from dataclasses import dataclass
from enum import StrEnum

from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.time_units import DAY_S

MOST_OPEN = 20
"""Open watches of one client."""
LONGEST_S = 30 * DAY_S
"""So long after its creation a watch ends, unless it has an earlier deadline."""


class WatchState(StrEnum):
    OPEN = "open"
    MET = "met"
    EXPIRED = "expired"


class WatchCondition(StrEnum):
    AT_LEAST = "atLeast"
    AT_MOST = "atMost"


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """A swap, and the output in smallest units that is waited for.

    `deadline_s` in Unix seconds.
    """

    swap: IndicativePriceRequest
    buy_amount: int
    condition: WatchCondition
    deadline_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """A watch of one client. Times in Unix ms.

    `promised` is what the service's own source promised when it was met.
    """

    watch_id: str
    client_id: str
    swap: IndicativePriceRequest
    buy_amount: int
    condition: WatchCondition
    created_at_ms: int
    expires_at_ms: int
    state: WatchState = WatchState.OPEN
    ended_at_ms: int | None = None
    promised: int | None = None

    def is_met_by(self, promised: int) -> bool:
        """Return whether a promised output is one that is waited for."""
        is_least = self.condition is WatchCondition.AT_LEAST
        return promised >= self.buy_amount if is_least else promised <= self.buy_amount
