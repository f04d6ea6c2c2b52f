"""Watches as the interface shows them."""

from quietswap.rules.contract.watches import WatchResponse
from quietswap.rules.watches import Watch, WatchState
from quietswap.service.api.json import amount, iso_timestamp


def watch_response(watch: Watch) -> WatchResponse:
    is_met = watch.state is WatchState.MET
    return WatchResponse(
        id=watch.watch_id,
        state=watch.state.value,
        sell_token=watch.swap.sell_token,
        buy_token=watch.swap.buy_token,
        sell_amount=amount(watch.swap.sell_amount),
        buy_amount=amount(watch.buy_amount),
        condition=watch.condition.value,
        created_at=iso_timestamp(watch.created_at_ms),
        expires_at=iso_timestamp(watch.expires_at_ms),
        met_at=iso_timestamp(watch.ended_at_ms) if is_met and watch.ended_at_ms else None,
        promised=None if watch.promised is None else amount(watch.promised),
    )
