"""The cancel of an open order: an empty transfer of the wallet to itself with the same nonce.

Only one of the two transactions can be mined. Amounts in wei, times in Unix ms.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.order import Order, OrderKind
from quietswap.rules.quotes.issued_quote import (
    CancelOrderTerms,
    IssuedQuote,
    issue,
)
from quietswap.rules.relays import RelaySettings
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.fees import TRANSACTION_GAS, gas_limit_for, usual_fee_cap
from quietswap.rules.tx.signed import UnsignedTransaction, decode

GAS_LIMIT = TRANSACTION_GAS
"""What a transfer without data costs (Yellow Paper, appendix G), to a wallet without code."""
MOST_GAS = 100_000
"""The highest gas limit for a wallet with delegated code (EIP-7702), which runs in the transfer: a
log and two new slots of storage. The clients refuse more: it is paid if the code uses it."""
FEE_MULTIPLE = 3
"""Times the next base fee: covers nine full blocks, as for a wrap. With a priority fee of 0 only
the base fee is paid, so a high cap costs nothing."""
_BUMP_DIVISOR = 8
"""The fee rises by one eighth (12.5 %); go-ethereum's `PriceBump` requires one tenth."""


@dataclass(frozen=True, slots=True)
class CancelQuote:
    """The transaction that cancels `order_id`, and the time until which it may be submitted."""

    quote_id: str
    order_id: str
    wallet: Address
    protection: RelaySettings
    params: UnsignedTransaction
    issued_at_ms: int
    valid_until_ms: int

    def issued(self, client_id: str) -> IssuedQuote:
        """Return what is stored before the client receives the quote."""
        times = (self.issued_at_ms, self.valid_until_ms)
        terms = CancelOrderTerms(self.order_id)
        return issue(
            self.quote_id, client_id, self.wallet, self.params, self.protection, times, terms
        )


@dataclass(frozen=True, slots=True)
class CancelOrderRequest:
    """A signed cancel of `order_id`; `metadata` is `providerMetadata` as sent."""

    order_id: str
    raw_hex: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SubmittedCancel:
    """An accepted cancel: `order` is the cancel itself, `target` the order to be cancelled."""

    order: Order
    target: Order
    relay_name: str
    tracking_url: str


def cancel_gas(estimate: int | None) -> int:
    """Return the gas limit; `estimate` of a wallet with code, None without one. Raises
    ValidationError with reason GAS_TOO_HIGH.
    """
    limit = GAS_LIMIT if estimate in (None, GAS_LIMIT) else gas_limit_for(estimate)
    if limit <= MOST_GAS:
        return limit
    fault = {"field": "gasLimit", "expected": f"<= {MOST_GAS}", "provided": str(limit)}
    text = f"the wallet's code makes an empty transfer use {estimate} gas, too much for a cancel"
    advice = (
        "A transaction with the order's nonce that removes the delegation (EIP-7702) takes its"
        " place, too."
    )
    raise ValidationError(text, [fault], reason="GAS_TOO_HIGH", suggestion=advice)


def empty_transfer(wallet: Address) -> UnsignedTransaction:
    """Return the call of a cancel, to estimate its gas."""
    return UnsignedTransaction(
        to=wallet, data=b"", value=0, gas_limit=MOST_GAS, max_fee_per_gas=0, nonce=None
    )


def cancel_params(
    order: Order, fee_caps: Iterable[int], next_base_fee: int, gas_limit: int = GAS_LIMIT
) -> UnsignedTransaction:
    """Return the transaction to sign; `fee_caps` of all transactions that it must replace."""
    least = max((cap + -(-cap // _BUMP_DIVISOR) for cap in fee_caps), default=0)
    usual_cap = usual_fee_cap(next_base_fee, FEE_MULTIPLE)
    return replace(
        empty_transfer(order.wallet),
        gas_limit=gas_limit,
        max_fee_per_gas=max(least, usual_cap),
        nonce=order.nonce,
    )


def fee_cap(order: Order) -> int:
    """Return the fee cap, in wei per gas, that an order was signed with; 0 without its bytes."""
    return 0 if order.raw is None else decode("0x" + order.raw.hex()).params.max_fee_per_gas


def require_cancellable(order: Order) -> None:
    """Raise ValidationError unless the order can be cancelled.

    An order can be cancelled while it is open. It can also be cancelled after a refusal or after
    expiry, because its bytes may still be mined. A cancel cannot be cancelled.
    """
    if order.kind is OrderKind.CANCEL:
        text = "a cancel cannot be cancelled"
        advice = "Follow it by its id, or cancel the swap again: the fee is then higher."
        raise ValidationError(text, reason="NOT_CANCELLABLE", suggestion=advice)
    if not order.status.is_terminal or (order.watched and order.is_at_large):
        return
    status, expected = order.status.value, "pending, submitted or mining"
    field = {"field": "status", "expected": expected, "provided": status}
    text = f"the order has ended: it is {status}"
    advice = "There is nothing to cancel: the order's status record says how it ended."
    raise ValidationError(text, [field], reason="ORDER_ENDED", suggestion=advice)
