"""Showing an order's life as it happens: a moving line on a terminal, plain lines elsewhere."""

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

if TYPE_CHECKING:
    from quietswap.client import ClientError
    from quietswap.client.resources import OrderStatus

STYLE = {
    "pending": "cyan",
    "submitted": "cyan",
    "mining": "cyan",
    "confirmed": "green",
    "failed": "red",
    "cancelled": "yellow",
}
_MEANING = {
    "pending": "waiting for the relay",
    "submitted": "the relay has it",
    "mining": "offered to the block builders",
    "confirmed": "on chain",
    "failed": "reverted or rejected",
    "cancelled": "will not happen",
}


class Progress:
    """Prints each new state once, with the seconds since the start; `say` adds other news."""

    def __init__(self, screen: Console, doing: str = "waiting") -> None:
        self._screen = screen
        self._doing = doing
        self._started = time.monotonic()
        self._state = self._trouble = ""
        self._live: Live | None = None

    def line(self) -> Text:
        """Return the moving line."""
        return Text(f"{self._state or self._doing}, {self.seconds:.0f} s", "dim")

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.monotonic() - self._started

    def say(self, text: str, style: str = "") -> None:
        """Print one line of news."""
        stamp = f"{self.seconds:6.1f} s  "
        # never folded: what is news here is copied, searched and read by line
        self._screen.print(Text.assemble((stamp, "dim"), (text, style)), soft_wrap=True)

    def state(self, record: "OrderStatus") -> None:
        """Print the record's state if it is new."""
        self.name(record.status)

    def name(self, state: str) -> None:
        """Print a state by name if it is new."""
        self._trouble = ""
        if state != self._state:
            self._state = state
            self.say(f"{state:<10} {_MEANING.get(state, '')}".rstrip(), STYLE.get(state, ""))

    def trouble(self, error: "ClientError", seconds: float) -> None:
        """Print a failure that is waited out, once until it is another one or a state follows."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            self.say(f"{error}; trying again", "yellow")

    def start(self) -> None:
        """Turn a spinner until `stop`, where there is a terminal."""
        if self._live is None and self._screen.is_terminal:
            self._live = Live(
                _Turning(self), console=self._screen, transient=True, refresh_per_second=8
            )
            self._live.start()

    def stop(self) -> None:
        """Take the spinner away."""
        if self._live is not None:
            self._live.stop()
            self._live = None


class _Turning:
    """A spinner in front of the line that `Progress` gives."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._spinner = Spinner("dots")

    def __rich__(self) -> Spinner:
        """Return the next frame: rich asks several times a second."""
        self._spinner.update(text=self._progress.line())
        return self._spinner
