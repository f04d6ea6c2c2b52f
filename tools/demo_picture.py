"""Run the demo and write docs/_static/demo.svg, the picture of it in the README.

The wrap, the approval and the history are left out. The picture names no other host: a font that is
on the reader's machine is used.
"""

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

from quietswap.cli.demo import DemoRun
from quietswap.cli.demo_report import DemoReport
from quietswap.cli.demo_sandbox import running_sandbox

PICTURE = Path(__file__).parent.parent / "docs" / "_static" / "demo.svg"
_WIDTH = 88
_SHOWN = ("quietswap demo", "3  ", "6  ", "✓ ", "demo passed")
_HIDDEN = ("1  ", "2  ", "4  ", "5  ")
"""How a part begins that is in the picture, or is not."""


def recorded() -> list[Text]:
    """Run the demo and return its lines with their styles. Raises SystemExit where it fails."""
    console = Console(file=io.StringIO(), record=True, width=_WIDTH, color_system="truecolor")
    report = DemoReport(console)
    with report.starting(), running_sandbox(1.0) as town:
        DemoRun(report, town)()
    report.verdict()
    if not report.passed:
        raise SystemExit(console.file.getvalue())  # type: ignore[attr-defined]
    lines = console.export_text(styles=True).splitlines()
    return [Text.from_ansi(line) for line in lines]


def chosen(lines: list[Text]) -> list[Text]:
    """Return the lines of the parts that are shown."""
    shown, found = True, []
    for line in lines:
        if line.plain.startswith(_SHOWN):
            shown = True
        elif line.plain.startswith(_HIDDEN):
            shown = False
        if shown:
            found.append(line)
    return found


def picture(lines: list[Text]) -> str:
    """Return the lines as SVG without references to other hosts."""
    console = Console(file=io.StringIO(), record=True, width=_WIDTH)
    for line in lines:
        console.print(line, no_wrap=True, crop=True)
    svg = console.export_svg(title="make demo", unique_id="demo")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S)
    svg = svg.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.S)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    target.write_text(picture(chosen(recorded())), "utf-8")
    print(f"{target.name} written")
