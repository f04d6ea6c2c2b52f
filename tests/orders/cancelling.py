"""What tests of cancelling do: a live swap, its cancel signed, and a refusal caught."""

from typing import Any

import pytest

from quietswap.rules.errors.base import RequestError
from quietswap.rules.orders.cancel_transaction import CancelOrderRequest, CancelQuote
from quietswap.rules.orders.order import Failure, FailureCode, Order, OrderEventType, Transition
from quietswap.service.orders.transition import apply_transition
from tests.orders.submitting import (
    KEY,
    Desk,
    swap_submission,
)
from tests.signing import FIELDS, sign

CAP = FIELDS["maxFeePerGas"]
GWEI = 10**9


async def swapped(desk: Desk) -> Order:
    """Return a live swap."""
    return (await desk.swap(KEY, swap_submission())).order


def signed(quote: CancelQuote, **changes: Any) -> str:
    """Return the bytes of a cancel as a wallet signs it."""
    params = quote.params
    plain = {
        "to": params.to,
        "data": "0x",
        "value": 0,
        "gas": params.gas_limit,
        "maxFeePerGas": params.max_fee_per_gas,
        "nonce": params.nonce,
    }
    return sign(**(plain | changes))


def submission(quote: CancelQuote, raw: str | None = None, **changes: Any) -> CancelOrderRequest:
    plain = {
        "order_id": quote.order_id,
        "raw_hex": raw or signed(quote),
        "metadata": quote.protection.metadata(),
    }
    return CancelOrderRequest(**(plain | changes))


async def refused(
    desk: Desk, sent: CancelOrderRequest, kind: type[RequestError] = RequestError
) -> Any:
    with pytest.raises(kind) as error:
        await desk.cancel.submit(KEY, sent)
    return error.value


async def ended(desk: Desk, order: Order, code: FailureCode) -> None:
    """End an order without a block."""
    event_type = {"NOT_SENT": OrderEventType.NOT_SENT, "REFUSED": OrderEventType.REFUSED}.get(
        code.value, OrderEventType.EXPIRED
    )
    step = Transition(event_type, "test", Failure(code, "test"))
    assert (await apply_transition(desk.storage.orders, order, step, desk.clock.now_ms())).applied
