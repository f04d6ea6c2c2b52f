"""A profile as a still picture: `python -m benchmarks.speed.picture RAW SVG`.

RAW is what `py-spy record --gil --format raw` wrote of a worker under load: one line a stack, its
frames joined by semicolons, and how often it was seen. Below each function stand those it called,
as wide as the time they held the interpreter.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

_WIDTH, _ROW, _LETTER = 1000, 17, 6.1
_LEAST = 0.004
"""Share of the whole below which a function is left out."""
_ROOT = "Handle._run"
"""The event loop's step: what is above it is the same for all."""
_FRAME = re.compile(r"(?P<name>[^ ]+) \((?P<file>[^:)]+)[^)]*\)")
_COLOURS = {"quietswap": "#8fc9c4", "asyncio": "#d9d2c5", "granian": "#e2b48c"}
_OTHER = "#c9c3d9"


@dataclass(slots=True)
class Node:
    """A function as called from the one above it."""

    name: str
    file: str
    count: int = 0
    below: dict[str, "Node"] = field(default_factory=dict)


def tree(raw: str) -> Node:
    """Return the calls below the event loop's step."""
    root = Node("event loop", "asyncio")
    for line in raw.splitlines():
        stack, _, times = line.rpartition(" ")
        frames = [m for m in map(_FRAME.match, stack.split(";")) if m]
        names = [frame["name"] for frame in frames]
        if _ROOT not in names:
            continue
        node = root
        node.count += int(times)
        for frame in frames[names.index(_ROOT) + 1 :]:
            called = Node(frame["name"], _short(frame["file"]))
            node = node.below.setdefault(f"{called.name} {called.file}", called)
            node.count += int(times)
    return root


def _short(file: str) -> str:
    """Return a path from the package on: where it was installed is nobody's business."""
    parts = Path(file).parts
    for package in (*_COLOURS, "site-packages"):
        if package in parts:
            return "/".join(parts[parts.index(package) :])
    return parts[-1]


def boxes(node: Node, whole: int, left: float = 0, depth: int = 0) -> Iterator[str]:
    """Yield the node's box and those of all it called, the widest first."""
    width = node.count / whole * _WIDTH
    package = next((name for name in _COLOURS if node.file.startswith(name)), "")
    share = node.count / whole
    title = escape(f"{node.name} ({node.file}), {share:.1%}")
    label = escape(node.name[: max(int(width / _LETTER) - 1, 0)])
    yield (
        f'<g><title>{title}</title><rect x="{left:.1f}" y="{depth * _ROW}" width="{width:.1f}" '
        f'height="{_ROW - 1}" fill="{_COLOURS.get(package, _OTHER)}"/>'
        f'<text x="{left + 3:.1f}" y="{depth * _ROW + 12}">{label}</text></g>'
    )
    for child in sorted(node.below.values(), key=lambda n: -n.count):
        if child.count / whole >= _LEAST:
            yield from boxes(child, whole, left, depth + 1)
        left += child.count / whole * _WIDTH


def height(node: Node, whole: int) -> int:
    """Return how many rows the picture has."""
    shown = [height(n, whole) for n in node.below.values() if n.count / whole >= _LEAST]
    return 1 + max(shown, default=0)


def picture(raw: str) -> str:
    """Return the SVG."""
    root = tree(raw)
    rows = "\n".join(boxes(root, root.count))
    tall = height(root, root.count) * _ROW
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {tall}" '
        'font-family="monospace" font-size="10">\n'
        f'<rect width="{_WIDTH}" height="{tall}" fill="#ffffff"/>\n{rows}\n</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(picture(Path(sys.argv[1]).read_text("utf-8")), "utf-8")
