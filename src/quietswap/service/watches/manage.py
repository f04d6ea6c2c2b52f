"""What clients do with their watches: create, list, delete."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.rules.clients import ApiKey
from quietswap.rules.errors.clients import WatchLimitReached, WatchNotFound
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.watches import LONGEST_S, MOST_OPEN, Watch, WatchRequest
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.quoting.price import QuotePrice
from quietswap.service.quoting.routes import require_tradable
from quietswap.service.storage.watches import WatchStore


@dataclass(frozen=True, slots=True)
class ManageWatches:
    """The watches of the calling client only. Every method raises StoreUnavailable.

    `chain_clock` has the chain's time.
    """

    watches: WatchStore
    price: QuotePrice
    chain_clock: Clock

    async def create(self, key: ApiKey, ask: WatchRequest) -> Watch:
        """Store a watch and return it. Nothing is asked before the next turn of the leader.

        Raises TokenNotSupported, InvalidParameter for the deadline and without an own source, and
        WatchLimitReached.
        """
        self.price.require_own()
        require_tradable(self.price.tokens, ask.swap.sell_token, ask.swap.buy_token)
        watch = Watch(
            watch_id=f"wat_{secrets.token_hex(12)}",
            client_id=key.client_id,
            swap=ask.swap,
            buy_amount=ask.buy_amount,
            condition=ask.condition,
            created_at_ms=self.price.clock.now_ms(),
            expires_at_ms=self._expiry_ms(ask.deadline_s),
        )
        if not await self.watches.add(watch, MOST_OPEN):
            raise WatchLimitReached(limit=MOST_OPEN)
        observe.watch_created(watch.watch_id, key.client_id)
        return watch

    def _expiry_ms(self, deadline_s: int | None) -> int:
        now_ms = self.chain_clock.now_ms()
        latest_ms = now_ms + LONGEST_S * 1000
        if deadline_s is None:
            return latest_ms
        if not now_ms < deadline_s * 1000 <= latest_ms:
            reason = f"it must be in the next {LONGEST_S} seconds, as Unix seconds"
            raise InvalidParameter(parameter="deadline", provided=str(deadline_s), reason=reason)
        return deadline_s * 1000

    async def list(self, key: ApiKey, limit: int, offset: int) -> Sequence[Watch]:
        """Return the watches, newest first."""
        return await self.watches.list(key.client_id, limit, offset)

    async def delete(self, key: ApiKey, watch_id: str) -> None:
        """Delete a watch. Raises WatchNotFound."""
        if not await self.watches.delete(key.client_id, watch_id):
            raise WatchNotFound
        observe.watch_deleted(watch_id, key.client_id)
