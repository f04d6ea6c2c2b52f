"""The blocking and the asynchronous client: the same methods, one awaited."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, get_args, overload

from quietswap.client import api_calls
from quietswap.client.api_calls import MEV, ApiCall, page_query, segment
from quietswap.client.flows import cancel as cancel_flow
from quietswap.client.flows import ether_swap, finality
from quietswap.client.flows import plan as plan_flow
from quietswap.client.flows import submission_outcome as outcome
from quietswap.client.flows import swap as swap_flow
from quietswap.client.flows import wrap as wrap_flow
from quietswap.client.flows.cancel import CancelRequest, CancelResult
from quietswap.client.flows.effects import Flow, perform, run, run_async
from quietswap.client.flows.ether_swap import TradeResult
from quietswap.client.flows.finality import OrderEnd, SignedOrders
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.swap_plan import SwapPlan
from quietswap.client.flows.wrap import WrapRequest, WrapResult
from quietswap.client.node_calls import NodeCall
from quietswap.client.signing import Signer, wallet_of
from quietswap.client.transports import AsyncTransport, Endpoints, SyncTransport
from quietswap.rules.contract import clients, exports
from quietswap.rules.contract import orders as order_api
from quietswap.rules.contract import quotes as quote_api
from quietswap.rules.contract import tokens as token_api
from quietswap.rules.contract import webhooks as webhook_api
from quietswap.rules.contract import wraps as wrap_api
from quietswap.rules.wire import OrderKindFilter, OrderState, WrapOperation

P = ParamSpec("P")
T = TypeVar("T")
_WEBHOOKS = f"{MEV}/webhooks"


class _Method(Generic[P, T]):
    """A method of both clients, written once: it returns the call or the flow that it runs."""

    def __init__(self, make: Callable[Concatenate[Any, P], ApiCall[T] | Flow[T]]) -> None:
        def flow(client: Any, *args: P.args, **kwargs: P.kwargs) -> Flow[T]:
            made = make(client, *args, **kwargs)
            return perform(made) if isinstance(made, ApiCall) else made

        def blocking(client: Any, *args: P.args, **kwargs: P.kwargs) -> T:
            return client.run(flow(client, *args, **kwargs))  # type: ignore[no-any-return]

        async def awaited(client: Any, *args: P.args, **kwargs: P.kwargs) -> T:
            return await client.run(flow(client, *args, **kwargs))  # type: ignore[no-any-return]

        shown = inspect.signature(make)
        result = get_args(shown.return_annotation)[-1]  # T of ApiCall[T] or Flow[T]
        make.__signature__ = shown.replace(return_annotation=result)  # type: ignore[attr-defined]
        self._blocking = update_wrapper(blocking, make)
        self._awaited = update_wrapper(awaited, make)

    @overload
    def __get__(self, client: "QuietswapClient", owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: "AsyncQuietswapClient", owner: type
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type) -> Callable[..., Any]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        is_blocking = issubclass(owner, QuietswapClient)
        function: Any = self._blocking if is_blocking else self._awaited
        return function.__get__(client, owner)


def _unwatched(_: object) -> None:
    """Ignore the event."""


class Methods:
    """What both clients do: the endpoints of the API, then the flows."""

    def __init__(
        self, rpc_url: str | None, polling: PollingPolicy | None, orders: SignedOrders | None
    ) -> None:
        self._has_node = rpc_url is not None
        self.polling = polling or PollingPolicy()
        self.orders: SignedOrders = {} if orders is None else orders

    @_Method
    def quote(self, request: SwapRequest) -> ApiCall[quote_api.SwapQuoteResponse]:
        """Return the best route and its transaction to sign."""
        return request.call()

    @_Method
    def stream_quote(
        self, request: SwapRequest, verified: Callable[[quote_api.StreamedRoute], None]
    ) -> ApiCall[quote_api.SwapQuoteResponse]:
        """Return the same as `quote`, and before it call `verified` with each verified route.

        A route cannot be signed: a better one may follow. After a route an ApiError has status 200.
        """
        return request.call(verified)

    @_Method
    def submit_order(
        self, quote: quote_api.SwapQuoteResponse, request: SwapRequest, signed: str
    ) -> Flow[order_api.SwapOrderResponse]:
        """Submit a signed swap; `signed` is 0x-prefixed hex. Raises TransactionHashMismatch."""
        return swap_flow.place(quote, request, signed, self.orders)

    @_Method
    def price(
        self, sell_token: str, buy_token: str, sell_amount: int, *, only_own: bool = False
    ) -> ApiCall[quote_api.PriceResponse]:
        """Return the best promise of the sources for `sell_amount` smallest units.

        A token is an address, or "ETH", which has the price of its WETH.
        It is indicative: nothing is simulated, and it cannot be traded. Ask `quote` for that.
        With `only_own` the service asks its own source only: to ask often costs no vendor's budget.
        """
        return api_calls.price(sell_token, buy_token, sell_amount, only_own=only_own)

    @_Method
    def tokens(
        self, search: str = "", *, limit: int = 50, offset: int = 0
    ) -> ApiCall[token_api.TokensResponse]:
        """Return one page (1 to 200) of the tokens that a symbol, name or address finds.

        A whole address also finds a token of no list, and measures its fee on transfer.
        """
        return api_calls.find_tokens(search, limit=limit, offset=offset)

    @_Method
    def balances(
        self, wallet: str, tokens: Sequence[str] = ()
    ) -> ApiCall[token_api.BalancesResponse]:
        """Return ETH, and balances and router allowances of up to 50 tokens, at one block.

        Without `tokens`: WETH. An amount is None where the token does not tell it.
        """
        path, query = f"{MEV}/balances/{segment(wallet)}", {"tokens": ",".join(tokens)}
        return ApiCall("GET", path, token_api.BalancesEnvelope, query=query if tokens else {})

    @_Method
    def order_status(self, order_id: str) -> ApiCall[order_api.OrderStatusResponse]:
        """Return the status record of an order."""
        return api_calls.order_status(order_id)

    @_Method
    def order_history(
        self,
        wallet: str,
        *,
        limit: int = 50,
        offset: int = 0,
        status: OrderState | None = None,
        kind: OrderKindFilter | None = None,
        as_of: int | None = None,
    ) -> ApiCall[order_api.OrderHistoryResponse]:
        """Return one page (1 to 200) of a wallet's orders of one kind (swaps), or of any kind.

        `as_of`: the `total` of your first page, so that further pages show each order once.
        """
        return api_calls.order_history(
            wallet, limit=limit, offset=offset, status=status, kind=kind, as_of=as_of
        )

    @_Method
    def order_stats(self, days: int = 7) -> ApiCall[exports.OrderStatsResponse]:
        """Return results per source and per relay of the last 1 to 90 days."""
        query = {"days": str(days)}
        return ApiCall("GET", f"{MEV}/stats", exports.OrderStatsEnvelope, query=query)

    @_Method
    def usage(self) -> ApiCall[clients.UsageResponse]:
        """Return the limits of the key's client, and what it has used."""
        return api_calls.usage()

    @_Method
    def wrap_info(self, wallet: str) -> ApiCall[wrap_api.WrapInfoResponse]:
        """Return a wallet's ETH and WETH balances."""
        query = {"userAddress": wallet}
        return ApiCall("GET", f"{MEV}/wrap/info", wrap_api.WrapInfoEnvelope, query=query)

    @_Method
    def wrap_quote(
        self, operation: WrapOperation, amount: str, wallet: str
    ) -> ApiCall[wrap_api.WrapQuoteResponse]:
        """Return the transaction that wraps or unwraps `amount` ETH; the caller sets its nonce."""
        return api_calls.wrap_quote(operation, amount, wallet)

    @_Method
    def submit_wrap_order(
        self, quote: wrap_api.WrapQuoteResponse, signed: str
    ) -> Flow[wrap_api.WrapOrderResponse]:
        """Submit a signed wrap or unwrap; `signed` is 0x-prefixed hex.

        Raises TransactionHashMismatch.
        """
        return wrap_flow.place(quote, signed)

    @_Method
    def create_webhook(
        self, url: str, *, events: Sequence[str] | None = None, description: str | None = None
    ) -> ApiCall[webhook_api.CreatedWebhookResponse]:
        """Have events sent to `url`; return the webhook with its secret, which is shown only here.

        `events` are event types such as order.confirmed; None means all.
        """
        chosen = None if events is None else list(events)
        body = webhook_api.WebhookCreateBody(url=url, events=chosen, description=description)
        return ApiCall("POST", _WEBHOOKS, webhook_api.WebhookCreatedEnvelope, body=body)

    @_Method
    def webhooks(self) -> ApiCall[webhook_api.WebhookListResponse]:
        """Return all webhooks, oldest first."""
        return ApiCall("GET", _WEBHOOKS, webhook_api.WebhookListEnvelope)

    @_Method
    def webhook(self, webhook_id: str) -> ApiCall[webhook_api.WebhookResponse]:
        """Return one webhook."""
        path = f"{_WEBHOOKS}/{segment(webhook_id)}"
        return ApiCall("GET", path, webhook_api.WebhookEnvelope)

    @_Method
    def delete_webhook(self, webhook_id: str) -> ApiCall[webhook_api.DeletedWebhookResponse]:
        """Delete a webhook and the record of its deliveries."""
        path = f"{_WEBHOOKS}/{segment(webhook_id)}"
        return ApiCall("DELETE", path, webhook_api.WebhookDeletedEnvelope)

    @_Method
    def test_webhook(self, webhook_id: str) -> ApiCall[webhook_api.DeliveryResponse]:
        """Send a test event and return the result; a success enables a disabled webhook."""
        path = f"{_WEBHOOKS}/{segment(webhook_id)}/test"
        return ApiCall("POST", path, webhook_api.WebhookTestEnvelope)

    @_Method
    def webhook_deliveries(
        self, webhook_id: str, *, limit: int = 50, offset: int = 0
    ) -> ApiCall[webhook_api.DeliveriesResponse]:
        """Return one page (1 to 200) of tries to deliver events, newest first."""
        path = f"{_WEBHOOKS}/{segment(webhook_id)}/deliveries"
        query = page_query(limit, offset)
        return ApiCall("GET", path, webhook_api.WebhookDeliveriesEnvelope, query=query)

    @_Method
    def follow(
        self, order_id: str, watch: Callable[[order_api.OrderStatusResponse], None] = _unwatched
    ) -> Flow[order_api.OrderStatusResponse]:
        """Poll until the order is confirmed, failed or cancelled; return its last record.

        The record is compared as by `end`: raises StatusContradiction, and MayBeMined if the
        caller's own node does not show what the service reports. Without a node, or for an order
        that is not in `orders`, the record is only what the service reports. Raises OrderStillOpen.
        """
        return self._followed(order_id, watch)

    @_Method
    def end(
        self, order_id: str, watch: Callable[[order_api.OrderStatusResponse], None] = _unwatched
    ) -> Flow[OrderEnd]:
        """Poll until the service calls the order final; return what the caller's own node shows.

        `is_final` only if that node shows it, of the transaction that `orders` has for the order.
        Raises OrderStillOpen.
        """
        return self._to_end(order_id, watch)

    @_Method
    def check_order(self, record: order_api.OrderStatusResponse) -> Flow[OrderEnd]:
        """Compare a status record with one look at the caller's own node."""
        own = self.orders.get(record.order_id)
        return finality.judge_record(record, own, self.polling, 0.0, has_node=self._has_node)

    def _to_end(
        self, order_id: str, watch: Callable[[order_api.OrderStatusResponse], None]
    ) -> Flow[OrderEnd]:
        own, tell = self.orders.get(order_id), outcome.statuses(watch)
        return outcome.end_of_order(order_id, own, self.polling, tell, has_node=self._has_node)

    def _followed(
        self, order_id: str, watch: Callable[[order_api.OrderStatusResponse], None]
    ) -> Flow[order_api.OrderStatusResponse]:
        end = yield from self._to_end(order_id, watch)
        outcome.require_report(end, self.orders.get(order_id))
        return end.record

    @_Method
    def swap(
        self, request: SwapRequest, signer: Signer, watch: swap_flow.Watch = _unwatched
    ) -> Flow[SwapResult]:
        """Quote, approve if needed, sign, submit, and poll until the order ends.

        `watch` is called with each quote, approval, simulation, submission and status record. A
        failed or cancelled order is a result. With ETH the wrap before it or the unwrap after it is
        signed, too, each recorded in `orders` before it is submitted; `resume` goes on with it.

        Before signing, raises UnsafeQuote and QuoteDeclined. Afterwards raises
        TransactionHashMismatch when the service names another transaction; StatusContradiction when
        the caller's own node contradicts the final status; AfterSubmission when the service refuses
        or fails after it received the signed bytes.
        """
        flow = ether_swap.swap_only if request.has_ether else swap_flow.swap
        return flow(request, signer, self.polling, watch, self.orders, has_node=self._has_node)

    @_Method
    def resume(
        self,
        tx_hash: str,
        signer: Signer,
        watch: swap_flow.Watch = _unwatched,
        limits: SwapRequest | None = None,
    ) -> Flow[TradeResult]:
        """Go on with an interrupted swap with ETH, named by one of its recorded transactions.

        What the own node shows as mined is never done again. Of `limits` all holds but tokens and
        amounts. Raises QuoteDeclined, and what `swap` raises.
        """
        at = self.polling, watch, self.orders
        return ether_swap.resume(tx_hash, signer, *at, limits=limits, has_node=self._has_node)

    @_Method
    def plan(self, request: SwapRequest, watch: swap_flow.Watch = _unwatched) -> Flow[SwapPlan]:
        """Return what `swap` would sign, and whether it may be signed; nothing is signed.

        The quote passed all checks. Without an approval to sign first, it is tried at the caller's
        own node. `refusal` is what `swap` would raise; what it would ask `confirm` is
        `needs_consent`. With ETH it plans all steps. Raises UnsafeQuote.
        """
        return plan_flow.swap_plan(
            request, self.polling, watch, self.orders, has_node=self._has_node
        )

    @_Method
    def cancel_quote(self, order_id: str) -> ApiCall[order_api.CancelQuoteResponse]:
        """Return the empty self-transfer that cancels an open order, without checking it."""
        return api_calls.quote_cancel(order_id)

    @_Method
    def submit_cancel(
        self, quote: order_api.CancelQuoteResponse, signed: str
    ) -> Flow[order_api.CancelOrderResponse]:
        """Submit a signed cancel; `signed` is 0x-prefixed hex. Raises TransactionHashMismatch."""
        return cancel_flow.place(quote, signed)

    @_Method
    def cancel(
        self, request: CancelRequest, signer: Signer, watch: cancel_flow.Watch = _unwatched
    ) -> Flow[CancelResult]:
        """Cancel an open order by its nonce, and poll until both transactions are decided.

        `watch` is called with the quote, the submission and each status record. If the swap is
        mined first, that is a result. Before signing, raises UnsafeQuote and QuoteDeclined.
        Afterwards raises MayBeMined, StatusContradiction or OrderStillOpen.
        """
        return cancel_flow.cancel(
            request, signer, self.polling, watch, self.orders, has_node=self._has_node
        )

    @_Method
    def wrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        replace: bool = False,
        watch: wrap_flow.Watch = _unwatched,
    ) -> Flow[WrapResult]:
        """Convert `amount` ETH to WETH and wait until the transaction is mined.

        `wallet` is needed with a signing function, `nonce` without `rpc_url`. `replace` allows the
        transaction to use the nonce of an open order. Before signing, raises UnsafeQuote and
        QuoteDeclined. Afterwards raises TransactionHashMismatch, AfterSubmission,
        TransactionFailed, TransactionReplaced or OrderStillOpen.
        """
        sender = wallet_of(signer, wallet)
        request = WrapRequest("wrap", amount, sender, nonce, replace=replace)
        return self._converted(request, signer, watch)

    @_Method
    def unwrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        replace: bool = False,
        watch: wrap_flow.Watch = _unwatched,
    ) -> Flow[WrapResult]:
        """Convert `amount` WETH to ETH and wait until the transaction is mined; like `wrap`."""
        sender = wallet_of(signer, wallet)
        request = WrapRequest("unwrap", amount, sender, nonce, replace=replace)
        return self._converted(request, signer, watch)

    @_Method
    def convert(
        self, request: WrapRequest, signer: Signer, watch: wrap_flow.Watch = _unwatched
    ) -> Flow[WrapResult]:
        """Run a wrap or unwrap with the conditions of a `WrapRequest`; like `wrap`."""
        return self._converted(request, signer, watch)

    def _converted(
        self, request: WrapRequest, signer: Signer, watch: wrap_flow.Watch
    ) -> Flow[WrapResult]:
        return wrap_flow.convert(request, signer, self.polling, watch, has_node=self._has_node)


class QuietswapClient(Methods):
    """A client of the service at `url` with one API key, and of the caller's own node at `rpc_url`.

    Every method may raise ServiceUnreachable, UnexpectedResponse, and the ApiError of the code that
    the service answered. Approvals, the nonce of a wrap, and the wait for its receipt need
    `rpc_url`. `ca_file` (PEM) adds trusted certificate authorities, or a self-signed certificate.
    `orders` keeps what was signed for each order, so that `cancel` and `follow` need not believe
    the service; without it the client remembers only its own orders.
    Use the client in a `with` block, or call `close`.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        rpc_url: str | None = None,
        timeout_s: float = 30.0,
        ca_file: str | Path | None = None,
        polling: PollingPolicy | None = None,
        orders: SignedOrders | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rpc_url, polling, orders)
        endpoints = Endpoints(url, api_key, rpc_url, timeout_s, ca_file)
        self._transport = SyncTransport(endpoints, sleep=sleep, monotonic=monotonic)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def run(self, flow: Flow[T]) -> T:
        """Run a flow of this package to its end and return its result."""
        return run(flow, self._transport.perform)

    def node(self, call: NodeCall[T]) -> T:
        """Send a call to the caller's own node. Raises NodeRpcError."""
        return self.run(perform(call))


class AsyncQuietswapClient(Methods):
    """`QuietswapClient` with awaited methods.

    Use it in an `async with` block, or call `close`.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        rpc_url: str | None = None,
        timeout_s: float = 30.0,
        ca_file: str | Path | None = None,
        polling: PollingPolicy | None = None,
        orders: SignedOrders | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(rpc_url, polling, orders)
        endpoints = Endpoints(url, api_key, rpc_url, timeout_s, ca_file)
        self._transport = AsyncTransport(endpoints, sleep=sleep, monotonic=monotonic)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow of this package to its end and return its result."""
        return await run_async(flow, self._transport.perform)

    async def node(self, call: NodeCall[T]) -> T:
        """Send a call to the caller's own node. Raises NodeRpcError."""
        return await self.run(perform(call))
