"""Which test fails when a line of the interface document breaks."""

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from tests.spec import tables
from tests.spec.rules import RULES

Test = TypeVar("Test", bound=Callable[..., Any])

SHOWN: dict[str, list[str]] = {}
"""Test names (`file::function`) by line."""

ELSEWHERE = {
    "rule: tls 1.3": ("tests/e2e/test_tls.py::test_a_tls_1_2_client_is_refused",),
    "limit: Swap quote validity": (
        "tests/orders/test_submit_swap.py::test_a_quote_too_old_says_so",
    ),
}
"""Lines that tests of other folders show."""


def lines() -> Iterator[tuple[str, str]]:
    """Yield the name of every line and what it says, in the document's order."""
    for name, sentence in RULES.items():
        yield f"rule: {name}", sentence
    for table, rows in tables.FIELDS.items():
        yield from ((f"field: {table}.{row[0]}", row[1]) for row in rows)
    for table, rows in tables.INPUTS.items():
        yield from ((f"input: {table}.{row[0]}", f"{row[1]}, required: {row[2]}") for row in rows)
    for state, meaning, _ in tables.STATES:
        yield f"state: {state}", meaning
    for before, trigger, _, after in tables.TRANSITIONS:
        yield f"transition: {before} to {after}, {trigger}", "initial or by the chain"
    for status, code, condition, where in tables.ERRORS:
        yield f"error: {status} {code}", f"{condition} ({where})"
    for code, members in tables.DETAILS:
        yield f"details: {code}", members
    for limit, value in tables.LIMITS:
        yield f"limit: {limit}", value


KNOWN = dict(lines())


def shows(*names: str) -> Callable[[Test], Test]:
    """Say which lines a test shows; a name ending in `*` stands for all that begin so."""

    def note(test: Test) -> Test:
        place = f"tests/spec/{test.__module__.rpartition('.')[2]}.py::{test.__name__}"
        for name in names:
            matching = [one for one in KNOWN if _matches(one, name)]
            assert matching, f"{place} shows {name}, which is no line of the document"
            for one in matching:
                SHOWN.setdefault(one, []).append(place)
        return test

    return note


def _matches(line: str, name: str) -> bool:
    return line.startswith(name[:-1]) if name.endswith("*") else line == name
