"""Progress of an order: a spinner in a terminal, and one line for each event."""

import time
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

from quietswap.rules.wire import TERMINAL

if TYPE_CHECKING:
    from quietswap.client.errors import ClientError
    from quietswap.rules.contract.orders import OrderFailure, OrderStatusResponse


STYLE = dict.fromkeys(("pending", "submitted", "mining"), "cyan")
STYLE |= {"confirmed": "green", "failed": "red", "cancelled": "yellow"}
_MEANING = {
    "pending": "waiting for the relay",
    "submitted": "the relay has it",
    "mining": "offered to the block builders",
    "confirmed": "on chain",
}
AS_REPORTED = ", as the service reports"

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_FRAMES_A_SECOND = 8
_UNDECIDED = ("EXPIRED", "REFUSED")
"""Failure codes without evidence on the chain: the transaction can still be mined."""


def failure_text(failure: "OrderFailure") -> str:
    """Return why an order failed, and whether it may still be mined."""
    text = f"{failure.code}: {failure.message}"
    return f"{text}; it may still be mined until its nonce is used" if _is_open(failure) else text


def final_text(record: "OrderStatusResponse") -> str | None:
    """Return how the order ended; None while it may still be mined."""
    if record.error is not None and record.is_terminal and not _is_open(record.error):
        return f"{record.status} ({failure_text(record.error)})"
    return record.status if record.status == "confirmed" else None


def reported_text(status: str) -> str:
    """Return a status of the service; a final one is named as its report."""
    return f"{status}{AS_REPORTED}" if status in TERMINAL else status


def _is_open(failure: "OrderFailure") -> bool:
    may_be_mined = failure.may_be_mined  # unset by a service without this field
    return may_be_mined if isinstance(may_be_mined, bool) else failure.code in _UNDECIDED


def relay_text(answer: str) -> str:
    """Return a relay's last answer as a sentence: foreign text, which decides nothing."""
    return f"the relay's last answer: {answer}"


def gas_cost(order: "OrderStatusResponse") -> tuple[int | None, int | None]:
    """Return gas used and price in wei, of the order or of its reverted transaction."""
    if order.error is not None and order.gas_used is None:
        return order.error.gas_used, order.error.effective_gas_price
    return order.gas_used, order.effective_gas_price


class OrderProgress:
    """Prints each new state once, with the seconds since the start; `say` prints other events."""

    def __init__(self, screen: Console, doing: str = "waiting") -> None:
        self._screen = screen
        self.doing = doing
        self._started = time.monotonic()
        self._state = self._trouble = self._why = self._answer = ""
        self._live: Live | None = None

    def __rich__(self) -> Text:
        """Return the spinner's line; rich calls this several times a second."""
        frame = _FRAMES[int(self.seconds * _FRAMES_A_SECOND) % len(_FRAMES)]
        line = f" {self._state or self.doing}, {self.seconds:.0f} s"
        return Text.assemble((frame, "green"), (line, "dim"))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def say(self, text: str, style: str = "") -> None:
        """Print one line with the seconds since the start."""
        stamp = f"{self.seconds:6.1f} s  "
        # not wrapped, because users copy and search these lines
        self._screen.print(Text.assemble((stamp, "dim"), (text, style)), soft_wrap=True)

    def state(self, record: "OrderStatusResponse") -> None:
        """Print what the service tells of the order, if it is new."""
        self.reported(record.status)
        if record.error is not None and self._why != record.error.code:
            self._why = record.error.code
            self.say(f"{'':<10} {failure_text(record.error)}{AS_REPORTED}", "yellow")
        if record.relay_answer and self._answer != record.relay_answer:
            self.say(f"{'':<10} {relay_text(record.relay_answer)}", "yellow")
        self._answer = record.relay_answer or ""

    def reported(self, status: str) -> None:
        """Print a status of the service if it is new: a final one is a claim until checked."""
        if status in TERMINAL:
            self._change(f"the service reports {status}", "cyan")
        else:
            self.name(status)

    def name(self, state: str) -> None:
        """Print a state if it is new: a final one only after the caller's own node showed it."""
        self._change(f"{state:<10} {_MEANING.get(state, '')}".rstrip(), STYLE.get(state, ""), state)

    def _change(self, text: str, style: str, state: str = "") -> None:
        self._trouble = ""
        if self._state != (state or text):
            self._state = state or text
            self.say(text, style)

    def trouble(self, error: "ClientError", seconds: float) -> None:
        """Print a temporary failure, but not the same one twice in a row."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            self.say(f"{error}; trying again in {seconds:.0f} s", "yellow")

    def start(self) -> None:
        """Show a spinner until `stop`, in a terminal only."""
        if self._live is None and self._screen.is_terminal:
            # redirected, rich would interpret what is written meanwhile
            self._live = Live(
                self,
                console=self._screen,
                transient=True,
                refresh_per_second=_FRAMES_A_SECOND,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
