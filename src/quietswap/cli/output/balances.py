"""Output of balances and allowances, of token searches and of indicative prices."""

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from quietswap.cli.output.quote import facts, short, usd, why
from quietswap.cli.output.text_table import text_table
from quietswap.cli.output.tokens import ETHER, DisplayToken
from quietswap.rules.safety.methods import ROUTERS
from quietswap.rules.tx.address import Address

if TYPE_CHECKING:
    from quietswap.rules.contract import quotes, tokens
from quietswap.cli.output.orders import Rows

_UNLIMITED = 2**128
"""An allowance from here on is shown as unlimited: no token has so many units."""


def names(found: "tokens.BalancesResponse") -> list[str]:
    """Return one name for each token: its symbol, or its address.

    The address if another one has the symbol, or if it has letters that imitate ASCII.
    """
    symbols = [one.symbol if one.symbol.isascii() else "" for one in found.tokens]
    count = Counter(["", "", "ETH", *symbols])
    return [
        symbol if count[symbol] == 1 else token.address
        for symbol, token in zip(symbols, found.tokens, strict=True)
    ]


def as_json(found: "tokens.BalancesResponse") -> dict[str, Any]:
    """Return the JSON of `quietswap balances`: amounts in smallest units, null if unknown."""
    named = list(zip(names(found), found.tokens, strict=True))
    return {
        "wallet": found.user_address,
        "blockNumber": found.block_number,
        "balances": {"ETH": str(found.eth.wei)} | {n: _text(t.balance) for n, t in named},
        "allowances": {
            name: {row.router: _text(row.allowance) for row in token.allowances}
            for name, token in named
        },
    }


def _text(amount: int | None) -> str | None:
    return None if amount is None else str(amount)


def summary(found: "tokens.BalancesResponse", *, raw: bool, allowances: bool) -> RenderableType:
    rows: Rows = [("ETH", replace(ETHER, raw=raw).number(int(found.eth.wei)))]
    for name, token in zip(names(found), found.tokens, strict=True):
        rows.append((name if len(name) <= 11 else short(name), _number(token, token.balance, raw)))
        if allowances:
            rows += [("", _allowance(token, row, raw)) for row in token.allowances]
    return Group(Text(f"{found.user_address} at block {found.block_number}", "bold"), facts(*rows))


def _allowance(token: "tokens.TokenBalance", row: "tokens.RouterAllowance", raw: bool) -> Text:
    """Return what a router may move. The client knows its name, or shows its whole address."""
    name = ROUTERS.get(Address(row.router))
    router = f"{name} {short(row.router)}" if name else f"unknown router {row.router}"
    style = "dim" if name or not row.allowance else "yellow"
    return Text(f"{router}: {_number(token, row.allowance, raw)}", style)


def _number(token: "tokens.TokenBalance", amount: int | None, raw: bool) -> str:
    if amount is None:
        return "unknown: the contract does not tell"
    if amount >= _UNLIMITED and not raw:
        return "unlimited"
    if token.decimals is None:
        return f"{amount} smallest units"
    return DisplayToken(token.address, token.symbol, token.decimals, raw).number(int(amount))


def token_table(found: "tokens.TokensResponse") -> RenderableType:
    if not found.tokens:
        return Text("no token found")
    lines: list[RenderableType] = [_entry(token) for token in found.tokens]
    first, last = found.pagination.offset + 1, found.pagination.next_offset
    if found.has_more or first > 1:
        more = f"; more with --offset {last}" if found.has_more else ""
        lines.append(Text(f"{first} to {last} of {found.total}{more}", "dim"))
    return Group(*lines)


def _entry(token: "tokens.TokenEntry") -> RenderableType:
    head = Text.assemble((token.symbol or "no symbol", "bold"), f"  {token.name}")
    rows: Rows = [("address", token.address), ("decimals", str(token.decimals))]
    rows.append(("lists", ", ".join(token.lists) or "none"))
    if token.transfer_fee_bps is not None:
        rows.append(("fee", f"{token.transfer_fee_bps / 100:.2f} % on a simulated transfer"))
    if token.warnings:
        rows.append(("warnings", Text(", ".join(token.warnings), "yellow")))
    return Group(head, facts(*rows))


def price_table(
    found: "quotes.PriceResponse", sell: DisplayToken, buy: DisplayToken
) -> RenderableType:
    """Return an indicative price and the promise of each source."""
    figures = ("promised", "ms")
    table = text_table("source", *figures, "why not", right=figures, folds=("why not",))
    for row in found.sources:
        promised = "–" if row.buy_amount is None else buy.brief(int(row.buy_amount))
        style = "bold" if row.outcome == "won" else ""
        outcome = why(row.outcome, row.reason)
        table.add_row(row.source, promised, str(row.latency_ms), outcome, style=style)
    impact = f"{found.price_impact:.2f} %" if found.price_impact_available else "unknown"
    gas = usd(found.scoring.gas_cost_usd, known=found.scoring.price_available)
    rows = facts(
        ("sell", sell.show(int(found.sell_amount))),
        ("get about", f"{buy.show(int(found.buy_amount))} by {found.source}"),
        ("impact", impact),
        ("gas", f"about {found.estimated_gas:,} units, {gas}"),
    )
    note = "indicative: nothing was simulated or verified; `quietswap quote` verifies"
    return Group(table, rows, Text(note, "yellow"))
