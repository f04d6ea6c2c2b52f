"""The loss to a sandwich of a swap sent publicly, in closed form; see docs/mev.md.

Model: the route is one constant-product pool, the attacker controls the order of transactions, and
the victim's signed minimum holds. Sources: Zhou et al. 2021 (arXiv 2009.14021), Heimbach and
Wattenhofer 2022 (arXiv 2202.03762). Fractions are Decimal (0.003 is 0.3 %).
"""

from decimal import Decimal

import msgspec

from quietswap.rules.quotes.quote import ThreatLevel
from quietswap.rules.tokens.token import DAI, USDC, USDT, WBTC, WETH
from quietswap.rules.tx.address import Address

STABLES = frozenset({USDC, USDT, DAI})
MAJORS = STABLES | {WETH, WBTC}

ATTACK_GAS = 260_000
"""Gas of the attacker's two swaps, about 130,000 each."""
_LOW_USD, _HIGH_USD = Decimal(5), Decimal(50)
_HIGH_SHARE, _HIGH_SLIPPAGE = Decimal("0.01"), Decimal("0.03")
_USER_SHARE = Decimal("0.9")
"""The relay pays nine tenths of a backrun's bid to the user (https://docs.mevblocker.io)."""
_CALIBRATION = Decimal("0.05")
"""Share of the ceiling that is paid in practice: gives a mean near the published 0.5 to 0.75 bps of
volume. An aggregator has already split the trade, which removes most of the ceiling."""
_MAJORS_CAP = Decimal("0.0001")


class SandwichRisk(msgspec.Struct, frozen=True):
    """`loss_usd` is an upper bound: the victim's loss if the attack happens.

    `known` is False if the value or the impact of the trade is unknown and a sandwich may pay.
    `level` is then the highest that the known figures allow; `loss_usd` is 0 for an unknown value.
    """

    level: ThreatLevel
    loss_usd: Decimal
    attacker_net_usd: Decimal
    known: bool = True


def pool_fee(sell: Address, buy: Address) -> Decimal:
    """Return the probable fee of the route: 1 bp stable pairs, 5 bp majors, else 30 bp."""
    if sell in STABLES and buy in STABLES:
        return Decimal("0.0001")
    if sell in MAJORS and buy in MAJORS:
        return Decimal("0.0005")
    return Decimal("0.003")


def relative_size(impact: Decimal, fee: Decimal) -> Decimal:
    """Return nu, the net trade divided by the pool's reserve, from the impact with fees."""
    net = min(max(impact - fee, Decimal(0)), Decimal("0.99"))
    return net / (1 - net)


def assess_sandwich(
    *,
    value_usd: Decimal | None,
    impact: Decimal | None,
    fee: Decimal,
    slippage: Decimal,
    attack_cost: Decimal,
) -> SandwichRisk:
    """Return the threat from the figures of a quote; `impact` includes the pool's fee.

    An attack pays iff nu > f; then profit = s V (1 - f / nu) - G and the victim loses s V. For
    trades of 1 % to 3 % of the pool the profit is within 4 % of the exact form.

    `value_usd` or `impact` None means unknown. The profit grows with both, so an unknown impact
    counts as unbounded (profit = s V - G). An unknown value allows any loss.
    """
    profit_share = Decimal(1)
    if impact is not None:
        nu = relative_size(impact, fee)
        profit_share = 1 - fee / nu if nu > fee else Decimal(0)
    if value_usd is None and profit_share > 0 and slippage > 0:
        return SandwichRisk(ThreatLevel.HIGH, Decimal(0), Decimal(0), known=False)
    value = value_usd or Decimal(0)
    net = slippage * value * profit_share - attack_cost
    if net <= 0:
        return SandwichRisk(ThreatLevel.LOW, Decimal(0), net)
    loss = slippage * value
    largest = Decimal(1) if impact is None else impact
    return SandwichRisk(_level(loss, value, largest, slippage), loss, net, known=impact is not None)


def _level(loss: Decimal, value: Decimal, impact: Decimal, slippage: Decimal) -> ThreatLevel:
    share = loss / value
    grave = share >= _HIGH_SHARE or slippage >= _HIGH_SLIPPAGE or impact >= _HIGH_SLIPPAGE
    if loss >= _HIGH_USD or (grave and loss >= _LOW_USD):
        return ThreatLevel.HIGH
    return ThreatLevel.MEDIUM if loss >= _LOW_USD else ThreatLevel.LOW


def expected_rebate(*, value_usd: Decimal, impact: Decimal, fee: Decimal, majors: bool) -> Decimal:
    """Return the expected rebate in USD of a backrun, calibrated; 0 for aligned venues.

    Ceiling V p (1 - phi / (2 nu))**2 with phi the fees of both pools, when 2 nu > phi.
    """
    nu = relative_size(impact, fee)
    phi = 2 * fee
    if 2 * nu <= phi:
        return Decimal(0)
    ceiling = value_usd * nu / (1 + nu) * (1 - phi / (2 * nu)) ** 2
    rebate = _USER_SHARE * _CALIBRATION * ceiling
    return min(rebate, _MAJORS_CAP * value_usd) if majors else rebate
