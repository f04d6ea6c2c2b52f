"""What a swap or wrap may lose, and what a person is asked before it is signed.

One rule for service, clients, command line and page. The TypeScript client has the same rule in
`loss.ts`, with the constants of this module. Shares are integers in basis points,
rounded as they are shown.
"""

from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import NamedTuple

from quietswap.rules.amounts import BPS

NOTICE_BPS, CONFIRM_BPS, TYPE_BPS = 100, 300, 1500
GAS_BPS = 1000
"""Gas counts as a loss above this share of the value."""
_HUNDRED, _MILLIONTH = Decimal(100), Decimal("0.000001")


class LossLevel(StrEnum):
    """What is asked: nothing, nothing with a notice, a confirmation in words, the loss typed."""

    NONE = "none"
    NOTICE = "notice"
    CONFIRM = "confirm"
    TYPE = "type"


class LossCause(StrEnum):
    PRICE_UNKNOWN = "price_unknown"
    """No price to compare with: the loss may be anything."""
    PRICE_IMPACT = "price_impact"
    """Below the service's prices, or by the source's own statement."""
    REFERENCE_PRICE = "reference_price"
    """Below Chainlink's prices at the caller's own node."""
    SLIPPAGE = "slippage"
    """The price may move so far against the swap until it is mined."""
    GAS = "gas"


WORDS = {
    LossCause.PRICE_UNKNOWN: "an unknown share (no price is known)",
    LossCause.PRICE_IMPACT: "price impact",
    LossCause.REFERENCE_PRICE: "below Chainlink's prices at your node",
    LossCause.SLIPPAGE: "slippage",
    LossCause.GAS: "of the value for gas",
}
"""After the share in percent; the first stands alone."""


class LossFigure(NamedTuple):
    """A cause and its share in basis points; None for an unknown price."""

    cause: LossCause
    bps: int | None

    def __str__(self) -> str:
        words = WORDS[self.cause]
        return words if self.bps is None else f"{percent(self.bps)} % {words}"


@dataclass(frozen=True, slots=True)
class Loss:
    """`bps` is the greatest known share, `causes` those that reach a notice, the greatest first."""

    level: LossLevel
    bps: int
    causes: tuple[LossFigure, ...]

    @property
    def word_to_type(self) -> str:
        """Return what a person types to accept it: for `TYPE` whole percent, rounded up."""
        return str(-(-self.bps // 100)) if self.level is LossLevel.TYPE else "yes"

    def exceeds(self, accepted_bps: int, *, has_floor: bool) -> bool:
        """Return whether more may be lost than a caller accepts.

        An unknown price may lose everything, unless the caller gave a floor for the output.
        """
        return max(self.bps, 0 if self.is_priced or has_floor else BPS) > accepted_bps

    @property
    def is_priced(self) -> bool:
        """Return whether there was a price to compare with."""
        return all(figure.bps is not None for figure in self.causes)

    def __str__(self) -> str:
        return ", ".join(map(str, self.causes)) or f"{percent(self.bps)} %"


def judge(*, impact: int | None, reference: int | None, slippage: int, gas: int | None) -> Loss:
    """Return the judgement of shares in basis points; None where one is unknown.

    `reference`: how far below the caller's own reference. `gas`: gas against the value.
    """
    figures = [
        LossFigure(LossCause.PRICE_IMPACT, impact or 0),
        LossFigure(LossCause.REFERENCE_PRICE, reference or 0),
        LossFigure(LossCause.SLIPPAGE, slippage),
        LossFigure(LossCause.GAS, gas if gas is not None and gas > GAS_BPS else 0),
    ]
    noticeable = [figure for figure in figures if (figure.bps or 0) >= NOTICE_BPS]
    noticeable.sort(key=lambda figure: -(figure.bps or 0))
    worst = max(figure.bps or 0 for figure in figures)
    if reference is None and (impact is None or gas is None):
        unknown = LossFigure(LossCause.PRICE_UNKNOWN, None)
        return Loss(
            max(level_of(worst), LossLevel.CONFIRM, key=_RANK), worst, (unknown, *noticeable)
        )
    return Loss(level_of(worst), worst, tuple(noticeable))


_RANK = list(LossLevel).index


def together(*losses: Loss) -> Loss:
    """Return the judgement of several transactions: the worst level and share, and all causes."""
    causes = tuple(dict.fromkeys(cause for loss in losses for cause in loss.causes))
    level = max((loss.level for loss in losses), key=_RANK)
    return Loss(level, max(loss.bps for loss in losses), causes)


def level_of(bps: int) -> LossLevel:
    if bps >= TYPE_BPS:
        return LossLevel.TYPE
    if bps >= CONFIRM_BPS:
        return LossLevel.CONFIRM
    return LossLevel.NOTICE if bps >= NOTICE_BPS else LossLevel.NONE


def judge_swap(
    *,
    impact_percent: Decimal | None,
    slippage_bps: int,
    net_value_usd: Decimal | None,
    gas_cost_usd: Decimal | None,
    reference_percent: Decimal | None = None,
    gas_percent: Decimal | None = None,
) -> Loss:
    """Return the judgement of a quote's figures; None where one is unknown.

    `reference_percent`: how far the quote is below a reference of the caller's own, negative if
    above. `gas_percent`: gas against the value as the caller measured it.
    """
    gas = _gas_bps(net_value_usd, gas_cost_usd) if gas_percent is None else to_bps(gas_percent)
    return judge(
        impact=None if impact_percent is None else to_bps(impact_percent),
        reference=None if reference_percent is None else to_bps(reference_percent),
        slippage=slippage_bps,
        gas=gas,
    )


def judge_wrap(amount_wei: int, gas_wei: int) -> Loss:
    """Return the judgement of a conversion one to one, which loses its gas and nothing else."""
    gas = min((2 * gas_wei * BPS + amount_wei) // (2 * amount_wei), BPS)
    return judge(impact=0, reference=None, slippage=0, gas=gas)


def accepted_bps(most_percent: Decimal | None) -> int:
    """Return the loss that a caller accepts. Without a bound: what needs no confirmation."""
    if most_percent is None:
        return CONFIRM_BPS - 1
    most = Decimal(str(most_percent)) * _HUNDRED  # callers give floats, too
    return int(most.to_integral_value(ROUND_FLOOR))


def to_bps(share_percent: Decimal) -> int:
    """Return a share in percent in basis points, from 0 to 10,000.

    It is rounded to six decimals first, as in the API: then all clients round alike.
    """
    share = min(max(share_percent, Decimal(0)), _HUNDRED).quantize(_MILLIONTH, ROUND_HALF_UP)
    return int((share * _HUNDRED).to_integral_value(ROUND_HALF_UP))


def percent(bps: int) -> str:
    return f"{bps // 100}.{bps % 100:02d}"


def _gas_bps(net_value_usd: Decimal | None, gas_cost_usd: Decimal | None) -> int | None:
    if net_value_usd is None or gas_cost_usd is None:
        return None
    value = net_value_usd + gas_cost_usd
    return to_bps(gas_cost_usd / value * _HUNDRED) if value > 0 else BPS
