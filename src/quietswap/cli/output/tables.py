"""A plain table with a header, for lists that an operator reads, greps and copies from."""

from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Column, Table

from quietswap.foreign_text import visible


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header, one line each. Nothing is folded: an id can be copied."""
    lines = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


# A table that has another layout for narrow terminals.


_ANY_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class ResponsiveTable:
    """Shows `wide`, and `below` it what belongs to it, if all its cells fit; else `narrow`."""

    wide: Table
    narrow: RenderableType
    below: tuple[RenderableType, ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the layout that fits."""
        needed = Measurement.get(console, options.update(max_width=_ANY_WIDTH), self.wide)
        extra = sum(_beyond_words(column, console, options) for column in self.wide.columns)
        if needed.minimum + extra <= options.max_width:
            yield self.wide
            yield from self.below
        else:
            yield self.narrow


def _beyond_words(column: Column, console: Console, options: ConsoleOptions) -> int:
    """Return by how much a column without wrapping is wider than its longest word.

    rich computes the minimum width of every column from its longest word, and cuts longer cells.
    """
    if not column.no_wrap:
        return 0
    found = [Measurement.get(console, options.update(max_width=_ANY_WIDTH), column.header)]
    found += [
        Measurement.get(console, options.update(max_width=_ANY_WIDTH), cell)
        for cell in column.cells
    ]
    return max(cell.maximum for cell in found) - max(cell.minimum for cell in found)
