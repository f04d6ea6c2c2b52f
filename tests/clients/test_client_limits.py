"""USD in cents: rounded up, and never too large for a database."""

from decimal import Decimal

import pytest

from quietswap.rules.clients import to_cents


@pytest.mark.parametrize(
    ("usd", "cents"),
    [("0", 0), ("0.001", 1), ("1.50", 150), ("1.501", 151), ("1e13", 10**15), ("1e40", 10**15)],
)
def test_usd_are_cents_rounded_up_and_bounded(usd: str, cents: int) -> None:
    assert to_cents(Decimal(usd)) == cents
