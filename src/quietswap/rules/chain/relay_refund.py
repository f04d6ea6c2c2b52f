"""A refund that a relay reports, and the transaction that paid it.

MEV Blocker pays the user's share of a backrun in the block of the swap, by a transaction of the
block builder to the wallet (https://docs.mevblocker.io). The relay's report is a decimal of ETH.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from quietswap.rules.tx.address import Address

if TYPE_CHECKING:
    from quietswap.rules.chain.records import BlockTransaction
from quietswap.rules.chain.received import Refund, RefundStatus

_WEI = 18
_MOST_WEI = 10**27
"""More than there is ETH: a larger report is an error of the relay."""
_SHARE = 100
"""A payment may differ from the report by at most one part in so many."""


@dataclass(frozen=True, slots=True)
class ReportedRefund:
    """The refund that a relay reports; a payment within `tolerance_wei` of it matches."""

    amount_wei: int
    tolerance_wei: int


def reported_refund(ether: Decimal) -> ReportedRefund | None:
    """Return the refund of a report in ETH; None for none and for a number that cannot be one.

    The last digit of the report may be rounded, so the tolerance is one unit of it, and at most
    1 % of the amount.
    """
    if not ether.is_finite() or ether <= 0:
        return None
    exponent = ether.as_tuple().exponent
    assert isinstance(exponent, int)
    if abs(exponent) > 100 or ether > _MOST_WEI:
        return None
    wei = int(ether.scaleb(_WEI))
    if not 0 < wei <= _MOST_WEI:
        return None
    unit = 10 ** max(_WEI + exponent, 0)
    return ReportedRefund(wei, min(unit, wei // _SHARE))


def refund_of(
    reported: ReportedRefund,
    wallet: Address,
    tx_hash: str,
    block: "Iterable[BlockTransaction]",
    taken: Collection[str] = (),
) -> Refund:
    """Return the refund: paid if a later transaction of the order's block paid it, else reported.

    `block` has the transactions of that block in order. The payment comes from another account and
    has about the reported value. Of several, the nearest counts. The paid amount is the chain's.
    `taken` are hashes of payments that prove the refund of another order: one payment proves one.
    """
    follows, nearest = False, None
    for one in block:
        if follows and one.to == wallet and one.sender != wallet and one.hash not in taken:
            far = abs(one.value - reported.amount_wei)
            if far <= reported.tolerance_wei and (nearest is None or far < nearest[0]):
                nearest = far, one
        follows = follows or one.hash == tx_hash
    if nearest is None:
        return Refund(RefundStatus.REPORTED, reported.amount_wei)
    return Refund(RefundStatus.PAID, nearest[1].value, nearest[1].hash)
