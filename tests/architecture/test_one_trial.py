"""One builder and one judge of a trial: the service and the client only send it."""

import ast
from pathlib import Path

import quietswap

ROOT = Path(quietswap.__file__).parent
WRITES = {"blocks_call", "plausible_wei", "forwarder"}
READS = {"read_blocks", "logs_about", "broken_rule", "arrived", "lost"}
FEE_METER = "service/node/simulation/transfer_fee.py"
"""It measures a token without a swap."""


def called(path: Path) -> set[str]:
    calls = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    return {ast.unparse(n.func).split(".")[-1] for n in calls if isinstance(n, ast.Call)}


def test_a_trial_is_built_and_judged_in_one_room() -> None:
    places: dict[str, set[str]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        place = str(path.relative_to(ROOT))
        if names := called(path) & (WRITES | READS):
            places[place] = names
    assert places.pop(FEE_METER) == {"forwarder", "lost"}
    assert all(place.startswith("rules/trial/") for place in places), sorted(places)
    assert set().union(*places.values()) == WRITES | READS
