"""One function per endpoint: what is asked. `read_answer`: what came back. No I/O here."""

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote as _percent

import msgspec

from quietswap.client.errors import BadAnswer, ErrorBody, Unreachable
from quietswap.client.outages import refusal
from quietswap.client.resources import History, OrderStatus, Submission, SwapQuote
from quietswap.client.wire import decode
from quietswap.client.wrap_resources import WrapInfo, WrapOperation, WrapOrder, WrapQuote

T = TypeVar("T")
_API = "/api/v1"
_GATEWAY = (502, 503, 504)
_ELSE = "something else than a quietswap service answered there"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request to the service; `inside` names the member of `data` that holds the `kind`."""

    method: str
    path: str
    kind: type[T]
    inside: str | None = None
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] | None = None


class _Envelope(msgspec.Struct, frozen=True):
    ok: bool
    data: msgspec.Raw = msgspec.Raw(b"null")
    timestamp: int = 0


def _segment(text: str) -> str:
    return _percent(text, safe="")


def quote(
    *, sell_token: str, buy_token: str, sell_amount: int, wallet: str, slippage_bps: int | None
) -> Call[SwapQuote]:
    """Ask for the best route; `sell_amount` in smallest units, None leaves 50 bps."""
    query = {
        "sellToken": sell_token,
        "buyToken": buy_token,
        "sellAmount": str(sell_amount),
        "userAddress": wallet,
        "chainId": "1",
    }
    if slippage_bps is not None:
        query["slippageBps"] = str(slippage_bps)
    return Call("GET", f"{_API}/quote", SwapQuote, query=query)


def submit_order(
    *, order_params: dict[str, Any], signed_transaction: str, provider_metadata: dict[str, Any]
) -> Call[Submission]:
    """Hand in a signed swap."""
    body = {
        "orderParams": order_params,
        "signedTransaction": signed_transaction,
        "providerMetadata": provider_metadata,
    }
    return Call("POST", f"{_API}/mev/orders", Submission, body=body)


def order_status(order_id: str) -> Call[OrderStatus]:
    """Ask where an order stands."""
    return Call("GET", f"{_API}/mev/orders/{_segment(order_id)}", OrderStatus)


def order_history(wallet: str, *, limit: int, offset: int, status: str | None) -> Call[History]:
    """Ask for one page of a wallet's orders."""
    query = {"limit": str(limit), "offset": str(offset)}
    if status is not None:
        query["status"] = status
    return Call("GET", f"{_API}/mev/orders/user/{_segment(wallet)}", History, query=query)


def wrap_info(wallet: str) -> Call[WrapInfo]:
    """Ask for ETH and WETH balances."""
    return Call("GET", f"{_API}/mev/wrap/info", WrapInfo, query={"userAddress": wallet})


def wrap_quote(operation: WrapOperation, amount: str, wallet: str) -> Call[WrapQuote]:
    """Ask for the transaction of a wrap or unwrap; `amount` in ETH."""
    body = {"operation": operation, "amount": amount, "userAddress": wallet, "chainId": 1}
    return Call("POST", f"{_API}/mev/wrap/quote", WrapQuote, inside="quote", body=body)


def submit_wrap_order(
    *,
    operation: WrapOperation,
    signed_transaction: str,
    provider_metadata: dict[str, Any],
    quote_id: str | None,
    amount: str | None,
) -> Call[WrapOrder]:
    """Hand in a signed wrap or unwrap."""
    body: dict[str, Any] = {
        "operation": operation,
        "signedTransaction": signed_transaction,
        "providerMetadata": provider_metadata,
    }
    if quote_id is not None:
        body["quoteId"] = quote_id
    if amount is not None:
        body["amount"] = amount
    return Call("POST", f"{_API}/mev/wrap/order", WrapOrder, inside="order", body=body)


def read_answer(call: Call[T], status: int, body: bytes) -> T:
    """Return what the answer holds.

    Raises the ApiError of its code, or BadAnswer when the body is not this interface.
    """
    if status != 200:
        raise _refused(status, body)
    try:
        envelope = decode(body, _Envelope)
    except msgspec.DecodeError as error:
        raise BadAnswer(f"{call.method} {call.path}: {_ELSE} (HTTP 200)") from error
    try:
        data = bytes(envelope.data)
        if call.inside is not None:
            data = bytes(decode(data, dict[str, msgspec.Raw])[call.inside])
        found = decode(data, call.kind)
    except (msgspec.DecodeError, KeyError) as error:
        raise BadAnswer(f"{call.method} {call.path}: unreadable answer ({error})") from error
    if isinstance(found, SwapQuote):
        return msgspec.structs.replace(found, timestamp=envelope.timestamp)
    return found


def _refused(status: int, body: bytes) -> Exception:
    try:
        return refusal(decode(body, ErrorBody), status)
    except msgspec.DecodeError:
        if status in _GATEWAY:
            return Unreachable(f"HTTP {status} from a gateway before the service")
        return BadAnswer(f"{_ELSE} (HTTP {status} without an error envelope)")
