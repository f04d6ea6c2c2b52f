"""docs/sandbox.md equals the registries."""

import re
from pathlib import Path

from quietswap.sandbox.control import ROUTES
from quietswap.sandbox.faults import GROUPS, PARTS, described

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")


def _rows(heading: str) -> list[tuple[str, ...]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def test_the_table_of_faults_is_the_registry() -> None:
    assert _rows("Faults") == [(f"`{name}`", parts, text) for name, parts, text in described()]


def test_the_table_of_requests_is_what_the_control_answers() -> None:
    documented = {row[0].strip("`"): row[1].replace("`", "") for row in _rows("Control address")}
    assert documented == ROUTES


def test_every_part_and_group_is_named() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {*PARTS, *GROUPS} <= named
