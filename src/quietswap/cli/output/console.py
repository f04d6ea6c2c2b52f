"""The console for text output in a terminal or a pipe. It interprets no text."""

import contextlib
import os
import sys
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.protocol import rich_cast
from rich.segment import Segment
from rich.text import Text

from quietswap.rules.foreign_text import MARKS, MOST_MARKS

if TYPE_CHECKING:
    pass

PIPE_WIDTH = 80
_LONGEST_LINE = 2_000


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
        marks = marks + 1 if unicodedata.category(char) in MARKS else 0
        kept.append(char if char.isprintable() and marks <= MOST_MARKS else "�")
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
