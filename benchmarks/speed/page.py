"""The figures as text: the table, and the page of the documentation."""

import os
import platform
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.speed.row import Row, shown

_BEGIN = "<!-- measured by make bench -->\n"
_END = "<!-- end of what make bench measured -->\n"


def table(rows: Sequence[Row]) -> str:
    """Return one line for each row."""
    head = "| what | figure | goal | met | beside it |\n|---|---:|---:|---|---|\n"
    return head + "".join(
        f"| {row.what} | {shown(row.figure, row.goal.unit)} | {row.goal} "
        f"| {'yes' if row.is_met else '**no**'} | {row.beside} |\n"
        for row in rows
    )


def page(text: str, rows: Sequence[Row], rounds: int, day: date) -> str:
    """Return the page `text` with the rows of a run of that day; a person writes the rest."""
    machine = f"{os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}"
    before, after = text.split(_BEGIN, maxsplit=1)[0], text.split(_END)[1]
    measured = f"Measured on {day.isoformat()}. Machine: {machine}. {rounds} rounds.\n"
    return f"{before}{_BEGIN}{table(rows)}\n{measured}{_END}{after}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")
