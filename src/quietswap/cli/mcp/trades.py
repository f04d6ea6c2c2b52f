"""Swaps with ETH as the tools prepare them, step by step, on the record that the command has."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from quietswap.cli.mcp.answers import Refused
from quietswap.cli.mcp.quotes import KeptQuote, to_sign, whole_tokens
from quietswap.cli.output.tokens import ETHER, WETH, DisplayToken
from quietswap.cli.signed_orders import DamagedRecord, SignedOrdersFile
from quietswap.client.flows.finality import SignedOrders
from quietswap.client.flows.trade import Terms, trade_of
from quietswap.client.flows.trade_steps import ReadyStep

Pair = tuple[DisplayToken, DisplayToken]


@contextlib.contextmanager
def alone(
    orders: SignedOrders, wallet: str, *, trade: str | None = None, is_new: bool = False
) -> Iterator[None]:
    """Hold the only swap with ETH of a wallet on this machine, as the command does.

    Raises Refused. What only this process remembers is no other's.
    """
    with contextlib.ExitStack() as until:
        if isinstance(orders, SignedOrdersFile):
            try:
                until.enter_context(orders.swap_with_ether(wallet, trade=trade, is_new=is_new))
            except click.ClickException as error:
                is_damaged = isinstance(error, DamagedRecord)
                code = "RECORD_DAMAGED" if is_damaged else "SWAP_RUNNING"
                raise Refused(code, error.message) from error
        yield


def recorded_terms(orders: SignedOrders, tx_hash: str) -> Terms:
    """Return the terms of a recorded trade, also of one that a command recorded meanwhile.

    Raises QuoteDeclined.
    """
    if isinstance(orders, SignedOrdersFile):
        orders.read_again()
    return trade_of(orders, tx_hash).terms


def quote_of(step: ReadyStep, pair: Pair, at: float) -> KeptQuote | None:
    """Return the quote of a step: of the whole trade before its first one, else of its WETH."""
    plan = step.plan
    if plan is None:
        return None
    if plan.conversion is None:
        pair = in_weth(pair[0]), in_weth(pair[1])
    return KeptQuote(plan.quote, plan.request, *pair, at)


def in_weth(token: DisplayToken) -> DisplayToken:
    """Return the token that a limit is of, and that the swap itself moves."""
    return replace(WETH, raw=token.raw) if token == ETHER else token


def members(step: ReadyStep, pair: Pair) -> dict[str, Any]:
    """Return the terms of a trade, and what is left to sign of it with this step."""
    terms, (sell, buy) = step.terms, pair
    body: dict[str, Any] = {
        "sellToken": terms.sell_token,
        "buyToken": terms.buy_token,
        "sellAmount": str(terms.sell_amount),
        "minBuyAmount": str(terms.at_least),
        "inWholeTokens": whole_tokens(
            sellAmount=(sell, terms.sell_amount), minBuyAmount=(buy, terms.at_least)
        ),
    }
    body |= to_sign(step.steps)
    return body | ({"trade": step.trade} if step.trade else {})
