"""Arguments of a trade, and the quotes that this process got: explained and used by their ids."""

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import click
import msgspec
from cachetools import FIFOCache
from pydantic import Field

from quietswap.amounts import format_units
from quietswap.chain.address import Address, BadAddress, from_any_case
from quietswap.cli.mcp.answers import BadInput, read_with
from quietswap.cli.mcp.marked import marked, untrusted
from quietswap.cli.output.tokens import (
    KNOWN,
    DisplayToken,
    address_of,
    parse_amount,
    refuse_ether,
    token_at,
    wallet_address,
)
from quietswap.client import AsyncQuietswapClient
from quietswap.client.errors import QuoteDeclined, UnsafeQuote
from quietswap.client.flows.quote_checks import ALLOWANCE_HOLDER, SwapRequest, check_quote, is_bound
from quietswap.client.flows.quoting import judge_quote
from quietswap.client.flows.reference_price import read_settlers
from quietswap.contract.base import MAX_SLIPPAGE_BPS
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.quoting.loss import Loss, percent
from quietswap.routers import calldata
from quietswap.routers.methods import ROUTERS

VALID_S = 30
"""A quote is valid for about 30 s, by the interface."""
_KEPT = 100

# Arguments of the tools, with what a model reads about them.

TokenArgument = Annotated[
    str,
    Field(
        description="WETH, USDC, USDT, DAI or WBTC, or the address of another token; search_tokens"
        " finds it. Native ETH cannot be swapped."
    ),
]
AmountArgument = Annotated[
    str, Field(description="Amount of the sold token in digits, such as 1.5: whole tokens")
]
SmallestArgument = Annotated[
    bool, Field(description="The amount is written in smallest units, not in whole tokens")
]
WalletArgument = Annotated[str, Field(description="Address of the wallet that sells")]
SlippageArgument = Annotated[
    int,
    Field(
        description="Accepted loss below the quote in basis points: 50 is 0.5 %",
        ge=1,
        le=MAX_SLIPPAGE_BPS,
    ),
]
PreparedArgument = Annotated[str, Field(description="preparedId of what was prepared")]
OrderArgument = Annotated[str, Field(description="Order id", max_length=128)]


async def find_token(
    field_name: str, text: str, client: AsyncQuietswapClient, *, has_node: bool
) -> DisplayToken:
    """Return the token of a built-in symbol or an address, which is the symbol of other tokens.

    Their decimals are those of the caller's own node, or without one those that the service tells.
    Raises BadInput.
    """
    read_with(field_name, refuse_ether, text)
    address = read_with(field_name, address_of, text)
    try:
        token = await client.run(token_at(address, by_node=has_node))
    except click.UsageError as error:
        raise BadInput(field_name, error.message) from None
    return token if token == KNOWN.get(token.symbol) else replace(token, symbol=address)


def read_units(text: str, token: DisplayToken, *, smallest: bool, name: str = "amount") -> int:
    """Return an amount in smallest units; with `smallest` it is written in them."""
    return int(read_with(name, lambda it: parse_amount(it, replace(token, raw=smallest)), text))


def read_wallet(text: str) -> str:
    """Return a wallet's address with checksum. Raises BadInput."""
    return str(read_with("wallet", wallet_address, text))


def in_tokens(token: DisplayToken, amount: int) -> str:
    """Return an amount in whole tokens, in digits and a point."""
    return format_units(amount, token.decimals)


@dataclass(frozen=True, slots=True)
class KeptQuote:
    """A quote with what was asked. `at` is the time of its arrival in s of a monotonic clock."""

    quote: SwapQuoteResponse
    request: SwapRequest
    sell: DisplayToken
    buy: DisplayToken
    at: float

    @property
    def loss(self) -> Loss:
        """What the swap may lose, by the rule of the command line."""
        return judge_quote(self.quote, self.request.slippage_bps)


@dataclass(slots=True)
class KeptQuotes:
    """The newest quotes by id. Ids are random, so that no other session guesses one."""

    monotonic: Callable[[], float] = time.monotonic
    _kept: FIFOCache[str, KeptQuote] = field(default_factory=lambda: FIFOCache(_KEPT))

    async def ask(
        self,
        client: AsyncQuietswapClient,
        request: SwapRequest,
        sell: DisplayToken,
        buy: DisplayToken,
    ) -> str:
        """Request a quote, keep it and return its id."""
        found = await client.quote(request)
        quote_id = f"q_{secrets.token_hex(8)}"
        self._kept[quote_id] = KeptQuote(found, request, sell, buy, self.monotonic())
        return quote_id

    def get(self, quote_id: str) -> KeptQuote:
        """Return a quote. Raises BadInput."""
        if quote_id not in self._kept:
            raise BadInput("quote_id", "no quote of this process has this id, or it is too old")
        return self._kept[quote_id]

    def left_s(self, kept: KeptQuote) -> int:
        """Return for how many seconds the quote is valid, about."""
        return max(0, round(VALID_S - (self.monotonic() - kept.at)))


def swap_request(
    sell: DisplayToken, buy: DisplayToken, units: int, wallet: str, slippage_bps: int, **more: Any
) -> SwapRequest:
    """Return the request of a swap. Raises BadInput."""
    if sell.address == buy.address:
        raise BadInput("buy", "the same token as sell")
    return SwapRequest(sell.address, buy.address, units, read_wallet(wallet), slippage_bps, **more)


def loss_members(loss: Loss) -> dict[str, Any]:
    """Return the judgement of a loss: its level, its greatest share, and its causes in words."""
    return {"level": loss.level.value, "percent": percent(loss.bps), "inWords": str(loss)}


def summary(kept: KeptQuote) -> dict[str, Any]:
    """Return amounts, value, verification and issues of a quote."""
    quote = kept.quote
    whole = {
        "sellAmount": in_tokens(kept.sell, quote.sell_amount),
        "buyAmount": in_tokens(kept.buy, quote.buy_amount),
        "minBuyAmount": in_tokens(kept.buy, quote.min_buy_amount),
        "maxGasCostEth": format_units(quote.mev_protection.transaction_params.max_gas_cost, 18),
    }
    details = (
        "dexRoute",
        "mevProtection",
        "mevAnalysis",
        "sources",
        "alternatives",
        "loss",
        "timestamp",
    )
    return {
        "inWholeTokens": whole,
        "loss": loss_members(kept.loss),
        "verified": quote.is_verified,
        **marked(quote, *details),
    }


async def explained(
    kept: KeptQuote, client: AsyncQuietswapClient, *, has_node: bool
) -> dict[str, Any]:
    """Return all of a quote: sources, loss, MEV, checks, and what its transaction does."""
    quote = kept.quote
    transaction = quote.mev_protection.transaction_params
    return {
        **summary(kept),
        "mevAnalysis": marked(quote.mev_analysis),
        "protection": _protection(quote),
        "sources": marked(quote.sources),
        "alternatives": marked(quote.alternatives),
        "route": marked(quote.dex_route, "data"),
        "checks": await _checks(kept, client, has_node=has_node),
        "transaction": marked(transaction, "data") | _terms(quote),
    }


async def _checks(
    kept: KeptQuote, client: AsyncQuietswapClient, *, has_node: bool
) -> dict[str, Any]:
    """Return the result of the client's own checks of the quote, which trust no service."""
    settlers: frozenset[Address] = frozenset()
    if has_node and kept.quote.dex_route.target.lower() == ALLOWANCE_HOLDER.lower():
        settlers = frozenset(await client.run(read_settlers()))
    try:
        check_quote(kept.quote, kept.request, settlers)
    except (UnsafeQuote, QuoteDeclined) as error:
        return {"passed": False, **untrusted(reason=str(error))}
    return {"passed": True, "minimumEnforcedByRouter": is_bound(kept.quote)}


def _protection(quote: SwapQuoteResponse) -> dict[str, Any]:
    """Return how the relay is told to treat the transaction; nothing where it cannot be read."""
    try:
        found = quote.mev_protection.metadata
    except msgspec.ValidationError:
        return {}
    return {"tier": found.tier, **marked(found.mev_relay_metadata, "endpoint")}


def _terms(quote: SwapQuoteResponse) -> dict[str, Any]:
    """Return what the router's code enforces, read from the calldata itself."""
    try:
        router = from_any_case(quote.dex_route.target)
        data = bytes.fromhex(quote.dex_route.data.removeprefix("0x"))
        found = calldata.decode(
            router, data, buy_token=from_any_case(quote.buy_token), accept_unbound=True
        )
    except (calldata.UnboundCalldata, calldata.MalformedCalldata, BadAddress, ValueError):
        return {"does": "unknown: its calldata is of no router method that is known here"}
    return {
        "does": "calls the router, which takes at most sellAmount of sellToken from the wallet and"
        " pays at least minBuyAmount of buyToken to the recipient, or reverts",
        "router": ROUTERS.get(router, "unknown"),
        "selector": "0x" + data[:4].hex(),
        "sellToken": found.sell_token,
        "sellAmount": str(found.sell_amount),
        "buyToken": found.buy_token,
        "minBuyAmount": str(found.min_buy_amount),
        "recipient": found.recipient or "the sender",
        "enforcedByRouter": found.bound,
        "callBytes": len(data),
    }
