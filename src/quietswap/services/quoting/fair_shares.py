"""The shares of a vendor's rate that clients have, from what each of them asks for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MEMORY_S = 10.0
"""A request counts for the demand of its client for about so long."""
_FIRST_S = 1.0
_HEADROOM = 1.5
"""A share is at most so much above the demand: what nobody asks for is open to all."""
_UNSHARED = 0.1
"""Part of the rate that is no share. It repays the debt of the bucket, and heavy users give it."""


@dataclass(slots=True)
class Demand:
    """Requests a second of one client, granted or not, over the last seconds."""

    since: float
    at: float
    weight: float = 0.0

    def count(self, now: float) -> None:
        """Add one request."""
        self.weight = self.weight * math.exp((self.at - now) / _MEMORY_S) + 1 / _MEMORY_S
        self.at = now

    def per_second(self, now: float) -> float:
        """Return the rate; right from the first request on, and falling while there is none."""
        seen = 1 - math.exp((self.since - now - _FIRST_S) / _MEMORY_S)
        return self.weight * math.exp((self.at - now) / _MEMORY_S) / seen


def shares(demands: Mapping[str, float], per_second: float) -> dict[str, float]:
    """Return requests a second that each client may make whatever the others do.

    The rate is divided by weights that fall with the square of the demand, and no client has much
    more than it asks for. So equal clients have equal shares, and a client that asks for far more
    than its part yields to one that asks for little. `demands` in requests a second, all above 0.
    """
    found: dict[str, float] = {}
    rising = sorted(demands.items(), key=lambda row: row[1])
    weights = [demand**-2 for _, demand in rising]
    left, squares = per_second, sum(demand**2 for _, demand in rising)
    for (client, demand), weight, rest in zip(rising, weights, _tails(weights), strict=True):
        share = min(demand * _HEADROOM, left * weight / rest)
        left -= share
        found[client] = max(share - per_second * _UNSHARED * demand**2 / squares, 0.0)
    return found


def _tails(numbers: Sequence[float]) -> list[float]:
    """Return the sum of each number and all after it."""
    sums: list[float] = []
    total = 0.0
    for number in reversed(numbers):
        total += number
        sums.append(total)
    return sums[::-1]
