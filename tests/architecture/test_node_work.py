"""Every call whose cost an input decides has a limit of gas, and every node has the one account."""

import ast
from collections.abc import Iterator

from tests.architecture.modules import functions, text_of

FIXED = {
    ("node/chain.py", "_ask_settlers"): "0x's registry",
    ("prices/usd.py", "usd"): "Chainlink's feeds",
    ("sources/uniswap_reference.py", "after"): "pools of Uniswap, feeds, and the counted tokens",
    ("node/multicall.py", "read_views"): "passes the limit of its caller on",
}
"""Calls without a limit: they run no code that a client names."""


def calls() -> Iterator[tuple[tuple[str, str], ast.Call]]:
    """Yield each call in the service and in the rules, with its file and function."""
    for path, name, nodes in functions("service/", "rules/"):
        place = path.partition("/")[2], name
        yield from ((place, node) for node in nodes if isinstance(node, ast.Call))


def named(call: ast.Call) -> set[str | None]:
    return {keyword.arg for keyword in call.keywords}


def test_views_of_what_a_client_names_have_a_limit_of_gas() -> None:
    views = {"multicall.call", "multicall.read_views", "read_views"}
    found = [(place, one) for place, one in calls() if text_of(one.func) in views]
    assert len(found) > 10, "the search is blind"
    unlimited = {place for place, one in found if "gas" not in named(one)}
    assert unlimited == set(FIXED) - {("node/multicall.py", "read_views")}


def test_code_is_executed_through_the_functions_that_limit_it() -> None:
    """An `eth_call` is built in few places; `eth_estimateGas` has the node's own limit."""
    methods = {"eth_call", "eth_estimateGas", "eth_simulateV1"}
    built = {
        place
        for place, one in calls()
        if text_of(one.func) in ("RpcCall", "NodeCall")
        and ast.unparse(one.args[0]).strip("'") in methods
    }
    assert built == {
        ("node/multicall.py", "call"),
        ("node/multicall.py", "limited_call"),
        ("chain/node_reads.py", "estimate_gas"),
        ("trial/dry_run.py", "plain_call"),
    }


def test_every_client_of_the_nodes_has_the_account_of_node_work() -> None:
    made = {place: one for place, one in calls() if text_of(one.func) == "NodeRpcClient"}
    assert made.keys() == {
        ("server/container.py", "build_adapters"),
        ("wallet_rpc/node.py", "__init__"),
    }
    [of_wallets] = [one for place, one in made.items() if place[0] == "wallet_rpc/node.py"]
    [others] = [one for place, one in made.items() if place[0] != "wallet_rpc/node.py"]
    assert "work" in named(others)
    assert "work" not in named(of_wallets), "it takes its turns itself, for one party each"


def test_each_edge_and_the_watches_begin_the_account_of_their_client() -> None:
    begun = {place[0] for place, one in calls() if text_of(one.func) == "node_work.begin"}
    assert begun == {"api/endpoint.py", "wallet_rpc/endpoint.py", "watches/follow.py"}
