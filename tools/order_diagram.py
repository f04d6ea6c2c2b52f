"""The tables of states as Mermaid diagrams: parts of docs/orders.md."""

from collections.abc import Mapping

from quietswap.rules.orders.order import TRANSITIONS
from quietswap.rules.orders.watch_states import WATCH_STEPS


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


def parts() -> dict[str, str]:
    """Return the parts of the page."""
    drawn = {"order": diagram(), "tracking": watch_diagram()}
    return {name: f"```mermaid\n{text}```\n" for name, text in drawn.items()}
