"""The figures as text: the table, and the page of the documentation."""

import os
import platform
import sys
import sysconfig
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from benchmarks.speed.budgets import default_budgets, limits
from benchmarks.speed.row import Row, shown

_PROSE = Path(__file__).with_name("performance.md")
"""What the page says around the table; a person writes it."""


def table(rows: Sequence[Row]) -> str:
    """Return one line for each row."""
    head = "| what | figure | goal | met | beside it |\n|---|---:|---:|---|---|\n"
    return head + "".join(
        f"| {row.what} | {shown(row.figure, row.goal.unit)} | {row.goal} "
        f"| {'yes' if row.is_met else '**no**'} | {row.beside} |\n"
        for row in rows
    )


def page(rows: Sequence[Row], rounds: int, day: date) -> str:
    """Return the page for a run of that day."""
    machine = f"{os.cpu_count()} cores ({_processor()}), {interpreter(sys.base_prefix)}"
    return (
        _PROSE.read_text("utf-8")
        .replace("{budgets}", limits(default_budgets()))
        .replace("{table}", table(rows).rstrip())
        .replace("{machine}", machine)
        .replace("{day}", day.isoformat())
        .replace("{rounds}", str(rounds))
    )


def interpreter(prefix: str) -> str:
    """Return version and origin of the interpreter at `prefix`: its build changes all figures."""
    version = f"Python {platform.python_version()}"
    if prefix == "/usr":  # a distribution need not tell how it builds
        return f"{version} as {platform.freedesktop_os_release()['PRETTY_NAME']} packages it"
    arguments = sysconfig.get_config_var("CONFIG_ARGS")
    if arguments is None:
        return f"{version} of an unknown build"
    is_optimised = "--enable-optimizations" in arguments
    return f"{version} built {'with' if is_optimised else 'without'} `--enable-optimizations`"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "unknown")
