"""Pages that are written by hand, but for parts that a tool makes, each between two marks."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def filled(text: str, **parts: str) -> str:
    """Return the text of a page with the parts between their marks. Raises ValueError without."""
    for name, part in parts.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->\n"
        text.index(begin)
        before, _, rest = text.partition(begin)
        text = before + begin + part + rest[rest.index(end) :]
    return text


def row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
