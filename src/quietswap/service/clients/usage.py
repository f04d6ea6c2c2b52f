"""GET /api/v1/mev/usage: what the client of a key may use, and has used today."""

import asyncio
from dataclasses import dataclass
from typing import Any

from quietswap.rules.clients import ApiKey, ClientLimits, ClientUsage, KeyScope, day_end_ms, day_of
from quietswap.rules.contract.clients import CountUsage, UsageEnvelope, UsageResponse, ValueUsage
from quietswap.rules.errors.clients import usd_text
from quietswap.rules.orders.stores import RateWindow
from quietswap.service.api.json import iso_timestamp
from quietswap.service.api.operation import ApiRequest, operation
from quietswap.service.base.clock import Clock
from quietswap.service.storage.client_usage import UsageStore


@dataclass(frozen=True, slots=True)
class GetUsage:
    usage: UsageStore
    clock: Clock

    async def __call__(self, key: ApiKey) -> ClientUsage:
        """Return usage and limits of the key's client. Raises StoreUnavailable."""
        now = self.clock.now_ms()
        used, open_orders = await asyncio.gather(
            self.usage.day(key.client_id, day_of(now)), self.usage.open_orders(key.client_id)
        )
        return ClientUsage(key.client_id, key.limits or ClientLimits(), used, open_orders, now)


def usage_response(usage: ClientUsage, scope: KeyScope, window: RateWindow | None) -> UsageResponse:
    """Return the answer to a key with `scope`.

    `window` is that of the client's requests, if they have a limit.
    """
    limits, today = usage.limits, usage.today
    requests = None if window is None else window.limit - window.remaining
    day_ends: Any = iso_timestamp(day_end_ms(usage.at_ms))
    return UsageResponse(
        client_id=usage.client_id,
        scope=scope.value,
        requests_per_minute=_count(limits.requests_per_minute, requests),
        quotes_per_day=_count(limits.quotes_per_day, today.quotes),
        open_orders=_count(limits.open_orders, usage.open_orders),
        orders_today=today.orders,
        usd_per_swap=_usd(limits.usd_cents_per_swap),
        usd_per_day=ValueUsage(
            limit=_usd(limits.usd_cents_per_day),
            used=usd_text(today.usd_cents),
            left=_usd(_left(limits.usd_cents_per_day, today.usd_cents)),
        ),
        wallets=tuple(sorted(limits.wallets)),
        tokens=tuple(sorted(limits.tokens)),
        day_ends_at=day_ends,
    )


def _count(limit: int | None, used: int | None) -> CountUsage:
    return CountUsage(limit=limit, used=used, left=_left(limit, used or 0))


def _left(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(limit - used, 0)


def _usd(cents: int | None) -> str | None:
    return None if cents is None else usd_text(cents)


@operation("GET /api/v1/mev/usage", "SERVICE_UNAVAILABLE")
async def usage(request: ApiRequest) -> UsageEnvelope:
    """Limits of the key's client, and what it has used."""
    key = request.key
    used = await request.use.usage(key)
    return UsageEnvelope(ok=True, data=usage_response(used, key.scope, request.client_window))
