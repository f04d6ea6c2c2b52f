"""The resources of the interface as typed values.

Amounts are `Amount` (an int in smallest units or wei, a decimal string on the wire), USD values are
`Decimal`, points in time are aware `datetime`s. Fields this version does not know are ignored.
"""

from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import msgspec

from quietswap.client.wire import Amount, Resource

OrderState = Literal["pending", "submitted", "mining", "confirmed", "failed", "cancelled"]
TERMINAL: frozenset[OrderState] = frozenset(("confirmed", "failed", "cancelled"))


class DexRoute(Resource, frozen=True):
    """`target` is the router: the sell token must be approved to it."""

    dex: str
    target: str
    path: tuple[str, ...]
    data: str


class Scoring(Resource, frozen=True):
    """USD after and of fees; both are 0 and `price_available` false where no price is known."""

    net_value_usd: Decimal
    gas_cost_usd: Decimal
    price_available: bool = True


class Alternative(Resource, frozen=True):
    """A lower-ranked route."""

    source: str
    buy_amount: Amount
    net_value_usd: Decimal


class MevAnalysis(Resource, frozen=True):
    """What a sandwich of this swap would take if it were sent publicly."""

    threat_level: str
    estimated_protection_usd: Decimal


class TransactionParams(Resource, frozen=True):
    """The EIP-1559 transaction to sign; wrap quotes leave `nonce` to the client."""

    to: str
    data: str
    value: Amount
    gas_limit: Amount
    max_fee_per_gas: Amount
    max_priority_fee_per_gas: Amount
    nonce: int | None
    chain_id: int
    type: int


class RelaySettings(Resource, frozen=True):
    """`mevRelayMetadata`; `expected_rebate` in USD is absent from wrap quotes."""

    endpoint: str
    endpoint_type: str
    share_mode: str
    revert_protection: bool
    use_boost: bool
    expected_rebate: Decimal | None = None


class ProviderMetadata(Resource, frozen=True):
    """A readable view of the metadata that goes back unchanged."""

    provider: str
    tier: int
    mev_relay_metadata: RelaySettings


class MevProtection(Resource, frozen=True):
    """`provider_metadata` is kept as it came, so that it can be sent back unchanged."""

    provider: str
    transaction_params: TransactionParams
    provider_metadata: dict[str, Any]

    @property
    def metadata(self) -> ProviderMetadata:
        """Return the metadata as typed values."""
        return msgspec.convert(self.provider_metadata, ProviderMetadata)


class SourceReport(Resource, frozen=True):
    """What became of one aggregator: amounts in smallest units of the buy token, time in ms."""

    source: str
    outcome: str
    latency_ms: int
    promised: Amount | None = None
    simulated: Amount | None = None
    difference_bps: int | None = None
    reason: str | None = None


class Verification(Resource, frozen=True):
    """Whether a simulation proved the route: `status` is `verified` or `unverified`."""

    status: str
    notes: tuple[str, ...] = ()


class SwapQuote(Resource, frozen=True):
    """The best route and the transaction for it; valid for about 30 seconds.

    `price_impact` is in percent, `timestamp` is the service's Unix time in milliseconds.
    `verification` and `sources` tell how the route was checked.
    """

    source: str
    sell_token: str
    buy_token: str
    sell_amount: Amount
    buy_amount: Amount
    min_buy_amount: Amount
    estimated_gas: int
    price_impact: Decimal
    dex_route: DexRoute
    scoring: Scoring
    alternatives: tuple[Alternative, ...]
    mev_analysis: MevAnalysis
    mev_protection: MevProtection
    verification: Verification | None = None
    sources: tuple[SourceReport, ...] = ()
    price_impact_available: bool = True
    timestamp: int = 0

    @property
    def is_verified(self) -> bool:
        """Whether a simulation delivered at least the minimum."""
        return self.verification is not None and self.verification.status == "verified"


class SwapOrder(Resource, frozen=True):
    """A submitted swap."""

    order_id: str
    provider: str
    tier: int
    status: OrderState
    submitted_at: datetime | None
    expires_at: datetime
    estimated_execution_time: str
    tracking_url: str
    provider_order_id: str | None
    tx_hash: str


class Tracking(Resource, frozen=True):
    """Where to poll, and every how many seconds."""

    status_endpoint: str
    polling_interval: float


class Submission(Resource, frozen=True):
    """The answer to a submitted swap."""

    order: SwapOrder
    tracking: Tracking


class OrderTerms(Resource, frozen=True):
    """What the order swaps, in smallest units."""

    from_token: str
    to_token: str
    amount: Amount
    min_return_amount: Amount


class OrderFailure(Resource, frozen=True):
    """Why an order failed or was cancelled; what it cost where it was mined and reverted."""

    code: str
    message: str
    block_number: int | None = None
    gas_used: Amount | None = None
    effective_gas_price: Amount | None = None


class OrderStatus(Resource, frozen=True):
    """The status record; gas and price stand once the chain has decided."""

    order_id: str
    status: OrderState
    created_at: datetime
    order_params: OrderTerms
    tx_hash: str | None = None
    block_number: int | None = None
    gas_used: Amount | None = None
    effective_gas_price: Amount | None = None
    submitted_at: datetime | None = None
    confirmed_at: datetime | None = None
    error: OrderFailure | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether polling may stop."""
        return self.status in TERMINAL


class OrderSummary(Resource, frozen=True):
    """Tokens and amounts of one history item, in smallest units."""

    sell_token: str
    buy_token: str
    sell_amount: Amount
    buy_amount: Amount


class HistoryItem(Resource, frozen=True):
    """One order of a wallet's history."""

    order_id: str
    status: OrderState
    created_at: datetime
    summary: OrderSummary
    tx_hash: str | None = None
    block_number: int | None = None
    confirmed_at: datetime | None = None


class Pagination(Resource, frozen=True):
    """This page, and the offset of the next one."""

    limit: int
    offset: int
    next_offset: int | None = None


class History(Resource, frozen=True):
    """One page of a wallet's orders, newest first."""

    orders: tuple[HistoryItem, ...]
    total: int
    has_more: bool
    pagination: Pagination
