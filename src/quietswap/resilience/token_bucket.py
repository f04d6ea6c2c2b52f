"""Token bucket: a sustained rate with a burst."""

from dataclasses import dataclass


@dataclass(slots=True)
class TokenBucket:
    """`tokens` at the time `at` (monotonic seconds). Negative tokens are a debt."""

    tokens: float
    at: float

    def refill(self, now: float, per_second: float, capacity: float) -> None:
        """Add the tokens since `at`, up to `capacity`."""
        self.tokens = min(capacity, self.tokens + (now - self.at) * per_second)
        self.at = now
