"""AMOUNT, SELL and BUY of a command as a person writes them: `all UNI WETH`, `50% WETH USDC`."""

import re
import shlex
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NotRequired, TypedDict

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import confirm
from quietswap.cli.output import tokens
from quietswap.cli.output.tokens import (
    ETHER,
    KNOWN,
    WETH,
    DisplayToken,
    address_of,
    is_ether,
    refuse_ether,
)
from quietswap.rules.amounts import UINT256_MAX
from quietswap.rules.foreign_text import visible

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient
    from quietswap.client.flows.effects import Flow
    from quietswap.rules.contract.tokens import TokenEntry

_PERCENT = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,6}))?%")
_MOST_FOUND = 200
_KEPT_GAS = 500_000
_HEADROOM = 10**8
"""Of the ETH that is wrapped whole, what stays: gas of the wrap, an approval and a swap, each at
twice the base fee and 0.1 gwei, as the service sets a fee cap."""


def token_address(
    text: str, client: "QuietswapClient", context: CommandContext, *, signs: bool, yes: bool = False
) -> str:
    """Return the address of a token from its address or symbol. Raises click.UsageError.

    The client knows five symbols itself. Another symbol is looked up in the token list of the
    service, which may lie: its address is shown. If the command `signs`, a person must confirm that
    address; `yes` takes no symbol of the list, because then nobody looks.
    """
    if text.upper() in KNOWN or text[:2].lower() == "0x":
        return address_of(text)
    refuse_ether(text)
    entry = _listed(text, client)
    address = address_of(entry.address)
    _compare_symbols(text, address, client, context)
    by = "by the service's token list"
    context.say(f"{entry.symbol} is {entry.address}, {entry.name}, {by}", "bold")
    if entry.warnings:
        context.say(f"  {', '.join(entry.warnings)}", "yellow")
    if signs and yes:
        raise click.UsageError(
            f"--yes takes {text} by its address only, because the service chose it: {address}"
        )
    if signs and not confirm("Is this the token that you mean?", skip=False):
        raise click.ClickException("nothing was signed: name the token by its address")
    return address


def token_pair(
    sell: str,
    buy: str,
    client: "QuietswapClient",
    context: CommandContext,
    *,
    signs: bool,
    yes: bool = False,
    by_node: bool = True,
    amount: str | None = None,
) -> tuple[DisplayToken, DisplayToken]:
    """Return SELL and BUY, as `token_address` and `by_address` find them.

    One of them may be ETH. The error for ETH and WETH names a command with `amount`. Raises
    click.UsageError.
    """
    pair = []
    for each in (sell, buy):
        if is_ether(each):
            pair.append(replace(ETHER, raw=context.raw))
            continue
        address = token_address(each, client, context, signs=signs, yes=yes)
        pair.append(tokens.by_address(address, client, context, by_node=by_node))
    if pair == [ETHER, ETHER]:
        raise click.UsageError("SELL and BUY are both ETH")
    if ETHER in pair and all(each in (ETHER, WETH) for each in pair):
        operation = "unwrap" if pair[1] == ETHER else "wrap"
        wish = shlex.join([operation, amount or "AMOUNT"])
        raise click.UsageError(f"ETH and WETH are one to one: quietswap {wish}")
    return pair[0], pair[1]


def token_of(token: DisplayToken) -> str:
    """Return what names a token in a request: its address, or ETH."""
    return token.address or token.symbol


def _listed(text: str, client: "QuietswapClient") -> "TokenEntry":
    """Return the only token of the service's list with this symbol, in any letter case."""
    symbol = text.casefold()
    listed = client.tokens(text, limit=_MOST_FOUND).tokens if text.isascii() else ()
    by_address = {token.address: token for token in listed if token.symbol.casefold() == symbol}
    if not by_address:
        raise click.UsageError(
            f"{text!r} is neither {', '.join(KNOWN)}, nor an address, nor the symbol of a listed"
            " token: quietswap tokens finds them by name"
        )
    if len(by_address) > 1:
        choices = ", ".join(
            f"{each.address} ({visible(each.name)})" for each in by_address.values()
        )
        raise click.UsageError(
            f"{len(by_address)} listed tokens have the symbol {text}, give an address: {choices}"
        )
    return by_address.popitem()[1]


def _compare_symbols(
    text: str, address: str, client: "QuietswapClient", context: CommandContext
) -> None:
    """Refuse a token whose contract has another symbol, if the caller's own node tells it."""
    if context.rpc_url is None:
        return
    from quietswap.client import node_calls
    from quietswap.client.flows.approvals import require_mainnet

    client.run(require_mainnet())
    own = client.node(node_calls.symbol(address))
    if own and own.casefold() != text.casefold():
        raise click.UsageError(
            f"the service says that {text} is {address}, but that contract calls itself {own[:32]}:"
            " name the token by its address"
        )


def units_of(
    text: str, token: DisplayToken, client: "QuietswapClient", context: CommandContext, wallet: str
) -> int:
    """Return an AMOUNT in smallest units: digits, `all`, `max`, or a share such as `50%`.

    The balance is that of the caller's own node. Of ETH enough stays for gas. Raises
    click.UsageError.
    """
    share = _share(text)
    if share is None:
        return tokens.parse_amount(text, token)
    if context.rpc_url is None:
        raise click.UsageError(f"{text}: your own node has the balance: give --rpc-url, or digits")
    from quietswap.client.flows.moment import at_one_moment

    balance, base_fee = client.run(at_one_moment(_balance(token, wallet)))
    units = balance * share.numerator // share.denominator
    if token == ETHER:
        gas_reserve = _KEPT_GAS * (2 * base_fee + _HEADROOM)
        units = min(units, balance - gas_reserve)
        if units == balance - gas_reserve > 0:
            kept_text = f"keeps {ETHER.at_most(gas_reserve, 6)} for the gas of this"
            context.say(f"{kept_text}, and of an approval and a swap", "yellow")
    if units <= 0:
        has = replace(token, raw=False).show(balance)
        raise click.UsageError(f"{text}: the wallet holds {has}, too little")
    return units


def _balance(token: DisplayToken, wallet: str) -> "Flow[tuple[int, int]]":
    """Return a balance, and the base fee in wei per gas, at the caller's own node."""
    from quietswap.client import node_calls
    from quietswap.client.flows.approvals import require_mainnet
    from quietswap.client.flows.effects import perform
    from quietswap.client.flows.moment import read_ahead

    balance = node_calls.eth_balance(wallet)
    if token != ETHER:
        balance = node_calls.token_balance(token.address, wallet)
    yield from read_ahead(node_calls.CHAIN_ID, balance, node_calls.BASE_FEE)
    yield from require_mainnet()
    return (yield from perform(balance)), (yield from perform(node_calls.BASE_FEE))


class Amounts(TypedDict):
    """The amounts of a `SwapRequest`, in smallest units."""

    sell_amount: int | None
    at_least: NotRequired[int]
    max_sell: NotRequired[int]


def amounts_of(
    texts: tuple[str | None, str | None, str | None, str | None],
    pair: tuple[DisplayToken, DisplayToken],
    client: "QuietswapClient",
    context: CommandContext,
    wallet: str,
) -> Amounts:
    """Return what AMOUNT, --receive, --max-sell and --at-least ask for: SELL and BUY are the pair.

    Without --max-sell any amount may be sold, which only a command that signs nothing may ask for.
    Raises click.UsageError.
    """
    (amount, receive, max_sell, at_least), (sell, buy) = texts, pair
    if receive is None:
        assert amount is not None  # the command has one of the two
        exact: Amounts = {"sell_amount": units_of(amount, sell, client, context, wallet)}
        if at_least is not None:
            exact["at_least"] = tokens.parse_amount(at_least, buy, "--at-least")
        return exact
    least = tokens.parse_amount(receive, buy, "--receive")
    most = UINT256_MAX
    if max_sell is not None:
        most = tokens.parse_amount(max_sell, sell, "--max-sell")
    return {"sell_amount": None, "at_least": least, "max_sell": most}


def recorded_terms(
    tx_hash: str, client: "QuietswapClient", context: CommandContext
) -> tuple[tuple[DisplayToken, DisplayToken], Amounts]:
    """Return tokens and amounts of a swap with ETH that was signed here. Raises QuoteDeclined."""
    from quietswap.client.flows.trade import trade_of

    terms = trade_of(client.orders, tx_hash).terms
    sell, buy = (
        replace(ETHER, raw=context.raw)
        if is_ether(token)
        else tokens.by_address(token, client, context)
        for token in (terms.sell_token, terms.buy_token)
    )
    return (sell, buy), {"sell_amount": terms.sell_amount, "at_least": terms.at_least}


def _share(text: str) -> Fraction | None:
    """Return the share of a balance; None for an amount in digits. Raises click.UsageError."""
    if text.lower() in ("all", "max"):
        return Fraction(1)
    percent = _PERCENT.fullmatch(text)
    if percent is None:
        return None
    places = percent[2] or ""
    share = Fraction(int(percent[1] + places), 100 * 10 ** len(places))
    if not 0 < share <= 1:
        raise click.UsageError(f"{text}: a share is more than 0% and at most 100%")
    return share
