"""The screen people read: any terminal, any width, a pipe; and nobody else's control characters."""

import contextlib
import os
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

PIPE_WIDTH = 80


class Screen(Console):
    """A console on which text can only be text.

    What a service, a node or a token's own name say is shown beside what is about to be signed: an
    escape sequence in it could paint over that.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments with every unprintable character replaced."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or segment.text == "\n":
                yield segment
            else:
                yield Segment(_printable(segment.text), segment.style)


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def open_screen(*, stderr: bool) -> Screen:
    """Return the screen: no colour in a pipe and 80 columns there, no encoding errors."""
    stream = sys.stderr if stderr else sys.stdout
    with contextlib.suppress(AttributeError):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    return Screen(stderr=stderr, highlight=False, width=width)
