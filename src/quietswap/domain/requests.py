"""What each use case is asked and what it answers: the words between the edge and the services.

Everything here was already checked for shape and meaning (addresses, amounts, ranges). Amounts are
integers in smallest units (wei for ETH), times are Unix milliseconds unless a name says otherwise.
"""

from dataclasses import dataclass
from typing import Any

from quietswap.domain.address import Address
from quietswap.domain.order import Order
from quietswap.domain.quote import Operation


@dataclass(frozen=True, slots=True)
class QuoteAsk:
    """A swap to quote: `sell_amount` in smallest units, `slippage_bps` in basis points."""

    sell_token: Address
    buy_token: Address
    sell_amount: int
    wallet: Address
    slippage_bps: int


@dataclass(frozen=True, slots=True)
class SwapSubmission:
    """A signed swap. `terms` is `orderParams` and `metadata` `providerMetadata`, both as sent.

    Every required member is there with its JSON type; whether the values are the issued ones is
    for the use case to say. `raw_hex` is `signedTransaction`, not yet decoded.
    """

    terms: dict[str, Any]
    raw_hex: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Submitted:
    """An order that was taken. `estimated_execution` is for people, such as `15-45 seconds`."""

    order: Order
    relay_name: str
    tracking_url: str
    provider_order_id: str
    estimated_execution: str


@dataclass(frozen=True, slots=True)
class WrapInfo:
    """A wallet's balances in wei, and the wrapped token's name and symbol."""

    name: str
    symbol: str
    eth: int
    weth: int


@dataclass(frozen=True, slots=True)
class WrapAsk:
    """A wrap or unwrap to quote: `amount` in wei."""

    operation: Operation
    amount: int
    wallet: Address


@dataclass(frozen=True, slots=True)
class WrapSubmission:
    """A signed wrap or unwrap; `quote_id` and `amount` (wei) are None where none was sent."""

    quote_id: str | None
    raw_hex: str
    metadata: dict[str, Any]
    operation: Operation
    amount: int | None


@dataclass(frozen=True, slots=True)
class WrapSubmitted:
    """A wrap that was taken: `amount` in wei, `sender` recovered from the signature."""

    order: Order
    operation: Operation
    sender: Address
    amount: int
    relay_name: str
    tracking_url: str
    explorer_url: str
