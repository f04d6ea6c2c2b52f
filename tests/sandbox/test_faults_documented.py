"""docs/sandbox.md equals the registry."""

from pathlib import Path

from quietswap.sandbox.control import ROUTES

PAGE = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text("utf-8")


def _rows(heading: str) -> list[tuple[str, ...]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [tuple(cell.strip() for cell in line.strip("|").split(" | ")) for line in lines]


def test_the_table_of_requests_is_what_the_control_answers() -> None:
    documented = {row[0].strip("`"): row[1].replace("`", "") for row in _rows("Control address")}
    assert documented == ROUTES
