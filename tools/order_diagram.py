"""Draw the tables of states as Mermaid diagrams into docs/orders.md; a test compares them."""

from collections.abc import Mapping
from pathlib import Path

from quietswap.rules.orders.order import TRANSITIONS
from quietswap.rules.orders.watch_states import WATCH_STEPS

PAGE = Path(__file__).parent.parent / "docs" / "orders.md"
BEGIN, END = "```mermaid\n", "```\n"


def diagram() -> str:
    """Return the diagram of an order: one arrow for each pair of states, with all its events."""
    rows = {
        origin: {target: [s.value for s in row if row[s] is target] for target in row.values()}
        for origin, row in TRANSITIONS.items()
    }
    return _drawn(["[*] --> pending: posted"], rows)


def watch_diagram() -> str:
    """Return the diagram of a tracked order."""
    rows = {
        origin: {target: [text] for target, text in row.items()}
        for origin, row in WATCH_STEPS.items()
    }
    return _drawn(["[*] --> searched", "[*] --> ended", "[*] --> settled"], rows)


def _drawn(begin: list[str], rows: Mapping[str, Mapping[str, list[str]]]) -> str:
    arrows = [f"{a} --> {b}: {', '.join(row[b])}" for a, row in rows.items() for b in row]
    return "\n    ".join(["stateDiagram-v2", *begin, *arrows]) + "\n"


def main() -> None:
    """Replace the first two diagrams of the page."""
    before, *parts = PAGE.read_text("utf-8").split(BEGIN)
    for place, drawn in enumerate((diagram(), watch_diagram())):
        _, _, after = parts[place].partition(END)
        parts[place] = drawn + END + after
    PAGE.write_text(BEGIN.join([before, *parts]), "utf-8")


if __name__ == "__main__":
    main()
