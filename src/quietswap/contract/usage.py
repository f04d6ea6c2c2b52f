"""The answer of GET /api/v1/mev/usage."""

from typing import Annotated

from quietswap.contract import examples
from quietswap.contract.base import AddressText, Count, Envelope, Timestamp, WireStruct, doc
from quietswap.contract.limit_details import Scope, UsdText


class CountUsage(WireStruct, frozen=True, kw_only=True):
    """A limit on a number. null: no limit, or not counted because there is none."""

    limit: Annotated[Count | None, doc("Limit of the client", 100, type=["integer", "null"])]
    used: Annotated[Count | None, doc("Used so far", 3, type=["integer", "null"])]
    left: Annotated[Count | None, doc("What is left", 97, type=["integer", "null"])]


class ValueUsage(WireStruct, frozen=True, kw_only=True):
    """A limit in decimal USD. null: no limit."""

    limit: Annotated[UsdText | None, doc("Limit of the client", "5000.00")]
    used: Annotated[UsdText, doc("Used so far", "1250.00")]
    left: Annotated[UsdText | None, doc("What is left", "3750.00")]


class UsageResponse(WireStruct, frozen=True, kw_only=True):
    """Limits of the key's client and what it has used, with all its keys together."""

    client_id: Annotated[str, doc("Client that owns orders and quotes", "client_0f1e2d3c4b5a6978")]
    scope: Annotated[Scope, doc("Scope of the key; read: no order", "trade")] = "trade"
    requests_per_minute: Annotated[CountUsage, doc("Counted only if there is a limit")]
    quotes_per_day: Annotated[CountUsage, doc("Quotes of this UTC day")]
    open_orders: Annotated[CountUsage, doc("Swaps and wraps in no final status")]
    orders_today: Annotated[Count, doc("Orders accepted on this UTC day", 12)]
    usd_per_swap: Annotated[UsdText | None, doc("Most USD of one swap; null: no limit", "2500.00")]
    usd_per_day: Annotated[ValueUsage, doc("Value of the swaps of this UTC day")]
    wallets: Annotated[
        tuple[Annotated[AddressText, doc("Wallet", examples.WALLET)], ...],
        doc("Wallets it may trade for; empty: any"),
    ]
    tokens: Annotated[
        tuple[Annotated[AddressText, doc("Token", examples.USDC)], ...],
        doc("Tokens it may trade; empty: any"),
    ]
    day_ends_at: Annotated[Timestamp, doc("End of the UTC day (ISO 8601)", examples.TIME)]


class UsageEnvelope(Envelope[UsageResponse], frozen=True, kw_only=True):
    """Answer of GET /api/v1/mev/usage."""
