"""A number, a word or an address that decides something is defined in one module.

The sandbox is left out: a stand-in that shares the constants of what it tests proves less.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import quietswap

ROOT = Path(quietswap.__file__).parent
EXAMPLES = ("rules/contract", "rules/errors", "rules/wire.py")
"""Their numbers and addresses are examples of the documentation."""
COINCIDENCES = {
    "CACHED": "two caches",
    "TOKENS_CACHED": "two caches",
}
"""Names of constants that are the same in two modules and decide different things."""
OTHER_MEANINGS = {
    1970: "the first year of Unix time, in two parsers",
    32003: "geth's code of an answer that is too large; EIP-1474 has it for a refused transaction",
    32007: "a provider's code: a node's for a while, and a relay's gate",
    32016: "the same",
    32029: "the same",
}
"""Numbers that stand in two modules, with the reason."""
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_LARGE = 1000


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if not place.startswith(("sandbox", *EXAMPLES)):
            yield place, ast.parse(path.read_text("utf-8"))


def is_telling(number: object) -> bool:
    """Return whether two modules hardly have the same number by chance."""
    if not isinstance(number, int) or number <= _LARGE or not number & (number - 1):
        return False
    return len(str(number).rstrip("0")) >= 3 and number & (number + 1) != 0


def test_no_constant_is_defined_in_two_modules() -> None:
    places = defaultdict(set)
    for place, tree in modules():
        for node in tree.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            value = node.value
            if isinstance(value, ast.Constant) and (
                isinstance(value.value, str | bytes)
                or (isinstance(value.value, int | float) and value.value >= _LARGE)
            ):
                name = node.targets[0].id.lstrip("_")
                places[name, value.value].add(place)
    assert len(places) > 100, "the search is blind"
    twice = {name: where for (name, _), where in places.items() if len(where) > 1}
    assert {n: w for n, w in twice.items() if n not in COINCIDENCES} == {}
    assert twice.keys() == COINCIDENCES.keys()


def test_no_telling_number_stands_in_two_modules() -> None:
    places = defaultdict(set)
    for place, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and is_telling(node.value):
                places[node.value].add(place)
    assert len(places) > 50, "the search is blind"
    twice = {number: where for number, where in places.items() if len(where) > 1}
    assert {n: w for n, w in twice.items() if n not in OTHER_MEANINGS} == {}
    assert twice.keys() == OTHER_MEANINGS.keys()


def test_no_address_stands_in_two_modules() -> None:
    places = defaultdict(set)
    for place, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for address in _ADDRESS.findall(node.value):
                    places[address.lower()].add(place)
    assert len(places) > 20, "the search is blind"
    twice = {address: where for address, where in places.items() if len(where) > 1}
    assert twice == {"0x" + "e" * 40: {"rules/safety/wallet_effects.py", "rules/tokens/token.py"}}
