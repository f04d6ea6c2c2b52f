"""When to leave a relay alone for a while."""

import math

from quietswap.ports.outside import Clock


class Circuit:
    """Opens after `failures` in a row for `pause_s`; then one more failure opens it again."""

    def __init__(self, clock: Clock, *, failures: int = 3, pause_s: float = 30.0) -> None:
        self._clock = clock
        self._allowed = failures
        self._pause_s = pause_s
        self._failures = 0
        self._open_until = -math.inf

    @property
    def is_open(self) -> bool:
        """Whether nothing is to be sent now."""
        return self._clock.monotonic() < self._open_until

    def failed(self) -> None:
        """Note that there was no answer."""
        self._failures += 1
        if self._failures >= self._allowed:
            self._open_until = self._clock.monotonic() + self._pause_s

    def answered(self) -> None:
        """Note an answer, whatever it says."""
        self._failures, self._open_until = 0, -math.inf
