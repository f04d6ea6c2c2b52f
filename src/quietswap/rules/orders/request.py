"""Requests of orders, and what is answered. Amounts in smallest units (wei for ETH)."""

from dataclasses import dataclass
from typing import Any

from quietswap.rules.orders.order import Order
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class SwapOrderRequest:
    """A signed swap. `terms` is `orderParams` and `metadata` `providerMetadata`, both as sent.

    Every required member is present with its JSON type; the use case compares the values with the
    issued ones. `raw_hex` is `signedTransaction`, not yet decoded.
    """

    terms: dict[str, Any]
    raw_hex: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SubmittedSwap:
    """An accepted order. `estimated_execution` is text for people, of `usual_wait`."""

    order: Order
    relay_name: str
    tracking_url: str
    provider_order_id: str
    estimated_execution: str


@dataclass(frozen=True, slots=True)
class WrapOrderRequest:
    """A signed wrap or unwrap; `quote_id` and `amount` (wei) are None if not sent."""

    quote_id: str | None
    raw_hex: str
    metadata: dict[str, Any]
    operation: WrapOperation
    amount: int | None


@dataclass(frozen=True, slots=True)
class SubmittedWrap:
    """An accepted wrap: `amount` in wei, `sender` recovered from the signature."""

    order: Order
    operation: WrapOperation
    sender: Address
    amount: int
    relay_name: str
    tracking_url: str
    explorer_url: str
