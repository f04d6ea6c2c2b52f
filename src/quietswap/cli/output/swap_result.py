"""The result of a swap: received against promised amount, as text and as JSON."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from quietswap.cli.output.order_progress import AS_REPORTED, failure_text, gas_cost
from quietswap.cli.output.quote import facts, loss_style
from quietswap.cli.output.tokens import ETHER, GWEI, DisplayToken, in_parts
from quietswap.rules.amounts import difference_bps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quietswap.client import SwapResult, SwapSimulation, TradeResult
    from quietswap.client.flows.reference_price import ReferencePrice
    from quietswap.client.node_calls import NodeReceipt
    from quietswap.rules.contract.orders import OrderStatusResponse

UNCHECKED = (
    "without --rpc-url: approve the router yourself; nonce, fee, price, output and receipt are not"
    " checked"
)


def compared(found: "ReferencePrice", below: Decimal, buy: DisplayToken) -> RenderableType:
    """Return the quote compared with Chainlink's prices; `below` in percent.

    Where they agree, a second percentage beside the price impact would say nothing.
    """
    fair = buy.at_most(found.fair_amount, 6)
    text = Text(f"{fair} by Chainlink at your node")
    if abs(below) < 1:
        text.append(", less than 1 % away")
    else:
        far = "above" if below < 0 else "below"
        text.append("; this is ")
        text.append(f"{abs(below):.2f} % {far}", loss_style(below))
    return facts(("reference", text))


def tried(trial: "SwapSimulation", buy: DisplayToken) -> str:
    if trial.delivers is None:
        return "not tried  your node has no eth_simulateV1"
    return f"tried      {buy.show(trial.delivers)} on your node, nothing else taken"


def trade_machine(result: "TradeResult") -> dict[str, Any]:
    """Return as JSON how a swap with ETH ended, by the own node's receipts."""
    return {
        "ok": result.succeeded,
        "trade": result.trade,
        "steps": {step: receipt.transaction_hash for step, receipt in result.mined.items()},
        "received": None if result.received is None else str(result.received),
        "minimum": str(result.terms.at_least),
    }


def report(
    result: "SwapResult",
    buy: DisplayToken,
    unwrapped: int | None = None,
    accepted: int | None = None,
    others: "Sequence[NodeReceipt] | None" = (),
) -> RenderableType:
    """Return the amounts received, promised and paid, or why the swap failed.

    `accepted` is the minimum of the plan, where a later quote with a higher one was signed.
    `others` are receipts of what was signed beside swap and approvals; None if some are not known.
    Of the received ETH only `unwrapped` wei are ETH if it is given; the rest is WETH.
    """
    quote, status = result.quote, result.status
    is_shown = result.fate is not None and not result.may_be_mined
    minimum = buy.show(quote.min_buy_amount)
    if accepted is not None and accepted != quote.min_buy_amount:
        minimum += f" by the quote that was signed; {buy.show(accepted)} was accepted"
    rows: list[tuple[str, RenderableType]] = []
    if result.received is not None:
        bps = difference_bps(result.received, quote.buy_amount)
        style = "bold green" if result.received >= quote.min_buy_amount else "bold red"
        rows.append(("received", Text(buy.show(result.received), style)))
        if unwrapped is not None:
            rows.append(("of it", in_parts(result.received, unwrapped, raw=buy.raw)))
        rows.append(("promised", f"{buy.show(quote.buy_amount)} ({bps / 100:+.2f} %)"))
        rows.append(("minimum", minimum))
    elif status.status == "confirmed":
        rows.append(("received", _reported(result, buy)))
        rows.append(("minimum", minimum))
    if status.error is not None:
        failure = failure_text(status.error) + AS_REPORTED
        rows.append((status.status if is_shown else "reported", Text(failure)))
    if result.fell_short:
        text = "less than the minimum arrived: the router or the token kept too much"
        rows.append(("careful", Text(text, "bold red")))
    if result.may_be_mined:
        rows.append(("careful", Text("no block shows the result: it may still be mined", "yellow")))
    elif result.fate is not None and result.fate != "mined":
        text = f"your own node confirms it ({result.fate}): another swap is safe"
        rows.append(("checked", Text(text, "green")))
    rows += against_pools(status)
    return facts(*rows, *_gas(result, others))


def _gas(
    result: "SwapResult", others: "Sequence[NodeReceipt] | None"
) -> list[tuple[str, RenderableType]]:
    """Return what the gas cost; a part is named so, and has the sum below it if that is known."""
    gas, price = gas_cost(result.status)
    if gas is None or price is None:
        return []
    line = f"{gas:,} at {GWEI.show(price)} = {ETHER.show(gas * price)}"
    count, paid = 1 + len(others or ()) + len(result.approvals), gas_paid(result, others)
    if count == 1 and paid is not None:
        return [("gas", line)]
    rows: list[tuple[str, RenderableType]] = [("swap gas", line)]
    if paid is not None:
        rows.append(("all gas", f"{ETHER.show(paid)} for {count} transactions"))
    return rows


def gas_paid(result: "SwapResult", others: "Sequence[NodeReceipt] | None") -> int | None:
    """Return what swap, approvals and `others` cost in wei; None unless all of it is known."""
    gas, price = gas_cost(result.status)
    if gas is None or price is None or others is None:
        return None
    receipts = [*(each.receipt for each in result.approvals), *others]
    return gas * price + sum(each.gas_used * each.effective_gas_price for each in receipts)


def against_pools(status: "OrderStatusResponse") -> list[tuple[str, RenderableType]]:
    """Return what only the service has read: the pools' price before the block."""
    if status.reference is None:
        return []
    text = f"{status.reference.received_bps / 100:+.2f} % of their price, as the service reports"
    return [("against the pools", Text(text))]


def _reported(result: "SwapResult", buy: DisplayToken) -> str:
    """Return what the service says that arrived; without a node nothing else says it."""
    origin = "reported by the service; --rpc-url checks it"
    received = result.status.received  # an older service does not say it
    if received is None or received.amount is None:
        return f"at least the minimum, {origin}"
    promised = result.quote.buy_amount
    bps = difference_bps(received.amount, promised)
    of = f"{buy.show(received.amount)} of {buy.show(promised)} promised"
    return f"{of} ({bps / 100:+.2f} %), {origin}"


def machine(result: "SwapResult", others: "Sequence[NodeReceipt] | None" = ()) -> dict[str, Any]:
    """Return the result as JSON values, with the quote and the last order status."""
    paid = gas_paid(result, others)
    return {
        "ok": result.succeeded,
        "order": result.status,
        "fate": result.fate,
        "mayBeMined": result.may_be_mined,
        "received": None if result.received is None else str(result.received),
        "promised": result.quote.buy_amount,
        "minimum": result.quote.min_buy_amount,
        "approvals": [
            {"token": each.token, "router": each.router, "amount": str(each.amount)}
            | {"txHash": each.receipt.transaction_hash}
            for each in result.approvals
        ],
        "gasPaidWei": None if paid is None else str(paid),
        "quote": result.quote,
    }
