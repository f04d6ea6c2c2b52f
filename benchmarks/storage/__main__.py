"""`make bench-storage`: what storage calls cost on a small table and on a large one.

Run `python -m benchmarks.storage --orders 20000` for a short form.
"""

import argparse
import asyncio
import sys
from dataclasses import asdict
from pathlib import Path

import msgspec

from benchmarks.storage.blocks import Blocks
from benchmarks.storage.figures import Figure
from benchmarks.storage.page import page, tables
from benchmarks.storage.run import Plan, benchmark

DATABASES = {"postgresql": 10_000_000, "sqlite": 2_000_000}

LEAST = 4_000
"""Orders in a database."""


def arguments(words: list[str]) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.storage", description=__doc__)
    orders = f"on PostgreSQL; a fifth of it, at least {LEAST}, on SQLite"
    parser.add_argument("--orders", type=int, help=orders)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--calls", type=int, default=100, help="of each kind in each round")
    parser.add_argument("--only", choices=DATABASES, help="measure one database alone")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    parser.add_argument("--page", type=Path, help="write the table as a page of the documentation")
    options = parser.parse_args(words)
    if options.orders is not None and options.orders < LEAST:
        parser.error(f"--orders {options.orders}: at least {LEAST}, or no wallet has deep pages")
    return options


def main(words: list[str]) -> None:
    """Measure, print the table, and write what was asked for."""
    options = arguments(words)
    orders = options.orders or DATABASES["postgresql"]
    sizes = {"postgresql": orders, "sqlite": max(orders // 5, LEAST)}
    plans = {
        name: Plan(size, options.rounds, options.calls)
        for name, size in sizes.items()
        if options.only in (None, name)
    }
    figures: list[Figure] = []
    blocks: list[Blocks] = []
    for name, plan in plans.items():
        found, counted = asyncio.run(benchmark(name, plan, say))
        print(tables(found, counted), flush=True)
        figures += found
        blocks += counted
    if options.json:
        sizes_of = {n: asdict(p) for n, p in plans.items()}
        kept = {"plans": sizes_of, "figures": figures, "blocks": blocks}
        options.json.write_bytes(msgspec.json.format(msgspec.json.encode(kept)))
    if options.page:
        options.page.write_text(page(plans, figures, blocks), "utf-8")


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
