"""Transactions that a wallet sends to its RPC URL: what they do, and bounds of the wallet's fields.

Target, calldata and value decide what a transaction is. Gas limit, fees, priority fee and nonce are
the wallet's own, within the bounds that are checked here. Amounts in wei and smallest units.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.rules.errors.requests import ValidationError
from quietswap.rules.orders.order import Order, OrderKind, may_be_mined
from quietswap.rules.quotes.issued_quote import (
    IssuedQuote,
    SwapOrderTerms,
    Trade,
    WrapOrderTerms,
)
from quietswap.rules.tokens.erc20 import calldata, read_approve, value_of
from quietswap.rules.tokens.token import NATIVE, WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.fees import intrinsic_gas
from quietswap.rules.tx.signed import SignedTransaction, UnsignedTransaction

_BUMP = 10
"""Percent by which a replacement raises the fee cap (go-ethereum's `PriceBump`)."""


def same_call(first: UnsignedTransaction, second: UnsignedTransaction) -> bool:
    second_call = (second.to, second.data, second.value)
    return (first.to, first.data, first.value) == second_call


@dataclass(frozen=True, slots=True)
class ApprovalCall:
    """`approve(spender, amount)` of `token`; `amount` in smallest units."""

    token: Address
    spender: Address
    amount: int

    @property
    def trade(self) -> Trade:
        """Return the amounts of its order: the token, and the approved amount as sold."""
        return Trade(self.token, self.token, self.amount, 0, 0)


def read_approval(params: UnsignedTransaction) -> ApprovalCall | None:
    """Return the approval; None unless the calldata is exactly one canonical `approve` call."""
    approval = read_approve(params.data)
    return None if params.value or approval is None else ApprovalCall(params.to, *approval)


def is_approved_by(quote: IssuedQuote, approval: ApprovalCall) -> bool:
    """Return whether a swap quote needs this approval: its token and router, at most its amount."""
    if not isinstance(quote.terms, SwapOrderTerms) or approval.spender != quote.params.to:
        return False
    trade = quote.terms.trade
    return approval.token == trade.sell_token and approval.amount <= trade.sell_amount


def read_wrap(params: UnsignedTransaction) -> WrapOrderTerms | None:
    """Return the terms of `deposit()` with a value, or `withdraw(amount)`, of WETH; else None."""
    if params.to != WETH:
        return None
    for operation, amount in (
        (WrapOperation.WRAP, params.value),
        (WrapOperation.UNWRAP, int.from_bytes(params.data[4:36])),
    ):
        expected = calldata(operation, amount), value_of(operation, amount)
        if amount and (params.data, params.value) == expected:
            return WrapOrderTerms(operation, amount)
    return None


def is_empty_self_transfer(signed: SignedTransaction) -> bool:
    """Return whether it moves nothing: a wallet cancels a nonce with it."""
    params = signed.params
    return params.to == signed.sender and not params.data and not params.value


def plain_trade(params: UnsignedTransaction) -> Trade:
    """Return the amounts of an order of kind `transaction`: the ETH that it sends."""
    return Trade(NATIVE, NATIVE, params.value, 0, 0)


def check_intrinsic_gas(signed: SignedTransaction, *, is_amsterdam: bool) -> None:
    """Refuse a gas limit that no block accepts: a simulation does not always say so. Raises
    ValidationError with reason GAS_TOO_LOW.
    """
    params = signed.params
    needed = intrinsic_gas(
        params.data,
        is_amsterdam=is_amsterdam,
        has_value=params.value > 0,
        to_self=params.to == signed.sender,
    )
    check_gas(params, needed)


def check_gas(params: UnsignedTransaction, needed: int) -> None:
    """Raise ValidationError with reason GAS_TOO_LOW if the limit is below `needed` gas units."""
    if params.gas_limit < needed:
        text, gas_limit = "its gas limit is too low", params.gas_limit
        raise _refusal("GAS_TOO_LOW", text, "gasLimit", f">= {needed}", gas_limit)


def check_fee(signed: SignedTransaction, base_fee: int, ceiling: int) -> None:
    """Check the fee cap against the next block's base fee and the operator's ceiling.

    A priority fee above the fee cap is already refused when the bytes are decoded. Raises
    ValidationError with reason FEE_TOO_LOW or FEE_TOO_HIGH.
    """
    cap = signed.params.max_fee_per_gas
    if cap < base_fee:
        text = "its maxFeePerGas is below the base fee of the next block"
        raise _refusal("FEE_TOO_LOW", text, "maxFeePerGas", f">= {base_fee}", cap)
    if cap > ceiling:
        text = "its maxFeePerGas is above the limit of this service"
        raise _refusal("FEE_TOO_HIGH", text, "maxFeePerGas", f"<= {ceiling}", cap)


def check_bump(signed: SignedTransaction, replaced: Sequence[int]) -> None:
    """Refuse a replacement whose fee cap is not a tenth above the caps of what it replaces. Raises
    ValidationError with reason REPLACEMENT_UNDERPRICED.
    """
    least = max((-(-cap * (100 + _BUMP) // 100) for cap in replaced), default=0)
    cap = signed.params.max_fee_per_gas
    if cap < least:
        text = "it replaces an open order and must raise maxFeePerGas by a tenth"
        raise _refusal("REPLACEMENT_UNDERPRICED", text, "maxFeePerGas", f">= {least}", cap)


NONCE_GAP = "NONCE_GAP"
"""`details.reason`: a transaction with a lower nonce is missing."""


def check_nonce_gap(nonce: int, free: int) -> None:
    """Refuse a nonce after the next free one: no block can include it before the missing one.
    Raises ValidationError with reason NONCE_GAP.
    """
    if nonce > free:
        text = f"nonce {nonce} leaves a gap: the wallet's next free nonce is {free}"
        raise _refusal(NONCE_GAP, text, "nonce", str(free), nonce)


def nonce_in_use(order: Order) -> ValidationError:
    """Return the error for another transaction at the nonce of a live order."""
    text = (
        f"nonce {order.nonce} belongs to an open order, which only the same call with a higher fee"
        " or an empty transfer to the wallet itself may replace"
    )
    return _refusal("NONCE_IN_USE", text, "nonce", "a free nonce", order.nonce, order)


def quote_used(used_nonce: int, nonce: int, order: Order | None = None) -> ValidationError:
    """Return the error for a second transaction of a quote that `used_nonce` spends.

    With `order`, an open order with the same call at that nonce: another quote would be spent, but
    the wallet has probably signed one swap twice.
    """
    text = "its quote is spent by another transaction of this wallet: both would be paid"
    if order is not None:
        text = "the same swap is under way at another nonce of this wallet: both would be paid"
    return _refusal("QUOTE_USED", text, "nonce", str(used_nonce), nonce, order)


def other_form_open(order: Order) -> ValidationError:
    """Return the error for the second form (plain or batched) of the swap of an open order."""
    text = f"order {order.order_id} is open with the other form of this swap, at the same nonce"
    advice = "Nothing was sent. Follow that order; it can be cancelled."
    return ValidationError(text, reason="QUOTE_USED", suggestion=advice, order_id=order.order_id)


def unmatched(reason: str, message: str) -> ValidationError:
    """Return the error for a transaction that belongs to nothing this service issued."""
    advice = "Nothing was sent. Request a fresh quote and send its transaction."
    return ValidationError(message, reason=reason, suggestion=advice)


def rejected_before(order: Order) -> ValidationError:
    """Return the error for the bytes of an order that ended without a block."""
    assert order.failure is not None
    return ValidationError(
        order.failure.message,
        reason=order.failure.code.value,
        suggestion="Follow the order; the same bytes may be sent again after the next block.",
        order_id=order.order_id,
        tx_hash=order.tx_hash,
        may_be_mined=may_be_mined(order.failure.code, order.deadline_s),
    )


def is_cancel(order: Order) -> bool:
    return order.kind is OrderKind.CANCEL


def _refusal(  # noqa: PLR0917  code, text and one field entry
    reason: str, message: str, name: str, expected: str, provided: object,
    order: Order | None = None,
) -> ValidationError:  # fmt: skip
    field = {"field": f"transaction.{name}", "expected": expected, "provided": str(provided)}
    advice = "Nothing was sent. Correct this field in the wallet and send it again."
    return ValidationError(
        message,
        [field],
        reason=reason,
        suggestion=advice,
        order_id=None if order is None else order.order_id,
    )
