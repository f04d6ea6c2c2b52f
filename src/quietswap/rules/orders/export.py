"""Export of orders, and the part of a history to export."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quietswap.rules.orders.order_views import OrderView
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx.address import Address


class ExportRow(NamedTuple):
    """One order, and what of it only an export tells."""

    client_id: str
    wallet: Address
    source: str | None
    tier: int
    block_hash: str | None
    order: OrderView


@dataclass(frozen=True, slots=True)
class ExportFilter:
    """Which orders: created from `since_ms` until before `until_ms`, in Unix ms; None is any."""

    since_ms: int
    until_ms: int
    client_id: str | None = None
    wallet: Address | None = None


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Some orders, and their tokens; a token that the node does not know is missing."""

    rows: Sequence[ExportRow]
    tokens: Mapping[Address, Token]
