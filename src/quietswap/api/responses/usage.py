"""The usage of a client in its JSON form."""

from typing import Any

from quietswap.api.responses.json_values import iso_timestamp
from quietswap.contract.usage import CountUsage, UsageResponse, ValueUsage
from quietswap.domain.client_limits import ClientUsage, KeyScope, day_end_ms
from quietswap.domain.errors.client_limits import usd_text
from quietswap.ports.stores import RateWindow


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
