"""The seven endpoints: parse, call the use case, present."""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from quietswap.api import meaning, present, present_orders, written
from quietswap.api.query import parse_query
from quietswap.api.use_cases import UseCases
from quietswap.ports.stores import ApiKey

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """One admitted request: `tail` is the path's last segment, `body` has the right shape."""

    key: ApiKey
    query: bytes = b""
    tail: str = ""
    body: Json = field(default_factory=dict)


async def swap_quote(use: UseCases, call: Call) -> Json:
    """GET /api/v1/quote; `timestamp` is when the quote was issued, Unix milliseconds."""
    quote = await use.quote_swap(call.key, meaning.quote_ask(parse_query(call.query)))
    return {"ok": True, "data": present.swap_quote(quote), "timestamp": quote.issued_at_ms}


async def swap_order(use: UseCases, call: Call) -> Json:
    """POST /api/v1/mev/orders."""
    taken = await use.submit_swap(call.key, meaning.swap_submission(call.body))
    return _success(present_orders.submitted(taken))


async def order_status(use: UseCases, call: Call) -> Json:
    """GET /api/v1/mev/orders/:orderId."""
    order = await use.order_status(call.key, meaning.order_id(call.tail))
    return _success(written.order_status(order))


async def order_history(use: UseCases, call: Call) -> Json:
    """GET /api/v1/mev/orders/user/:userAddress."""
    wallet, query = meaning.wallet(call.tail), parse_query(call.query)
    limit = meaning.whole(query, "limit", meaning.DEFAULT_LIMIT, 1, meaning.MAX_LIMIT)
    offset = meaning.whole(query, "offset", 0, 0, meaning.MAX_OFFSET)
    status = meaning.status_filter(query)
    page = await use.order_history(call.key, wallet, status, limit, offset)
    return _success(written.history(page, limit, offset))


async def wrap_info(use: UseCases, call: Call) -> Json:
    """GET /api/v1/mev/wrap/info."""
    wallet = meaning.required_wallet(parse_query(call.query))
    return _success(present.wrap_info(await use.wrap_info(call.key, wallet)))


async def wrap_quote(use: UseCases, call: Call) -> Json:
    """POST /api/v1/mev/wrap/quote."""
    quote = await use.quote_wrap(call.key, meaning.wrap_ask(call.body))
    return _success({"quote": present.wrap_quote(quote)})


async def wrap_order(use: UseCases, call: Call) -> Json:
    """POST /api/v1/mev/wrap/order."""
    taken = await use.submit_wrap(call.key, meaning.wrap_submission(call.body))
    return _success({"order": present_orders.wrap_submitted(taken)})


def _success(data: Json | msgspec.Raw) -> Json:
    return {"ok": True, "data": data}
