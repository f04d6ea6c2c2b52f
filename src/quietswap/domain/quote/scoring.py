"""Ranking of routes by their net value. Amounts are integers; USD and rates are Decimal."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from statistics import median_low
from typing import Protocol

from quietswap.domain.address import Address
from quietswap.domain.amounts import BPS
from quietswap.domain.quote.quote import VerificationStatus
from quietswap.domain.quote.route import Route
from quietswap.domain.routers.method_row import Measure
from quietswap.domain.routers.methods import measure
from quietswap.domain.token import WETH, Token

_WEI = Decimal(10**18)
_AGREEING = 3
"""The least number of promises that can show one of them to be wrong."""
_FAR = 2
"""Two figures of one quantity that differ by more than this factor contradict each other."""

APPROVAL_GAS = 46_000
"""Gas units of a first approval: 21,000 for the transaction, 22,100 for a slot that was zero
(https://eips.ethereum.org/EIPS/eip-2929), the rest for its data, its log and the token's code."""

_NEAR_BPS = 50
"""If gas cannot be converted, outputs this close to the best count as equal."""


@dataclass(frozen=True, slots=True)
class UsdRates:
    """USD per whole ETH, sell token and buy token; None without a reliable price."""

    eth: Decimal | None
    sell: Decimal | None
    buy: Decimal | None


@dataclass(frozen=True, slots=True)
class PricingContext:
    """The inputs that all candidates share; `base_fee` of the next block in wei."""

    sell: Token
    sell_amount: int
    buy: Token
    rates: UsdRates
    base_fee: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A route that keeps every money rule, with the result of its simulation.

    `simulated` is the received amount in smallest units, None without a simulation. `gas` is the
    simulation's peak use, or a high estimate. `gas_limit` is the limit of the simulation.
    """

    route: Route
    verification: VerificationStatus
    simulated: int | None
    gas: int
    gas_limit: int | None = None

    @property
    def worth(self) -> int:
        """Return the reliable output: the smaller of promised and simulated."""
        if self.simulated is None:
            return self.route.buy_amount
        return min(self.route.buy_amount, self.simulated)


class Promise(Protocol):
    """An output of the swap that a source promises, verified or not."""

    @property
    def worth(self) -> int:
        """Return the output in smallest units of the buy token."""


@dataclass(frozen=True, slots=True)
class Score:
    """USD values; None if the buy token (or ETH, for the gas) has no price."""

    net_value_usd: Decimal | None
    gas_cost_usd: Decimal | None


def to_whole_tokens(amount: int, decimals: int) -> Decimal:
    """Return smallest units as whole tokens."""
    return Decimal(amount).scaleb(-decimals)


def value_usd(amount: int, token: Token, price: Decimal | None) -> Decimal | None:
    """Return USD of an amount; None without a price."""
    return None if price is None else to_whole_tokens(amount, token.decimals) * price


def gas_cost_usd(gas: int, fee: int, eth_usd: Decimal | None) -> Decimal | None:
    """Return USD of `gas` at `fee` wei: the next base fee, not the fee cap."""
    return None if eth_usd is None else Decimal(gas * fee) / _WEI * eth_usd


def score(candidate: Candidate, market: PricingContext) -> Score:
    """Return the net value of a candidate; all routes share one price of the buy token."""
    cost = gas_cost_usd(candidate.gas, market.base_fee, market.rates.eth)
    value = value_usd(candidate.worth, market.buy, market.rates.buy)
    net = None if value is None or cost is None else value - cost
    return Score(net, cost)


def believed(market: PricingContext, candidates: Sequence[Promise]) -> PricingContext:
    """Return the market without USD prices that the routes contradict.

    All candidates sell the same, so their median output is the swap's output. If it is worth more
    than twice the sold amount, one of the two prices is false; it is unknown which, so neither is
    used. If it is worth less than half, the swap itself may be bad: the prices stay, to show it.
    """
    rates = market.rates
    sold = value_usd(market.sell_amount, market.sell, rates.sell)
    bought = value_usd(_middle(candidates), market.buy, rates.buy)
    if sold is None or bought is None or bought <= sold * _FAR:
        return market
    return replace(market, rates=UsdRates(rates.eth, None, None))


def _middle(candidates: Sequence[Promise]) -> int:
    return median_low([candidate.worth for candidate in candidates])


def gas_price_in_buy_token(candidates: Sequence[Promise], market: PricingContext) -> Decimal | None:
    """Return smallest units of the buy token per unit of gas, one figure for all candidates.

    With WETH on either side the swap's own rate is enough. Otherwise the price of either token is
    used. If both are known and contradict each other, the lower figure counts: a false price then
    gives gas too little weight, and never more than the output. Therefore `market` has the rates as
    read, not as returned by `believed`. None if no conversion is possible.
    """
    fee = Decimal(market.base_fee)
    if market.buy.address == WETH:
        return fee
    own_rate = Decimal(_middle(candidates)) / Decimal(market.sell_amount)
    if market.sell.address == WETH:
        return fee * own_rate
    rates = market.rates
    if not rates.eth:
        return None
    ether = fee / _WEI * rates.eth
    figures = []
    if rates.buy:
        figures.append((ether / rates.buy).scaleb(market.buy.decimals))
    if rates.sell:
        figures.append((ether / rates.sell).scaleb(market.sell.decimals) * own_rate)
    if not figures:
        return None
    return figures[0] if max(figures) <= min(figures) * _FAR else min(figures)


def _is_unchecked(candidate: Candidate) -> bool:
    return candidate.verification is not VerificationStatus.VERIFIED


def believable(promises: Sequence[int]) -> int | None:
    """Return the highest plausible unverified promise: 1.05 x the median; None below three."""
    if len(promises) < _AGREEING:
        return None
    middle = median_low(promises)
    return middle + middle // 20


def rank(
    candidates: Sequence[Candidate],
    market: PricingContext,
    approved: Collection[Address] = (),
) -> list[Candidate]:
    """Return the candidates best first; `market` with the rates as read.

    `approved` are the routers that may already move the sold amount. A route through any other one
    is ranked as if it used the gas of an approval more: the wallet pays for that, too.

    A route whose terms are not proven ranks behind every proven one. An unverified promise ranks
    behind every verified one; among the unverified, one far above the median ranks last. Then the
    output net of gas counts, in the buy token (the same order as net USD, because all share one
    price), then a router that measures its own output (a payout owed to the wallet does not satisfy
    it), then less gas, then the configured order.

    If gas cannot be converted, routes within 50 bps of the best output come first, by their gas.
    """
    if not candidates:
        return []
    per_gas = gas_price_in_buy_token(candidates, market)
    credible = believable([c.worth for c in candidates if _is_unchecked(c)])

    def standing(candidate: Candidate) -> tuple[bool, bool, bool]:
        unchecked = _is_unchecked(candidate)
        incredible = unchecked and credible is not None and candidate.worth > credible
        return not candidate.route.bound, unchecked, incredible

    best: dict[tuple[bool, bool, bool], int] = {}
    for candidate in candidates:
        at = standing(candidate)
        best[at] = max(best.get(at, 0), candidate.worth)

    def key(entry: tuple[int, Candidate]) -> tuple[object, ...]:
        place, candidate = entry
        at, gas, route = standing(candidate), candidate.gas, candidate.route
        at_wallet = measure(route.target, route.data) in (Measure.RECIPIENT, None)
        if route.target not in approved:
            gas += APPROVAL_GAS
        if per_gas is not None:
            return (*at, -(candidate.worth - gas * per_gas), at_wallet, gas, place)
        is_far = candidate.worth * BPS < best[at] * (BPS - _NEAR_BPS)
        return (*at, is_far, 0 if is_far else gas, -candidate.worth, at_wallet, gas, place)

    return [candidate for _, candidate in sorted(enumerate(candidates), key=key)]
