"""Limits and usage of a client, its RPC URLs of wallets, and the web page's own session."""

from typing import Annotated, Any, Literal

from quietswap.rules import wire as base
from quietswap.rules.contract import request_limits
from quietswap.rules.errors.clients import Scope, UsdText
from quietswap.rules.wire import AddressText, Count, Envelope, Timestamp, WireStruct, doc


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
        tuple[Annotated[AddressText, doc("Wallet", base.WALLET)], ...],
        doc("Wallets it may trade for; empty: any"),
    ]
    tokens: Annotated[
        tuple[Annotated[AddressText, doc("Token", base.USDC)], ...],
        doc("Tokens it may trade; empty: any"),
    ]
    day_ends_at: Annotated[Timestamp, doc("End of the UTC day (ISO 8601)", base.TIME)]


class UsageEnvelope(Envelope[UsageResponse], frozen=True, kw_only=True):
    """Answer of GET /api/v1/mev/usage."""


class WebSessionBody(base.RequestStruct, frozen=True, kw_only=True):
    """Body of POST /web/session."""

    address: Annotated[str | None, doc("A wallet's account, in any case.")] = None


class ConnectionCheck(WireStruct, frozen=True, kw_only=True):
    """The eth_call whose answer is the id of the RPC URL that a wallet uses."""

    to: Annotated[str, doc("Address of the call")]
    data: Annotated[str, doc("Data of the call, 0x hex")]


class WebSessionResponse(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """The session of a browser. Its secret is in an HttpOnly cookie."""

    chain_id: Annotated[int, doc("Chain that the service is for", 1)]
    explorer_url: Annotated[base.UrlText, doc("Block explorer")]
    connected: Annotated[ConnectionCheck, doc("How to check a wallet's RPC URL")]
    quote_seconds: Annotated[int, doc("Seconds that a swap quote is valid", 30)]
    taken_seconds: Annotated[int, doc("After so many seconds its transaction is refused", 60)]
    expires_at: Annotated[Timestamp, doc("When the session ends (ISO 8601, UTC)")]
    version: Annotated[str, doc("Of the service", "1.4.0")]
    address: Annotated[AddressText | None, doc("The account of the body, EIP-55 checksummed")] = (
        None
    )


class InclusionRecord(WireStruct, frozen=True, kw_only=True):
    """How long transactions without a tip took, as this service counted it."""

    orders: Annotated[Count, doc("Number of transactions, at most 100", 42)]
    days: Annotated[Count, doc("In the last so many days", 7)]
    half_blocks: Annotated[Count, doc("Half of them waited for at most so many blocks", 2)]
    most_blocks: Annotated[Count, doc("Nine of ten waited for at most so many blocks", 5)]
    half_s: Annotated[Count, doc("The same as `halfBlocks` in seconds", 24)]
    most_s: Annotated[Count, doc("The same as `mostBlocks` in seconds", 60)]


class WebStatusResponse(WireStruct, frozen=True, kw_only=True):
    """What the page tells of the service."""

    node: Annotated[bool, doc("Whether the service's Ethereum node answers")]
    relay: Annotated[bool, doc("Whether a relay accepts connections")]
    sources: Annotated[bool, doc("Whether a source of routes accepts connections")]
    inclusion: Annotated[InclusionRecord | None, doc("null: not known yet, below 20 orders")] = None
    source_names: Annotated[tuple[str, ...], doc("Sources that are asked for a quote", ["sushi"])]


class WebStatusEnvelope(Envelope[WebStatusResponse], frozen=True, kw_only=True):
    """The answer of GET /web/status."""


class WebSessionEnvelope(Envelope[WebSessionResponse], frozen=True, kw_only=True):
    """The answer of POST /web/session."""


_UNMATCHED = ["refuse", "private"]
RpcTokenId = Annotated[str, doc("Id of the RPC URL; not a secret", "rpc_3f8a2c19d04b7e65")]
_Wallets = Annotated[
    tuple[AddressText, ...],
    doc("Wallets that may send through it (EIP-55 checksummed)", [base.WALLET]),
]
_Unmatched = Annotated[
    Literal["refuse", "private"],
    doc(
        "What happens to a transaction that belongs to no live quote: refuse answers an error, "
        "private sends it to the private relay",
        "refuse",
        type="string",
    ),
]


class RpcTokenPath(WireStruct, frozen=True, kw_only=True):
    """Path of one RPC URL."""

    token_id: Annotated[
        str, doc("The id of the RPC URL.", "rpc_3f8a2c19d04b7e65", pattern=base.ID_PATTERN)
    ]


class RpcTokenBody(base.RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/rpc."""

    wallets: Annotated[
        list[Any],
        doc(
            "Wallets that may send through it, 1 to 50, EIP-55 checksummed.",
            [base.WALLET],
            items={"type": "string", "format": "eip55", "pattern": base.ADDRESS_PATTERN},
            minItems=1,
            maxItems=request_limits.MAX_RPC_WALLETS,
        ),
    ]
    name: Annotated[
        str | None,
        doc(
            "A name of your choice, at most 100 printable characters.",
            "my wallet",
            type="string",
            maxLength=request_limits.MAX_RPC_NAME,
        ),
    ] = None
    unmatched: Annotated[
        str | None,
        doc(
            "refuse (default) or private: what happens to a transaction that belongs to no live "
            "quote.",
            "refuse",
            type="string",
            enum=_UNMATCHED,
        ),
    ] = None


class RpcToken(WireStruct, frozen=True, kw_only=True, omit_defaults=True):
    """An RPC URL of wallets, without its secret."""

    id: RpcTokenId
    name: Annotated[str, doc("Name that was chosen, or empty", "my wallet")]
    wallets: _Wallets
    unmatched: _Unmatched
    created_at: Annotated[Timestamp, doc("Time of creation (ISO 8601, UTC)", base.TIME)]
    revoked_at: Annotated[
        Timestamp | None, doc("When it or its API key was revoked (ISO 8601, UTC)")
    ] = None


class CreatedRpcToken(RpcToken, frozen=True, kw_only=True, omit_defaults=True):
    """A new RPC URL. The URL contains a secret and cannot be shown again."""

    url: Annotated[
        base.UrlText, doc("The RPC URL for the wallet", "https://swap.example/rpc/qr_" + "5a" * 32)
    ]


class RpcTokenData(WireStruct, frozen=True, kw_only=True):
    """The new RPC URL."""

    token: Annotated[CreatedRpcToken, doc("The RPC URL and what it is for")]


class RpcTokenListData(WireStruct, frozen=True, kw_only=True):
    """All RPC URLs of the client."""

    tokens: Annotated[tuple[RpcToken, ...], doc("RPC URLs, oldest first, revoked ones too")]


class RevokedRpcToken(WireStruct, frozen=True, kw_only=True):
    """The RPC URL that was revoked. It stops working within a second."""

    id: RpcTokenId
    revoked_at: Annotated[Timestamp, doc("Time of the revocation (ISO 8601, UTC)", base.TIME)]


class RpcTokenEnvelope(Envelope[RpcTokenData], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/rpc."""


class RpcTokenListEnvelope(Envelope[RpcTokenListData], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/rpc."""


class RevokedRpcTokenEnvelope(Envelope[RevokedRpcToken], frozen=True, kw_only=True):
    """The answer of DELETE /api/v1/mev/rpc/:tokenId."""
