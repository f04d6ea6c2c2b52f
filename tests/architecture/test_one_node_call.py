"""A call of a node has one form, and each is declared once, with its reader, for all who ask it."""

import ast
from collections import defaultdict
from pathlib import Path

import quietswap

ROOT = Path(quietswap.__file__).parent
VIEWS = {
    "service/node/multicall.py": "many views in one call, with a limit of gas",
    "client/node_calls.py": "one view at the caller's own node",
    "rules/trial/dry_run.py": "a signed swap, where a node cannot simulate",
}
"""Who builds an `eth_call`."""


def test_each_call_is_declared_in_one_module() -> None:
    places = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        place = str(path.relative_to(ROOT))
        if place.startswith("sandbox"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("NodeCall", "RpcCall"):
                places[ast.unparse(node.args[0]).strip("'")].add(place)
    assert places.pop("eth_call") == set(VIEWS)
    declared = {method: where for method, where in places.items() if method.startswith("eth_")}
    assert len(declared) > 8, "the search is blind"
    assert [method for method, where in declared.items() if len(where) > 1] == []
