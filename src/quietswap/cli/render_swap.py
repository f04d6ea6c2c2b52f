"""How a swap ended: what came against what was promised, for people and for machines."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.render_quote import facts
from quietswap.cli.tokens import ETHER, GWEI, Token
from quietswap.client import SwapResult
from quietswap.domain.amounts import difference_bps


def report(result: SwapResult, buy: Token, *, raw: bool = False) -> RenderableType:
    """Return what was received, promised and paid; or why it did not happen."""
    quote, status = result.quote, result.status
    minimum = buy.show(quote.min_buy_amount, raw=raw)
    rows: list[tuple[str, RenderableType]] = []
    if result.received is not None:
        bps = difference_bps(result.received, quote.buy_amount)
        style = "bold green" if result.received >= quote.min_buy_amount else "bold red"
        rows.append(("received", Text(buy.show(result.received, raw=raw), style)))
        rows.append(("promised", f"{buy.show(quote.buy_amount, raw=raw)} ({bps / 100:+.2f} %)"))
        rows.append(("minimum", minimum))
    elif result.succeeded:
        rows.append(("received", "at least the minimum; --rpc-url, where it answers, says more"))
        rows.append(("minimum", minimum))
    if status.error is not None:
        rows.append((status.status, Text(f"{status.error.code}: {status.error.message}")))
    gas, price = status.gas_used, status.effective_gas_price
    if status.error is not None and gas is None:
        gas, price = status.error.gas_used, status.error.effective_gas_price
    if gas is not None and price is not None:
        rows.append(("gas", f"{gas:,} at {GWEI.show(price)} = {ETHER.show(gas * price)}"))
    return facts(*rows)


def machine(result: SwapResult) -> dict[str, Any]:
    """Return the same as values for JSON, with the whole quote and the last status record."""
    return {
        "ok": result.succeeded,
        "order": result.status,
        "received": None if result.received is None else str(result.received),
        "promised": result.quote.buy_amount,
        "minimum": result.quote.min_buy_amount,
        "approvals": [
            {
                "token": each.token,
                "router": each.router,
                "amount": str(each.amount),
                "txHash": each.receipt.transaction_hash,
            }
            for each in result.approvals
        ],
        "quote": result.quote,
    }
