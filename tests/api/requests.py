"""One good request for each endpoint, to be changed by tests."""

from typing import Any

import httpx

from quietswap.api.fields import (
    EXAMPLE_SWAP_METADATA,
    EXAMPLE_WRAP_METADATA,
    ORDER_FIELDS,
    WRAP_ORDER_FIELDS,
    WRAP_QUOTE_FIELDS,
)
from quietswap.domain.token import WETH
from tests.api.inside import WALLET
from tests.orders import USDC, order_params

QUOTE = "/api/v1/quote"
ORDERS = "/api/v1/mev/orders"
ORDER = "/api/v1/mev/orders/ord_1"
HISTORY = f"/api/v1/mev/orders/user/{WALLET}"
WRAP_INFO = "/api/v1/mev/wrap/info"
WRAP_QUOTE = "/api/v1/mev/wrap/quote"
WRAP_ORDER = "/api/v1/mev/wrap/order"

BODY_FIELDS = {
    ORDERS: ORDER_FIELDS,
    WRAP_QUOTE: WRAP_QUOTE_FIELDS,
    WRAP_ORDER: WRAP_ORDER_FIELDS,
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
        "providerMetadata": EXAMPLE_SWAP_METADATA,
    } | changes


def wrap_quote_body(**changes: Any) -> dict[str, Any]:
    return {"operation": "wrap", "amount": "1.5", "userAddress": WALLET} | changes


def wrap_order_body(**changes: Any) -> dict[str, Any]:
    return {
        "signedTransaction": "0x02",
        "providerMetadata": EXAMPLE_WRAP_METADATA,
        "operation": "wrap",
    } | changes


async def ask(client: httpx.AsyncClient, path: str, **changes: Any) -> httpx.Response:
    """Send the good request of an endpoint."""
    if path == ORDERS:
        return await client.post(path, json=order_body(**changes))
    if path == WRAP_QUOTE:
        return await client.post(path, json=wrap_quote_body(**changes))
    if path == WRAP_ORDER:
        return await client.post(path, json=wrap_order_body(**changes))
    if path == QUOTE:
        return await client.get(path, params=quote_query(**changes))
    if path == WRAP_INFO:
        return await client.get(path, params={"userAddress": WALLET} | changes)
    return await client.get(path, params=changes)


ALL = (QUOTE, ORDERS, ORDER, HISTORY, WRAP_INFO, WRAP_QUOTE, WRAP_ORDER)
