"""What a sandwich would take from a swap sent publicly, in closed form; see docs/mev.md.

Model: the route as one constant-product pool, an attacker certain of the order of transactions,
the victim's signed minimum respected. Sources: Zhou et al. 2021 (arXiv 2009.14021), Heimbach and
Wattenhofer 2022 (arXiv 2202.03762). Fractions are Decimal (0.003 is 0.3 %).
"""

from dataclasses import dataclass
from decimal import Decimal

from quietswap.domain.address import Address
from quietswap.domain.quote import ThreatLevel
from quietswap.domain.token import WETH

STABLES = frozenset(
    map(
        Address,
        (
            "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",  # USDC
            "0xdAC17F958D2ee523a2206206994597C13D831ec7",  # USDT
            "0x6B175474E89094C44Da98b954EedeAC495271d0F",  # DAI
        ),
    )
)
MAJORS = STABLES | {WETH, Address("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599")}  # and WBTC

ATTACK_GAS = 260_000
"""Gas of the attacker's two swaps, about 130,000 each."""
_LOW_USD, _HIGH_USD = Decimal(5), Decimal(50)
_HIGH_SHARE, _HIGH_SLIPPAGE = Decimal("0.01"), Decimal("0.03")
_USER_SHARE = Decimal("0.9")
"""The relay gives nine tenths of a backrun's bid back to the user (https://docs.mevblocker.io)."""
_CALIBRATION = Decimal("0.05")
"""Share of the ceiling that is paid in practice: brings the mean near the published 0.5 to 0.75
bps of volume. An aggregator has already split the trade, so most of the ceiling is not there."""
_MAJORS_CAP = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class Threat:
    """`loss_usd` is "up to": what the victim would lose if the attack came."""

    level: ThreatLevel
    loss_usd: Decimal
    attacker_net_usd: Decimal


def pool_fee(sell: Address, buy: Address) -> Decimal:
    """Return the fee the route probably pays: 1 bp stable pairs, 5 bp majors, else 30 bp."""
    if sell in STABLES and buy in STABLES:
        return Decimal("0.0001")
    if sell in MAJORS and buy in MAJORS:
        return Decimal("0.0005")
    return Decimal("0.003")


def relative_size(impact: Decimal, fee: Decimal) -> Decimal:
    """Return nu, the net trade over the pool's reserve, from the total impact (with fees)."""
    net = min(max(impact - fee, Decimal(0)), Decimal("0.99"))
    return net / (1 - net)


def largest_front_run(reserve: Decimal, amount: Decimal, fee: Decimal, slip: Decimal) -> Decimal:
    """Return a_max, in in-tokens: the most an attacker can buy and the victim still goes through.

    (x + g a)(x + a + g v) = x (x + g v) / (1 - s), solved for a, with the fee staying in the pool
    (Uniswap V2). x the in-reserve, v the victim's input, g = 1 - fee, s the slippage tolerance.
    """
    g = 1 - fee
    b = reserve * (1 + g) + g * g * amount
    c = reserve * (reserve + g * amount) * slip / (1 - slip)
    return (-b + (b * b + 4 * g * c).sqrt()) / (2 * g)


def sandwich_profit(
    reserve_in: Decimal, reserve_out: Decimal, amount: Decimal, fee: Decimal, front: Decimal
) -> Decimal:
    """Return the attacker's profit in in-tokens for a front-run of `front`, before gas."""
    g = 1 - fee
    bought = reserve_out * g * front / (reserve_in + g * front)
    x1, y1 = reserve_in + front, reserve_out - bought
    x2 = x1 + amount
    y2 = y1 - y1 * g * amount / (x1 + g * amount)
    return x2 * g * bought / (y2 + g * bought) - front


def assess(
    *, value_usd: Decimal, impact: Decimal, fee: Decimal, slippage: Decimal, attack_cost: Decimal
) -> Threat:
    """Return the threat from what a quote knows; `impact` includes the pool's fee.

    An attack pays iff nu > f; then profit = s V (1 - f / nu) - G and the victim loses s V. For
    trades of 1 % to 3 % of the pool the profit is within 4 % of the exact form.
    """
    nu = relative_size(impact, fee)
    net = -attack_cost
    if nu > fee:
        net = slippage * value_usd * (1 - fee / nu) - attack_cost
    if net <= 0:
        return Threat(ThreatLevel.LOW, Decimal(0), net)
    loss = slippage * value_usd
    return Threat(_level(loss, value_usd, impact, slippage), loss, net)


def _level(loss: Decimal, value: Decimal, impact: Decimal, slippage: Decimal) -> ThreatLevel:
    share = loss / value
    grave = share >= _HIGH_SHARE or slippage >= _HIGH_SLIPPAGE or impact >= _HIGH_SLIPPAGE
    if loss >= _HIGH_USD or (grave and loss >= _LOW_USD):
        return ThreatLevel.HIGH
    return ThreatLevel.MEDIUM if loss >= _LOW_USD else ThreatLevel.LOW


def expected_rebate(*, value_usd: Decimal, impact: Decimal, fee: Decimal, majors: bool) -> Decimal:
    """Return the rebate in USD to expect from a backrun, calibrated; 0 for aligned venues.

    Ceiling V p (1 - phi / (2 nu))**2 with phi the fees of both pools, when 2 nu > phi.
    """
    nu = relative_size(impact, fee)
    phi = 2 * fee
    if 2 * nu <= phi:
        return Decimal(0)
    ceiling = value_usd * nu / (1 + nu) * (1 - phi / (2 * nu)) ** 2
    rebate = _USER_SHARE * _CALIBRATION * ceiling
    return min(rebate, _MAJORS_CAP * value_usd) if majors else rebate
