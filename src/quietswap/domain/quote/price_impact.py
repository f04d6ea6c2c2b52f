"""The price impact: how far a swap's rate is below the market rate, in percent."""

from decimal import Decimal

_HUNDRED = Decimal(100)


def impact_percent(
    claimed: Decimal | None, value_in_usd: Decimal | None, value_out_usd: Decimal | None
) -> Decimal | None:
    """Return the impact (0.12 means 0.12 %), from 0 to 100; None without a price.

    The larger of the source's claim and 1 - value out / value in at independent prices. The latter
    includes the pools' fees and 10 to 30 bps of price noise. A claim can raise the impact and never
    lower it, so a claim without prices is ignored, and so is one outside 0 to 100.
    """
    if not value_in_usd or value_out_usd is None:
        return None
    computed = (1 - value_out_usd / value_in_usd) * _HUNDRED
    stated = claimed if claimed is not None and 0 <= claimed <= _HUNDRED else Decimal(0)
    return max(computed, stated, Decimal(0))
