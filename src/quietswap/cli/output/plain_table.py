"""A plain table with a header, for lists that an operator reads, greps and copies from."""

from collections.abc import Sequence

import click

from quietswap.domain.untrusted_text import visible


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows below a header, one line each. Nothing is folded: an id can be copied."""
    lines = [[visible(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
