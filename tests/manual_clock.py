"""A clock that only tests move."""


class ManualClock:
    """quietswap.service.base.clock.Clock; starts at the Unix second `start`."""

    def __init__(self, start: int = 1_795_000_100) -> None:
        self.seconds = float(start)

    def advance(self, seconds: float) -> None:
        self.seconds += seconds

    def now_ms(self) -> int:
        return round(self.seconds * 1000)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
