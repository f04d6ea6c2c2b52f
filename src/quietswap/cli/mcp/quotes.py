"""Tokens, amounts and quotes as the tools take and tell them; what is kept by an id."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import click
import msgspec
from cachetools import FIFOCache

from quietswap.cli.mcp.answers import BadInput, marked, read_with, untrusted
from quietswap.cli.output import tokens
from quietswap.cli.output.quote import least_seconds, step_names
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import AsyncQuietswapClient, QuoteDeclined, UnsafeQuote
from quietswap.client.flows.quote_checks import ALLOWANCE_HOLDER, SwapRequest, check_quote
from quietswap.client.flows.quoting import judge_quote
from quietswap.client.flows.reference_price import read_settlers
from quietswap.rules.amounts import format_units
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.safety import calldata
from quietswap.rules.safety.loss import Loss, percent
from quietswap.rules.safety.methods import ROUTERS
from quietswap.rules.tx.address import Address, BadAddress, from_any_case

T = TypeVar("T")


class Kept(FIFOCache[str, T]):
    """The newest 100 values by their ids, which are random: no other session guesses one.

    An unknown id raises BadInput for the argument `field`.
    """

    def __init__(self, field: str, missing: str) -> None:
        super().__init__(100)
        self._field, self._missing = field, missing

    def add(self, value: T) -> str:
        """Keep a value and return its id."""
        new = f"{self._field[0]}_{secrets.token_hex(8)}"
        self[new] = value
        return new

    def take(self, key: str) -> T:
        """Return a value for the last time. `pop` would not ask `__missing__`."""
        value = self[key]
        del self[key]
        return value

    def __missing__(self, key: str) -> T:
        raise BadInput(self._field, self._missing)


async def find_token(
    field: str,
    text: str,
    client: AsyncQuietswapClient,
    *,
    has_node: bool,
    takes_ether: bool = False,
) -> DisplayToken:
    """Return the token of a built-in symbol or an address, which is the symbol of other tokens.

    Their decimals are those of the caller's own node. Without one the service tells them: they read
    an amount for a figure, and no amount is shown in them (`raw`). Raises BadInput.
    """
    if takes_ether and tokens.is_ether(text):
        return tokens.ETHER
    read_with(field, tokens.refuse_ether, text)
    address = read_with(field, tokens.address_of, text)
    try:
        token = await client.run(tokens.token_at(address, by_node=has_node))
    except click.UsageError as error:
        raise BadInput(field, error.message) from None
    if token == tokens.KNOWN.get(token.symbol):
        return token
    return replace(token, symbol=address, raw=not has_node)


def read_units(text: str, token: DisplayToken, *, smallest: bool, name: str = "amount") -> int:
    """Return an amount in smallest units; with `smallest` it is written in them."""
    written = replace(token, raw=smallest)
    return int(read_with(name, lambda it: tokens.parse_amount(it, written), text))


def read_wallet(text: str) -> str:
    """Return a wallet's address with checksum. Raises BadInput."""
    return str(read_with("wallet", tokens.wallet_address, text))


@dataclass(frozen=True, slots=True)
class KeptQuote:
    """A quote with what was asked. `at` is the time of its arrival in s of a monotonic clock.

    With ETH the quote is of its WETH. `ether` is what the wallet holds of ETH, in wei, if it sells
    it and the service was asked.
    """

    quote: SwapQuoteResponse
    request: SwapRequest
    sell: DisplayToken
    buy: DisplayToken
    at: float
    ether: int | None = None


def loss_members(loss: Loss) -> dict[str, Any]:
    """Return the judgement of a loss: its level, its greatest share, and its causes in words."""
    return {"level": loss.level.value, "percent": percent(loss.bps), "inWords": str(loss)}


def whole_tokens(**amounts: tuple[DisplayToken, int]) -> dict[str, str]:
    """Return amounts in whole tokens; one whose decimals only the service tells is absent."""
    return {
        name: format_units(amount, token.decimals)
        for name, (token, amount) in amounts.items()
        if not token.raw
    }


def summary(kept: KeptQuote) -> dict[str, Any]:
    """Return amounts, value, verification and issues of a quote, with its loss."""
    quote, buys = kept.quote, kept.buy
    in_whole_tokens = whole_tokens(
        sellAmount=(kept.sell, quote.sell_amount),
        buyAmount=(buys, quote.buy_amount),
        minBuyAmount=(buys, quote.min_buy_amount),
        maxGasCostEth=(tokens.ETHER, quote.mev_protection.transaction_params.max_gas_cost),
    )
    details = "dexRoute mevProtection mevAnalysis sources alternatives loss timestamp"
    body = {
        "inWholeTokens": in_whole_tokens,
        "loss": loss_members(judge_quote(quote, kept.request.slippage_bps)),
        "verified": quote.is_verified,
        **marked(quote, *details.split()),
    }
    if tokens.ETHER in (kept.sell, kept.buy):
        body["plan"] = _plan(kept)
    if kept.sell == tokens.ETHER:  # it is of the WETH that a wrap makes
        body["issues"].pop("balance", None)
    return body


def _plan(kept: KeptQuote) -> dict[str, Any]:
    """Return what a swap with ETH signs, as far as the service tells; prepare_swap has its gas."""
    plan = {**to_sign(step_names(kept.quote, kept.sell)), "next": "prepare_swap"}
    needs = int(kept.quote.sell_amount)
    if kept.ether is not None and kept.ether < needs:
        plan["missingEth"] = {"actual": str(kept.ether), "needed": str(needs)}
    return plan


def to_sign(steps: Sequence[str]) -> dict[str, Any]:
    """Return what is signed, how often, and how long it takes at least."""
    return {
        "steps": list(steps),
        "signatures": len(steps),
        "atLeastSeconds": least_seconds(steps),
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
        check_quote(kept.quote, kept.request.in_weth, settlers)
    except (UnsafeQuote, QuoteDeclined) as error:
        return {"passed": False, **untrusted(reason=str(error))}
    return {"passed": True, "minimumEnforcedByRouter": True}


def _protection(quote: SwapQuoteResponse) -> dict[str, Any]:
    """Return how the relay is told to treat the transaction; nothing where it cannot be read."""
    try:
        metadata = quote.mev_protection.metadata
    except msgspec.ValidationError:
        return {}
    return {"tier": metadata.tier, **marked(metadata.mev_relay_metadata, "endpoint")}


def _terms(quote: SwapQuoteResponse) -> dict[str, Any]:
    """Return what the router's code enforces, read from the calldata itself."""
    try:
        router = from_any_case(quote.dex_route.target)
        data = bytes.fromhex(quote.dex_route.data.removeprefix("0x"))
        decoded = calldata.decode(router, data, buy_token=from_any_case(quote.buy_token))
    except (calldata.UnboundCalldata, calldata.MalformedCalldata, BadAddress, ValueError):
        return {"does": "unknown: its calldata is of no router method that is known here"}
    return {
        "does": "calls the router, which takes at most sellAmount of sellToken from the wallet and"
        " pays at least minBuyAmount of buyToken to the recipient, or reverts",
        "router": ROUTERS.get(router, "unknown"),
        "selector": "0x" + data[:4].hex(),
        "sellToken": decoded.sell_token,
        "sellAmount": str(decoded.sell_amount),
        "buyToken": decoded.buy_token,
        "minBuyAmount": str(decoded.min_buy_amount),
        "recipient": decoded.recipient or "the sender",
        "enforcedByRouter": True,
        "callBytes": len(data),
    }
