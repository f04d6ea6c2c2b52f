"""The answers about swap orders: submission, status and history."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from quietswap.rules import wire as base
from quietswap.rules.chain.received import ReceivedIssue, RefundStatus
from quietswap.rules.contract.transactions import SentMetadata, TransactionParams
from quietswap.rules.orders.cancel_transaction import GAS_LIMIT, MOST_GAS
from quietswap.rules.orders.order import FailureCode
from quietswap.rules.relays import EndpointType, ShareMode
from quietswap.rules.tokens.token import WETH
from quietswap.rules.wire import AmountText, Count, Envelope, Tier, Timestamp, WireStruct, doc

Bps = Annotated[int, doc("Basis points, rounded down; negative means less", -3)]
FeePaid = Annotated[
    AmountText, doc("Network fee paid in wei: gasUsed times effectiveGasPrice", "180123000000000")
]


class Received(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """What the wallet received. Either `amount` or `reason` is present."""

    token: Annotated[base.AddressText, doc("Bought token (EIP-55 checksummed)", base.USDC)]
    amount: Annotated[
        AmountText | None,
        doc(
            "Smallest units: Transfer logs of the token to the wallet minus those from it, in the"
            " receipt of the canonical block. 0 after a revert",
            "2998000000",
        ),
    ] = None
    reason: Annotated[str | None, doc("Why the amount is unknown", enum=ReceivedIssue)] = None
    unwrapped: Annotated[
        AmountText | None,
        doc(
            "Of the amount, the wei that arrived as ETH, because the swap's transaction unwrapped"
            " them; the others are WETH",
            base.ONE_ETHER,
        ),
    ] = None


class Delivered(WireStruct, frozen=True, kw_only=True):
    """The received amount compared with the quote."""

    to_promise_bps: Annotated[
        Bps, doc("Received against the quoted output, basis points, rounded down", -3)
    ]
    to_minimum_bps: Annotated[
        Bps, doc("Received against the minimum output, basis points, rounded down", 47)
    ]


class Refund(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """A refund by the relay for the backrun of the order."""

    status: Annotated[
        Literal["none", "reported", "paid"],
        doc(
            "reported: the relay reports it, nothing proves it. paid: a transaction in the block of"
            " the order paid it to the wallet",
            "none",
            type="string",
            enum=RefundStatus,
        ),
    ]
    amount_wei: Annotated[AmountText, doc("Wei; 0 for none", "0")]
    tx_hash: Annotated[
        str | None, doc("The transaction that paid it; absent unless paid", base.TX_HASH)
    ] = None


class Reference(WireStruct, frozen=True, kw_only=True):
    """What the swap was worth at the price of Uniswap's pools, before fees and before its block."""

    block_number: Annotated[
        Count, doc("Block after which the pools were read: the one before the order's", 23_799_999)
    ]
    amount: Annotated[
        AmountText, doc("The sold amount in the bought token, smallest units", "3003600000")
    ]
    value_wei: Annotated[AmountText, doc("The sold amount in ETH, wei", base.ONE_ETHER)]
    received_bps: Annotated[Bps, doc("Received against `amount`, basis points, rounded down", -12)]


OrderId = Annotated[str, doc("Order id", base.ORDER_ID)]
TrackingUrl = Annotated[
    base.UrlText, doc("Tracking URL of the relay", f"https://relay.example/tx/{base.TX_HASH}")
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
        base.TIME,
        type="string",
        format="date-time",
    ),
]
"""The service always sends it; a client accepts null, too."""
ExpiresAt = Annotated[
    Timestamp, doc("When the order expires (ISO 8601, UTC)", "2027-01-15T08:30:00.000Z")
]
Conversion = Annotated[
    base.WrapOperation | None,
    doc(
        "Whether the swap's transaction also wrapped the ETH that it sells, or unwrapped its"
        " minimum; none: neither"
    ),
]
RelayAnswer = Annotated[
    str | None,
    doc(
        "What the relay answered last; none if it took the transaction, or a block has it. These"
        " are its own words: no text of this service, and no proof of anything",
        "HTTP 200, it says “fee too low”",
    ),
]
BlockNumber = Annotated[Count, doc("Block number", 23_800_000)]
GasUsed = Annotated[AmountText, doc("Gas units used", "180123")]
GasPrice = Annotated[AmountText, doc("Wei per gas unit actually paid", "1000000000")]
SellAmount = Annotated[AmountText, doc("Sell amount, smallest units", base.ONE_ETHER)]
SoldToken = Annotated[base.AddressText, doc("Sold token (EIP-55 checksummed)", WETH)]
BoughtToken = Annotated[base.AddressText, doc("Bought token (EIP-55 checksummed)", base.USDC)]


class SwapOrder(WireStruct, frozen=True, kw_only=True):
    """A submitted swap."""

    order_id: OrderId
    provider: base.RelayName
    tier: Tier
    status: base.OrderState
    submitted_at: SubmittedAtOrNull
    expires_at: ExpiresAt
    executable_until: base.ExecutableUntil = None
    estimated_execution_time: Annotated[
        str,
        doc(
            "How many blocks orders of this service waited in the last week, for people: half of"
            " them, and nine of ten. Not known below 20 orders.",
            "usually within 1 block (12 seconds), nine of ten within 3 blocks (36 seconds)",
        ),
    ]
    tracking_url: TrackingUrl
    provider_order_id: Annotated[
        str | None, doc("The relay's own identifier", base.TX_HASH, type="string")
    ]
    tx_hash: base.HashText


class Tracking(WireStruct, frozen=True, kw_only=True):
    """How to follow the order."""

    status_endpoint: Annotated[str, doc("Path to poll", f"/api/v1/mev/orders/{base.ORDER_ID}")]
    polling_interval: Annotated[float, doc("Seconds between polls", base.POLLING_INTERVAL_S)]


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

    code: Annotated[str, doc("Reason for programs", enum=FailureCode)]
    message: Annotated[str, doc("Reason for people")]
    may_be_mined: Annotated[
        bool | UnsetType,
        doc(
            "Whether it may still be mined: a relay received it and its nonce is unused. False once"
            " blocks are past executableUntil: one could hold it only as a revert",
            False,
        ),
    ] = UNSET
    block_number: BlockNumber | None = None
    gas_used: GasUsed | None = None
    effective_gas_price: GasPrice | None = None


class OrderStatusResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """Status record of an order. Members that are not known yet are absent."""

    order_id: OrderId
    status: base.OrderState
    created_at: CreatedAt
    order_params: Annotated[OrderParams, doc("What the order swaps")]
    tx_hash: base.HashText | None = None
    submitted_at: SubmittedAt | None = None
    block_number: BlockNumber | None = None
    gas_used: GasUsed | None = None
    effective_gas_price: GasPrice | None = None
    confirmed_at: Annotated[
        Timestamp | None,
        doc(
            "Time of its block, or `createdAt` if under 12 s later; present once confirmed"
            " (ISO 8601)"
        ),
    ] = None
    error: Annotated[OrderFailure | None, doc("Why the order failed or was cancelled")] = None
    kind: Annotated[base.OrderKindName | UnsetType, doc("What the order's transaction does")] = (
        UNSET
    )
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
    reference: Annotated[
        Reference | None,
        doc("Received against the pools' price; present if it was read when it was confirmed"),
    ] = None
    expires_at: ExpiresAt | None = None
    endpoint_type: Annotated[
        str | None, doc("The relay's endpoint that it goes to", enum=EndpointType)
    ] = None
    share_mode: Annotated[
        str | None, doc("Which searchers the relay is told to share it with", enum=ShareMode)
    ] = None
    relay_answer: RelayAnswer = None
    executable_until: base.ExecutableUntil | UnsetType = UNSET
    nonce: Annotated[Count | None, doc("Nonce of its transaction", 7)] = None
    conversion: Conversion = None

    @property
    def is_terminal(self) -> bool:
        """Whether polling may stop."""
        return self.status in base.TERMINAL


class OrderSummary(WireStruct, frozen=True, kw_only=True):
    """Tokens and amounts of the order."""

    sell_token: SoldToken
    buy_token: BoughtToken
    sell_amount: SellAmount
    buy_amount: Annotated[AmountText, doc("Quoted output, smallest units", "3000000000")]


class HistoryItem(WireStruct, frozen=True, kw_only=True):
    """One order of the history."""

    order_id: OrderId
    status: Annotated[base.OrderState, doc("Order status", "confirmed")]
    tx_hash: Annotated[str | None, doc("Transaction hash; null if not submitted")] = None
    block_number: Annotated[Count | None, doc("Block number; null if not confirmed")] = None
    created_at: CreatedAt
    confirmed_at: Annotated[
        Timestamp | None,
        doc(
            "Time of its block, or `createdAt` if under 12 s later; null if not confirmed"
            " (ISO 8601)"
        ),
    ] = None
    kind: base.OrderKindName = "swap"
    relay_answer: RelayAnswer = None
    conversion: Conversion = None
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


TargetId = Annotated[OrderId, doc("Id of the order to cancel")]


class CancelTransactionParams(TransactionParams, frozen=True, kw_only=True):
    """The EIP-1559 transaction to sign, unchanged: an empty transfer of the wallet to itself."""

    to: Annotated[base.AddressText, doc("The wallet itself (EIP-55 checksummed)", base.WALLET)]
    data: Annotated[base.HexText, doc("No calldata", const="0x")]
    value: Annotated[AmountText, doc("No wei", const="0")]
    gas_limit: Annotated[
        AmountText,
        doc(
            f"{GAS_LIMIT}: gas units of an empty transfer; at most {MOST_GAS} where the wallet has"
            " delegated code (EIP-7702)",
            str(GAS_LIMIT),
        ),
    ]
    max_fee_per_gas: Annotated[
        AmountText, doc("Maximum wei per gas unit: 12.5 % more than the order's", "3000000000")
    ]
    nonce: Annotated[Count | None, doc("The order's nonce", 7, type="integer")]


class CancelQuoteResponse(WireStruct, frozen=True, kw_only=True):
    """Answer to a body without signedTransaction: what to sign, valid for 5 minutes."""

    order_id: TargetId
    provider: base.RelayName
    transaction_params: Annotated[CancelTransactionParams, doc("The transaction to sign")]
    provider_metadata: SentMetadata
    created_at: Annotated[
        Timestamp | None,
        doc("Time of issue (ISO 8601, UTC)", base.TIME, type="string", format="date-time"),
    ] = None
    valid_until: Annotated[Timestamp, doc("Expiry (ISO 8601, UTC)", "2027-01-15T08:05:00.000Z")]


class CancelTarget(WireStruct, frozen=True, kw_only=True):
    """The order to cancel; the chain decides which of the two transactions is mined."""

    order_id: TargetId
    status: base.OrderState


class Cancel(WireStruct, frozen=True, kw_only=True):
    """The cancel, an order with its own id."""

    order_id: Annotated[OrderId, doc("Id of the cancel, for polling", "cnl_01")]
    provider: base.RelayName
    tier: Tier
    status: base.OrderState
    submitted_at: SubmittedAt
    expires_at: ExpiresAt
    tracking_url: TrackingUrl
    tx_hash: base.HashText


class CancelOrderResponse(WireStruct, frozen=True, kw_only=True):
    """Answer to a body with signedTransaction: the submitted cancel."""

    order: Annotated[CancelTarget, doc("The order to cancel")]
    cancel: Annotated[Cancel, doc("The cancel, an order with its own id")]
    tracking: Annotated[Tracking, doc("How to follow the order to cancel")]


class CancelQuoteEnvelope(Envelope[CancelQuoteResponse], frozen=True, kw_only=True):
    """The answer of the cancel endpoint to a body without signedTransaction."""


class CancelOrderEnvelope(Envelope[CancelOrderResponse], frozen=True, kw_only=True):
    """The answer of the cancel endpoint to a signed cancel."""
