"""The rule on losses as a table: figures of a quote, and what is asked for them.

The rule itself, the API, the command line and both clients are tried with these rows.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True)
class Row:
    """`impact` and `below` (the reference) in percent, `gas` in USD of a value of 1,000 USD.

    None is unknown; `below` None is a caller without a reference.
    """

    impact: str | None
    slippage_bps: int
    gas: str | None
    below: str | None
    level: str
    bps: int
    causes: str

    @property
    def net_usd(self) -> Decimal | None:
        """Return the value after gas."""
        return None if self.gas is None else 1000 - Decimal(self.gas)

    @property
    def gas_usd(self) -> Decimal | None:
        """Return the gas in USD."""
        return None if self.gas is None else Decimal(self.gas)


_NO_PRICE = "an unknown share (no price is known)"
_GAS = "% of the value for gas"
LOSSES: dict[str, Row] = {
    "nothing": Row("0", 50, "1", None, "none", 50, ""),
    "almost a notice": Row("0.99", 50, "1", None, "none", 99, ""),
    "impact of a notice": Row("1", 50, "1", None, "notice", 100, "1.00 % price impact"),
    "almost a question": Row("2.99", 50, "1", None, "notice", 299, "2.99 % price impact"),
    "impact of a question": Row("3", 50, "1", None, "confirm", 300, "3.00 % price impact"),
    "rounded as it is shown": Row("2.995", 50, "1", None, "confirm", 300, "3.00 % price impact"),
    "almost to type": Row("14.99", 50, "1", None, "confirm", 1499, "14.99 % price impact"),
    "impact to type": Row("15", 50, "1", None, "type", 1500, "15.00 % price impact"),
    "half of the value": Row("47.69", 50, "1", None, "type", 4769, "47.69 % price impact"),
    "slippage of a notice": Row("0", 100, "1", None, "notice", 100, "1.00 % slippage"),
    "slippage of a question": Row("0", 300, "1", None, "confirm", 300, "3.00 % slippage"),
    "slippage to type": Row("0", 5000, "1", None, "type", 5000, "50.00 % slippage"),
    "the worst counts": Row(
        "3.5", 1600, "1", None, "type", 1600, "16.00 % slippage, 3.50 % price impact"
    ),
    "rounded down": Row("14.994999", 50, "1", None, "confirm", 1499, "14.99 % price impact"),
    "gas of a tenth": Row("0", 50, "100", None, "none", 50, ""),
    "gas above a tenth": Row("0", 50, "100.1", None, "confirm", 1001, f"10.01 {_GAS}"),
    "gas to type": Row("0", 50, "150", None, "type", 1500, f"15.00 {_GAS}"),
    "gas above the value": Row("0", 50, "1001", None, "type", 10000, f"100.00 {_GAS}"),
    "price unknown": Row(None, 50, None, None, "confirm", 50, _NO_PRICE),
    "impact unknown": Row(None, 50, "1", None, "confirm", 50, _NO_PRICE),
    "gas unknown": Row("2", 50, None, None, "confirm", 200,
                       f"{_NO_PRICE}, 2.00 % price impact"),
    "price unknown and slippage": Row(None, 1500, None, None, "type", 1500,
                                      f"{_NO_PRICE}, 15.00 % slippage"),
    "above the reference": Row("0", 50, "1", "-5", "none", 50, ""),
    "below the reference": Row("0.2", 50, "1", "4", "confirm", 400,
                               "4.00 % below Chainlink's prices at your node"),
    "far below the reference": Row("0", 50, "1", "90", "type", 9000,
                                   "90.00 % below Chainlink's prices at your node"),
    "a reference is a price": Row(None, 50, None, "0", "none", 50, ""),
}  # fmt: skip
"""By name. `causes` in words."""


def quoted(row: Row) -> dict[str, Any]:
    """Return the changes of a quote of 1 WETH, worth 3,000 USDC, that give a row."""
    bought = int(3 * 10**7 * (100 - Decimal(row.below or 0)))
    return {
        "impact_percent": None if row.impact is None else Decimal(row.impact),
        "slippage_bps": row.slippage_bps,
        "net_value_usd": row.net_usd,
        "gas_cost_usd": row.gas_usd,
        "buy_amount": bought,
        "min_buy_amount": bought * (10_000 - row.slippage_bps) // 10_000,
    }
