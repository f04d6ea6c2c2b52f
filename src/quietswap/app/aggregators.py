"""The registry of aggregators: adapter and request budget of each source."""

from dataclasses import dataclass
from typing import Any

from quietswap.adapters.aggregators import kyberswap, oneinch, openocean, sushi, velora, zeroex
from quietswap.adapters.aggregators.base import HttpAggregator
from quietswap.services.quoting.source_limits import RequestBudget


@dataclass(frozen=True, slots=True)
class RegisteredAggregator:
    """One source. `module` has `NAME`, `DEFAULT_URL`, `ROUTERS` and `NEEDS_KEY`.

    `budget` is within the limits that the vendor publishes.
    """

    module: Any
    adapter: type[HttpAggregator]
    budget: RequestBudget


_ROWS = (
    # 3 requests per second, and a quote needs two
    RegisteredAggregator(kyberswap, kyberswap.KyberSwap, RequestBudget(1.5)),
    # the limit without a key, https://docs.velora.xyz
    RegisteredAggregator(velora, velora.Velora, RequestBudget(1.0, 3000)),
    # the free plans of 0x and 1inch
    RegisteredAggregator(zeroex, zeroex.ZeroEx, RequestBudget(5.0)),
    RegisteredAggregator(oneinch, oneinch.OneInch, RequestBudget(1.0)),
    # no published limit
    RegisteredAggregator(sushi, sushi.Sushi, RequestBudget(10.0)),
    # 2 requests per second without a key
    RegisteredAggregator(openocean, openocean.OpenOcean, RequestBudget(2.0)),
)
AGGREGATORS = {row.module.NAME: row for row in _ROWS}
"""By name, in order of preference: without `quotes.sources` the first of them are asked."""
