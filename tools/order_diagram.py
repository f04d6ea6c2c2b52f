"""Draw the transition table as a Mermaid diagram into docs/orders.md; a test compares the two."""

from pathlib import Path

from quietswap.domain.order import TRANSITIONS, Status

PAGE = Path(__file__).parent.parent / "docs" / "orders.md"
BEGIN, END = "```mermaid\n", "```\n"


def diagram() -> str:
    """Return the diagram: one arrow for each pair of states, with all that leads along it."""
    arrows: dict[tuple[Status, Status], list[str]] = {}
    for origin, row in TRANSITIONS.items():
        for sighting, target in row.items():
            arrows.setdefault((origin, target), []).append(sighting.value)
    lines = ["stateDiagram-v2", "    [*] --> pending: posted"]
    lines += [f"    {a} --> {b}: {', '.join(words)}" for (a, b), words in arrows.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Replace the diagram in the page."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + diagram() + END + after, "utf-8")


if __name__ == "__main__":
    main()
