"""The answers about swap orders: submission, status and history."""

from typing import Annotated

from msgspec import UNSET, UnsetType

from quietswap.contract import examples
from quietswap.contract.base import (
    TERMINAL,
    AddressText,
    AmountText,
    Count,
    Envelope,
    HashText,
    OrderKindName,
    OrderState,
    RelayName,
    Tier,
    Timestamp,
    UrlText,
    WireStruct,
    doc,
)
from quietswap.contract.limits import POLLING_INTERVAL_S
from quietswap.contract.received import Delivered, FeePaid, Received, Refund
from quietswap.domain.order.order import FailureCode
from quietswap.domain.quote.relay_settings import EndpointType, ShareMode
from quietswap.domain.token import WETH

OrderId = Annotated[str, doc("Order id", examples.ORDER_ID)]
TrackingUrl = Annotated[
    UrlText, doc("Tracking URL of the relay", f"https://relay.example/tx/{examples.TX_HASH}")
]
CreatedAt = Annotated[Timestamp, doc("When the service accepted the order (ISO 8601, UTC)")]
SubmittedAt = Annotated[
    Timestamp,
    doc("When the relay took it; before that, when the service accepted it (ISO 8601, UTC)"),
]
SubmittedAtOrNull = Annotated[
    Timestamp | None,
    doc(
        "When the relay took it; before that, when the service accepted it (ISO 8601, UTC)",
        examples.TIME,
        type="string",
        format="date-time",
    ),
]
"""The service always sends it; a client accepts null, too."""
ExpiresAt = Annotated[
    Timestamp, doc("When the order expires (ISO 8601, UTC)", "2027-01-15T08:30:00.000Z")
]
BlockNumber = Annotated[Count, doc("Block number", 23_800_000)]
GasUsed = Annotated[AmountText, doc("Gas units used", "180123")]
GasPrice = Annotated[AmountText, doc("Wei per gas unit actually paid", "1000000000")]
SellAmount = Annotated[AmountText, doc("Sell amount, smallest units", examples.ONE_ETHER)]
SoldToken = Annotated[AddressText, doc("Sold token (EIP-55 checksummed)", WETH)]
BoughtToken = Annotated[AddressText, doc("Bought token (EIP-55 checksummed)", examples.USDC)]


class SwapOrder(WireStruct, frozen=True, kw_only=True):
    """A submitted swap."""

    order_id: OrderId
    provider: RelayName
    tier: Tier
    status: OrderState
    submitted_at: SubmittedAtOrNull
    expires_at: ExpiresAt
    estimated_execution_time: Annotated[str, doc("Estimate for people", "15-45 seconds")]
    tracking_url: TrackingUrl
    provider_order_id: Annotated[
        str | None, doc("The relay's own identifier", examples.TX_HASH, type="string")
    ]
    tx_hash: HashText


class Tracking(WireStruct, frozen=True, kw_only=True):
    """How to follow the order."""

    status_endpoint: Annotated[str, doc("Path to poll", f"/api/v1/mev/orders/{examples.ORDER_ID}")]
    polling_interval: Annotated[float, doc("Seconds between polls", POLLING_INTERVAL_S)]


class SwapOrderResponse(WireStruct, frozen=True, kw_only=True):
    """The submitted swap and how to follow it."""

    order: Annotated[SwapOrder, doc("The order")]
    tracking: Annotated[Tracking, doc("How to follow the order")]


class OrderParams(WireStruct, frozen=True, kw_only=True):
    """What the order swaps."""

    from_token: SoldToken
    to_token: BoughtToken
    amount: SellAmount
    min_return_amount: Annotated[AmountText, doc("Minimum output, smallest units", "2985000000")]


class OrderFailure(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an order failed or was cancelled; gas and block only if it reverted on chain."""

    code: Annotated[str, doc("Reason for programs", enum=[c.value for c in FailureCode])]
    message: Annotated[str, doc("Reason for people")]
    may_be_mined: Annotated[
        bool | UnsetType,
        doc("Whether it may still be mined: a relay received it and its nonce is unused", False),
    ] = UNSET
    block_number: BlockNumber | None = None
    gas_used: GasUsed | None = None
    effective_gas_price: GasPrice | None = None


class OrderStatusResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Status record of an order. Members that are not known yet are absent."""

    order_id: OrderId
    status: OrderState
    created_at: CreatedAt
    order_params: Annotated[OrderParams, doc("What the order swaps")]
    tx_hash: HashText | None = None
    submitted_at: SubmittedAt | None = None
    block_number: BlockNumber | None = None
    gas_used: GasUsed | None = None
    effective_gas_price: GasPrice | None = None
    confirmed_at: Annotated[
        Timestamp | None, doc("Time of its block; present once confirmed (ISO 8601, UTC)")
    ] = None
    error: Annotated[OrderFailure | None, doc("Why the order failed or was cancelled")] = None
    kind: Annotated[
        OrderKindName | None, doc("What the order's transaction does; absent for a swap")
    ] = None
    received: Annotated[
        Received | None, doc("What the wallet received; present once a block includes a swap")
    ] = None
    fee_paid_wei: FeePaid | None = None
    delivered: Annotated[
        Delivered | None, doc("Received against quoted; present once confirmed and known")
    ] = None
    refund: Annotated[
        Refund | None, doc("Refund by the relay; present once a block includes the order")
    ] = None
    expires_at: ExpiresAt | None = None
    endpoint_type: Annotated[
        str | None,
        doc("The relay's endpoint that it goes to", enum=[e.value for e in EndpointType]),
    ] = None
    share_mode: Annotated[
        str | None,
        doc(
            "Which searchers the relay is told to share it with", enum=[s.value for s in ShareMode]
        ),
    ] = None

    @property
    def is_terminal(self) -> bool:
        """Whether polling may stop."""
        return self.status in TERMINAL


class OrderSummary(WireStruct, frozen=True, kw_only=True):
    """Tokens and amounts of the order."""

    sell_token: SoldToken
    buy_token: BoughtToken
    sell_amount: SellAmount
    buy_amount: Annotated[AmountText, doc("Quoted output, smallest units", "3000000000")]


class HistoryItem(WireStruct, frozen=True, kw_only=True):
    """One order of the history."""

    order_id: OrderId
    status: Annotated[OrderState, doc("Order status", "confirmed")]
    tx_hash: Annotated[str | None, doc("Transaction hash; null if not submitted")] = None
    block_number: Annotated[Count | None, doc("Block number; null if not confirmed")] = None
    created_at: CreatedAt
    confirmed_at: Annotated[
        Timestamp | None, doc("Time of its block; null if not confirmed (ISO 8601, UTC)")
    ] = None
    kind: OrderKindName = "swap"
    summary: Annotated[OrderSummary, doc("Tokens and amounts of the order")]


class Pagination(WireStruct, frozen=True, kw_only=True):
    """This page, and the offset of the next page."""

    limit: Annotated[Count, doc("Orders per page", 50)]
    offset: Annotated[Count, doc("Orders skipped", 0)]
    next_offset: Annotated[Count | None, doc("Offset of the next page", 1, type="integer")] = None


class OrderHistoryResponse(WireStruct, frozen=True, kw_only=True):
    """One page of a wallet's orders, newest first; only orders of the calling key."""

    orders: Annotated[tuple[HistoryItem, ...], doc("Orders")]
    total: Annotated[Count, doc("Number of all orders that match", 1)]
    has_more: Annotated[bool, doc("Whether more orders follow", False)]
    pagination: Annotated[Pagination, doc("This page, and the offset of the next page")]


class SwapOrderEnvelope(Envelope[SwapOrderResponse], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/orders."""


class OrderStatusEnvelope(Envelope[OrderStatusResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/orders/:orderId."""


class OrderHistoryEnvelope(Envelope[OrderHistoryResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/orders/user/:userAddress."""
