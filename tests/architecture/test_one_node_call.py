"""A call of a node has one form, and each is declared once, with its reader, for all who ask it."""

import ast
from collections import defaultdict

from tests.architecture.modules import nodes, text_of

VIEWS = {
    "service/node/multicall.py": "many views in one call, with a limit of gas",
    "client/node_calls.py": "one view at the caller's own node",
    "rules/trial/dry_run.py": "a signed swap, where a node cannot simulate",
}
"""Who builds an `eth_call`."""


def test_each_call_is_declared_in_one_module() -> None:
    places = defaultdict(set)
    for place, node in nodes("rules/", "service/", "client/", "cli/"):
        if isinstance(node, ast.Call) and text_of(node.func) in ("NodeCall", "RpcCall"):
            places[ast.unparse(node.args[0]).strip("'")].add(place)
    assert places.pop("eth_call") == set(VIEWS)
    declared = {method: where for method, where in places.items() if method.startswith("eth_")}
    assert len(declared) > 8, "the search is blind"
    assert [method for method, where in declared.items() if len(where) > 1] == []
