"""A watch of the scripted use cases."""

from quietswap.rules.quotes.request import IndicativePriceRequest
from quietswap.rules.tokens.token import WETH
from quietswap.rules.watches import Watch, WatchCondition, WatchState
from tests.stored_orders import NOW_MS, USDC

WATCH = Watch(
    watch_id="wat_1",
    client_id="client-1",
    swap=IndicativePriceRequest(WETH, USDC, 10**18, only_own=True),
    buy_amount=3_200_000_000,
    condition=WatchCondition.AT_LEAST,
    created_at_ms=NOW_MS,
    expires_at_ms=NOW_MS + 86_400_000,
    state=WatchState.MET,
    ended_at_ms=NOW_MS + 12_000,
    promised=3_200_000_001,
)
