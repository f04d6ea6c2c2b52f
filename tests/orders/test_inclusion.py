"""How long orders wait: from counted orders only, read once a minute, and of no single wallet."""

from collections.abc import AsyncIterator, Mapping

import pytest

from quietswap.rules.operator.figures import Figure, Measure
from quietswap.rules.operator.inclusion import UNKNOWN
from quietswap.rules.operator.operators import ProcessReport
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.orders.inclusion import GetInclusion
from tests.orders.submitting import Desk, open_desk
from tests.stored_orders import NOW_MS

DAY_MS = 86_400_000


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as desk:
        yield desk


async def count_orders(desk: Desk, waited: Mapping[int, int], at_ms: int = NOW_MS) -> None:
    """Store, for each number of blocks, so many orders that waited for it."""
    figures = {
        Figure(Measure.INCLUSION_BLOCKS, "fast", "none", blocks): n for blocks, n in waited.items()
    }
    await desk.storage.figures.record(figures, ProcessReport("host:1", at_ms, 1, {}))


@pytest.mark.parametrize(
    ("waited", "text"),
    [
        ({1: 19}, UNKNOWN),
        ({1: 20}, "usually within 1 block (12 seconds), nine of ten within 1 block (12 seconds)"),
        (
            {0: 5, 2: 15, 5: 8, 30: 2},
            "usually within 2 blocks (24 seconds), nine of ten within 5 blocks (60 seconds)",
        ),
    ],
)
async def test_the_text_is_of_the_orders_that_were_counted(
    desk: Desk, waited: Mapping[int, int], text: str
) -> None:
    await count_orders(desk, waited)
    await count_orders(desk, {100: 50}, NOW_MS - 9 * DAY_MS)
    assert await GetInclusion(desk.storage.figures, desk.clock).usual_wait() == text


async def test_it_is_read_once_a_minute_and_outlives_the_database(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = GetInclusion(desk.storage.figures, desk.clock).usual_wait
    assert await wait() == UNKNOWN
    await count_orders(desk, {1: 20})
    assert await wait() == UNKNOWN
    desk.clock.advance(61)
    text = await wait()
    assert text.startswith("usually within 1 block")

    async def away(*_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(desk.storage.figures, "read", away)
    desk.clock.advance(61)
    assert await wait() == text


async def test_a_small_group_is_not_told_apart(desk: Desk) -> None:
    for endpoint, tip, blocks, n in (
        ("fast", "none", 1, 6), ("fast", "none", 3, 2), ("noreverts", "none", 2, 4),
        ("fast", "to 1 gwei", 1, 1),
    ):  # fmt: skip
        figure = Figure(Measure.INCLUSION_BLOCKS, endpoint, tip, blocks)
        await desk.storage.figures.record({figure: n}, ProcessReport("host:1", NOW_MS, 1, {}))
    moved = Figure(Measure.ORDER_MOVED, "cancelled", "expired", 0)
    await desk.storage.figures.record({moved: 3}, ProcessReport("host:1", NOW_MS, 1, {}))
    report = await GetInclusion(desk.storage.figures, desk.clock)(7)
    shares = [
        (group.endpoint, group.tip, [group.within(blocks) for blocks in (1, 2, 5)])
        for group in report.groups
    ]
    assert shares == [("fast", "none", [6, 6, 8]), ("other", "other", [1, 5, 5])]
    assert (report.total.waited.total(), report.expired) == (13, 3)
