"""Output of a quote, and of the transaction to sign."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from quietswap.cli.output.local_time import when
from quietswap.cli.output.responsive_table import ResponsiveTable
from quietswap.cli.output.text_table import text_table
from quietswap.cli.output.tokens import ETHER, GWEI, WETH, DisplayToken
from quietswap.client import api_calls
from quietswap.client.errors import ClientError
from quietswap.client.flows.effects import perform
from quietswap.rules.safety.loss import Loss, LossLevel, level_of, to_bps
from quietswap.rules.trial.next_block import SLOT_S
from quietswap.rules.wire import WrapOperation

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient
    from quietswap.rules.contract.quotes import SwapQuoteResponse
    from quietswap.rules.contract.transactions import TransactionParams


_THREAT_STYLE = {"LOW": "green", "MEDIUM": "yellow", "HIGH": "red"}
_LOSS_STYLE = {"none": "", "notice": "yellow", "confirm": "bold red", "type": "bold red"}
_LEAST_REASON = 24
_FIGURES = ("promised", "simulated", "net USD", "ms", "why not")
_GOOD = ("won", "answered")
_EXACT = 200
"""Digits in which a rate of two amounts is compared."""


def usd(value: Decimal, *, known: bool = True) -> str:
    """Return USD to the cent, or a dash if the price is unknown."""
    if not known:
        return "–"
    if 0 < value < Decimal("0.005"):
        return "<$0.01"
    return f"{'-' if value < 0 else ''}${abs(value):,.2f}"


def short(text: str) -> str:
    """Return the first 6 and last 4 characters of an address or hash."""
    return f"{text[:6]}…{text[-4:]}"


def facts(*rows: tuple[str, RenderableType]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid


def sources(quote: "SwapQuoteResponse", buy: DisplayToken) -> RenderableType:
    """Return promised and simulated output of each source, or why it has no route.

    A screen too narrow for the reasons has them below the figures, each cut to one line; one that
    is too narrow for the figures has one of them in each line.
    """
    table, compact = _source_table(_FIGURES), _source_table(_FIGURES)
    table.add_column(_FIGURES[-1], overflow="fold", min_width=_LEAST_REASON)
    worth = {quote.source: quote.scoring.net_value_usd}
    worth |= {other.source: other.net_value_usd for other in quote.alternatives}
    ranks = {name: rank for rank, name in enumerate(worth)}
    blocks: list[RenderableType] = []
    reasons: list[RenderableType] = []
    for report in sorted(quote.sources, key=lambda r: ranks.get(r.source, len(ranks))):
        won, net = report.source == quote.source, worth.get(report.source)
        source = Text(report.source, "bold" if won else "")
        has_price = quote.scoring.price_available
        amounts = (report.promised, report.simulated)
        cells = [
            *(Text("" if each is None else buy.brief(each)) for each in amounts),
            Text(usd(net, known=has_price) if net is not None else ""),
            Text(str(report.latency_ms)),
            Text(why(report.outcome, report.reason), "yellow"),
        ]
        mark = Text("▸" if won else "", "green")
        table.add_row(mark, source, *cells)
        compact.add_row(mark, source, *cells[:-1])
        if cells[-1].plain:
            line = Text.assemble(f"  {report.source}: ", cells[-1])
            line.no_wrap, line.overflow = True, "ellipsis"
            reasons.append(line)
        rows = [(name, cell) for name, cell in zip(_FIGURES, cells, strict=True) if cell.plain]
        head = Text.assemble("▸ " if won else "  ", source)
        blocks += [head, Padding(facts(*rows), (0, 0, 0, 2))]
    narrow = ResponsiveTable(compact, Group(*blocks), below=tuple(reasons))
    return ResponsiveTable(table, narrow)


def _source_table(figures: Sequence[str]) -> Table:
    table = text_table("", "source", *figures[:-1], right=figures, folds=())
    table.columns[0].width = 1
    return table


def why(outcome: str, reason: str | None) -> str:
    """Return why a source gave no route: the outcome in words, and its reason unless the same."""
    words = "" if outcome in _GOOD else outcome.replace("_", " ")
    return ": ".join(dict.fromkeys(text for text in (words, reason) if text))


def summary(
    quote: "SwapQuoteResponse", sell: DisplayToken, buy: DisplayToken, *, approves: bool = False
) -> RenderableType:
    """Return sources, amounts, value, checks and MEV risk of a quote.

    `approves`: a missing allowance is not named, because the caller approves the router.
    """
    known, gas_usd = quote.scoring.price_available, quote.scoring.gas_cost_usd
    gas = f"gas {usd(gas_usd, known=gas_usd > 0)} for {quote.estimated_gas:,} units"
    net = f"net {usd(quote.scoring.net_value_usd, known=known)}"
    checked = Text("verified by simulation", "green")
    if not quote.is_verified:
        checked = Text("not verified: the amounts are not simulated", "yellow")
    if quote.verification is not None and quote.verification.bound is False:
        checked = Text("no router is proven to enforce the minimum", "bold red")
    rows: list[tuple[str, RenderableType]] = [
        ("give", Text(sell.show(quote.sell_amount))),
        ("get", Text(f"{buy.show(quote.buy_amount)} via {quote.source}", "bold")),
        ("at least", Text(buy.show(quote.min_buy_amount))),
        ("worth", Text.assemble(f"{net}, {gas}, price impact ", _impact(quote))),
        ("checked", checked),
        ("MEV", _mev(quote)),
    ]
    lacks = _missing(quote, sell, approves=approves)
    rows += [("missing", Text(text, "yellow")) for text in lacks]
    notes = quote.verification.notes if quote.verification else ()
    rows += [("note", Text(note, "yellow")) for note in notes]
    return Group(sources(quote, buy), Text(), facts(*rows))


def _missing(quote: "SwapQuoteResponse", sell: DisplayToken, *, approves: bool) -> list[str]:
    """Return what the wallet lacks to submit the quote."""
    lines, issues = [], quote.issues
    if issues.balance is not None and sell != ETHER:  # it is of the WETH that a wrap makes
        lines.append(f"balance: the wallet holds {sell.show(issues.balance.actual)}")
    if issues.allowance is not None and not approves:
        moved = replace(WETH, raw=sell.raw) if sell == ETHER else sell
        allowed = moved.show(issues.allowance.actual)
        lines.append(f"allowance: {issues.allowance.spender} may move {allowed}")
    if issues.gas is not None:
        held, needed = ETHER.show(issues.gas.actual), ETHER.at_most(issues.gas.needed, 6)
        lines.append(f"gas: the wallet holds {held}, the transaction locks up to {needed}")
    return lines


def usual_wait(client: "QuietswapClient") -> str | None:
    """Return how long orders of the service wait for a block; None if it does not say."""
    with suppress(ClientError):  # an older service has no record
        return client.run(perform(api_calls.inclusion(days=7))).usual_wait
    return None


def whole_quote(
    quote: "SwapQuoteResponse",
    sell: DisplayToken,
    buy: DisplayToken,
    loss: Loss,
    limit: int | None = None,
) -> RenderableType:
    """Return all that is shown of a quote; `limit` as `rate_text` has it."""
    blocks = summary(quote, sell, buy), _terms(quote, sell, buy, limit), loss_notice(loss)
    return Group(*(block for block in blocks if block is not None))


def rate_text(
    sold: int, bought: int, sell: DisplayToken, buy: DisplayToken, limit: int | None = None
) -> str:
    """Return what one whole token of `sell` is worth, by two amounts in smallest units.

    It has six significant digits, and more where they would compare otherwise with `limit`, which
    is in smallest units of `buy` for one token of `sell`.
    """
    with localcontext(prec=_EXACT):
        unit = 1 if buy.raw else 10**buy.decimals
        rate = Decimal(bought * 10**sell.decimals) / sold / unit
        places = 0 if buy.raw or not rate else max(5 - rate.adjusted(), 0)
        if limit is not None:
            bound = Decimal(limit) / unit
            while round(rate, places).compare(bound) != rate.compare(bound):
                places += 1
        return f"{rate:.{places}f}" if buy.raw else f"{rate:,.{places}f}"


def _terms(
    quote: "SwapQuoteResponse", sell: DisplayToken, buy: DisplayToken, limit: int | None
) -> RenderableType:
    """Return exchange rate and validity of a quote, and what its percentage is."""
    rows: list[tuple[str, RenderableType]] = []
    if quote.sell_amount and not sell.raw:
        rate = rate_text(quote.sell_amount, quote.buy_amount, sell, buy, limit)
        text = f"1 {sell.symbol} = {rate} {buy.symbol}"
        rows.append(("rate", f"{text}; price impact is how far below the market's price that is"))
    until = "its router has no deadline"
    if quote.executable_until is not None:
        until = f"no block executes it after {when(quote.executable_until)}"
    rows.append(("valid", f"about 30 seconds to sign and submit it; {until}"))
    return facts(*rows)


def missing_ether(wei: int, sell: DisplayToken) -> RenderableType:
    """Return that the wallet holds too little ETH, in wei, for the wrap."""
    text = f"balance: the wallet holds {sell.show(wei)}, too little to wrap"
    return facts(("missing", Text(text, "yellow")))


def steps(quote: "SwapQuoteResponse", sell: DisplayToken) -> RenderableType:
    """Return what is signed for a quote with ETH, in order."""
    return steps_to_sign(step_names(quote, sell))


def step_names(quote: "SwapQuoteResponse", sell: DisplayToken) -> tuple[str, ...]:
    """Return the steps of a quote with ETH, as far as the service tells the allowance."""
    names = ["swap"] if quote.issues.allowance is None else ["approve", "swap"]
    return ("wrap", *names) if sell == ETHER else (*names, "unwrap")


def in_one(quote: "SwapQuoteResponse", conversion: WrapOperation | None) -> RenderableType | None:
    """Return that one transaction does it all from a delegated wallet; None if it cannot."""
    form = quote.batch
    if form is None or form.transaction_params is None or form.conversion != conversion:
        return None
    text = f"{batch_steps(conversion)} in one transaction, as the wallet is delegated: swap"
    return facts(("at once", Text(f"{text} --approve batch")))


def batch_steps(conversion: WrapOperation | None) -> str:
    """Return what a batched form does, in words."""
    steps = {"wrap": "wrap, approval and swap", "unwrap": "approval, swap and unwrap"}
    return steps.get(conversion or "", "approval and swap")


def least_seconds(names: Sequence[str]) -> int:
    """Return how long steps take at least: each waits for the block of the one before it."""
    return len(names) * SLOT_S


def steps_to_sign(names: Sequence[str]) -> RenderableType:
    """Return the steps of a plan with ETH, and how long they take at least."""
    seconds = least_seconds(names)
    text = f"{', '.join(names)}: {len(names)} signatures, each after the block of the one before:"
    text += f" {seconds} s at least, and nobody promises how long a block without a tip takes"
    return facts(("to sign", Text(text)))


def _impact(quote: "SwapQuoteResponse") -> Text:
    if not quote.price_impact_available:
        return Text("unknown", "yellow")
    return Text(f"{quote.price_impact:.2f} %", loss_style(quote.price_impact))


def loss_style(percent: Decimal) -> str:
    return _LOSS_STYLE[level_of(to_bps(percent))]


def loss_notice(loss: Loss) -> RenderableType | None:
    """Return what a swap or wrap may lose; None if it is below a notice."""
    if loss.level is LossLevel.NONE:
        return None
    return facts(("careful", Text(f"it may lose: {loss}", _LOSS_STYLE[loss.level])))


def _mev(quote: "SwapQuoteResponse") -> Text:
    analysis = quote.mev_analysis
    loss = usd(analysis.estimated_protection_usd)
    threat = Text(analysis.threat_level, _THREAT_STYLE.get(analysis.threat_level, ""))
    risk = f": sent publicly it could lose up to {loss}. "
    if not analysis.estimated_protection_usd:
        risk = ": not worth a sandwich. "
    if not analysis.known:
        threat = Text(f"unknown, at most {analysis.threat_level}", "yellow")
        risk = ": the price or the price impact is unknown. "
    via = f"Goes privately to {quote.mev_protection.provider}"
    return Text.assemble(threat, risk, f"{via}; {_reverts(quote)}.")


def _reverts(quote: "SwapQuoteResponse") -> str:
    try:
        drops = quote.mev_protection.metadata.mev_relay_metadata.revert_protection
    except msgspec.ValidationError:  # it is sent back as it is, and nothing else depends on it
        return "its settings cannot be read"
    return "reverts are not mined" if drops else "reverts are mined"


def to_sign(
    params: "TransactionParams",
    target: str,
    nonce: Text,
    *,
    others: Mapping[str, int] | None = None,
) -> Table:
    """Return the fields of the transaction to sign; `target` names the called contract.

    `others` is by its verb the maximum fee of what is signed beside it, in wei; the shown fee
    includes it.
    """
    fees = {verb: wei for verb, wei in (others or {}).items() if wei}
    cap = params.max_gas_cost + sum(fees.values())
    fee = f"at most {ETHER.at_most(cap, 6)}: {params.gas_limit:,} gas at"
    fee += f" {GWEI.at_most(params.max_fee_per_gas, 3)}, tip {params.max_priority_fee_per_gas}"
    for verb, wei in fees.items():
        fee += f", and {ETHER.at_most(wei, 6)} to {verb}"
    more = max(len(params.data) // 2 - 5, 0)
    call = params.data[:10] + (f" and {more:,} bytes" if more else "")
    return facts(
        ("to", Text(f"{params.to} ({target})")),
        ("call", Text(f"{call}, with {ETHER.show(params.value)}")),
        ("nonce", nonce),
        ("fee", Text(fee)),
    )


def nonce_to_sign(nonce: int | None, counted: int | None) -> Text:
    """Return the nonce with a warning unless it is `counted`, the next one at the caller's node."""
    if nonce is None or counted is None or nonce == counted:
        return Text(str(nonce))
    if nonce < counted:
        return Text(f"{nonce}: used already, your node counts {counted}", "yellow")
    return Text(f"{nonce}: waits for {nonce - counted} still open before it", "yellow")
