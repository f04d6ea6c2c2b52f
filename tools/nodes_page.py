"""Writes the table of docs/nodes.md from `build/nodes`, the cells of the last `make nodes`."""

import datetime
import json
import sys
from pathlib import Path
from typing import Any

from tools.marked import DOCS, filled

from quietswap.sandbox.chain.geth import VERSION

ROOT = Path(__file__).parents[1]
PAGE = DOCS / "nodes.md"
CELLS = ROOT / "build" / "nodes"
NAMES = {
    "geth, today": f"geth {VERSION}, today's rules",
    "geth, amsterdam": f"geth {VERSION}, Amsterdam",
}


def merged(runs: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    """Return the cells of all processes by node and capability; a failure wins."""
    nodes: dict[str, dict[str, str]] = {}
    for run in runs:
        for node, cells in run["cells"].items():
            row = nodes.setdefault(node, {})
            row |= {name: cell for name, cell in cells.items() if row.get(name) != "no"}
    return nodes


def table(nodes: dict[str, dict[str, str]], day: datetime.date, command: str) -> str:
    """Return the table in Markdown: a row for each capability, a column for each node."""
    columns = sorted(nodes, key=lambda node: ([*NAMES, node].index(node), node))
    rows = sorted({name for cells in nodes.values() for name in cells})
    lines = [
        f"Run on {day.isoformat()} by `{command}`; a dash was not tried.",
        "",
        f"| | {' | '.join(NAMES.get(column, column) for column in columns)} |",
        f"|---|{'---|' * len(columns)}",
    ]
    lines += [
        f"| {name} | {' | '.join(nodes[column].get(name, '–') for column in columns)} |"
        for name in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> str | None:
    files = sorted(CELLS.glob("*.json"))
    if not files:
        return "there are no results: run `make nodes` first"
    day = datetime.datetime.now(datetime.UTC).date()
    runs = [json.loads(file.read_text("utf-8")) for file in files]
    written = table(merged(runs), day, runs[0]["command"])
    PAGE.write_text(filled(PAGE.read_text("utf-8"), nodes=f"\n{written}\n"), "utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
