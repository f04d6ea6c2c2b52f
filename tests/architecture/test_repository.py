"""The laws of the house: what the code says of itself is compared with the code."""

import ast
import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def test_the_layout_names_folders_and_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    layout = text.split("## The layout")[1].split("\n## ")[0]
    package = ROOT / "src" / "quietswap"
    rooms = {
        str(path.parent.relative_to(package)) + "/"
        for pattern in ("*/__init__.py", "rules/*/__init__.py", "service/*/__init__.py")
        for path in package.glob(pattern)
    }
    listed = re.findall(r"^\| (`.*?`) \|", layout, re.M)
    assert {name for cell in listed for name in re.findall(r"`([\w/]+/)`", cell)} >= rooms
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", layout.replace("NAME", "sushi")):
        assert any(package.rglob(name.rstrip("/"))), name


def test_every_decision_is_listed_and_linked() -> None:
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text("utf-8")
    linked = re.findall(r"\((\d{4}-[a-z0-9-]+\.md)\)", index)
    assert linked == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_texts_name_decisions_that_exist() -> None:
    """The number alone, or the name of the file."""
    names = run("git", "grep", "-hoE", r"decisions/[0-9]{4}(-[a-z0-9-]+\.md)?").stdout.split()
    assert len(names) > 50
    for name in names:
        assert any((ROOT / "docs").glob(f"{name}*")), name


NAMED = re.compile(
    r"`((?:[\w.-]+/)*[\w.-]+(?:\.(?:py|mjs|sol|toml|yaml|html|tsx?|sh)|/))(?:::?([\w.]+))?`"
)
"""A file or folder in a text, with a name inside it."""


def test_pages_name_files_that_exist() -> None:
    """A path may begin anywhere above the file: `rules/orders/order.py` is below the package."""
    tracked = run("git", "ls-files").stdout.splitlines()
    files = [f"/{name}" for name in tracked if (ROOT / name).exists()]
    folders = {f"{parent}/" for name in files for parent in Path(name).parents}
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "decisions").glob("*.md")]
    made = {"site/", "site/index.html", "site/client-reference.html", "dist/"}
    for page in pages:
        for name, inside in NAMED.findall(page.read_text("utf-8")):
            where = [path for path in (*files, *folders) if path.endswith(f"/{name}")]
            assert where or name in made, f"{page.name}: {name}"
            texts = [(ROOT / path[1:]).read_text("utf-8") for path in where if inside]
            assert not inside or any(inside in text for text in texts), f"{page.name}: {inside}"


def test_no_float_touches_an_amount() -> None:
    """Seconds, rates and the one USD figure that leaves as a JSON number are not amounts."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    [rules] = [one for one in settings["contracts"] if one["name"].startswith("Rules do no I/O")]
    places = [ROOT / "src" / name.replace(".", "/") for name in rules["source_modules"]]
    modules = [one for place in places for one in [place.with_suffix(".py"), *place.rglob("*.py")]]
    for path in (one for one in modules if one.exists() and "contract" not in one.parts):
        lines = path.read_text("utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            is_float = isinstance(node, ast.Name) and node.id == "float"
            is_literal = isinstance(node, ast.Constant) and isinstance(node.value, float)
            if is_float or is_literal:
                line = lines[node.lineno - 1]
                known = (
                    r"expected_rebate_usd|expectedRebate|retry_after|max_age_s|per_second"
                    r"|RequestBudget\(|^    deadline: Annotated\[int \| float, "
                    r"|isinstance\(value, (bool \| )?int \| float\)"
                )
                assert re.search(known, line), f"{path.name}: {line}"


def test_no_test_stands_beside_the_folders_of_tests() -> None:
    """For such a file pytest 9.1 collects the folders again, and they lose their fixtures.

    `pytest tests/e2e/A.py tests/C.py tests/e2e/B.py` then found no `town` for B.
    """
    assert list((ROOT / "tests").glob("test_*.py")) == []
