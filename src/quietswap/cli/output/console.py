"""The console for text output in a terminal or a pipe. It removes control characters."""

import contextlib
import os
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PIPE_WIDTH = 80


class SafeConsole(Console):
    """A console that replaces unprintable characters.

    Text from a service, a node or a token's symbol is shown next to the transaction to sign. An
    escape sequence in it could overwrite that transaction on the screen.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments with each unprintable character replaced by U+FFFD."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(_printable(segment.text), segment.style)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def open_screen(*, stderr: bool) -> SafeConsole:
    """Return a console without encoding errors. A pipe has no colours and 80 columns."""
    stream = sys.stderr if stderr else sys.stdout
    with contextlib.suppress(AttributeError):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return SafeConsole(stderr=stderr, highlight=False, width=width)
