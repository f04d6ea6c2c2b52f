"""A reported refund is paid only by a matching transaction behind the order, in its block."""

from decimal import Decimal

import pytest

from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.chain.records import BlockTransaction
from quietswap.rules.chain.relay_refund import ReportedRefund, refund_of, reported_refund
from quietswap.rules.tx.address import Address, from_bytes

ME, BUILDER, OTHER = (from_bytes(bytes([n]) * 20) for n in (1, 2, 3))
OWN = "0x" + "aa" * 32
MILLI = 10**15
REPORT = ReportedRefund(14 * MILLI, 10**12)


def tx(
    name: int, sender: Address = BUILDER, to: Address | None = ME, value: int = 0
) -> BlockTransaction:
    return BlockTransaction(f"0x{name:064x}", sender, 0, to, value, 0)


SWAP = BlockTransaction(OWN, ME, 7, OTHER, 0, 68)
PAID = tx(5, value=14 * MILLI)


@pytest.mark.parametrize(
    ("ether", "wei", "tolerance"),
    [
        ("0.014", 14 * MILLI, 14 * MILLI // 100),
        ("0.0140000001", 14 * MILLI + 10**8, 10**8),
        ("1e-05", 10**13, 10**11),
        ("2", 2 * 10**18, 2 * 10**16),
        ("0.000000000000000001", 1, 0),
    ],
)
def test_a_report_tolerates_its_last_digit(ether: str, wei: int, tolerance: int) -> None:
    assert reported_refund(Decimal(ether)) == ReportedRefund(wei, tolerance)


@pytest.mark.parametrize(
    "ether", ["0", "0.0", "-1", "NaN", "Infinity", "1e99", "1e-99", "1e999", "1e-19"]
)
def test_a_report_that_is_none(ether: str) -> None:
    assert reported_refund(Decimal(ether)) is None


@pytest.mark.parametrize(
    "block",
    [
        [],
        [SWAP],
        [PAID, SWAP],
        [SWAP, tx(5, sender=ME, value=14 * MILLI)],
        [SWAP, tx(5, to=OTHER, value=14 * MILLI)],
        [SWAP, tx(5, to=None, value=14 * MILLI)],
        [SWAP, tx(5, value=14 * MILLI - 2 * 10**12)],
        [SWAP, tx(5, value=0)],
        [PAID],
    ],
)
def test_without_its_payment_it_is_only_reported(block: list[BlockTransaction]) -> None:
    assert refund_of(REPORT, ME, OWN, block) == Refund(RefundStatus.REPORTED, 14 * MILLI)


def test_the_amount_paid_is_that_of_the_chain() -> None:
    near = tx(6, value=14 * MILLI + 10**11)
    far = tx(7, value=14 * MILLI + 10**12)
    found = refund_of(REPORT, ME, OWN, [SWAP, tx(4, to=OTHER), far, near, tx(8)])
    assert found == Refund(RefundStatus.PAID, 14 * MILLI + 10**11, near.hash)


def test_a_payment_of_another_order_is_skipped() -> None:
    second = tx(6, value=14 * MILLI + 10**11)
    block = [SWAP, PAID, second]
    assert refund_of(REPORT, ME, OWN, block, {PAID.hash}).tx_hash == second.hash
    both = refund_of(REPORT, ME, OWN, block, {PAID.hash, second.hash})
    assert both == Refund(RefundStatus.REPORTED, 14 * MILLI)
