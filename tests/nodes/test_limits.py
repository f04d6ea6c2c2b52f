"""Limits of geth's batches, and two nodes of different height."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from quietswap.sandbox.chain.geth import Geth
from tests.e2e.test_node_limits import doors
from tests.nodes.town import GethDesk, GethTown, visited

PASSES = {"quote": 200, "readyz": 200, "sources": 0, "serve": 0}
LIMITS = {
    "5 calls in a batch": ("--rpc.batch-request-limit", "5"),
    "10 calls in a batch": ("--rpc.batch-request-limit", "10"),
    "20,000 bytes in an answer": ("--rpc.batch-response-max-size", "20000"),
}


@pytest.mark.today_in_short
@pytest.mark.capability("limits of a batch: 5 and 10 calls, 20 kB in an answer")
@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_batches_is_learned_at_every_door(
    town: GethTown, tmp_path: Path, limit: str
) -> None:
    with town.options(*LIMITS[limit]):
        answers = doors(town, tmp_path, town.geth.url)
        assert {name: answer[0] for name, answer in answers.items()} == PASSES, answers
        with GethDesk(town) as desk:
            order = desk.order(desk.wallet())
            assert desk.follow(order["orderId"])["status"] == "confirmed"


@pytest.fixture
def old_node(town: GethTown, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Geth]:
    """A node with the blocks of a while ago, which gets no new ones."""
    folder = tmp_path_factory.mktemp("old")
    town.do(town.geth.stop())
    shutil.copytree(town.geth.folder / "data", folder / "data")
    town.do(town.geth.start())
    old = Geth(folder, period=0)
    town.do(old.start())
    yield old
    town.do(old.stop())


@pytest.mark.today_in_short
@pytest.mark.capability("two nodes of different height")
def test_of_two_nodes_the_one_with_newer_blocks_is_used(
    town: GethTown, old_node: Geth, tmp_path: Path
) -> None:
    both = f"{old_node.url}, {town.geth.url}"
    with GethDesk(town) as desk:
        desk.mine(8)
    facts = town.facts["rpcUrl"]
    with visited(town, tmp_path, GethDesk, NODE__URLS=both) as desk:
        desk.town.facts["rpcUrl"] = facts
        order = desk.order(desk.wallet())
        assert desk.follow(order["orderId"])["status"] == "confirmed"
        assert desk.api.get("/readyz").status_code == 200
