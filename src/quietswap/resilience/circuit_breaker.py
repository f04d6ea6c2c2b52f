"""Circuit breaker: stop calls to a dependency after repeated failures, and try again later."""

import math

from quietswap.ports.clock import Clock


class CircuitBreaker:
    """Opens for `pause_s` seconds after `failures` failures in a row.

    After the pause calls are allowed again, and the first further failure opens it again. `probe`
    lets only one caller try after the pause. A success closes it.
    """

    def __init__(self, clock: Clock, *, failures: int = 1, pause_s: float) -> None:
        self._clock = clock
        self._threshold = failures
        self._pause_s = pause_s
        self.failures = 0
        """Failures since the last success."""
        self._open_until = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether the dependency must not be called now."""
        return self._clock.monotonic() < self._open_until

    @property
    def is_tripped(self) -> bool:
        """Whether the last `failures` calls failed, also after the pause."""
        return self.failures >= self._threshold

    def record_failure(self) -> None:
        """Count a failed call."""
        self.failures += 1
        self.probe()

    def record_success(self) -> None:
        """Close the circuit."""
        self.failures, self._open_until = 0, -math.inf

    def probe(self) -> None:
        """Open it for all others while a call after the pause is in flight; no-op if closed."""
        if self.is_tripped:
            self.open_for(self._pause_s)

    def open_for(self, seconds: float) -> None:
        """Open the circuit for this time, whatever the number of failures."""
        self._open_until = self._clock.monotonic() + seconds
