"""No line of the interface document is without a test, and the page of them is current."""

import importlib
import re
from pathlib import Path

from tools.spec_coverage import page

from tests.spec.coverage import ELSEWHERE, KNOWN, SHOWN

ROOT = Path(__file__).parents[2]


def test_every_line_has_a_test() -> None:
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        importlib.import_module(f"tests.spec.{path.stem}")
    assert [line for line in KNOWN if line not in SHOWN and line not in ELSEWHERE] == []


def test_tests_of_other_folders_exist() -> None:
    for names in ELSEWHERE.values():
        for name in names:
            file, _, function = name.partition("::")
            text = (ROOT / file).read_text("utf-8")
            assert re.search(rf"def {function}\(", text), name


def test_the_page_is_current() -> None:
    written = (ROOT / "docs" / "spec-coverage.md").read_text("utf-8")
    assert written == page(), "run `make spec-coverage`"
