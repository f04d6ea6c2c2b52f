"""The requests and answers about RPC URLs of wallets (`/api/v1/mev/rpc`)."""

from typing import Annotated, Any, Literal

from quietswap.contract import examples, limits
from quietswap.contract.base import (
    AddressText,
    Envelope,
    RequestStruct,
    Timestamp,
    UrlText,
    WireStruct,
    doc,
)

_UNMATCHED = ["refuse", "private"]
RpcTokenId = Annotated[str, doc("Id of the RPC URL; not a secret", "rpc_3f8a2c19d04b7e65")]
_Wallets = Annotated[
    tuple[AddressText, ...],
    doc("Wallets that may send through it (EIP-55 checksummed)", [examples.WALLET]),
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
        str, doc("The id of the RPC URL.", "rpc_3f8a2c19d04b7e65", pattern=limits.ID_PATTERN)
    ]


class RpcTokenBody(RequestStruct, frozen=True, kw_only=True):
    """Body of POST /api/v1/mev/rpc."""

    wallets: Annotated[
        list[Any],
        doc(
            "Wallets that may send through it, 1 to 50, EIP-55 checksummed.",
            [examples.WALLET],
            items={"type": "string", "format": "eip55", "pattern": limits.ADDRESS_PATTERN},
            minItems=1,
            maxItems=limits.MAX_RPC_WALLETS,
        ),
    ]
    name: Annotated[
        str | None,
        doc(
            "A name of your choice, at most 100 printable characters.",
            "my wallet",
            type="string",
            maxLength=limits.MAX_RPC_NAME,
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
    created_at: Annotated[Timestamp, doc("Time of creation (ISO 8601, UTC)", examples.TIME)]
    revoked_at: Annotated[
        Timestamp | None, doc("When it or its API key was revoked (ISO 8601, UTC)")
    ] = None


class CreatedRpcToken(RpcToken, frozen=True, kw_only=True, omit_defaults=True):
    """A new RPC URL. The URL contains a secret and cannot be shown again."""

    url: Annotated[
        UrlText, doc("The RPC URL for the wallet", "https://swap.example/rpc/qr_" + "5a" * 32)
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
    revoked_at: Annotated[Timestamp, doc("Time of the revocation (ISO 8601, UTC)", examples.TIME)]


class RpcTokenEnvelope(Envelope[RpcTokenData], frozen=True, kw_only=True):
    """The answer of POST /api/v1/mev/rpc."""


class RpcTokenListEnvelope(Envelope[RpcTokenListData], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/rpc."""


class RevokedRpcTokenEnvelope(Envelope[RevokedRpcToken], frozen=True, kw_only=True):
    """The answer of DELETE /api/v1/mev/rpc/:tokenId."""
