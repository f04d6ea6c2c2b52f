"""Refuses a quote that the limits of its client do not allow, before any aggregator is asked.

The store checks the same limits once more when it counts the quote: only there is the count exact.
"""

from collections.abc import Awaitable, Callable

from quietswap.domain.address import Address
from quietswap.domain.client_limits import day_of
from quietswap.domain.quote.quote import SwapQuote, WrapQuote
from quietswap.domain.requests import SwapQuoteRequest, WrapQuoteRequest
from quietswap.domain.token import WETH
from quietswap.ports.clients import ApiKey, UsageStore
from quietswap.ports.clock import Clock


class AdmitQuotes:
    """Checks wallet, tokens and the quotes of the day of a client with limits."""

    def __init__(self, usage: UsageStore, clock: Clock) -> None:
        self._usage = usage
        self._clock = clock

    def swaps(
        self, quote: Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]
    ) -> Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]:
        """Return `quote` behind the check."""

        async def admitted(key: ApiKey, ask: SwapQuoteRequest) -> SwapQuote:
            await self._check(key, ask.wallet, ask.sell_token, ask.buy_token)
            return await quote(key, ask)

        return admitted

    def wraps(
        self, quote: Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]
    ) -> Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]:
        """Return `quote` behind the check."""

        async def admitted(key: ApiKey, ask: WrapQuoteRequest) -> WrapQuote:
            await self._check(key, ask.wallet, WETH)
            return await quote(key, ask)

        return admitted

    async def _check(self, key: ApiKey, wallet: Address, *tokens: Address) -> None:
        limits = key.limits
        if limits is None:
            return
        limits.check_trade(wallet, tokens)
        if limits.quotes_per_day is not None:
            now = self._clock.now_ms()
            used = await self._usage.day(key.client_id, day_of(now))
            limits.check_quotes(used.quotes + 1, now)
