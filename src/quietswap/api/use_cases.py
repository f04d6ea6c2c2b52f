"""What the API needs from the application: one callable per endpoint, the API keys, two counters.

A use case raises `quietswap.errors.base.RequestError` for a fault the caller can act on.
NodeUnavailable and StoreUnavailable become a 503 in `api.middleware.error_handler`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from quietswap.chain.address import Address
from quietswap.clients.client import ApiKey, ClientUsage
from quietswap.events.event import EventFilter, ResumePoint, StoredEvent
from quietswap.orders.cancel import CancelOrder
from quietswap.orders.order import OrderKind, OrderStatus
from quietswap.orders.statistics import ExportFilter, ExportPage, OrderStatistics
from quietswap.orders.stores import OrderPage, OrderView, RateStore
from quietswap.quoting.quote import SwapQuote, WrapQuote
from quietswap.quoting.request import (
    IndicativePriceRequest,
    SubmittedSwap,
    SubmittedWrap,
    SwapOrderRequest,
    SwapQuoteRequest,
    WrapBalances,
    WrapOrderRequest,
    WrapQuoteRequest,
)
from quietswap.quoting.scoring import IndicativePrice
from quietswap.tokens.view import TokenPage, WalletHoldings
from quietswap.wallet_rpc.tokens import NodeAnswer, NodeCall, WalletRpcToken, WalletRpcTokens
from quietswap.webhooks.manage import ManageWebhooks


class EventSubscription(Protocol):
    """An open stream of one client's events."""

    @property
    def sequence(self) -> int:
        """Return the number of the last event that is done with."""

    async def next(self) -> Sequence[StoredEvent] | None:
        """Return the next events; none of them every ten seconds; None at the end."""

    def close(self) -> None:
        """End the stream."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """Every use case the API calls. Orders are found only by the client that placed them."""

    quote_swap: Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]
    submit_swap: Callable[[ApiKey, SwapOrderRequest], Awaitable[SubmittedSwap]]
    order_status: Callable[[ApiKey, str], Awaitable[OrderView]]
    """By order id. Raises OrderNotFound."""
    order_history: Callable[
        [ApiKey, Address, OrderStatus | None, int, int, OrderKind | None], Awaitable[OrderPage]
    ]
    """By wallet and status, with limit and offset; orders of one kind, or all (None)."""
    order_statistics: Callable[[ApiKey, int], Awaitable[OrderStatistics]]
    """Of the last so many days."""
    export_orders: Callable[[ExportFilter], AsyncGenerator[ExportPage]]
    now_ms: Callable[[], int]
    """Returns the time in Unix ms."""
    wrap_info: Callable[[ApiKey, Address], Awaitable[WrapBalances]]
    quote_wrap: Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]
    submit_wrap: Callable[[ApiKey, WrapOrderRequest], Awaitable[SubmittedWrap]]
    cancel: CancelOrder
    webhooks: ManageWebhooks
    follow_events: Callable[[str, ResumePoint | None, EventFilter], Awaitable[EventSubscription]]
    """By client. Raises InvalidParameter, EventsPruned, TooManyStreams."""
    list_tokens: Callable[[ApiKey, str, int, int], Awaitable[TokenPage]]
    """By search text, with limit and offset."""
    balances: Callable[[ApiKey, Address, Sequence[Address]], Awaitable[WalletHoldings]]
    """By wallet and tokens."""
    price: Callable[[ApiKey, IndicativePriceRequest], Awaitable[IndicativePrice]]
    rpc_tokens: WalletRpcTokens
    rpc_token: Callable[[str], Awaitable[WalletRpcToken | None]]
    """Return the live token with this secret, None if it is unknown or revoked."""
    rpc_read: Callable[[Sequence[NodeCall], str], Awaitable[Sequence[NodeAnswer]]]
    """Read from the node, for the client with this id. Raises NodeUnavailable."""
    rpc_send: Callable[[WalletRpcToken, str], Awaitable[str]]
    """Take a signed transaction in hex and return its hash."""
    rpc_pending_transaction: Callable[[WalletRpcToken, str], Awaitable[dict[str, Any] | None]]
    """Return the JSON of a live order's transaction by its hash; None if there is none."""
    rpc_pending_nonce: Callable[[WalletRpcToken, Address], Awaitable[int | None]]
    """Return the nonce after a wallet's live orders; None if there are none."""
    usage: Callable[[ApiKey], Awaitable[ClientUsage]]
    authenticate: Callable[[str], Awaitable[ApiKey | None]]
    """Return the active key with this secret, None if it is unknown or revoked.

    Raises Unauthorized for an expired key and for one of a disabled client.
    """
    rate: RateStore
    """Counts the requests of each API key, and of each client with a limit."""
    guesses: RateStore
    """Counts the requests with a wrong API key of each client address."""
