"""A table that has another layout for narrow terminals."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table

if TYPE_CHECKING:
    pass


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
