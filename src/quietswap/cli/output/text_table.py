"""A plain table with a header, for lists that an operator reads, greps and copies from."""

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from quietswap.rules.foreign_text import visible

if TYPE_CHECKING:
    pass


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
