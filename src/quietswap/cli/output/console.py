"""The console for text output in a terminal or a pipe. It interprets no text."""

import contextlib
import os
import sys
import time
import unicodedata
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.measure import Measurement
from rich.protocol import rich_cast
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from quietswap.rules.foreign_text import visible

if TYPE_CHECKING:
    from quietswap.client.errors import ClientError
    from quietswap.rules.contract.orders import OrderFailure, OrderStatusResponse

PIPE_WIDTH = 80
_LONGEST_LINE = 2_000
_MARKS = ("Mn", "Me")
_MOST_MARKS = 2
"""Combining marks on one letter. More of them draw over the neighbouring lines."""


class SafeConsole(Console):
    """A console without markup, emoji codes, links and control characters.

    Text from a service, a node or a token's symbol is shown next to the transaction to sign. So a
    string is shown letter by letter, and only objects such as `Text` have a style. Each of them is
    one line of at most 2,000 characters: no text can look like the line of another. A test refuses
    imports of rich that interpret strings.
    """

    def __init__(self, *, stderr: bool, width: int | None) -> None:
        super().__init__(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **_options: Any) -> Text:
        """Return the string as it is, without an interpretation of any part of it."""
        return Text(text)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments of one object; a text has become one printable line."""
        shown = rich_cast(renderable)
        if isinstance(shown, str):
            shown = Text(shown)
        return super().render(_one_line(shown) if isinstance(shown, Text) else shown, options)


def _one_line(text: Text) -> Text:
    """Return the text with U+FFFD for each character that is not printable, cut if it is long."""
    plain = text.plain
    if len(plain) <= _LONGEST_LINE and plain.isascii() and plain.isprintable():
        return text
    kept, marks = [], 0
    for char in plain[:_LONGEST_LINE]:
        marks = marks + 1 if unicodedata.category(char) in _MARKS else 0
        kept.append(char if char.isprintable() and marks <= _MOST_MARKS else "�")
    line = text.copy()
    line.plain = "".join(kept)
    if len(plain) > _LONGEST_LINE:
        line.append(f"… ({len(plain) - _LONGEST_LINE:,} more characters)")
    return line


def open_screen(*, stderr: bool = False) -> SafeConsole:
    """Return a console without encoding errors. A pipe has no colours and 80 columns."""
    stream = sys.stderr if stderr else sys.stdout
    with contextlib.suppress(AttributeError):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return SafeConsole(stderr=stderr, width=width)


# Progress of an order: a spinner in a terminal, and one line for each event.

STYLE = dict.fromkeys(("pending", "submitted", "mining"), "cyan")
STYLE |= {"confirmed": "green", "failed": "red", "cancelled": "yellow"}
_MEANING = {
    "pending": "waiting for the relay",
    "submitted": "the relay has it",
    "mining": "offered to the block builders",
    "confirmed": "on chain",
    "failed": "reverted or rejected",
    "cancelled": "given up",
}

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


def _is_open(failure: "OrderFailure") -> bool:
    said = failure.may_be_mined  # unset by a service without this field
    return said if isinstance(said, bool) else failure.code in _UNDECIDED


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
        """Print the order's state if it is new."""
        self.name(record.status)
        if record.error is not None and self._why != record.error.code:
            self._why = record.error.code
            self.say(f"{'':<10} {failure_text(record.error)}", "yellow")
        if record.relay_answer and self._answer != record.relay_answer:
            self.say(f"{'':<10} {relay_text(record.relay_answer)}", "yellow")
        self._answer = record.relay_answer or ""

    def name(self, state: str) -> None:
        self._trouble = ""
        if state != self._state:
            self._state = state
            self.say(f"{state:<10} {_MEANING.get(state, '')}".rstrip(), STYLE.get(state, ""))

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


# A plain table with a header, for lists that an operator reads, greps and copies from.


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header, one line each. Nothing is folded: an id can be copied."""
    lines = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def text_table(
    *names: str, right: Container[str] = (), folds: Container[str] | None = None, **more: Any
) -> Table:
    """Return an empty table without lines; only its columns `folds` may fold, without them all."""
    table = Table(
        **{"box": None, "padding": (0, 1), "pad_edge": False, "header_style": "dim"} | more
    )
    for name in names:
        is_whole = folds is not None and name not in folds
        table.add_column(
            name,
            justify="right" if name in right else "left",
            no_wrap=is_whole,
            overflow="ellipsis" if is_whole else "fold",
        )
    return table


# A table that has another layout for narrow terminals.

_ANY_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class ResponsiveTable:
    """Shows `wide`, and `below` it what belongs to it, if all its cells fit; else `narrow`."""

    wide: Table
    narrow: RenderableType
    below: tuple[RenderableType, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the layout that fits. By itself rich cuts a cell that may not wrap."""
        anything = options.update(max_width=_ANY_WIDTH)
        for column in self.wide.columns:
            if column.no_wrap:
                cells = (column.header, *column.cells)
                column.min_width = max(Measurement.get(console, anything, c).maximum for c in cells)
        if Measurement.get(console, anything, self.wide).minimum <= options.max_width:
            yield self.wide
            yield from self.below
        else:
            yield self.narrow
