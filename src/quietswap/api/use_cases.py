"""What the edge needs from the inside: one callable per endpoint, keys, and the rate window.

Every use case raises `quietswap.domain.errors.ApiError` for what the caller can act on. ChainDown
and StoreDown that escape one are answered by `quietswap.api.app`.
"""

from dataclasses import dataclass
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.order import Status
from quietswap.domain.order_record import HistoryPage, OrderRecord
from quietswap.domain.quote import SwapQuote, WrapQuote
from quietswap.domain.requests import (
    QuoteAsk,
    Submitted,
    SwapSubmission,
    WrapAsk,
    WrapInfo,
    WrapSubmission,
    WrapSubmitted,
)
from quietswap.ports.stores import ApiKey, RateStore


class QuoteSwap(Protocol):
    """GET /api/v1/quote."""

    async def __call__(self, key: ApiKey, ask: QuoteAsk, /) -> SwapQuote:
        """Return an issued quote."""


class SubmitSwap(Protocol):
    """POST /api/v1/mev/orders."""

    async def __call__(self, key: ApiKey, submission: SwapSubmission, /) -> Submitted:
        """Return the order that was taken."""


class OrderStatus(Protocol):
    """GET /api/v1/mev/orders/:orderId."""

    async def __call__(self, key: ApiKey, order_id: str, /) -> OrderRecord:
        """Return this key's order. Raises OrderNotFound."""


class OrderHistory(Protocol):
    """GET /api/v1/mev/orders/user/:userAddress."""

    async def __call__(
        self, key: ApiKey, wallet: Address, status: Status | None, limit: int, offset: int, /
    ) -> HistoryPage:
        """Return one page of this key's orders of a wallet."""


class ReadWrapInfo(Protocol):
    """GET /api/v1/mev/wrap/info."""

    async def __call__(self, key: ApiKey, wallet: Address, /) -> WrapInfo:
        """Return the wallet's balances."""


class QuoteWrap(Protocol):
    """POST /api/v1/mev/wrap/quote."""

    async def __call__(self, key: ApiKey, ask: WrapAsk, /) -> WrapQuote:
        """Return an issued quote."""


class SubmitWrap(Protocol):
    """POST /api/v1/mev/wrap/order."""

    async def __call__(self, key: ApiKey, submission: WrapSubmission, /) -> WrapSubmitted:
        """Return the wrap that was taken."""


class Authenticate(Protocol):
    """Who sent `X-API-Key`."""

    async def __call__(self, secret: str, /) -> ApiKey | None:
        """Return the live key; None when it is unknown or revoked."""


@dataclass(frozen=True, slots=True)
class UseCases:
    """Everything the edge calls; `rate` counts the requests of keys, `guesses` wrong keys."""

    quote_swap: QuoteSwap
    submit_swap: SubmitSwap
    order_status: OrderStatus
    order_history: OrderHistory
    wrap_info: ReadWrapInfo
    quote_wrap: QuoteWrap
    submit_wrap: SubmitWrap
    authenticate: Authenticate
    rate: RateStore
    guesses: RateStore
