"""The answers of GET /api/v1/tokens and GET /api/v1/mev/balances/:userAddress."""

from typing import Annotated

import msgspec

from quietswap.rules import wire as base
from quietswap.rules.contract.wraps import Balance
from quietswap.rules.tokens.token import WETH, TokenWarning
from quietswap.rules.wire import AddressText, AmountText, Count, Envelope, WireStruct, doc

Warning = Annotated[str, doc("Warning", "unlisted", enum=TokenWarning)]
ListName = Annotated[str, doc("Name of a token list", "Uniswap Labs Default")]
_Decimals = Annotated[
    int, msgspec.Meta(ge=0, le=255), doc("Decimals of one whole token, 0 to 255", 18)
]


class TokenEntry(WireStruct, frozen=True, kw_only=True):
    """One token. Its texts have no control characters and no markup."""

    address: Annotated[AddressText, doc("Contract (EIP-55 checksummed)", WETH)]
    symbol: Annotated[str, doc("Symbol, at most 32 characters; not unique", "WETH")]
    name: Annotated[str, doc("Name, at most 60 characters; not unique", "Wrapped Ether")]
    decimals: _Decimals
    logo_uri: Annotated[
        base.UrlText | None, doc("https or ipfs URL of the logo, from the list")
    ] = msgspec.field(name="logoURI", default=None)
    lists: Annotated[
        tuple[ListName, ...], doc("Lists that contain the token; empty: unlisted")
    ] = ()
    transfer_fee_bps: Annotated[
        int | None,
        doc("Loss on a simulated plain transfer in basis points; null where not measured", 0),
    ] = None
    warnings: Annotated[tuple[Warning, ...], doc("What to know before a trade")] = ()


class TokensPagination(WireStruct, frozen=True, kw_only=True):
    """Position of a page."""

    limit: Annotated[Count, doc("Tokens per page", 50)]
    offset: Annotated[Count, doc("Tokens skipped", 0)]
    next_offset: Annotated[Count, doc("Offset of the next page", 50)]


class TokensResponse(WireStruct, frozen=True, kw_only=True):
    """Tokens that a search found, best match first."""

    tokens: Annotated[tuple[TokenEntry, ...], doc("Tokens of this page")]
    total: Annotated[Count, doc("Number of all tokens found", 1)]
    has_more: Annotated[bool, doc("Whether another page exists", False)]
    pagination: Annotated[TokensPagination, doc("Position of this page")]


class RouterAllowance(WireStruct, frozen=True, kw_only=True):
    """What one router may move from the wallet."""

    router: Annotated[AddressText, doc("Router (EIP-55 checksummed)", base.ROUTER)]
    allowance: Annotated[
        AmountText | None, doc("Smallest units; null if the token does not tell", "0")
    ]


class TokenBalance(WireStruct, frozen=True, kw_only=True):
    """One token of a wallet."""

    address: Annotated[AddressText, doc("Contract (EIP-55 checksummed)", WETH)]
    symbol: Annotated[str, doc("Symbol, as the contract says", "WETH")]
    decimals: Annotated[
        _Decimals | None, doc("Decimals, as the contract says; null if it is not an ERC-20", 18)
    ]
    balance: Annotated[
        AmountText | None, doc("Smallest units; null if the token does not tell", "1000")
    ]
    allowances: Annotated[
        tuple[RouterAllowance, ...], doc("Allowance of each router that a quote can name")
    ]


class BalancesResponse(WireStruct, frozen=True, kw_only=True):
    """Holdings of a wallet, all read at one block."""

    user_address: Annotated[AddressText, doc("Wallet (EIP-55 checksummed)", base.WALLET)]
    block_number: Annotated[Count, doc("Block of all numbers", 21_000_000)]
    eth: Annotated[Balance, doc("ETH")]
    tokens: Annotated[tuple[TokenBalance, ...], doc("One entry for each token asked for")]


class TokensEnvelope(Envelope[TokensResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/tokens."""


class BalancesEnvelope(Envelope[BalancesResponse], frozen=True, kw_only=True):
    """The answer of GET /api/v1/mev/balances/:userAddress."""
