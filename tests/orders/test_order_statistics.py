"""Counted orders become statistics by source and by relay."""

from quietswap.rules.orders.statistics import Measure, Percentiles, Tally, grouped


def test_each_measure_is_counted_by_source_and_tier() -> None:
    by_source, by_tier = grouped(
        [
            Tally(Measure.ORDERS, "velora", 2, "confirmed", 0, 5),
            Tally(Measure.ORDERS, "velora", 2, "confirmed", 1, 2),
            Tally(Measure.ORDERS, None, 4, "failed", 1, 1),
            Tally(Measure.REVERTED, "velora", 2, "", 0, 3),
            Tally(Measure.REFUND, "velora", 2, "paid 1000", 0, 4),
            Tally(Measure.BLOCKS, "velora", 2, "", 1, 3),
            Tally(Measure.BLOCKS, "velora", 2, "", 4, 1),
            Tally(Measure.BLOCKS, "velora", 2, "", 1, 1),
        ]
    )
    assert list(by_source) == ["velora"]
    assert list(by_tier) == [2, 4]
    velora = by_source["velora"]
    assert velora == by_tier[2]
    assert (velora.orders, velora.statuses, velora.resent) == (7, {"confirmed": 7}, 2)
    assert (velora.reverted, velora.refunds, velora.refunds_wei) == (
        3, {"paid": 4}, {"paid": 4000},
    )  # fmt: skip
    assert velora.percentiles(Measure.BLOCKS) == Percentiles(5, 1, 4, 4)
    assert velora.percentiles(Measure.SECONDS) is None
    assert (by_tier[4].orders, by_tier[4].resent, by_tier[4].reverted) == (1, 1, 0)


def test_percentiles_are_the_smallest_value_that_so_many_do_not_exceed() -> None:
    tallies = [Tally(Measure.DELIVERED, "sushi", 2, "", value, 1) for value in range(-50, 50)]
    by_source, _ = grouped(tallies)
    assert by_source["sushi"].percentiles(Measure.DELIVERED) == Percentiles(100, -1, 39, 48)
