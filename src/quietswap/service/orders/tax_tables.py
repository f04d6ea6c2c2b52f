"""Exported orders as the tables of two programs for taxes: one row for each order in a block.

Rules of the columns, as of 2026-11-28. Koinly's article was read; the headings of its template and
CoinTracking's columns are those that exporters of other projects write for them, and no file was
imported into either program:
- Koinly, universal template: https://support.koinly.io/en/articles/9489976 (dates in UTC; a trade
  has a sent and a received side; a sent side alone with the label `cost` is an expense).
- CoinTracking, own CSV: https://cointracking.info/import/import_csv/ (eleven columns in this order
  and `Tx-ID` after them; the type `Other Fee` is an expense of the sold side).
"""

from typing import NamedTuple

from quietswap.rules.amounts import format_ether
from quietswap.rules.contract.exports import ExportedOrder
from quietswap.rules.orders.new_order import action

KOINLY = (
    "Date", "Sent Amount", "Sent Currency", "Received Amount", "Received Currency", "Fee Amount",
    "Fee Currency", "Net Worth Amount", "Net Worth Currency", "Label", "Description", "TxHash",
)  # fmt: skip
COINTRACKING = (
    "Type", "Buy Amount", "Buy Currency", "Sell Amount", "Sell Currency", "Fee", "Fee Currency",
    "Exchange", "Trade-Group", "Comment", "Date", "Tx-ID",
)  # fmt: skip
_TRADES = frozenset(("swap", "wrap"))
_NAME = "quietswap"

Cells = tuple[str | None, ...]


class _Side(NamedTuple):
    amount: str | None
    currency: str | None


_NOTHING = _Side(None, None)


class _Entry(NamedTuple):
    """What an order moved: a trade with its fee, or a fee alone, which is the sold side then."""

    sold: _Side
    bought: _Side
    fee: _Side
    is_trade: bool
    text: str


def koinly(order: ExportedOrder) -> Cells | None:
    """Return the row of an order; None for one that no block has."""
    entry = _entry(order)
    if entry is None:
        return None
    label = None if entry.is_trade else "cost"
    return (
        f"{_time(order)} UTC", *entry.sold, *entry.bought, *entry.fee, None, None, label,
        entry.text, order.tx_hash,
    )  # fmt: skip


def cointracking(order: ExportedOrder) -> Cells | None:
    """Return the row of an order; None for one that no block has."""
    entry = _entry(order)
    if entry is None:
        return None
    kind = "Trade" if entry.is_trade else "Other Fee"
    return (
        kind, *entry.bought, *entry.sold, *entry.fee, _NAME, order.wallet, entry.text,
        _time(order), order.tx_hash,
    )  # fmt: skip


def _entry(order: ExportedOrder) -> _Entry | None:
    if order.block_number is None or order.mined_at is None:
        return None
    gas = _Side(order.fee_paid_eth, None if order.fee_paid_eth is None else "ETH")
    name = f"{action(order.kind, order.sell_token)} {order.order_id}"
    if order.kind not in _TRADES or order.status != "confirmed":
        return _Entry(gas, _NOTHING, _NOTHING, is_trade=False, text=f"{name}: {order.status}")
    wraps, unwraps = order.conversion == "wrap", order.conversion == "unwrap"
    sold = _Side(order.sell_amount_whole, "ETH" if wraps else order.sell_symbol or order.sell_token)
    bought = _Side(order.received_whole, "ETH" if unwraps else order.buy_symbol or order.buy_token)
    text = f"{name}: {order.sell_token} to {order.buy_token}"
    if order.conversion:
        text += f", with the {order.conversion} in its transaction"
    if unwraps:
        text += f": {format_ether(int(order.minimum_amount))} are ETH, the rest is WETH"
    if None in (sold.amount, bought.amount):
        text += f"; amounts are missing: {order.received_reason or 'the node is away'}"
    return _Entry(sold, bought, gas, is_trade=True, text=text)


def _time(order: ExportedOrder) -> str:
    """Return the time of the block in UTC, in whole seconds."""
    return str(order.mined_at)[:19].replace("T", " ")
