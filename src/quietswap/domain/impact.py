"""How far a swap's rate lies below the market's, in percent."""

from decimal import Decimal

_HUNDRED = Decimal(100)


def impact_percent(
    claimed: Decimal | None, value_in_usd: Decimal | None, value_out_usd: Decimal | None
) -> Decimal | None:
    """Return the impact (0.12 means 0.12 %), never negative; None when nothing tells.

    The source's own figure counts where it gives one. Else 1 - value out / value in at
    independent prices, which includes the pools' fees and some 10 to 30 bps of price noise.
    """
    if claimed is not None:
        return max(claimed, Decimal(0))
    if not value_in_usd or value_out_usd is None:
        return None
    return max((1 - value_out_usd / value_in_usd) * _HUNDRED, Decimal(0))
