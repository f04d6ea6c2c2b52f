"""The driver of `make mutants` tells a killed mutant from a survivor; its lists are current."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.mutants.make import Mutant, drawn, mutants
from tools.mutants.report import Judged, page, share, survivors
from tools.mutants.run import Recording, RunFailed, Verdict, Workbench, workbench

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
MODULE = """
LIMIT = 3


def is_over(number: int) -> bool:
    return number > LIMIT


def steps(number: int) -> int:
    taken = 0
    while number > 0:
        number -= 1
        taken += 1
    return taken


def unused(number: int) -> int:
    return number + 1
"""
TESTS = """
from tiny.module import is_over, steps


def test_is_over():
    assert is_over(4)
    assert not is_over(2)


def test_steps():
    assert steps(3) == 3
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with one module and its tests."""
    root = tmp_path_factory.mktemp("project")
    for name, text in {
        "src/tiny/__init__.py": "",
        "src/tiny/module.py": MODULE,
        "tests/test_module.py": TESTS,
        "pytest.ini": "[pytest]\n",
        "tools": "",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if text or name.endswith(".py"):
            (root / name).write_text(text, "utf-8")
    (root / "tools").symlink_to(ROOT / "tools")
    return root


@pytest.fixture(scope="module")
def bench(root: Path) -> Iterator[Workbench]:
    with workbench(root, root / "src") as bench:
        yield bench


@pytest.fixture(scope="module")
def recorded(bench: Workbench) -> Recording:
    return bench.record(["tests"])


def one(root: Path, function: str, change: str) -> Mutant:
    """Return the mutant of the tiny module with this change."""
    found = mutants(root / "src", "tiny/module.py")
    [mutant] = [x for x in found if (x.function, x.change) == (function, change)]
    return mutant


def judged(bench: Workbench, mutant: Mutant, tests: list[str], bound_s: float) -> Verdict:
    """Return the verdict; a machine that is too slow for the bound gets a longer one."""
    try:
        return bench.judge(mutant, tests, bound_s)
    except RunFailed:
        assert bound_s < 600
        return judged(bench, mutant, tests, 4 * bound_s)


@pytest.mark.parametrize(
    ("function", "change", "tests", "verdict"),
    [
        ("is_over", "return number > LIMIT → return None", ["is_over"], Verdict.KILLED),
        ("is_over", "> LIMIT → >= LIMIT", ["is_over"], Verdict.SURVIVED),
        ("", "3 → 4", ["is_over", "steps"], Verdict.KILLED),
        ("steps", "number -= 1 → number = 1", ["steps"], Verdict.HUNG),
        ("unused", "number + 1 → number - 1", [], Verdict.NOT_RUN),
    ],
)
def test_a_mutant_is_judged_by_the_tests_of_its_line(
    root: Path, bench: Workbench, recorded: Recording,
    function: str, change: str, tests: list[str], verdict: Verdict,
) -> None:  # fmt: skip
    mutant = one(root, function, change)
    chosen = recorded.tests(mutant, ["tests/"])
    assert chosen == [f"tests/test_module.py::test_{name}" for name in tests]
    assert judged(bench, mutant, chosen, 8 if verdict is Verdict.HUNG else 600) is verdict
    assert (root / "src" / "tiny" / "module.py").read_text("utf-8") == MODULE


def test_a_machine_that_is_too_slow_kills_nothing(
    root: Path, bench: Workbench, recorded: Recording
) -> None:
    mutant = one(root, "is_over", "> LIMIT → >= LIMIT")
    with pytest.raises(RunFailed, match="do not pass in 0 s unchanged"):
        bench.judge(mutant, recorded.tests(mutant, ["tests/"]), bound_s=0)


def test_tests_that_fail_without_a_mutant_stop_the_run(root: Path, bench: Workbench) -> None:
    (root / "broken").mkdir()
    (root / "broken" / "test_broken.py").write_text("def test_it():\n    assert False\n", "utf-8")
    with pytest.raises(RunFailed, match="on the package as it is"):
        bench.record(["broken"])
    assert "assert False" in bench.output()


def test_a_draw_depends_on_its_seed_and_on_nothing_else(root: Path) -> None:
    source = root / "src"
    first = [x.key for x in drawn(source, ["tiny/module.py"], 5, 1)]
    assert [x.key for x in drawn(source, ["tiny/module.py"], 5, 1)] == first
    assert [x.key for x in drawn(source, ["tiny/module.py"], 9, 1)][:5] == first
    assert [x.key for x in drawn(source, ["tiny/module.py"], 5, 2)] != first
    places = [x.place for x in drawn(source, ["tiny/module.py"], 1000, 1)]
    assert len(places) == len(set(places))


def test_only_killed_mutants_count_and_equivalent_ones_are_left_out(root: Path) -> None:
    mutant = one(root, "unused", "number + 1 → number - 1")
    rows = [Judged("tiny", mutant, verdict) for verdict in Verdict]
    assert share(rows) == 0.5
    text = page(rows, seed=7)
    assert "| `tiny` | 4 | 2 | 1 | 0 | 2 | 50.0% |" in text
    assert "| `tiny/module.py` `unused` | `number + 1 → number - 1` | no test yet |" in text


def test_each_known_survivor_is_a_mutant_of_today() -> None:
    known = survivors()
    assert known
    for row in known:
        assert any(row.is_of(mutant) for mutant in mutants(SOURCE, row.module)), row


def test_the_page_lists_survivors_with_the_reasons_that_are_known() -> None:
    text = (ROOT / "docs" / "mutants.md").read_text("utf-8")
    assert "no test yet" not in text
    for row in survivors():
        assert row.reason in text, row
