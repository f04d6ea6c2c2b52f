"""The chain goes back, the node loses blocks, the service was away, the rules change."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.orders.tracking import DEEP
from quietswap.service.settings import TrackingConfig
from tests.example_counts import LONG
from tests.nodes.conftest import RULES
from tests.nodes.town import GethDesk, GethTown, running_geth_town, visited
from tests.spec.wire import data
from tests.waiting import wait_until

long = pytest.mark.skipif(not LONG, reason="takes minutes: `make nodes` runs it")
AWAY_BLOCKS = 200


def mined_in(desk: GethDesk, order: dict[str, Any]) -> str:
    """Return the hash of the order's block on the chain, which is empty while there is none."""
    return str(desk.receipt(order["txHash"]).get("blockHash", ""))


@pytest.mark.capability("reorganisations: 1 and 3 blocks, in the long form 10")
@pytest.mark.parametrize("depth", [1, 3, pytest.param(10, marks=long)])
def test_an_order_outlives_a_reorganisation(desk: GethDesk, depth: int) -> None:
    wallet = desk.wallet()
    order = desk.order(wallet)
    assert desk.follow(order["orderId"])["status"] == "confirmed"
    first = int(desk.receipt(order["txHash"])["blockNumber"], 16)
    desk.until_block(first + depth - 1)
    before = mined_in(desk, order)
    with desk.no_blocks():  # the relay keeps it for a while
        desk.rpc("debug_setHead", hex(first - 1))  # by its number: more blocks may have come
        desk.until(lambda: desk.status(order["orderId"])["status"] != "confirmed")
    desk.until(lambda: mined_in(desk, order) not in ("", before))
    end = desk.follow(order["orderId"])
    assert (end["status"], end["txHash"]) == ("confirmed", order["txHash"])


@pytest.mark.today_in_short
def test_the_relay_gives_again_what_was_lost_while_nothing_was_given(desk: GethDesk) -> None:
    """The head is back where it was before the relay may give anything again."""
    order = desk.order(desk.wallet())
    desk.until(lambda: mined_in(desk, order))
    lost, first = mined_in(desk, order), int(desk.receipt(order["txHash"])["blockNumber"], 16)
    with desk.no_blocks():
        before = desk.head()
        desk.rpc("debug_setHead", hex(first - 1))
        desk.until_block(before + 1)
    desk.until(lambda: mined_in(desk, order) not in ("", lost))


@pytest.mark.capability("kill -9 of the node with lost blocks")
@pytest.mark.parametrize("rules", ["today", pytest.param("amsterdam", marks=long)])
def test_what_a_killed_node_lost_is_sent_again_and_confirmed(rules: str) -> None:
    """A developer's geth has called some of these blocks final.

    It is stopped once before, which keeps its state: without any it would go back to its genesis,
    make no more blocks, and still show the receipts of those that it lost.
    """
    with running_geth_town(RULES[rules]) as town, GethDesk(town) as desk:
        town.restart(*town.geth.options)
        final = -(-(desk.head() + WINDOW) // FINAL_EVERY) * FINAL_EVERY
        desk.until_block(final - WINDOW)
        numbered = dict(wraps_until(desk, final))
        desk.until_block(final + 1)
        finalized = desk.rpc("eth_getBlockByNumber", "finalized", False)
        assert int(finalized["number"], 16) >= final
        desk.until_block(final + CLOSES_EVERY + 2)
        with desk.no_blocks():
            may_be_closed = desk.head() + 4 - DEEP  # if blocks come before the kill
            town.do(town.geth.kill())
            orders = [order for number, order in numbered.items() if number > may_be_closed]
            assert orders
            town.geth.options += ("--txpool.nolocals",)  # nor does it mine again what it was sent
            town.do(town.geth.start())
            assert not any(mined_in(desk, one) for one in orders), "all of them are lost"
            slowly(lambda: not any(is_false(desk, one) for one in orders))
            sent = times_sent(desk)
            slowly(lambda: all(times_sent(desk)[h] > sent[h] for h in hashes(orders)))
        slowly(lambda: all(mined_in(desk, one) for one in orders))
        slowly(lambda: {desk.status(one["orderId"])["status"] for one in orders} == {"confirmed"})


def wraps_until(desk: GethDesk, last: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield orders that are confirmed one after the other, each of a wallet and with its block."""
    for wallet in desk.genesis_wallets:
        data(desk.submit_wrap(desk.wrap(wallet, amount="0.01")))
        order = desk.history(wallet, kind="wrap")["orders"][0]
        slowly(lambda sent=order: desk.status(sent["orderId"])["status"] == "confirmed")
        number = int(desk.receipt(order["txHash"])["blockNumber"], 16)
        if number > last:
            return
        yield number, order


def hashes(orders: list[dict[str, Any]]) -> set[str]:
    return {one["txHash"] for one in orders}


def times_sent(desk: GethDesk) -> dict[str, int]:
    """Return how often the relay was sent each transaction."""
    rows = desk.town.control.get("/relay").json()["relay"]["transactions"]
    return {one["hash"]: one["submissions"] for one in rows}


def slowly(holds: Callable[[], object]) -> None:
    """Wait for what asks the service about many orders: its rate limit counts."""
    wait_until(holds, "it did not come", every_s=3)


FINAL_EVERY = 32
"""Blocks, as geth's developer mode counts."""
CLOSES_EVERY = TrackingConfig().backstop_every_blocks
"""At each multiple of it the tracker would close what a final block holds."""
WINDOW = 16
"""Blocks before a final one, in which the orders are."""


def is_false(desk: GethDesk, order: dict[str, Any]) -> bool:
    """Whether the service says confirmed of what no block has."""
    confirmed = desk.status(order["orderId"])["status"] == "confirmed"
    return confirmed and not mined_in(desk, order)


@long
@pytest.mark.capability("200 blocks while the service is stopped")
def test_an_order_is_found_after_two_hundred_blocks_without_the_service(
    town: GethTown, desk: GethDesk, tmp_path: Path
) -> None:
    with desk.no_blocks(), visited(town, tmp_path, GethDesk, NODE__URLS=town.geth.url) as first:
        order = first.order(first.wallet())
    desk.until(lambda: desk.receipt(order["txHash"]))
    mined = int(desk.receipt(order["txHash"])["blockNumber"], 16)
    while desk.head() < mined + AWAY_BLOCKS:
        desk.mine()
    with visited(town, tmp_path, GethDesk, NODE__URLS=town.geth.url) as second:
        second.api = second.client(first.secret)
        end = second.follow(order["orderId"])
    assert (end["status"], end["txHash"]) == ("confirmed", order["txHash"])
    assert int(end["received"]["amount"]) > 0
