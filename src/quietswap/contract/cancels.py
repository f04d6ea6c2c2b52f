"""The two answers of POST /api/v1/mev/orders/:orderId/cancel."""

from typing import Annotated

from quietswap.contract import examples
from quietswap.contract.base import (
    AddressText,
    AmountText,
    Count,
    Envelope,
    HashText,
    HexText,
    OrderState,
    RelayName,
    Tier,
    Timestamp,
    WireStruct,
    doc,
)
from quietswap.contract.orders import ExpiresAt, OrderId, SubmittedAt, Tracking, TrackingUrl
from quietswap.contract.transactions import SentMetadata, TransactionParams
from quietswap.domain.order.cancel import GAS_LIMIT, MOST_GAS

TargetId = Annotated[OrderId, doc("Id of the order to cancel")]


class CancelTransactionParams(TransactionParams, frozen=True, kw_only=True):
    """The EIP-1559 transaction to sign, unchanged: an empty transfer of the wallet to itself."""

    to: Annotated[AddressText, doc("The wallet itself (EIP-55 checksummed)", examples.WALLET)]
    data: Annotated[HexText, doc("No calldata", const="0x")]
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
        AmountText,
        doc("Maximum wei per gas unit: 12.5 % more than the order's", "3000000000"),
    ]
    nonce: Annotated[Count | None, doc("The order's nonce", 7, type="integer")]


class CancelQuoteResponse(WireStruct, frozen=True, kw_only=True):
    """Answer to a body without signedTransaction: what to sign, valid for 5 minutes."""

    order_id: TargetId
    provider: RelayName
    transaction_params: Annotated[CancelTransactionParams, doc("The transaction to sign")]
    provider_metadata: SentMetadata
    created_at: Annotated[
        Timestamp | None,
        doc("Time of issue (ISO 8601, UTC)", examples.TIME, type="string", format="date-time"),
    ] = None
    valid_until: Annotated[Timestamp, doc("Expiry (ISO 8601, UTC)", "2027-01-15T08:05:00.000Z")]


class CancelTarget(WireStruct, frozen=True, kw_only=True):
    """The order to cancel; the chain decides which of the two transactions is mined."""

    order_id: TargetId
    status: OrderState


class Cancel(WireStruct, frozen=True, kw_only=True):
    """The cancel, an order with its own id."""

    order_id: Annotated[OrderId, doc("Id of the cancel, for polling", "cnl_01")]
    provider: RelayName
    tier: Tier
    status: OrderState
    submitted_at: SubmittedAt
    expires_at: ExpiresAt
    tracking_url: TrackingUrl
    tx_hash: HashText


class CancelOrderResponse(WireStruct, frozen=True, kw_only=True):
    """Answer to a body with signedTransaction: the submitted cancel."""

    order: Annotated[CancelTarget, doc("The order to cancel")]
    cancel: Annotated[Cancel, doc("The cancel, an order with its own id")]
    tracking: Annotated[Tracking, doc("How to follow the order to cancel")]


class CancelQuoteEnvelope(Envelope[CancelQuoteResponse], frozen=True, kw_only=True):
    """The answer of the cancel endpoint to a body without signedTransaction."""


class CancelOrderEnvelope(Envelope[CancelOrderResponse], frozen=True, kw_only=True):
    """The answer of the cancel endpoint to a signed cancel."""
