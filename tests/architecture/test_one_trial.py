"""One builder and one judge of a trial: the service and the client only send it."""

import ast

from tests.architecture.modules import nodes, text_of

WRITES = {"blocks_call", "plausible_wei", "forwarder"}
READS = {"read_blocks", "logs_about", "broken_rule", "arrived", "lost"}
FEE_METER = "service/node/simulation/transfer_fee.py"
"""It measures a token without a swap."""


def test_a_trial_is_built_and_judged_in_one_room() -> None:
    places: dict[str, set[str]] = {}
    for place, node in nodes():
        name = text_of(node.func).split(".")[-1] if isinstance(node, ast.Call) else ""
        if name in WRITES | READS:
            places.setdefault(place, set()).add(name)
    assert places.pop(FEE_METER) == {"forwarder", "lost"}
    assert all(place.startswith("rules/trial/") for place in places), sorted(places)
    assert set().union(*places.values()) == WRITES | READS
