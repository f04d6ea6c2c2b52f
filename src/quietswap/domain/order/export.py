"""Export of orders: the stored values of one order, and the part of a history to export.

Amounts and prices are decimal digits (smallest units, wei), times are Unix ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quietswap.domain.address import Address
from quietswap.domain.token import Token


class ExportRow(NamedTuple):
    """The stored values of one order. The fields of a block are None until it is mined."""

    order_id: str
    client_id: str
    kind: str
    status: str
    wallet: Address
    nonce: str
    tx_hash: str
    created_at_ms: int
    submitted_at_ms: int | None
    sell_token: Address
    buy_token: Address
    sell_amount: str
    min_buy_amount: str
    buy_amount: str
    source: str | None
    tier: int
    block_number: int | None
    block_hash: str | None
    block_time_ms: int | None
    gas_used: int | None
    effective_gas_price: str | None
    received: str | None
    received_issue: str | None
    refund_status: str | None
    refund_wei: str | None
    refund_tx: str | None
    failure_code: str | None


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
