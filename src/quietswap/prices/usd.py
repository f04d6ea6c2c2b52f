"""USD prices, compared between independent sources.

The order of trust is Chainlink (for tokens with a feed), Uniswap's pools, DefiLlama, CoinGecko. The
first price is compared with the others: a difference above 2 % from the next is reported, and one
that none of the others is within 5 % of is no price.

The pools alone give a price to `hubs` only. Whoever owns most of a token's pools decides there, and
a worthless token must not look priced.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from functools import partial
from typing import Protocol

from cachetools import TLRUCache

from quietswap import observe
from quietswap.chain.address import Address
from quietswap.clock import Clock
from quietswap.concurrency import SingleFlight
from quietswap.prices.feeds import FEEDS

_REPORT = Decimal("0.02")
_REFUSE = Decimal("0.05")
_NO_PRICE_TTL_S = 5.0
_CACHED = 2_000


class PriceSource(Protocol):
    """One price source. It never raises."""

    async def usd(self, token: Address) -> Decimal | None:
        """Return USD per whole token; None without a recent, plausible price."""


class UsdPrices:
    """USD prices. A missing, stale or contradicted price is None.

    `feeds` serves the tokens in FEEDS; `pools` and then `web` are the other sources in their order
    of trust. A token with a feed is compared with the first of them that has a price. A
    price is cached for `ttl_s` seconds from the request, a missing one for at most 5 s.
    `on_doubt(token, first, second)` is called for a difference above 2 %.
    """

    def __init__(
        self,
        feeds: PriceSource,
        pools: PriceSource,
        web: Sequence[PriceSource],
        clock: Clock,
        *,
        hubs: Collection[Address] = (),
        ttl_s: float,
        on_doubt: Callable[[str, str, str], None] = observe.price_doubted,
    ) -> None:
        self._feeds = feeds
        self._pools = pools
        self._hubs = frozenset(hubs)
        self._others = [pools, *web]
        self._clock = clock
        self._on_doubt = on_doubt
        self._in_flight: SingleFlight[Address, Decimal | None] = SingleFlight()

        def expires(_: Address, entry: tuple[Decimal | None, float], __: float) -> float:
            price, asked_at = entry
            return asked_at + (min(ttl_s, _NO_PRICE_TTL_S) if price is None else ttl_s)

        self._cache: TLRUCache[Address, tuple[Decimal | None, float]]
        self._cache = TLRUCache(_CACHED, expires, timer=clock.monotonic)

    async def usd(self, *tokens: Address) -> list[Decimal | None]:
        """Return USD per whole token, in order."""
        known = {token: entry[0] for token in tokens if (entry := self._cache.get(token))}
        missing = [token for token in dict.fromkeys(tokens) if token not in known]
        if missing:
            asked = (self._in_flight(token, partial(self._ask, token)) for token in missing)
            known |= zip(missing, await asyncio.gather(*asked), strict=True)
        return [known[token] for token in tokens]

    async def by_pools(self, *tokens: Address) -> list[Decimal | None]:
        """Return USD per whole token by the pools alone, in order: no vendor can bend it."""
        return await asyncio.gather(*(self._pools.usd(token) for token in tokens))

    async def _ask(self, token: Address) -> Decimal | None:
        asked_at = self._clock.monotonic()
        price = self._agreed(token, await self._answers(token))
        self._cache[token] = price, asked_at
        return price

    async def _answers(self, token: Address) -> list[Decimal]:
        """Return prices, the most trusted one first; with a feed until one is near it."""
        has_feed = token in FEEDS
        others = self._others
        now, later = (others[:1], others[1:]) if has_feed else (others, [])
        at_once = [self._feeds, *now] if has_feed else list(now)
        answers = await asyncio.gather(*(source.usd(token) for source in at_once))
        known = [price for price in answers if price is not None]
        if len(known) == 1 and not has_feed and answers[0] is not None and token not in self._hubs:
            return []  # by the pools alone
        for source in later:
            is_enough = len(known) > 1 and _least_apart(known) <= _REFUSE
            if not is_enough and (price := await source.usd(token)) is not None:
                known.append(price)
        return known

    def _agreed(self, token: Address, answers: Sequence[Decimal]) -> Decimal | None:
        if len(answers) < 2:
            return answers[0] if answers else None
        first, second, *_ = answers
        if _least_apart(answers[:2]) > _REPORT:
            self._on_doubt(token, str(first), str(second))
        return first if _least_apart(answers) <= _REFUSE else None


def _least_apart(prices: Sequence[Decimal]) -> Decimal:
    """Return the least relative difference of the first price from any other."""
    first, *others = prices
    return min(abs(first - other) / min(first, other) for other in others)
