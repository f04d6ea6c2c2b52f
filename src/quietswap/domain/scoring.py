"""Which route leaves the user with most. Amounts are integers; USD and rates are Decimal."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median_low

from quietswap.domain.quote import Verification
from quietswap.domain.route import Route
from quietswap.domain.token import WETH, Token

_WEI = Decimal(10**18)
_AGREEING = 3
"""With fewer promises nobody can tell the liar from the others."""


@dataclass(frozen=True, slots=True)
class UsdRates:
    """USD per whole ETH, sell token and buy token; None where no trustworthy price is known."""

    eth: Decimal | None
    sell: Decimal | None
    buy: Decimal | None


@dataclass(frozen=True, slots=True)
class Market:
    """What all candidates of one quote share; `base_fee` is the next block's, in wei."""

    sell: Token
    sell_amount: int
    buy: Token
    rates: UsdRates
    base_fee: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A route that survived every money rule, with what the simulation saw.

    `simulated` is what arrived, in smallest units; None when nobody could look. `gas` is the
    simulation's peak use, or a cautious estimate.
    """

    route: Route
    verification: Verification
    simulated: int | None
    gas: int

    @property
    def worth(self) -> int:
        """What the user may count on: the smaller of promised and simulated."""
        if self.simulated is None:
            return self.route.buy_amount
        return min(self.route.buy_amount, self.simulated)


@dataclass(frozen=True, slots=True)
class Score:
    """Net of gas, in USD; None when the buy token (or ETH, for the gas) has no price."""

    net_value_usd: Decimal | None
    gas_cost_usd: Decimal | None


def whole(amount: int, decimals: int) -> Decimal:
    """Return smallest units as whole tokens."""
    return Decimal(amount).scaleb(-decimals)


def value_usd(amount: int, token: Token, price: Decimal | None) -> Decimal | None:
    """Return USD of an amount; None without a price."""
    return None if price is None else whole(amount, token.decimals) * price


def gas_cost_usd(gas: int, fee: int, eth_usd: Decimal | None) -> Decimal | None:
    """Return USD of `gas` at `fee` wei: what is paid at the next base fee, not the fee cap."""
    return None if eth_usd is None else Decimal(gas * fee) / _WEI * eth_usd


def score(candidate: Candidate, market: Market) -> Score:
    """Return what a candidate nets at the one price of the buy token all routes share."""
    cost = gas_cost_usd(candidate.gas, market.base_fee, market.rates.eth)
    value = value_usd(candidate.worth, market.buy, market.rates.buy)
    net = None if value is None or cost is None else value - cost
    return Score(net, cost)


def gas_in_buy_token(candidate: Candidate, market: Market) -> Decimal:
    """Return the gas cost in smallest units of the buy token, by the best rate there is.

    With a price of the buy token: by USD. Without: through the quote's own rate, from WETH when
    it is sold, else from the sell token's USD price. With no way to convert, 0 for all routes.
    """
    wei = Decimal(candidate.gas * market.base_fee)
    if market.buy.address == WETH:
        return wei
    rates = market.rates
    own_rate = Decimal(candidate.worth) / Decimal(market.sell_amount)
    if rates.eth and rates.buy:
        return (wei / _WEI * rates.eth / rates.buy).scaleb(market.buy.decimals)
    if market.sell.address == WETH:
        return wei * own_rate
    if rates.eth and rates.sell:
        return (wei / _WEI * rates.eth / rates.sell).scaleb(market.sell.decimals) * own_rate
    return Decimal(0)


def _is_unchecked(candidate: Candidate) -> bool:
    return candidate.verification is not Verification.VERIFIED


def _believable(promises: Sequence[int]) -> int | None:
    """Return the most an unchecked promise may be: the median and a twentieth; None below three."""
    if len(promises) < _AGREEING:
        return None
    middle = median_low(promises)
    return middle + middle // 20


def rank(candidates: Sequence[Candidate], market: Market) -> list[Candidate]:
    """Return the candidates best first.

    A promise nobody could check never beats one that was checked, and among the unchecked one far
    above what the others agree on comes last. Then net of gas in the buy token (which orders
    exactly as net USD does, since all share one price), then less gas, then the configured order.
    """
    believable = _believable([c.worth for c in candidates if _is_unchecked(c)])

    def key(entry: tuple[int, Candidate]) -> tuple[bool, bool, Decimal, int, int]:
        place, candidate = entry
        unchecked = _is_unchecked(candidate)
        incredible = unchecked and believable is not None and candidate.worth > believable
        net = candidate.worth - gas_in_buy_token(candidate, market)
        return (unchecked, incredible, -net, candidate.gas, place)

    return [candidate for _, candidate in sorted(enumerate(candidates), key=key)]
