"""The columns of `orders` and `order_events`, and the conversion in both directions."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from quietswap.rules.amounts import difference_bps
from quietswap.rules.chain.block_facts import BlockFacts
from quietswap.rules.chain.pool_reference import Reference
from quietswap.rules.chain.received import Refund, RefundStatus
from quietswap.rules.orders.order import (
    Failure,
    FailureCode,
    Inclusion,
    Order,
    OrderEvent,
    OrderKind,
    OrderStatus,
)
from quietswap.service.storage.database import Row, Value

FIXED = (
    "order_id", "client_id", "kind", "wallet", "nonce", "tx_hash", "sell_token", "buy_token",
    "sell_amount", "min_buy_amount", "created_at_ms", "source", "usd_cents",
    "quote_id", "deadline_s", "fee_cap", "priority_fee", "conversion",
)  # fmt: skip
"""Written once, by the insert."""
_PLAIN = (
    "status", "buy_amount", "tier", "endpoint_type", "share_mode", "expires_at_ms",
    "watch_until_ms", "submitted_at_ms", "submitted_head", "sent_head", "attempts",
    "relay_answer", "second_tier",
)  # fmt: skip
_INCLUSION = (
    "block_number", "block_hash", "gas_used", "effective_gas_price", "block_time_ms", "succeeded",
)  # fmt: skip
_RESULT = (
    "received", "received_issue", "delivered_bps", "refund_status", "refund_wei", "refund_tx",
    "reference", "reference_wei",
)  # fmt: skip
"""What the block brought. `delivered_bps` is derived, for statistics in SQL."""
_FACTS = "base_fee", "fullness_bps", "builder"
"""What the block says of itself."""
MOVING = (*_PLAIN, *_INCLUSION, *_RESULT, *_FACTS, "failure_code", "failure_message", "watched")
"""Written by every update."""
COLUMNS = (*FIXED, *MOVING, "version")
EVENT_COLUMNS = "order_id, at_ms, sighting, from_status, to_status, evidence"

_MOST_BPS = 1_000_000
"""Larger differences are stored as this one, so that statistics have few different values."""
_AS_TEXT = {
    "nonce", "sell_amount", "min_buy_amount", "buy_amount", "effective_gas_price", "fee_cap",
    "priority_fee", "base_fee",
}  # fmt: skip
"""Integers that may exceed 64 bits are stored as decimal text."""
_TO_TEXT = _AS_TEXT | {"kind", "status"}


def _reader(columns: Sequence[str]) -> Callable[[object], list[Value]]:
    """Return a function that reads the stored values of these columns from a record."""
    read = attrgetter(*columns)
    to_text = [column in _TO_TEXT for column in columns]
    return lambda record: [
        str(value) if text and value is not None else value
        for value, text in zip(read(record), to_text, strict=True)
    ]


_fixed, _plain, _included = _reader(FIXED), _reader(_PLAIN), _reader(_INCLUSION[:-1])
_facts = _reader(_FACTS)


def fixed_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `FIXED`."""
    return tuple(_fixed(order))


def moving_values(order: Order) -> tuple[Value, ...]:
    """Return the values of `MOVING`."""
    block, failure = order.inclusion, order.failure
    return (
        *_plain(order),
        *((None,) * 6 if block is None else (*_included(block), int(block.succeeded))),
        *((None,) * len(_RESULT) if block is None else _result(order, block)),
        *((None,) * len(_FACTS) if block is None or block.facts is None else _facts(block.facts)),
        *((None, None) if failure is None else (failure.code.value, failure.message)),
        int(order.watched),
    )


def _result(order: Order, block: Inclusion) -> tuple[Value, ...]:
    received, refund, reference = block.received, block.refund, block.reference
    has_bps = received is not None and block.succeeded and order.buy_amount > 0
    bps = difference_bps(received or 0, order.buy_amount) if has_bps else None
    return (
        None if received is None else str(received),
        block.received_issue,
        None if bps is None else max(-_MOST_BPS, min(bps, _MOST_BPS)),
        *((None,) * 3 if refund is None else _refund(refund)),
        *((None,) * 2 if reference is None else (str(reference.amount), str(reference.value_wei))),
    )


def _refund(refund: Refund) -> tuple[Value, ...]:
    return refund.status.value, str(refund.amount_wei), refund.tx_hash


def order_from(row: Row) -> Order:
    """Return the order of a row of `COLUMNS`, followed by its signed bytes or NULL."""
    *columns, raw = row
    cell: dict[str, Any] = {
        name: int(value) if name in _AS_TEXT and value is not None else value
        for name, value in zip(COLUMNS, columns, strict=True)
    }
    included = {name: cell.pop(name) for name in _INCLUSION}
    result = {name: cell.pop(name) for name in _RESULT}
    facts = {name: cell.pop(name) for name in _FACTS}
    code, message = cell.pop("failure_code"), cell.pop("failure_message")
    included["succeeded"] = bool(included["succeeded"])
    included |= _result_from(result)
    included["facts"] = None if facts["base_fee"] is None else BlockFacts(**facts)
    converted = {
        "kind": OrderKind(cell["kind"]),
        "status": OrderStatus(cell["status"]),
        "watched": bool(cell["watched"]),
    }
    return Order(
        **cell | converted,
        raw=raw,
        inclusion=None if included["block_number"] is None else Inclusion(**included),
        failure=None if code is None else Failure(FailureCode(code), message),
    )


def _result_from(cells: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an Inclusion that `_RESULT` holds."""
    received, status, worth = cells["received"], cells["refund_status"], cells["reference"]
    refund = None
    if status is not None:
        refund = Refund(RefundStatus(status), int(cells["refund_wei"]), cells["refund_tx"])
    return {
        "received": None if received is None else int(received),
        "received_issue": cells["received_issue"],
        "refund": refund,
        "reference": worth and Reference(int(worth), int(cells["reference_wei"])),
    }


event_values = attrgetter(*OrderEvent.__match_args__[:-1])
"""Returns the values of `EVENT_COLUMNS`."""


# The SQL below is composed only of the constants above.
SELECT = f"""
SELECT {", ".join(f"o.{column}" for column in COLUMNS)}, b.raw
FROM orders o LEFT JOIN order_bytes b ON b.order_id = o.order_id
"""  # noqa: S608
"""A row for `order_from`."""
