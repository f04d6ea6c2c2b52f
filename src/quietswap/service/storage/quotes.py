"""Issued quotes.

The column `terms` is one JSON object with the member names of the interface. The names are stored
data: rows of older versions must load, and older versions read new rows.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from quietswap.rules.amounts import format_ether, parse_ether
from quietswap.rules.orders.comparison import swap_members
from quietswap.rules.quotes.issued_quote import (
    BatchTerms,
    CancelOrderTerms,
    IssuedQuote,
    OrderTerms,
    QuoteKind,
    SwapOrderTerms,
    Trade,
    WrapOrderTerms,
)
from quietswap.rules.tokens.token import WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.storage.client_usage import UNLIMITED, USE_OF_UNLIMITED, admit_quote, day_use
from quietswap.service.storage.database import Row, Store, Transaction, Value

_MATCHES = 200
"""Most quotes with the same transaction that are returned. Only wraps repeat a transaction."""

_COLUMNS = (
    "quote_id, kind, client_id, wallet, target, data, value, gas_limit, max_fee_per_gas, nonce, "
    "endpoint_type, share_mode, tier, issued_at_ms, valid_until_ms, metadata, terms"
)
STORED = (*_COLUMNS.split(", "), "fingerprint")
"""The columns of `quote_values`."""
_INTO_QUOTES = f"INSERT INTO quotes ({', '.join(STORED)})"
_MARKS = ", ".join("?" * len(STORED))
_INSERT = f"{_INTO_QUOTES} VALUES ({_MARKS})"
_INSERT_UNLIMITED = f"""
WITH unlimited AS ({UNLIMITED}), used AS ({USE_OF_UNLIMITED})
{_INTO_QUOTES} SELECT {_MARKS} FROM unlimited RETURNING quote_id
"""  # noqa: S608
"""PostgreSQL's statement for a client without limits: one round trip instead of four. It writes
nothing if the client has limits."""
_SELECT = f"SELECT {_COLUMNS} FROM quotes WHERE "  # noqa: S608
_NEWEST = " ORDER BY issued_at_ms DESC, quote_id DESC LIMIT ?"


class QuoteStore(Store):
    async def save(self, quote: IssuedQuote) -> None:
        """Store and count a quote, before it is returned to the client. Raises the errors of the
        client's limits, and stores nothing then. A cancel is not limited.
        """
        if quote.kind is QuoteKind.CANCEL:  # neither limited nor counted
            await self._database.change(_INSERT, *quote_values(quote), durable=False)
            return
        if self._database.dialect == "postgresql":
            values = (quote.client_id, *day_use(quote), *quote_values(quote))
            if await self._database.change(_INSERT_UNLIMITED, *values, durable=False):
                return

        async def body(transaction: Transaction) -> None:
            await transaction.fetch(_INSERT, *quote_values(quote))
            await admit_quote(transaction, quote)

        # A quote that a power failure undoes is requested again: nothing was sent for it.
        await self._database.transact(body, durable=False)

    async def by_fingerprint(
        self, client_id: str, wallet: Address, kind: QuoteKind, fingerprint: str
    ) -> Sequence[IssuedQuote]:
        """Return issued quotes whose transaction matches, newest first."""
        condition = "fingerprint = ? AND wallet = ? AND client_id = ? AND kind = ?"
        args = (fingerprint, wallet, client_id, kind.value)
        return await self._newest(condition, *args, _MATCHES)

    async def nearest(
        self, client_id: str, wallet: Address, kind: QuoteKind, limit: int
    ) -> Sequence[IssuedQuote]:
        """Return the latest issued quotes of this client and wallet, newest first."""
        return await self._newest(
            "client_id = ? AND wallet = ? AND kind = ?", client_id, wallet, kind.value, limit
        )

    async def by_id(self, client_id: str, quote_id: str) -> IssuedQuote | None:
        quotes = await self._newest("quote_id = ? AND client_id = ?", quote_id, client_id, 1)
        return quotes[0] if quotes else None

    async def since(
        self,
        client_id: str,
        wallet: Address,
        kind: QuoteKind,
        issued_from_ms: int,
        *,
        target: str,
        data: bytes | None = None,
    ) -> Sequence[IssuedQuote]:
        """Return quotes issued at or after then that call `target`, newest first.

        With `data`, only quotes with this calldata.
        """
        condition = "client_id = ? AND wallet = ? AND kind = ? AND issued_at_ms >= ? AND target = ?"
        args: list[Value] = [client_id, wallet, kind.value, issued_from_ms, target]
        if data is not None:
            condition += " AND data = ?"
            args.append(data)
        return await self._newest(condition, *args, _MATCHES)

    async def purge(self, issued_before_ms: int, limit: int) -> int:
        """Delete up to `limit` quotes issued before then; return the number."""
        sql = (
            "DELETE FROM quotes WHERE quote_id IN ("
            "SELECT quote_id FROM quotes WHERE issued_at_ms < ? ORDER BY issued_at_ms LIMIT ?"
            ") RETURNING quote_id"
        )
        rows = await self._database.change(sql, issued_before_ms, limit)
        return len(rows)

    async def _newest(self, condition: str, *args: Value) -> Sequence[IssuedQuote]:
        rows = await self._database.fetch(_SELECT + condition + _NEWEST, *args)
        return [_quote(row) for row in rows]


def quote_values(quote: IssuedQuote) -> tuple[Value, ...]:
    """Return the values of `STORED`."""
    params = quote.params
    return (
        quote.quote_id,
        quote.kind.value,
        quote.client_id,
        quote.wallet,
        params.to,
        params.data,
        str(params.value),
        params.gas_limit,
        str(params.max_fee_per_gas),
        None if params.nonce is None else str(params.nonce),
        quote.endpoint_type,
        quote.share_mode,
        quote.tier,
        quote.issued_at_ms,
        quote.valid_until_ms,
        msgspec.json.encode(quote.metadata).decode(),
        terms_json(quote),
        params.fingerprint(),
    )


def _quote(row: Row) -> IssuedQuote:
    identity, kind, client_id, wallet, target, data, value, gas_limit, max_fee, nonce, *rest = row
    endpoint_type, share_mode, tier, issued_at_ms, valid_until_ms, metadata, terms = rest
    return IssuedQuote(
        quote_id=identity,
        client_id=client_id,
        params=UnsignedTransaction(
            to=target,
            data=data,
            value=int(value),
            gas_limit=gas_limit,
            max_fee_per_gas=int(max_fee),
            nonce=None if nonce is None else int(nonce),
        ),
        wallet=wallet,
        endpoint_type=endpoint_type,
        share_mode=share_mode,
        tier=tier,
        issued_at_ms=issued_at_ms,
        valid_until_ms=valid_until_ms,
        metadata=msgspec.json.decode(metadata),
        terms=terms_of(QuoteKind(kind), terms),
    )


def terms_json(quote: IssuedQuote) -> str:
    """Return the text of `terms`; decimal digits for amounts, decimal ETH for a wrap."""
    return msgspec.json.encode(_members(quote)).decode()


def _members(quote: IssuedQuote) -> dict[str, Any]:
    terms = quote.terms
    if isinstance(terms, CancelOrderTerms):
        return {"orderId": terms.order_id}
    if isinstance(terms, WrapOrderTerms):
        return {
            "operation": terms.operation.value,
            "amount": format_ether(terms.amount),
            "userAddress": quote.wallet,
        }
    batch = terms.batch and {
        "gasLimit": terms.batch.gas_limit,
        "maxFeePerGas": str(terms.batch.max_fee_per_gas),
        **({"conversion": terms.batch.conversion.value} if terms.batch.conversion else {}),
    }
    optional = {"source": terms.source, "usdCents": terms.usd_cents, "batch": batch}
    return {
        **swap_members(quote),
        "buyAmount": str(terms.trade.buy_amount),
        **{name: value for name, value in optional.items() if value is not None},
    }


def terms_of(kind: QuoteKind, text: str) -> OrderTerms:
    """Return the terms of a stored quote; what the other columns repeat is not read."""
    members = msgspec.json.decode(text)
    if kind is QuoteKind.CANCEL:
        return CancelOrderTerms(members["orderId"])
    if kind is QuoteKind.WRAP:
        return WrapOrderTerms(WrapOperation(members["operation"]), parse_ether(members["amount"]))
    trade = Trade(
        Address(members["fromToken"]),
        Address(members["toToken"]),
        int(members["amount"]),
        int(members["minReturnAmount"]),
        int(members["buyAmount"]),
    )
    batch = members.get("batch")
    return SwapOrderTerms(
        trade,
        members["slippageBps"],
        source=members.get("source"),
        usd_cents=members.get("usdCents"),
        batch=batch and _batch(batch),
    )


def _batch(members: dict[str, Any]) -> BatchTerms:
    conversion = members.get("conversion")
    return BatchTerms(
        members["gasLimit"],
        int(members["maxFeePerGas"]),
        None if conversion is None else WrapOperation(conversion),
    )
