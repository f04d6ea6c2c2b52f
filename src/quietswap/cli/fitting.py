"""A table where it fits, and the same facts below each other where it does not."""

from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table

_ANY_WIDTH = 1000


@dataclass(frozen=True, slots=True)
class Fitting:
    """Shows `wide` where no figure in it would be cut, else `narrow`."""

    wide: Table
    narrow: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the one that fits."""
        needed = Measurement.get(console, options.update(max_width=_ANY_WIDTH), self.wide)
        yield self.wide if needed.minimum <= options.max_width else self.narrow
