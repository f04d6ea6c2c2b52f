"""One good request for each endpoint, to be changed by tests."""

from typing import Any

import httpx

from quietswap.rules import wire as base
from quietswap.rules.contract.requests import (
    OrderCancelBody,
    SwapOrderBody,
    WrapOrderBody,
    WrapQuoteBody,
)
from quietswap.rules.tokens.token import WETH
from quietswap.service.api.parsing.body import body_fields
from tests.api.scripted_use_cases import WALLET
from tests.stored_orders import USDC, order_params

QUOTE = "/api/v1/quote"
STREAM = "/api/v1/quote/stream"
ORDERS = "/api/v1/mev/orders"
ORDER = "/api/v1/mev/orders/ord_1"
CANCEL = "/api/v1/mev/orders/ord_1/cancel"
HISTORY = f"/api/v1/mev/orders/user/{WALLET}"
WRAP_INFO = "/api/v1/mev/wrap/info"
WRAP_QUOTE = "/api/v1/mev/wrap/quote"
WRAP_ORDER = "/api/v1/mev/wrap/order"
EVENTS = "/api/v1/mev/events"
USAGE = "/api/v1/mev/usage"
WEBHOOKS = "/api/v1/mev/webhooks"
RPC = "/api/v1/mev/rpc"

BODY_FIELDS = {
    ORDERS: body_fields(SwapOrderBody),
    CANCEL: body_fields(OrderCancelBody),
    WRAP_QUOTE: body_fields(WrapQuoteBody),
    WRAP_ORDER: body_fields(WrapOrderBody),
}


def quote_query(**changes: Any) -> dict[str, Any]:
    plain = {
        "sellToken": WETH,
        "buyToken": USDC,
        "sellAmount": "1000000000000000000",
        "userAddress": WALLET,
    }
    return {name: value for name, value in (plain | changes).items() if value is not None}


def order_body(**changes: Any) -> dict[str, Any]:
    return {
        "orderParams": order_params(),
        "signedTransaction": "0x02",
        "providerMetadata": base.SWAP_METADATA,
    } | changes


def wrap_quote_body(**changes: Any) -> dict[str, Any]:
    return {"operation": "wrap", "amount": "1.5", "userAddress": WALLET} | changes


def wrap_order_body(**changes: Any) -> dict[str, Any]:
    return {
        "signedTransaction": "0x02",
        "providerMetadata": base.WRAP_METADATA,
        "operation": "wrap",
    } | changes


def cancel_body(**changes: Any) -> dict[str, Any]:
    return {"signedTransaction": "0x02", "providerMetadata": base.WRAP_METADATA} | changes


async def ask(client: httpx.AsyncClient, path: str, **changes: Any) -> httpx.Response:
    """Send the good request of an endpoint."""
    if path == ORDERS:
        return await client.post(path, json=order_body(**changes))
    if path == CANCEL:
        return await client.post(path, json=cancel_body(**changes))
    if path == WRAP_QUOTE:
        return await client.post(path, json=wrap_quote_body(**changes))
    if path == WRAP_ORDER:
        return await client.post(path, json=wrap_order_body(**changes))
    if path in (QUOTE, STREAM):
        return await client.get(path, params=quote_query(**changes))
    if path == WRAP_INFO:
        return await client.get(path, params={"userAddress": WALLET} | changes)
    return await client.get(path, params=changes)


ALL = (
    QUOTE,
    STREAM,
    ORDERS,
    ORDER,
    CANCEL,
    HISTORY,
    WRAP_INFO,
    WRAP_QUOTE,
    WRAP_ORDER,
    EVENTS,
    USAGE,
)
