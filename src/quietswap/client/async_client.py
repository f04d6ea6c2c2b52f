"""The asynchronous client: the same methods as the blocking one, awaited."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from quietswap.client import api_calls
from quietswap.client import api_calls as webhook_calls
from quietswap.client.flows import cancel as cancel_flow
from quietswap.client.flows import polling
from quietswap.client.flows import swap as swap_flow
from quietswap.client.flows import wrap as wrap_flow
from quietswap.client.flows.cancel import CancelRequest, CancelResult
from quietswap.client.flows.effects import Flow, perform, run_async
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.submission_outcome import SignedOrders
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.wrap import WrapRequest, WrapResult
from quietswap.client.node_calls import NodeCall
from quietswap.client.signing import Signer, wallet_of
from quietswap.client.transports import AsyncTransport, Endpoints
from quietswap.contract.base import OrderKindFilter, OrderState, WrapOperation
from quietswap.contract.clients import UsageResponse
from quietswap.contract.exports import OrderStatsResponse
from quietswap.contract.orders import (
    CancelOrderResponse,
    CancelQuoteResponse,
    OrderHistoryResponse,
    OrderStatusResponse,
    SwapOrderResponse,
)
from quietswap.contract.quotes import PriceResponse, StreamedRoute, SwapQuoteResponse
from quietswap.contract.tokens import BalancesResponse, TokensResponse
from quietswap.contract.webhooks import (
    CreatedWebhookResponse,
    DeletedWebhookResponse,
    DeliveriesResponse,
    DeliveryResponse,
    WebhookListResponse,
    WebhookResponse,
)
from quietswap.contract.wraps import WrapInfoResponse, WrapOrderResponse, WrapQuoteResponse

T = TypeVar("T")


def _unwatched(_: object) -> None:
    """Ignore the event."""


class AsyncQuietswapClient:
    """A client of the service at `url` with one API key, and of the caller's own node at `rpc_url`.

    Every method may raise ServiceUnreachable, UnexpectedResponse, and the ApiError of the code that
    the service answered. Approvals, the nonce of a wrap, and the wait for its receipt need
    `rpc_url`. `ca_file` (PEM) adds trusted certificate authorities, or a self-signed certificate.
    `orders` keeps what was signed for each order, so that `cancel` and `follow` need not believe
    the service; without it the client remembers only its own orders.
    Use the client in an `async with` block, or call `close`.
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
        endpoints = Endpoints(url, api_key, rpc_url, timeout_s, ca_file)
        self._transport = AsyncTransport(endpoints, sleep=sleep, monotonic=monotonic)
        self._has_node = rpc_url is not None
        self.polling = polling or PollingPolicy()
        self.orders: SignedOrders = {} if orders is None else orders

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow of this package to its end and return its result."""
        return await run_async(flow, self._transport)

    async def node(self, call: NodeCall[T]) -> T:
        """Send a call to the caller's own node. Raises NodeRpcError."""
        return await self.run(perform(call))

    async def quote(self, request: SwapRequest) -> SwapQuoteResponse:
        """Return the best route and its transaction to sign."""
        return await self.run(perform(request.call()))

    async def stream_quote(
        self, request: SwapRequest, verified: Callable[[StreamedRoute], None]
    ) -> SwapQuoteResponse:
        """Return the same as `quote`, and before it call `verified` with each verified route.

        A route cannot be signed: a better one may follow. After a route an ApiError has status 200.
        """
        return await self.run(perform(api_calls.streamed(request.call(), verified)))

    async def submit_order(
        self, quote: SwapQuoteResponse, request: SwapRequest, signed: str
    ) -> SwapOrderResponse:
        """Submit a signed swap; `signed` is 0x-prefixed hex. Raises TransactionHashMismatch."""
        return await self.run(swap_flow.place(quote, request, signed, self.orders))

    async def price(self, sell_token: str, buy_token: str, sell_amount: int) -> PriceResponse:
        """Return the best promise of the sources for `sell_amount` smallest units.

        It is indicative: nothing is simulated, and it cannot be traded. Ask `quote` for that.
        """
        call = api_calls.price(sell_token=sell_token, buy_token=buy_token, sell_amount=sell_amount)
        return await self.run(perform(call))

    async def tokens(self, search: str = "", *, limit: int = 50, offset: int = 0) -> TokensResponse:
        """Return one page (1 to 200) of the tokens that a symbol, name or address finds.

        A whole address also finds a token of no list, and measures its fee on transfer.
        """
        call = api_calls.tokens(search, limit=limit, offset=offset)
        return await self.run(perform(call))

    async def balances(self, wallet: str, tokens: Sequence[str] = ()) -> BalancesResponse:
        """Return ETH, and balances and router allowances of up to 50 tokens, at one block.

        Without `tokens`: WETH. An amount is None where the token does not tell it.
        """
        return await self.run(perform(api_calls.balances(wallet, tokens)))

    async def order_status(self, order_id: str) -> OrderStatusResponse:
        """Return the status record of an order."""
        return await self.run(perform(api_calls.order_status(order_id)))

    async def order_history(
        self,
        wallet: str,
        *,
        limit: int = 50,
        offset: int = 0,
        status: OrderState | None = None,
        kind: OrderKindFilter | None = None,
    ) -> OrderHistoryResponse:
        """Return one page (1 to 200) of a wallet's orders of one kind (swaps), or of any kind."""
        call = api_calls.order_history(wallet, limit=limit, offset=offset, status=status, kind=kind)
        return await self.run(perform(call))

    async def order_stats(self, days: int = 7) -> OrderStatsResponse:
        """Return results per source and per relay of the last 1 to 90 days."""
        return await self.run(perform(api_calls.order_stats(days)))

    async def usage(self) -> UsageResponse:
        """Return the limits of the key's client, and what it has used."""
        return await self.run(perform(api_calls.usage()))

    async def wrap_info(self, wallet: str) -> WrapInfoResponse:
        """Return a wallet's ETH and WETH balances."""
        return await self.run(perform(api_calls.wrap_info(wallet)))

    async def wrap_quote(
        self, operation: WrapOperation, amount: str, wallet: str
    ) -> WrapQuoteResponse:
        """Return the transaction that wraps or unwraps `amount` ETH; the caller sets its nonce."""
        return await self.run(perform(api_calls.wrap_quote(operation, amount, wallet)))

    async def submit_wrap_order(self, quote: WrapQuoteResponse, signed: str) -> WrapOrderResponse:
        """Submit a signed wrap or unwrap; `signed` is 0x-prefixed hex.

        Raises TransactionHashMismatch.
        """
        return await self.run(wrap_flow.place(quote, signed))

    async def create_webhook(
        self, url: str, *, events: Sequence[str] | None = None, description: str | None = None
    ) -> CreatedWebhookResponse:
        """Have events sent to `url`; return the webhook with its secret, which is shown only here.

        `events` are event types such as order.confirmed; None means all.
        """
        call = webhook_calls.create_webhook(url, events=events, description=description)
        return await self.run(perform(call))

    async def webhooks(self) -> WebhookListResponse:
        """Return all webhooks, oldest first."""
        return await self.run(perform(webhook_calls.list_webhooks()))

    async def webhook(self, webhook_id: str) -> WebhookResponse:
        """Return one webhook."""
        return await self.run(perform(webhook_calls.webhook(webhook_id)))

    async def delete_webhook(self, webhook_id: str) -> DeletedWebhookResponse:
        """Delete a webhook and the record of its deliveries."""
        return await self.run(perform(webhook_calls.delete_webhook(webhook_id)))

    async def test_webhook(self, webhook_id: str) -> DeliveryResponse:
        """Send a test event and return the result; a success enables a disabled webhook."""
        return await self.run(perform(webhook_calls.test_webhook(webhook_id)))

    async def webhook_deliveries(
        self, webhook_id: str, *, limit: int = 50, offset: int = 0
    ) -> DeliveriesResponse:
        """Return one page (1 to 200) of tries to deliver events, newest first."""
        call = webhook_calls.webhook_deliveries(webhook_id, limit=limit, offset=offset)
        return await self.run(perform(call))

    async def follow(
        self, order_id: str, watch: Callable[[OrderStatusResponse], None] = _unwatched
    ) -> OrderStatusResponse:
        """Poll until the order is confirmed, failed or cancelled. Raises OrderStillOpen."""
        own = self.orders.get(order_id)
        signed_hash = own.tx_hash if own else None
        flow = polling.follow_order(order_id, self.polling, watch, signed_hash=signed_hash)
        return await self.run(flow)

    async def swap(
        self, request: SwapRequest, signer: Signer, watch: swap_flow.Watch = _unwatched
    ) -> SwapResult:
        """Quote, approve if needed, sign, submit, and poll until the order ends.

        `watch` is called with each quote, approval, simulation, submission and status record. A
        failed or cancelled order is a result.

        Before signing, raises UnsafeQuote and QuoteDeclined. Afterwards raises
        TransactionHashMismatch when the service names another transaction; StatusContradiction when
        the caller's own node contradicts the final status; AfterSubmission when the service refuses
        or fails after it received the signed bytes.
        """
        flow = swap_flow.swap(
            request, signer, self.polling, watch, self.orders, has_node=self._has_node
        )
        return await self.run(flow)

    async def cancel_quote(self, order_id: str) -> CancelQuoteResponse:
        """Return the empty self-transfer that cancels an open order, without checking it."""
        return await self.run(perform(api_calls.quote_cancel(order_id)))

    async def submit_cancel(self, quote: CancelQuoteResponse, signed: str) -> CancelOrderResponse:
        """Submit a signed cancel; `signed` is 0x-prefixed hex. Raises TransactionHashMismatch."""
        return await self.run(cancel_flow.place(quote, signed))

    async def cancel(
        self, request: CancelRequest, signer: Signer, watch: cancel_flow.Watch = _unwatched
    ) -> CancelResult:
        """Cancel an open order by its nonce, and poll until both transactions are decided.

        `watch` is called with the quote, the submission and each status record. If the swap is
        mined first, that is a result. Before signing, raises UnsafeQuote and QuoteDeclined.
        Afterwards raises MayBeMined, StatusContradiction or OrderStillOpen.
        """
        flow = cancel_flow.cancel(
            request, signer, self.polling, watch, self.orders, has_node=self._has_node
        )
        return await self.run(flow)

    async def wrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        replace: bool = False,
        watch: wrap_flow.Watch = _unwatched,
    ) -> WrapResult:
        """Convert `amount` ETH to WETH and wait until the transaction is mined.

        `wallet` is needed with a signing function, `nonce` without `rpc_url`. `replace` allows the
        transaction to use the nonce of an open order. Before signing, raises UnsafeQuote and
        QuoteDeclined. Afterwards raises TransactionHashMismatch, AfterSubmission,
        TransactionFailed, TransactionReplaced or OrderStillOpen.
        """
        sender = wallet_of(signer, wallet)
        request = WrapRequest("wrap", amount, sender, nonce, replace=replace)
        return await self.convert(request, signer, watch)

    async def unwrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        replace: bool = False,
        watch: wrap_flow.Watch = _unwatched,
    ) -> WrapResult:
        """Convert `amount` WETH to ETH and wait until the transaction is mined; like `wrap`."""
        sender = wallet_of(signer, wallet)
        request = WrapRequest("unwrap", amount, sender, nonce, replace=replace)
        return await self.convert(request, signer, watch)

    async def convert(
        self, request: WrapRequest, signer: Signer, watch: wrap_flow.Watch = _unwatched
    ) -> WrapResult:
        """Run a wrap or unwrap with the conditions of a `WrapRequest`; like `wrap`."""
        flow = wrap_flow.convert(request, signer, self.polling, watch, has_node=self._has_node)
        return await self.run(flow)
