"""One order of an export: a line of CSV or an object of JSON, with the same members."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quietswap.rules import wire as base
from quietswap.rules.chain.received import ReceivedIssue
from quietswap.rules.tokens.token import WETH
from quietswap.rules.wire import AddressText, AmountText, Count, Tier, Timestamp, WireStruct, doc

Whole = Annotated[str | None, doc("The same in whole tokens; null if the node is away", "1.5")]
Symbol = Annotated[
    str | None, doc("Symbol as the token's contract states it; anyone can choose one", "WETH")
]
FORMATS = ("csv", "json", "koinly", "cointracking")
INCLUSION_FORMATS = ("json", "csv")


class OrderExportQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/orders/user/:userAddress/export."""

    format: Annotated[
        str,
        doc(
            "csv, or json: an array with one order per line. koinly and cointracking: the CSV that"
            " these programs import, one row per order that a block has.",
            "csv",
            enum=list(FORMATS),
        ),
    ] = "csv"
    since: Annotated[
        str | None,
        doc(
            "Orders created at this time or later: a date or an ISO 8601 time, UTC unless it names"
            " an offset. Without it: all.",
            "2026-01-01",
            type="string",
            format="iso8601",
        ),
    ] = msgspec.field(default=None, name="from")
    until: Annotated[
        str | None,
        doc(
            "Orders created before this time. Without it: now.",
            "2027-01-01T00:00:00Z",
            type="string",
            format="iso8601",
        ),
    ] = msgspec.field(default=None, name="to")


class ExportedOrder(WireStruct, frozen=True, kw_only=True):
    """One order. Amounts are in smallest units, with the same in whole tokens beside them."""

    order_id: Annotated[str, doc("Order id; wraps and cancels have one here", base.ORDER_ID)]
    kind: Annotated[Literal["swap", "wrap", "cancel"], doc("Kind", "swap", type="string")]
    status: base.OrderState
    wallet: Annotated[AddressText, doc("Wallet", base.WALLET)]
    nonce: Annotated[Count, doc("Nonce of the transaction", 7)]
    tx_hash: base.HashText
    created_at: Annotated[Timestamp, doc("When the service accepted it (ISO 8601, UTC)")]
    submitted_at: Annotated[Timestamp | None, doc("When the relay took it; null: never")] = None
    mined_at: Annotated[
        Timestamp | None,
        doc("Time of its block, or `createdAt` if under 12 s later; null: not mined"),
    ] = None
    block_number: Annotated[Count | None, doc("Number of its block", 23_800_000)] = None
    block_hash: Annotated[str | None, doc("Hash of its block", base.TX_HASH)] = None
    sell_token: Annotated[AddressText, doc("Sold token; 0xEeee… is ETH", WETH)]
    sell_symbol: Symbol = None
    sell_amount: Annotated[AmountText, doc("Sold amount, smallest units", base.ONE_ETHER)]
    sell_amount_whole: Whole = None
    buy_token: Annotated[AddressText, doc("Bought token; 0xEeee… is ETH", base.USDC)]
    buy_symbol: Symbol = None
    quoted_amount: Annotated[AmountText, doc("Quoted output, smallest units", "3000000000")]
    minimum_amount: Annotated[AmountText, doc("Minimum output, smallest units", "2985000000")]
    received_amount: Annotated[
        AmountText | None,
        doc("What the wallet received, smallest units; null: unknown", "2998000000"),
    ] = None
    received_whole: Whole = None
    received_reason: Annotated[
        str | None,
        doc(
            "Why a mined order has no amount",
            enum=[*(issue.value for issue in ReceivedIssue), None],
        ),
    ] = None
    to_promise_bps: Annotated[
        int | None, doc("Received against the quoted output, basis points, rounded down", -7)
    ] = None
    to_minimum_bps: Annotated[
        int | None, doc("Received against the minimum output, basis points, rounded down", 43)
    ] = None
    gas_used: Annotated[AmountText | None, doc("Gas units used", "180123")] = None
    effective_gas_price: Annotated[
        AmountText | None, doc("Wei per gas unit paid", "1000000000")
    ] = None
    fee_paid_wei: Annotated[AmountText | None, doc("Network fee, wei", "180123000000000")] = None
    fee_paid_eth: Annotated[str | None, doc("Network fee, ETH", "0.000180123")] = None
    refund_status: Annotated[
        str | None,
        doc(
            "none, reported (by the relay) or paid (seen on chain)",
            enum=["none", "reported", "paid", None],
        ),
    ] = None
    refund_wei: Annotated[AmountText | None, doc("Refund, wei", "0")] = None
    refund_tx_hash: Annotated[str | None, doc("The transaction that paid it", base.TX_HASH)] = None
    source: Annotated[str | None, doc("Aggregator of the route", "kyberswap")] = None
    tier: Tier
    error_code: Annotated[str | None, doc("Why it failed or was cancelled", "EXPIRED")] = None
    reference_amount: Annotated[
        AmountText | None,
        doc("Sold amount at the pools' price before its block, smallest units", "3003600000"),
    ] = None
    reference_wei: Annotated[AmountText | None, doc("The same in wei", base.ONE_ETHER)] = None
    to_reference_bps: Annotated[
        int | None, doc("Received against the pools' price, basis points, rounded down", -12)
    ] = None
    conversion: Annotated[
        base.WrapOperation | None,
        doc("Whether the same transaction wrapped what was sold, or unwrapped the minimum"),
    ] = None


MOST_DAYS = 90


class OrderStatsQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/mev/stats."""

    days: Annotated[
        int, Meta(ge=1, le=MOST_DAYS), doc("Orders created in the last so many days.", 7)
    ] = 7


class PercentileRow(WireStruct, frozen=True, kw_only=True):
    """Percentiles by nearest rank."""

    count: Annotated[Count, doc("Number of values", 120)]
    p50: Annotated[int, doc("Half of the values are at most this", 1)]
    p90: Annotated[int, doc("90 % of the values are at most this", 2)]
    p99: Annotated[int, doc("99 % of the values are at most this", 5)]


class RefundStats(WireStruct, frozen=True, kw_only=True):
    """Refunds by relays."""

    reported: Annotated[Count, doc("Refunds that are only reported", 1)]
    reported_wei: Annotated[AmountText, doc("Their sum in wei", "14000000000000000")]
    paid: Annotated[Count, doc("Refunds seen on chain", 3)]
    paid_wei: Annotated[AmountText, doc("Their sum in wei", "42000000000000000")]


class StatsGroup(WireStruct, frozen=True, kw_only=True):
    """The orders of one source or relay. Shares are basis points of `orders`, rounded down."""

    name: Annotated[
        str,
        doc(
            "Source, or display name of the relay; `both relays` for orders that two may have had:"
            " no block shows which of them had it mined",
            base.RELAY,
        ),
    ]
    orders: Annotated[Count, doc("Swaps and wraps", 125)]
    open: Annotated[Count, doc("Not decided yet", 1)]
    confirmed: Annotated[Count, doc("Mined successfully", 120)]
    reverted: Annotated[Count, doc("Mined and reverted", 0)]
    failed: Annotated[Count, doc("Failed, reverted ones included", 2)]
    cancelled: Annotated[Count, doc("Cancelled, replaced or expired", 2)]
    dropped: Annotated[Count, doc("Taken by the relay, and in no block until they expired", 1)]
    resent: Annotated[Count, doc("Sent to the relay more than once", 4)]
    confirmed_bps: Annotated[Count, doc("Share of `confirmed`", 9600)]
    failed_bps: Annotated[Count, doc("Share of `failed`", 160)]
    dropped_bps: Annotated[Count, doc("Share of `dropped`", 80)]
    resent_bps: Annotated[Count, doc("Share of `resent`", 320)]
    inclusion_blocks: Annotated[
        PercentileRow | None, doc("Blocks from the relay's acceptance to inclusion; null: none")
    ] = None
    inclusion_seconds: Annotated[
        PercentileRow | None, doc("Seconds from the relay's acceptance to the block; null: none")
    ] = None
    delivered_bps: Annotated[
        PercentileRow | None,
        doc("Received against the quoted output in basis points; null: none known"),
    ] = None
    refunds: Annotated[RefundStats, doc("Refunds by relays")]


class OrderStatsResponse(WireStruct, frozen=True, kw_only=True):
    """Results of the client's swaps and wraps, per source and per relay."""

    since: Annotated[Timestamp, doc("Start of the window (ISO 8601, UTC)")]
    until: Annotated[Timestamp, doc("End of the window (ISO 8601, UTC)")]
    orders: Annotated[Count, doc("Swaps and wraps that were counted", 125)]
    complete: Annotated[
        bool, doc("False if the window has more orders; then only the newest were counted", True)
    ]
    sources: Annotated[tuple[StatsGroup, ...], doc("By aggregator; swaps only")]
    relays: Annotated[tuple[StatsGroup, ...], doc("By relay")]


class OrderStatsEnvelope(base.Envelope[OrderStatsResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/stats."""


class InclusionQuery(WireStruct, frozen=True, kw_only=True):
    """Query of GET /api/v1/inclusion."""

    days: Annotated[
        int,
        Meta(ge=1, le=MOST_DAYS),
        doc("The last so many days, from the begin of a day (UTC).", 7),
    ] = 7
    format: Annotated[
        str,
        doc(
            "json, or csv: a table without orders, wallets and times, to be published.",
            "csv",
            enum=list(INCLUSION_FORMATS),
        ),
    ] = "json"


class InclusionShare(WireStruct, frozen=True, kw_only=True):
    """How many orders waited for at most a number of blocks."""

    blocks: Annotated[Count, doc("Blocks after the relay took it: 1 is the next one", 2)]
    orders: Annotated[Count, doc("Orders that a block had by then", 118)]


class _InclusionFigures(WireStruct, frozen=True, kw_only=True):
    """What the orders of a group waited for and met. Basis points are rounded down."""

    blocks: Annotated[PercentileRow, doc("Blocks from the relay's acceptance to inclusion")]
    within: Annotated[tuple[InclusionShare, ...], doc("By 1, 2, 5 and 25 blocks")]
    base_fee_bps: Annotated[
        PercentileRow | None,
        doc(
            "Base fee of its block against an order's fee cap, in basis points; null: known of"
            " fewer than 5 orders"
        ),
    ] = None
    fullness_bps: Annotated[
        PercentileRow | None,
        doc("Gas used of the gas limit of its block, in basis points; null as `baseFeeBps`"),
    ] = None


class InclusionGroup(_InclusionFigures, frozen=True, kw_only=True):
    """The orders of one endpoint and priority fee that a block has."""

    endpoint: Annotated[
        str, doc("Endpoint of the relay; `other` for all groups below 5 orders", "fast")
    ]
    tip: Annotated[str, doc("Class of the highest priority fee; none: zero", "none")]


class NamedInclusionGroup(_InclusionFigures, frozen=True, kw_only=True):
    """The orders of one relay or builder that a block has."""

    name: Annotated[
        str,
        doc(
            "Display name of the relay, `both relays` if two may have had it; or the block's"
            " builder as it names itself, else `unknown`. `other` for all groups below 5 orders",
            "Titan",
        ),
    ]


class InclusionResponse(WireStruct, frozen=True, kw_only=True):
    """How long the orders of all clients waited for a block; nothing of a single wallet."""

    since: Annotated[Timestamp, doc("Start of the window (ISO 8601, UTC)")]
    until: Annotated[Timestamp, doc("End of the window (ISO 8601, UTC)")]
    orders: Annotated[Count, doc("Orders that a block has, after a relay took them", 120)]
    complete: Annotated[
        bool, doc("False if the window has more orders; then only the newest were counted", True)
    ]
    expired: Annotated[Count, doc("Orders that no block had in time", 2)]
    usual_wait: Annotated[
        str,
        doc(
            "The same for people; not known below 20 orders",
            "usually within 1 block (12 seconds), nine of ten within 3 blocks (36 seconds)",
        ),
    ]
    groups: Annotated[tuple[InclusionGroup, ...], doc("By endpoint and priority fee")]
    relays: Annotated[tuple[NamedInclusionGroup, ...], doc("By relay")]
    builders: Annotated[tuple[NamedInclusionGroup, ...], doc("By builder of the block")]


class InclusionEnvelope(base.Envelope[InclusionResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/inclusion."""


_Quantile = Annotated[int | None, doc("As in `groups` of the report; empty: not known", 2)]


class InclusionRow(WireStruct, frozen=True):
    """One group of at least 5 orders in the CSV of GET /api/v1/inclusion."""

    from_day: Annotated[str, doc("First day of the window (UTC)", "2026-11-22")]
    to_day: Annotated[str, doc("Last day of the window (UTC)", "2026-11-29")]
    from_block: Annotated[Count, doc("Begin of the range of blocks, 7,200 wide", 26064000)]
    to_block: Annotated[Count, doc("End of the last range with an order", 26114399)]
    group: Annotated[str, doc("all, endpoint, relay or builder", "builder")]
    name: Annotated[str, doc("Name of the group; empty for all", "Titan")]
    tip: Annotated[str, doc("Class of the highest priority fee, of an endpoint only", "")]
    orders: Annotated[Count, doc("Orders that a block has, after a relay took them", 120)]
    expired: Annotated[int | None, doc("Orders that no block had in time, of all only", 2)]
    within_1: Annotated[Count, doc("Orders in the next block", 90)]
    within_2: Annotated[Count, doc("Orders in a block after at most 2", 110)]
    within_5: Annotated[Count, doc("Orders in a block after at most 5", 118)]
    within_25: Annotated[Count, doc("Orders in a block after at most 25", 120)]
    blocks_p50: _Quantile
    blocks_p90: _Quantile
    blocks_p99: _Quantile
    base_fee_bps_p50: _Quantile
    base_fee_bps_p90: _Quantile
    base_fee_bps_p99: _Quantile
    fullness_bps_p50: _Quantile
    fullness_bps_p90: _Quantile
    fullness_bps_p99: _Quantile
