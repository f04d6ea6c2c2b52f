"""USD prices from three independent sources that watch each other.

Chainlink's word comes first where it has a feed, then DefiLlama's, then CoinGecko's. The first
answer is compared with the next: more than 2 % apart is reported, more than 5 % is no price.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Protocol

from quietswap import observe
from quietswap.adapters.in_flight import InFlight
from quietswap.adapters.prices_chainlink import FEEDS
from quietswap.domain.address import Address
from quietswap.domain.token import WETH, Token
from quietswap.ports.outside import Clock

_DOUBT = Decimal("0.02")
_REFUSE = Decimal("0.05")
_NONE_LASTS_S = 5.0
_KEPT = 2_000


class PriceSource(Protocol):
    """One source. It never raises: what it does not know for sure is None."""

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token."""


class UsdPrices:
    """Implements quietswap.ports.outside.Prices.

    `feeds` answers for the tokens in FEEDS; `web` are the other sources in the order in which they
    are believed. A token with a feed needs only one of them as a second opinion, the others are
    asked at once. `ttl_s`: how long a price is served from memory (its absence: 5 s at most).
    `on_doubt(token, first, second)` is told of a disagreement.
    """

    def __init__(
        self,
        feeds: PriceSource,
        web: Sequence[PriceSource],
        clock: Clock,
        *,
        ttl_s: float = 20.0,
        on_doubt: Callable[[str, str, str], None] = observe.price_doubted,
    ) -> None:
        self._feeds = feeds
        self._web = web
        self._clock = clock
        self._ttl_s = ttl_s
        self._on_doubt = on_doubt
        self._cache: OrderedDict[Address, tuple[Decimal | None, float]] = OrderedDict()
        self._fresh = InFlight(self._ask)

    async def eth_usd(self) -> Decimal | None:
        """Return USD per ETH."""
        return await self._usd(WETH)

    async def token_usd(self, token: Token) -> Decimal | None:
        """Return USD per whole token."""
        return await self._usd(token.address)

    async def _usd(self, token: Address) -> Decimal | None:
        if cached := self._cache.get(token):
            price, at = cached
            lasts_s = self._ttl_s if price is not None else min(self._ttl_s, _NONE_LASTS_S)
            if self._clock.monotonic() - at < lasts_s:
                return price
        return await self._fresh(token)

    async def _ask(self, token: Address) -> Decimal | None:
        asked_at = self._clock.monotonic()
        price = self._agreed(token, await self._answers(token))
        self._cache[token] = price, asked_at
        self._cache.move_to_end(token)
        if len(self._cache) > _KEPT:
            self._cache.popitem(last=False)
        return price

    async def _answers(self, token: Address) -> list[Decimal]:
        """Return up to two answers, the more trusted first."""
        has_feed = token in FEEDS
        now, later = (self._web[:1], self._web[1:]) if has_feed else (self._web, ())
        at_once = [self._feeds, *now] if has_feed else list(now)
        answers = await asyncio.gather(*(source.usd(token) for source in at_once))
        known = [price for price in answers if price is not None]
        for source in later:
            if len(known) < 2 and (price := await source.usd(token)) is not None:
                known.append(price)
        return known[:2]

    def _agreed(self, token: Address, answers: Sequence[Decimal]) -> Decimal | None:
        if len(answers) < 2:
            return answers[0] if answers else None
        first, second = answers
        apart = abs(first - second) / min(first, second)
        if apart > _DOUBT:
            self._on_doubt(token, str(first), str(second))
        return first if apart <= _REFUSE else None
