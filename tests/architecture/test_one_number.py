"""A number, a word or an address that decides something is defined in one module.

The sandbox is left out: a stand-in that shares the constants of what it tests proves less.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.architecture.modules import modules, nodes

ELSEWHERE = ("sandbox", "rules/contract", "rules/errors", "rules/wire.py")
"""Left out; the numbers and addresses in `rules/` are examples of the documentation."""
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


def is_telling(number: object) -> bool:
    """Return whether two modules hardly have the same number by chance."""
    if not isinstance(number, int) or number <= _LARGE or not number & (number - 1):
        return False
    return len(str(number).rstrip("0")) >= 3 and number & (number + 1) != 0


def decides(value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant):
        return False
    number = value.value
    return isinstance(number, str) or (isinstance(number, int | float) and number >= _LARGE)


def constants() -> Iterator[tuple[str, str]]:
    """Yield name and value of each constant of a module that is a text or a large number."""
    for place, module in modules().items():
        body = () if place.startswith(ELSEWHERE) else module.body
        named = (node for node in body if isinstance(node, ast.Assign))
        for node in filter(lambda one: decides(one.value), named):
            yield place, ast.unparse(node).lstrip("_")


def twice(values: Iterable[tuple[str, object]], least: int) -> dict[object, set[str]]:
    """Return the values that stand in two modules, of at least `least` that the search finds."""
    places = defaultdict(set)
    for place, value in values:
        places[value].add(place)
    assert len(places) > least, "the search is blind"
    return {value: where for value, where in places.items() if len(where) > 1}


def literals() -> Iterator[tuple[str, object]]:
    for place, node in nodes():
        if isinstance(node, ast.Constant) and not place.startswith(ELSEWHERE):
            yield place, node.value


def test_no_constant_is_defined_in_two_modules() -> None:
    names = {str(one).split(" = ")[0]: where for one, where in twice(constants(), 100).items()}
    assert {name: where for name, where in names.items() if name not in COINCIDENCES} == {}
    assert names.keys() == COINCIDENCES.keys()


def test_no_telling_number_stands_in_two_modules() -> None:
    numbers = twice(((p, each) for p, each in literals() if is_telling(each)), 50)
    assert {n: where for n, where in numbers.items() if n not in OTHER_MEANINGS} == {}
    assert numbers.keys() == OTHER_MEANINGS.keys()


def test_no_address_stands_in_two_modules() -> None:
    texts = ((place, each) for place, each in literals() if isinstance(each, str))
    found = ((place, one.lower()) for place, each in texts for one in _ADDRESS.findall(each))
    pseudo = {"rules/safety/wallet_effects.py", "rules/tokens/token.py"}
    assert twice(found, 20) == {"0x" + "e" * 40: pseudo}
