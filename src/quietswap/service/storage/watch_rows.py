"""The rows of `watches`, and the record of one in its event."""

from collections.abc import Mapping
from typing import Any

from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.tx.address import Address
from quietswap.rules.watches import Watch, WatchCondition, WatchState
from quietswap.service.storage.database import Value

WATCH_COLUMNS = (
    "watch_id", "client_id", "sell_token", "buy_token", "sell_amount", "buy_amount", "condition",
    "state", "created_at_ms", "expires_at_ms", "ended_at_ms", "promised",
)  # fmt: skip


def watch_of(record: Mapping[str, Any]) -> Watch:
    """Return the watch of a record by column."""
    promised = record.get("promised")
    return Watch(
        watch_id=record["watch_id"],
        client_id=record["client_id"],
        swap=IndicativePriceRequest(
            Address(record["sell_token"]),
            Address(record["buy_token"]),
            int(record["sell_amount"]),
            only_own=True,
        ),
        buy_amount=int(record["buy_amount"]),
        condition=WatchCondition(record["condition"]),
        created_at_ms=record["created_at_ms"],
        expires_at_ms=record["expires_at_ms"],
        state=WatchState(record["state"]),
        ended_at_ms=record.get("ended_at_ms"),
        promised=None if promised is None else int(promised),
    )


def swap_values(swap: IndicativePriceRequest) -> tuple[str, str, str]:
    """Return the columns that name a swap."""
    return swap.sell_token, swap.buy_token, str(swap.sell_amount)


def watch_values(watch: Watch) -> tuple[Value, ...]:
    """Return the values of `WATCH_COLUMNS`."""
    return (
        watch.watch_id,
        watch.client_id,
        *swap_values(watch.swap),
        str(watch.buy_amount),
        watch.condition.value,
        watch.state.value,
        watch.created_at_ms,
        watch.expires_at_ms,
        watch.ended_at_ms,
        None if watch.promised is None else str(watch.promised),
    )
