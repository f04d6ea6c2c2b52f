"""One HTML page of the pictures in a folder, beside those of a reference design.

A picture is named `NUMBER-STATE-WIDTH-SCHEME.png`, one of the reference `NUMBER-STATE-WIDTH.png` or
`NUMBER-STATE-WIDTH-dark.png`: what has the same number and width stands side by side.
"""

import shutil
from collections.abc import Iterable
from html import escape
from pathlib import Path

_REFERENCE = "reference"
_HEAD = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Pictures of all states</title>
<style>
body { margin: 16px; font: 14px/20px system-ui, sans-serif; background: #ddd; color: #111; }
div { display: flex; flex-wrap: wrap; gap: 16px; align-items: start; }
figure { margin: 0; } img { display: block; max-width: 800px; border: 1px solid #888; }
.reference { color: #06c; } .reference img { border-color: #06c; outline: 2px solid #06c; }
</style>
"""


def _parts(name: str) -> tuple[str, str]:
    """Return number and width of a picture."""
    words = name.removesuffix(".png").split("-")
    width = next((word for word in words if word in ("1280", "360")), "")
    return words[0], width


def _figures(pictures: Iterable[Path], place: str, style: str) -> str:
    return "\n".join(
        f'<figure class="{style}"><figcaption>{escape(one.stem)}</figcaption>'
        f'<img loading="lazy" src="{escape(place + one.name)}" alt=""></figure>'
        for one in pictures
    )


def write(folder: Path, reference: Path | None) -> Path:
    """Write `index.html` into a folder of pictures and return its path.

    The pictures of the reference are copied beside it. A number that only one of the two has is
    shown alone.
    """
    ours = sorted(folder.glob("*.png"))
    theirs = sorted(reference.glob("*.png")) if reference else []
    shutil.rmtree(folder / _REFERENCE, ignore_errors=True)
    if reference:
        shutil.copytree(reference, folder / _REFERENCE)
    lines = [_HEAD]
    for number, width in sorted({_parts(one.name) for one in [*ours, *theirs]}):
        same = (number, width)
        lines += [
            f'<h2 id="{number}-{width}">{number}, {width} px</h2><div>',
            _figures(
                [one for one in theirs if _parts(one.name) == same], f"{_REFERENCE}/", _REFERENCE
            ),
            _figures([one for one in ours if _parts(one.name) == same], "", "ours"),
            "</div>",
        ]
    page = folder / "index.html"
    page.write_text("\n".join(lines), "utf-8")
    return page
