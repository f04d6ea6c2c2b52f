"""Requests to the service: those that flows need, and `read_answer` for any answer. No I/O."""

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Generic, TypeVar
from urllib.parse import quote as _percent

import msgspec

from quietswap.client.errors import ServiceUnreachable, UnexpectedResponse, error_from_body
from quietswap.client.wire import convert, parse
from quietswap.rules.contract import exports, orders, tokens, wraps
from quietswap.rules.contract.clients import UsageEnvelope, UsageResponse
from quietswap.rules.contract.errors import ErrorEnvelope
from quietswap.rules.contract.quotes import PriceEnvelope, PriceResponse, StreamedRoute
from quietswap.rules.contract.requests import OrderCancelBody, WrapQuoteBody
from quietswap.rules.tokens.token import ETH, WETH
from quietswap.rules.tx.signed import MAINNET
from quietswap.rules.wire import Envelope, RequestStruct, WrapOperation

T = TypeVar("T")
API, MEV = "/api/v1", "/api/v1/mev"
_GATEWAY = (502, 503, 504)
_ELSE = "something else than a quietswap service answered there"


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[T]):
    """One request to the service; `result` extracts the returned value from the envelope.

    `verified` is called with each route of a streamed quote.
    """

    method: str
    path: str
    envelope: type[Envelope[Any]]
    result: Callable[[Any], T] = attrgetter("data")
    query: dict[str, str] = field(default_factory=dict)
    body: RequestStruct | None = None
    verified: Callable[[StreamedRoute], None] | None = None


def segment(text: str) -> str:
    return _percent(text, safe="")


def page_query(limit: int, offset: int) -> dict[str, str]:
    return {"limit": str(limit), "offset": str(offset)}


def in_weth(token: str) -> str:
    """Return the ERC-20 that is swapped for a token: of ETH it is WETH."""
    return WETH if token == ETH else token


def swap_query(sell_token: str, buy_token: str) -> dict[str, str]:
    """Return what quotes and prices are asked by, without the amount. ETH is priced as its WETH."""
    tokens = {"sellToken": in_weth(sell_token), "buyToken": in_weth(buy_token)}
    return {**tokens, "chainId": "1"}


def price(
    sell_token: str, buy_token: str, sell_amount: int, *, only_own: bool = False
) -> ApiCall[PriceResponse]:
    """Request an indicative price; `only_own` asks no vendor."""
    query = swap_query(sell_token, buy_token) | {"sellAmount": str(sell_amount)}
    query |= {"sources": "own"} if only_own else {}
    return ApiCall("GET", f"{API}/price", PriceEnvelope, query=query)


def find_tokens(search: str, *, limit: int, offset: int) -> ApiCall[tokens.TokensResponse]:
    """Request one page of the tokens that a search finds."""
    query = {"search": search} | page_query(limit, offset)
    return ApiCall("GET", f"{API}/tokens", tokens.TokensEnvelope, query=query)


def order_status(order_id: str) -> ApiCall[orders.OrderStatusResponse]:
    return ApiCall("GET", f"{MEV}/orders/{segment(order_id)}", orders.OrderStatusEnvelope)


def quote_cancel(order_id: str) -> ApiCall[orders.CancelQuoteResponse]:
    path = f"{MEV}/orders/{segment(order_id)}/cancel"
    return ApiCall("POST", path, orders.CancelQuoteEnvelope, body=OrderCancelBody())


def order_history(
    wallet: str,
    *,
    limit: int,
    offset: int,
    status: str | None,
    kind: str | None,
    as_of: int | None = None,
) -> ApiCall[orders.OrderHistoryResponse]:
    path, query = f"{MEV}/orders/user/{segment(wallet)}", page_query(limit, offset)
    query |= {} if status is None else {"status": status}
    query |= {} if kind is None else {"kind": kind}
    query |= {} if as_of is None else {"asOf": str(as_of)}
    return ApiCall("GET", path, orders.OrderHistoryEnvelope, query=query)


def inclusion(days: int) -> ApiCall[exports.InclusionResponse]:
    query = {"days": str(days)}
    return ApiCall("GET", "/api/v1/inclusion", exports.InclusionEnvelope, query=query)


def usage() -> ApiCall[UsageResponse]:
    return ApiCall("GET", f"{MEV}/usage", UsageEnvelope)


def wrap_quote(
    operation: WrapOperation, amount: str, wallet: str
) -> ApiCall[wraps.WrapQuoteResponse]:
    """Request the transaction of a wrap or unwrap; `amount` in ETH."""
    body = WrapQuoteBody(operation=operation, amount=amount, user_address=wallet, chain_id=MAINNET)
    quote = attrgetter("data.quote")
    return ApiCall("POST", f"{MEV}/wrap/quote", wraps.WrapQuoteEnvelope, quote, body=body)


def read_answer(call: ApiCall[T], status: int, body: bytes) -> T:
    """Return the value of an answer.

    Raises the ApiError of the answer's code, or UnexpectedResponse when the body does not follow
    this interface. A streamed quote may be refused after its first route, with status 200.
    """
    answer, fault = _parsed(body)
    is_refusal = isinstance(answer, dict) and answer.get("ok") is False
    if status != 200 or (call.verified is not None and is_refusal):
        raise _refused(status, answer if is_refusal else None)
    if fault is not None:
        raise UnexpectedResponse(f"{call.method} {call.path}: unreadable answer ({fault})")
    if not isinstance(answer, dict) or answer.get("ok") is not True or "data" not in answer:
        raise UnexpectedResponse(f"{call.method} {call.path}: {_ELSE} (HTTP 200)")
    try:
        return call.result(convert(answer, call.envelope))
    except msgspec.ValidationError as error:
        raise UnexpectedResponse(
            f"{call.method} {call.path}: unreadable answer ({error})"
        ) from error


def _parsed(body: bytes) -> tuple[Any, str | None]:
    """Return the value of a body; what is wrong with it, if it is JSON that is refused."""
    try:
        return parse(body), None
    except msgspec.ValidationError as error:
        return None, str(error)
    except msgspec.DecodeError:
        return None, None


def _refused(status: int, refusal: object) -> Exception:
    try:
        return error_from_body(convert(refusal, ErrorEnvelope), status)
    except msgspec.ValidationError:
        if status in _GATEWAY:
            return ServiceUnreachable(f"HTTP {status} from a gateway before the service")
        return UnexpectedResponse(f"{_ELSE} (HTTP {status} without an error envelope)")
