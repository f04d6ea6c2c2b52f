"""Input and output of the use cases.

The API has already checked form and ranges. Amounts are integers in smallest units (wei for ETH),
times are Unix milliseconds unless a name says otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from quietswap.rules.orders.order import Order
from quietswap.rules.quotes.quote import WrapOperation
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class SwapQuoteRequest:
    """A swap to quote: `sell_amount` in smallest units, `slippage_bps` in basis points.

    `verified` is called with each route when it is verified, while others are awaited.
    """

    sell_token: Address
    buy_token: Address
    sell_amount: int
    wallet: Address
    slippage_bps: int
    verified: Callable[[Candidate], None] | None = field(default=None, compare=False, repr=False)


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
    """An accepted order. `estimated_execution` is text for people, such as `15-45 seconds`."""

    order: Order
    relay_name: str
    tracking_url: str
    provider_order_id: str
    estimated_execution: str


@dataclass(frozen=True, slots=True)
class WrapBalances:
    """A wallet's balances in wei, and the wrapped token's name and symbol."""

    name: str
    symbol: str
    eth: int
    weth: int


@dataclass(frozen=True, slots=True)
class IndicativePriceRequest:
    """The swap to price; `sell_amount` in smallest units. It belongs to no wallet."""

    sell_token: Address
    buy_token: Address
    sell_amount: int


@dataclass(frozen=True, slots=True)
class WrapQuoteRequest:
    """A wrap or unwrap to quote: `amount` in wei."""

    operation: WrapOperation
    amount: int
    wallet: Address


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
