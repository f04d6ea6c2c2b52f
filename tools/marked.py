"""Pages that are written by hand, but for parts that a tool makes, each between two marks."""

from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def filled(text: str, **parts: str) -> str:
    """Return a page with the parts between their marks. Raises ValueError if it lacks a mark."""
    for name, part in parts.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->\n"
        start = text.index(begin) + len(begin)
        text = text[:start] + part + text[text.index(end, start) :]
    return text


def row(*cells: str) -> str:
    """Return a row of a table in Markdown."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
