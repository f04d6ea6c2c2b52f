"""How long orders wait: from the orders in blocks, and of no single wallet."""

from collections.abc import AsyncIterator, Mapping

import pytest

from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.operator.inclusion import (
    UNKNOWN,
    Group,
    MinedOrder,
    StoredInclusion,
    inclusion_report,
    mined_order,
)
from quietswap.rules.orders.order import Failure, FailureCode, OrderStatus
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.orders.inclusion import GetInclusion
from quietswap.service.storage.inclusion import InclusionStore
from tests.orders.submitting import Desk, open_desk
from tests.storage.examples import an_event, an_order
from tests.stored_orders import NOW_MS, inclusion

DAY_MS = 86_400_000
HEAD = 100
STORED = StoredInclusion(HEAD + 2, HEAD, "fast", 2, "0", "300", "100", 5_000, "Titan")
ONE_BLOCK = "usually within 1 block (12 seconds), nine of ten within 1 block (12 seconds)"
TWO_BLOCKS = "usually within 2 blocks (24 seconds), nine of ten within 5 blocks (60 seconds)"


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        yield desk


def reader(desk: Desk) -> GetInclusion:
    return GetInclusion(InclusionStore(desk.storage.database), {}, desk.clock)


async def store_mined(desk: Desk, waited: Mapping[int, int], at_ms: int = NOW_MS) -> None:
    """Store, for each number of blocks, so many orders that waited for it."""
    facts = BlockFacts(10**9, 5_000, "Titan")
    for blocks, n in waited.items():
        block = inclusion(block_number=HEAD + blocks, block_time_ms=at_ms, facts=facts)
        for _ in range(n):
            order = an_order(
                status=OrderStatus.CONFIRMED, submitted_head=HEAD, inclusion=block,
                fee_cap=2 * 10**9, priority_fee=0,
            )  # fmt: skip
            await desk.storage.orders.add(order, an_event(order))


@pytest.mark.parametrize(
    ("waited", "text"),
    [
        ({1: 19}, UNKNOWN),
        ({1: 20}, ONE_BLOCK),
        ({0: 5, 2: 15, 5: 8, 30: 2}, TWO_BLOCKS),
    ],
)
async def test_the_text_is_of_the_orders_of_a_week(
    desk: Desk, waited: Mapping[int, int], text: str
) -> None:
    await store_mined(desk, waited)
    await store_mined(desk, {100: 50}, NOW_MS - 9 * DAY_MS)
    wait = reader(desk)
    await wait.refresh()
    assert wait.usual_wait == text


async def test_a_report_is_read_once_a_minute_and_the_text_outlives_the_database(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = reader(desk)
    assert wait.usual_wait == UNKNOWN
    await wait.refresh()
    await store_mined(desk, {1: 20})
    await wait.refresh()
    assert wait.usual_wait == UNKNOWN
    desk.clock.advance(61)
    assert wait.usual_wait == UNKNOWN
    await wait.refresh()
    text = wait.usual_wait
    assert text.startswith("usually within 1 block")

    async def away(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(InclusionStore, "mined", away)
    desk.clock.advance(61)
    with pytest.raises(StoreUnavailable):
        await wait.refresh()
    assert wait.usual_wait == text


async def test_a_stored_order_counts_with_what_its_block_says(desk: Desk) -> None:
    await store_mined(desk, {2: 5})
    over = Failure(FailureCode.EXPIRED, "it expired")
    order = an_order(status=OrderStatus.CANCELLED, failure=over)
    await desk.storage.orders.add(order, an_event(order))
    report = await reader(desk)(7)
    [relay], [builder], [endpoint] = report.relays, report.builders, report.endpoints
    assert (relay.name, builder.name) == ("tier 2", "Titan")
    assert (endpoint.name, endpoint.tip) == ("noreverts", "none")
    assert (builder.waited, builder.fees, builder.fullness) == ({2: 5}, {5_000: 5}, {5_000: 5})
    assert (report.expired, report.blocks, report.is_complete) == (1, (HEAD + 2,) * 2, True)


@pytest.mark.parametrize(
    ("changes", "waited", "fee_bps", "tip", "builder"),
    [
        ({}, 2, 3_333, "none", "Titan"),
        ({"head": HEAD + 2}, 1, 3_333, "none", "Titan"),
        ({"priority_fee": None, "fee_cap": None}, 2, None, "unknown", "Titan"),
        ({"fee_cap": "0"}, 2, None, "none", "Titan"),
        ({"base_fee": "0"}, 2, 0, "none", "Titan"),
        ({"base_fee": None, "fullness_bps": None, "builder": None}, 2, None, "none", "unknown"),
    ],
)
def test_an_order_of_a_row(
    changes: dict[str, object], waited: int, fee_bps: int | None, tip: str, builder: str
) -> None:
    order = mined_order(STORED._replace(**changes), "Relay")  # type: ignore[arg-type]
    assert (order.waited, order.fee_bps, order.tip, order.builder) == (
        waited, fee_bps, tip, builder,
    )  # fmt: skip


def an_included(**changes: object) -> MinedOrder:
    plain = MinedOrder(HEAD, 1, "fast", "Relay", "none", "Titan", 9_000, 5_000)
    return plain._replace(**changes)  # type: ignore[arg-type]


def shares(groups: tuple[Group, ...]) -> list[tuple[str, str, list[int]]]:
    return [(each.name, each.tip, [each.within(n) for n in (1, 2, 5)]) for each in groups]


def test_a_small_group_is_not_told_apart() -> None:
    orders = [
        *[an_included()] * 6,
        *[an_included(waited=3, relay="Backup")] * 2,
        *[an_included(waited=2, endpoint="noreverts", builder="Quasar")] * 4,
        an_included(tip="to 1 gwei", relay="both relays"),
    ]
    report = inclusion_report(orders, 3, 0, NOW_MS)
    assert shares(tuple(report.endpoints)) == [
        ("fast", "none", [6, 6, 8]), ("other", "other", [1, 5, 5]),
    ]  # fmt: skip
    assert shares(tuple(report.relays)) == [("Relay", "", [6, 10, 10]), ("other", "", [1, 1, 3])]
    assert shares(tuple(report.builders)) == [("Titan", "", [7, 7, 9]), ("other", "", [0, 4, 4])]
    assert (report.total.orders, report.expired) == (13, 3)
    assert [bool(group.fees) for group in report.builders] == [True, False]


def test_the_blocks_of_fewer_than_five_orders_are_not_told() -> None:
    """Ten orders of which four have facts: their quantiles would be those of four blocks."""
    orders = [*[an_included()] * 4, *[an_included(fee_bps=None, fullness_bps=None)] * 6]
    [group] = inclusion_report(orders, 0, 0, NOW_MS).builders
    assert (group.orders, group.fees, group.fullness) == (10, {}, {})
