"""One function per endpoint that returns its request, and `read_answer` for the answer. No I/O."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Generic, TypeVar
from urllib.parse import quote as _percent

import msgspec

from quietswap.chain.signed import MAINNET
from quietswap.client.errors import ServiceUnreachable, UnexpectedResponse, error_from_body
from quietswap.client.wire import decode
from quietswap.contract.base import Envelope, RequestStruct, WrapOperation
from quietswap.contract.clients import UsageEnvelope, UsageResponse
from quietswap.contract.errors import ErrorEnvelope
from quietswap.contract.exports import OrderStatsEnvelope, OrderStatsResponse
from quietswap.contract.orders import (
    CancelOrderEnvelope,
    CancelOrderResponse,
    CancelQuoteEnvelope,
    CancelQuoteResponse,
    OrderHistoryEnvelope,
    OrderHistoryResponse,
    OrderStatusEnvelope,
    OrderStatusResponse,
    SwapOrderEnvelope,
    SwapOrderResponse,
)
from quietswap.contract.quotes import (
    PriceEnvelope,
    PriceResponse,
    StreamedRoute,
    SwapQuoteEnvelope,
    SwapQuoteResponse,
)
from quietswap.contract.requests import (
    OrderCancelBody,
    SwapOrderBody,
    SwapOrderParams,
    WrapOrderBody,
    WrapQuoteBody,
)
from quietswap.contract.tokens import (
    BalancesEnvelope,
    BalancesResponse,
    TokensEnvelope,
    TokensResponse,
)
from quietswap.contract.webhooks import (
    CreatedWebhookResponse,
    DeletedWebhookResponse,
    DeliveriesResponse,
    DeliveryResponse,
    WebhookCreateBody,
    WebhookCreatedEnvelope,
    WebhookDeletedEnvelope,
    WebhookDeliveriesEnvelope,
    WebhookEnvelope,
    WebhookListEnvelope,
    WebhookListResponse,
    WebhookResponse,
    WebhookTestEnvelope,
)
from quietswap.contract.wraps import (
    WrapInfoEnvelope,
    WrapInfoResponse,
    WrapOrderEnvelope,
    WrapOrderResponse,
    WrapQuoteEnvelope,
    WrapQuoteResponse,
)

T = TypeVar("T")
_API = "/api/v1"
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
    """Return a text as one segment of a path."""
    return _percent(text, safe="")


def quote(
    *, sell_token: str, buy_token: str, sell_amount: int, wallet: str, slippage_bps: int | None
) -> ApiCall[SwapQuoteResponse]:
    """Request the best route; `sell_amount` in smallest units, `slippage_bps` None means 50."""
    query = {
        "sellToken": sell_token,
        "buyToken": buy_token,
        "sellAmount": str(sell_amount),
        "userAddress": wallet,
        "chainId": "1",
    }
    if slippage_bps is not None:
        query["slippageBps"] = str(slippage_bps)
    return ApiCall("GET", f"{_API}/quote", SwapQuoteEnvelope, _with_timestamp, query=query)


def streamed(
    call: ApiCall[SwapQuoteResponse], verified: Callable[[StreamedRoute], None]
) -> ApiCall[SwapQuoteResponse]:
    """Request the same quote as a stream."""
    return replace(call, path=f"{call.path}/stream", verified=verified)


def price(*, sell_token: str, buy_token: str, sell_amount: int) -> ApiCall[PriceResponse]:
    """Request an indicative price; `sell_amount` in smallest units."""
    query = {
        "sellToken": sell_token,
        "buyToken": buy_token,
        "sellAmount": str(sell_amount),
        "chainId": "1",
    }
    return ApiCall("GET", f"{_API}/price", PriceEnvelope, query=query)


def tokens(search: str, *, limit: int, offset: int) -> ApiCall[TokensResponse]:
    """Request one page of the tokens that a search finds."""
    query = {"search": search, "limit": str(limit), "offset": str(offset)}
    return ApiCall("GET", f"{_API}/tokens", TokensEnvelope, query=query)


def balances(wallet: str, token_addresses: Sequence[str]) -> ApiCall[BalancesResponse]:
    """Request ETH, and balances and allowances of these tokens; none means WETH."""
    query = {"tokens": ",".join(token_addresses)} if token_addresses else {}
    return ApiCall("GET", f"{_API}/mev/balances/{segment(wallet)}", BalancesEnvelope, query=query)


def submit_order(
    *, order_params: SwapOrderParams, signed_transaction: str, provider_metadata: dict[str, Any]
) -> ApiCall[SwapOrderResponse]:
    """Submit a signed swap."""
    body = SwapOrderBody(
        order_params=order_params,
        signed_transaction=signed_transaction,
        provider_metadata=provider_metadata,
    )
    return ApiCall("POST", f"{_API}/mev/orders", SwapOrderEnvelope, body=body)


def order_status(order_id: str) -> ApiCall[OrderStatusResponse]:
    """Request the status of an order."""
    return ApiCall("GET", f"{_API}/mev/orders/{segment(order_id)}", OrderStatusEnvelope)


def quote_cancel(order_id: str) -> ApiCall[CancelQuoteResponse]:
    """Request the transaction that cancels an order."""
    path = f"{_API}/mev/orders/{segment(order_id)}/cancel"
    return ApiCall("POST", path, CancelQuoteEnvelope, body=OrderCancelBody())


def submit_cancel(
    order_id: str, *, signed_transaction: str, provider_metadata: dict[str, Any]
) -> ApiCall[CancelOrderResponse]:
    """Submit a signed cancel."""
    body = OrderCancelBody(
        signed_transaction=signed_transaction, provider_metadata=provider_metadata
    )
    path = f"{_API}/mev/orders/{segment(order_id)}/cancel"
    return ApiCall("POST", path, CancelOrderEnvelope, body=body)


def order_history(
    wallet: str, *, limit: int, offset: int, status: str | None, kind: str | None = None
) -> ApiCall[OrderHistoryResponse]:
    """Request one page of a wallet's orders."""
    query = {"limit": str(limit), "offset": str(offset)}
    if status is not None:
        query["status"] = status
    if kind is not None:
        query["kind"] = kind
    return ApiCall(
        "GET", f"{_API}/mev/orders/user/{segment(wallet)}", OrderHistoryEnvelope, query=query
    )


def order_stats(days: int) -> ApiCall[OrderStatsResponse]:
    """Request the results of the client's orders of the last `days` days."""
    return ApiCall("GET", f"{_API}/mev/stats", OrderStatsEnvelope, query={"days": str(days)})


def usage() -> ApiCall[UsageResponse]:
    """Request the limits of the key's client and its usage."""
    return ApiCall("GET", f"{_API}/mev/usage", UsageEnvelope)


def wrap_info(wallet: str) -> ApiCall[WrapInfoResponse]:
    """Request the ETH and WETH balances of a wallet."""
    return ApiCall("GET", f"{_API}/mev/wrap/info", WrapInfoEnvelope, query={"userAddress": wallet})


def wrap_quote(operation: WrapOperation, amount: str, wallet: str) -> ApiCall[WrapQuoteResponse]:
    """Request the transaction of a wrap or unwrap; `amount` in ETH."""
    body = WrapQuoteBody(operation=operation, amount=amount, user_address=wallet, chain_id=MAINNET)
    return ApiCall(
        "POST", f"{_API}/mev/wrap/quote", WrapQuoteEnvelope, attrgetter("data.quote"), body=body
    )


def submit_wrap_order(
    *,
    operation: WrapOperation,
    signed_transaction: str,
    provider_metadata: dict[str, Any],
    quote_id: str | None,
    amount: str | None,
) -> ApiCall[WrapOrderResponse]:
    """Submit a signed wrap or unwrap."""
    body = WrapOrderBody(
        quote_id=quote_id,
        signed_transaction=signed_transaction,
        provider_metadata=provider_metadata,
        operation=operation,
        amount=amount,
    )
    return ApiCall(
        "POST", f"{_API}/mev/wrap/order", WrapOrderEnvelope, attrgetter("data.order"), body=body
    )


def read_answer(call: ApiCall[T], status: int, body: bytes) -> T:
    """Return the value of an answer.

    Raises the ApiError of the answer's code, or UnexpectedResponse when the body does not follow
    this interface. A streamed quote may be refused after its first route, with status 200.
    """
    if status != 200 or (call.verified is not None and _is_refusal(body)):
        raise _refused(status, body)
    try:
        decode(body, Envelope[msgspec.Raw])
    except msgspec.DecodeError as error:
        raise UnexpectedResponse(f"{call.method} {call.path}: {_ELSE} (HTTP 200)") from error
    try:
        return call.result(decode(body, call.envelope))
    except msgspec.DecodeError as error:
        raise UnexpectedResponse(
            f"{call.method} {call.path}: unreadable answer ({error})"
        ) from error


class _Refusal(msgspec.Struct, frozen=True):
    """What marks an error envelope: many other servers answer with a member `error`, too."""

    ok: bool

    def __post_init__(self) -> None:
        if self.ok:
            raise ValueError("an error has ok: false")


def _is_refusal(body: bytes) -> bool:
    try:
        decode(body, _Refusal)
    except msgspec.DecodeError:
        return False
    return True


def _with_timestamp(envelope: SwapQuoteEnvelope) -> SwapQuoteResponse:
    return msgspec.structs.replace(envelope.data, timestamp=envelope.timestamp)


def _refused(status: int, body: bytes) -> Exception:
    try:
        decode(body, _Refusal)
        return error_from_body(decode(body, ErrorEnvelope), status)
    except msgspec.DecodeError:
        if status in _GATEWAY:
            return ServiceUnreachable(f"HTTP {status} from a gateway before the service")
        return UnexpectedResponse(f"{_ELSE} (HTTP {status} without an error envelope)")


# Requests about webhooks.


_PATH = "/api/v1/mev/webhooks"


def create_webhook(
    url: str, *, events: Sequence[str] | None, description: str | None
) -> ApiCall[CreatedWebhookResponse]:
    """Create a webhook."""
    chosen = None if events is None else list(events)
    body = WebhookCreateBody(url=url, events=chosen, description=description)
    return ApiCall("POST", _PATH, WebhookCreatedEnvelope, body=body)


def list_webhooks() -> ApiCall[WebhookListResponse]:
    """Request all webhooks."""
    return ApiCall("GET", _PATH, WebhookListEnvelope)


def webhook(webhook_id: str) -> ApiCall[WebhookResponse]:
    """Request one webhook."""
    return ApiCall("GET", f"{_PATH}/{segment(webhook_id)}", WebhookEnvelope)


def delete_webhook(webhook_id: str) -> ApiCall[DeletedWebhookResponse]:
    """Delete a webhook."""
    return ApiCall("DELETE", f"{_PATH}/{segment(webhook_id)}", WebhookDeletedEnvelope)


def test_webhook(webhook_id: str) -> ApiCall[DeliveryResponse]:
    """Send a test event."""
    return ApiCall("POST", f"{_PATH}/{segment(webhook_id)}/test", WebhookTestEnvelope)


def webhook_deliveries(webhook_id: str, *, limit: int, offset: int) -> ApiCall[DeliveriesResponse]:
    """Request one page of deliveries."""
    path = f"{_PATH}/{segment(webhook_id)}/deliveries"
    query = {"limit": str(limit), "offset": str(offset)}
    return ApiCall("GET", path, WebhookDeliveriesEnvelope, query=query)
