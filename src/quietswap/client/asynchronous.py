"""The asynchronous client: the same methods as the blocking one, awaited."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from quietswap.client import calls, polling, swaps, wraps
from quietswap.client.chain import NodeCall
from quietswap.client.flow import Flow, ask, run_async
from quietswap.client.polling import Polling
from quietswap.client.resources import History, OrderState, OrderStatus, Submission, SwapQuote
from quietswap.client.safety import SwapRequest
from quietswap.client.signing import Signer, wallet_of
from quietswap.client.swaps import SwapResult
from quietswap.client.transports import AsyncTransport, Endpoints
from quietswap.client.wrap_resources import WrapInfo, WrapOperation, WrapOrder, WrapQuote
from quietswap.client.wraps import WrapRequest, WrapResult

T = TypeVar("T")


def _unwatched(_: object) -> None:
    """Look away."""


class AsyncQuietswapClient:
    """Talks to the service at `url` with one API key, and to the caller's own node at `rpc_url`.

    Every method may raise Unreachable, BadAnswer and the ApiError of the code the service answered.
    `rpc_url` is needed for approvals, for the nonce of a wrap and for waiting until it is mined.
    Use it in a `async with` block, or call `close`.
    """

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        rpc_url: str | None = None,
        timeout_s: float = 30.0,
        polling: Polling | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        endpoints = Endpoints(url, api_key, rpc_url, timeout_s)
        self._transport = AsyncTransport(endpoints, sleep=sleep, monotonic=monotonic)
        self._has_node = rpc_url is not None
        self.polling = polling or Polling()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def run(self, flow: Flow[T]) -> T:
        """Run a flow of this package to its end."""
        return await run_async(flow, self._transport)

    async def node(self, call: NodeCall[T]) -> T:
        """Ask the caller's node. Raises NodeRefused."""
        return await self.run(ask(call))

    async def quote(self, request: SwapRequest) -> SwapQuote:
        """Return the best route and the transaction to sign for it."""
        return await self.run(ask(request.call()))

    async def submit_order(self, quote: SwapQuote, request: SwapRequest, signed: str) -> Submission:
        """Submit a signed swap; `signed` is 0x-prefixed hex. Raises OtherTransaction."""
        return await self.run(swaps.place(quote, request, signed))

    async def order_status(self, order_id: str) -> OrderStatus:
        """Return where an order stands."""
        return await self.run(ask(calls.order_status(order_id)))

    async def order_history(
        self, wallet: str, *, limit: int = 50, offset: int = 0, status: OrderState | None = None
    ) -> History:
        """Return one page (1 to 200) of a wallet's orders, newest first."""
        return await self.run(
            ask(calls.order_history(wallet, limit=limit, offset=offset, status=status))
        )

    async def wrap_info(self, wallet: str) -> WrapInfo:
        """Return a wallet's ETH and WETH."""
        return await self.run(ask(calls.wrap_info(wallet)))

    async def wrap_quote(self, operation: WrapOperation, amount: str, wallet: str) -> WrapQuote:
        """Return the transaction that wraps or unwraps `amount` ETH; its nonce is open."""
        return await self.run(ask(calls.wrap_quote(operation, amount, wallet)))

    async def submit_wrap_order(self, quote: WrapQuote, signed: str) -> WrapOrder:
        """Submit a signed wrap or unwrap; `signed` is 0x-prefixed hex. Raises OtherTransaction."""
        return await self.run(wraps.place(quote, signed))

    async def follow(
        self, order_id: str, watch: Callable[[OrderStatus], None] = _unwatched
    ) -> OrderStatus:
        """Poll until the order is confirmed, failed or cancelled. Raises StillOpen."""
        return await self.run(polling.follow(order_id, self.polling, watch))

    async def swap(
        self, request: SwapRequest, signer: Signer, watch: swaps.Watch = _unwatched
    ) -> SwapResult:
        """Quote, approve where needed, sign, submit and follow.

        `watch` is told each quote, approval, submission and status record. Raises UnsafeQuote and
        Declined before anything is signed; OtherTransaction when the service then names another
        one, Contradicted when the caller's own node shows another end. A failed or
        cancelled order is a result.
        """
        return await self.run(
            swaps.swap(request, signer, self.polling, watch, has_node=self._has_node)
        )

    async def wrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        watch: wraps.Watch = _unwatched,
    ) -> WrapResult:
        """Turn `amount` ETH into WETH and wait until it is mined.

        `wallet` is needed for a signing function, `nonce` where there is no `rpc_url`. Raises
        UnsafeQuote before anything is signed; OtherTransaction, TransactionFailed, Replaced or
        StillOpen afterwards.
        """
        request = WrapRequest("wrap", amount, wallet_of(signer, wallet), nonce)
        return await self.convert(request, signer, watch)

    async def unwrap(
        self,
        amount: str,
        signer: Signer,
        *,
        wallet: str | None = None,
        nonce: int | None = None,
        watch: wraps.Watch = _unwatched,
    ) -> WrapResult:
        """Turn `amount` WETH into ETH and wait until it is mined; like `wrap`."""
        request = WrapRequest("unwrap", amount, wallet_of(signer, wallet), nonce)
        return await self.convert(request, signer, watch)

    async def convert(
        self, request: WrapRequest, signer: Signer, watch: wraps.Watch = _unwatched
    ) -> WrapResult:
        """Run a wrap or unwrap with conditions of the caller's own; like `wrap`."""
        flow = wraps.convert(request, signer, self.polling, watch, has_node=self._has_node)
        return await self.run(flow)
