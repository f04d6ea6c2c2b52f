"""What a swap was worth by the pools, before their fees and before its block."""

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass
from quietswap.rules.amounts import UINT256_MAX


@dataclass(frozen=True, slots=True)
class Reference:
    """The sold amount in smallest units of the bought token, and in wei."""

    amount: int
    value_wei: int


def reference_of(
    sell_amount: int, sold: Decimal | None, bought: Decimal | None, ether: Decimal | None
) -> Reference | None:
    """Return the reference at these prices: USD per smallest unit. None without one of them."""
    if not sold or not bought or not ether:
        return None
    worth = sell_amount * sold
    amount, value_wei = int(worth / bought), int(worth / ether)
    is_amount = 0 < amount <= UINT256_MAX and 0 < value_wei <= UINT256_MAX
    return Reference(amount, value_wei) if is_amount else None
