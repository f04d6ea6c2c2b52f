"""The changes of an order that its client is told, by the observation that caused them."""

from enum import StrEnum

from quietswap.rules.orders.order import OrderEventType

POSTED = "posted"
"""The observation that stores a new order."""
FINALIZED = "finalized"
"""The observation that the block which decided is final. It changes no status."""


class OrderChange(StrEnum):
    """The type of an event of the stream and of webhooks. The values are part of the interface."""

    CREATED = "order.created"
    """Stored; again when its client posts the same bytes of an ended order."""
    SUBMITTED = "order.submitted"
    MINING = "order.mining"
    CONFIRMED = "order.confirmed"
    FAILED = "order.failed"
    CANCELLED = "order.cancelled"
    REORGANISED = "order.reorganised"
    """An end is taken back: its block is no longer canonical. The order is open again."""
    FINALIZED = "order.finalized"
    """The block that decided is final: nothing follows."""


_BY_OBSERVATION: dict[str, OrderChange] = {
    POSTED: OrderChange.CREATED,
    OrderEventType.REPOSTED: OrderChange.CREATED,
    OrderEventType.RELAY_ACCEPTED: OrderChange.SUBMITTED,
    OrderEventType.NEW_HEAD: OrderChange.MINING,
    OrderEventType.INCLUDED: OrderChange.CONFIRMED,
    OrderEventType.REVERTED: OrderChange.FAILED,
    OrderEventType.NOT_SENT: OrderChange.FAILED,
    OrderEventType.REFUSED: OrderChange.FAILED,
    OrderEventType.NONCE_TAKEN: OrderChange.CANCELLED,
    OrderEventType.EXPIRED: OrderChange.CANCELLED,
    OrderEventType.REORGANISED: OrderChange.REORGANISED,
    FINALIZED: OrderChange.FINALIZED,
}


def change_by(observation: str) -> OrderChange | None:
    """Return the change that an observation makes; None for one that its client is not told.

    An observation that corrects only the reason of an end gives the type of that end again.
    """
    return _BY_OBSERVATION.get(observation)
