"""How a quote looks: the sources side by side, what it is worth, what will be signed."""

from decimal import Decimal
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from quietswap.cli.tokens import ETHER, Token

if TYPE_CHECKING:
    from quietswap.client.resources import SourceReport, SwapQuote, TransactionParams

_THREAT_STYLE = {"LOW": "green", "MEDIUM": "yellow", "HIGH": "red"}
_GWEI = Token("", "gwei", 9)
_GOOD = ("won", "answered")


def usd(value: Decimal, *, known: bool = True) -> str:
    """Return USD to the cent, or a dash where no price is known."""
    return f"${value:,.2f}" if known else "–"


def short(text: str) -> str:
    """Return an address or hash in the middle of a sentence."""
    return f"{text[:6]}…{text[-4:]}"


def facts(*rows: tuple[str, RenderableType]) -> Table:
    """Return name and value in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True, min_width=9)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value)
    return grid


def sources(quote: "SwapQuote", buy: Token, *, raw: bool = False) -> Table:
    """Return what each source promised, what the simulation said, and why not."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, header_style="dim")
    table.add_column("", width=1)
    table.add_column("source", no_wrap=True)
    table.add_column("promised", justify="right", no_wrap=True)
    table.add_column("simulated", justify="right", no_wrap=True)
    table.add_column("net USD", justify="right", no_wrap=True)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("why not", overflow="fold")
    worth = {quote.source: quote.scoring.net_value_usd}
    worth |= {other.source: other.net_value_usd for other in quote.alternatives}
    best = min((rank for rank, _ in enumerate(worth)), default=0)
    order = {name: rank for rank, name in enumerate(worth)}
    for report in sorted(quote.sources, key=lambda r: order.get(r.source, len(order))):
        won = order.get(report.source) == best
        net = worth.get(report.source)
        table.add_row(
            Text("▸" if won else "", "green"),
            Text(report.source, "bold" if won else ""),
            _amount(report.promised, buy, raw),
            _amount(report.simulated, buy, raw),
            usd(net, known=quote.scoring.price_available) if net is not None else "",
            str(report.latency_ms),
            Text(_why(report), "yellow"),
        )
    return table


def _amount(amount: int | None, token: Token, raw: bool) -> str:
    return "" if amount is None else token.brief(amount, raw=raw)


def _why(report: "SourceReport") -> str:
    if report.outcome in _GOOD:
        return report.reason or ""
    outcome = report.outcome.replace("_", " ")
    return f"{outcome}: {report.reason}" if report.reason else outcome


def summary(quote: "SwapQuote", sell: Token, buy: Token, *, raw: bool = False) -> RenderableType:
    """Return what the quote is worth and what a public swap would risk."""
    known = quote.scoring.price_available
    percent = f"{quote.price_impact:.2f} %" if quote.price_impact_available else "unknown"
    gas = f"gas {usd(quote.scoring.gas_cost_usd, known=known)} ({quote.estimated_gas:,})"
    net = f"net {usd(quote.scoring.net_value_usd, known=known)}"
    checked = Text("verified by simulation", "green")
    if not quote.is_verified:
        checked = Text("not verified: the amounts are the source's promise", "yellow")
    rows: list[tuple[str, RenderableType]] = [
        ("give", Text(sell.show(quote.sell_amount, raw=raw))),
        ("get", Text(f"{buy.show(quote.buy_amount, raw=raw)} via {quote.source}", "bold")),
        ("at least", Text(buy.show(quote.min_buy_amount, raw=raw))),
        ("worth", Text(f"{net}, {gas}, price impact {percent}")),
        ("checked", checked),
        ("MEV", _mev(quote)),
    ]
    notes = quote.verification.notes if quote.verification else ()
    rows += [("note", Text(note, "yellow")) for note in notes]
    return Group(sources(quote, buy, raw=raw), Text(), facts(*rows))


def _mev(quote: "SwapQuote") -> Text:
    analysis, settings = quote.mev_analysis, quote.mev_protection.metadata.mev_relay_metadata
    loss = usd(analysis.estimated_protection_usd)
    threat = Text(analysis.threat_level, _THREAT_STYLE.get(analysis.threat_level, ""))
    risk = f": sent publicly it could lose up to {loss}. "
    if not analysis.estimated_protection_usd:
        risk = ": not worth a sandwich. "
    reverts = "reverts are not mined" if settings.revert_protection else "reverts are mined"
    via = f"Goes privately to {quote.mev_protection.provider}"
    return Text.assemble(threat, risk, f"{via} ({settings.endpoint_type}; {reverts}).")


def to_sign(params: "TransactionParams", nonce: int | None, target: str) -> Table:
    """Return the transaction in words: `target` says whose contract is called."""
    cap = params.gas_limit * params.max_fee_per_gas
    more = max(len(params.data) // 2 - 5, 0)
    call = params.data[:10] + (f" and {more:,} bytes" if more else "")
    chosen = params.nonce if params.nonce is not None else nonce
    return facts(
        ("to", Text(f"{params.to} ({target})")),
        ("value", Text(ETHER.show(params.value))),
        ("call", Text(call)),
        ("nonce", Text("set when signing" if chosen is None else str(chosen))),
        (
            "fee",
            Text(
                f"at most {ETHER.show(cap)}: {params.gas_limit:,} gas"
                f" at {_GWEI.show(params.max_fee_per_gas)}, tip {params.max_priority_fee_per_gas}"
            ),
        ),
    )
