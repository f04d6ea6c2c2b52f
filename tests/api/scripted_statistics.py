"""Statistics of two orders, for tests of the edge."""

from quietswap.rules.orders.statistics import OrderStatistics, Tally, grouped


def two_orders(days: int, now_ms: int) -> OrderStatistics:
    """Return the statistics of the last `days` days, of two orders of one source."""
    tallies = [
        Tally("orders", "kyberswap", 2, "confirmed", 1, 2),
        Tally("blocks", "kyberswap", 2, "", 3, 2),
        Tally("refund", "kyberswap", 2, "paid 14", 0, 2),
    ]
    by_source, by_tier = grouped(tallies)
    relays = [("Test Relay", by_tier[2])]
    since_ms = now_ms - days * 86_400_000
    return OrderStatistics(since_ms, now_ms, True, 2, [*by_source.items()], relays)
