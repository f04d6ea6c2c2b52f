"""Ranking of routes by their net value. Amounts are integers; USD and rates are Decimal."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median_low

import msgspec
from msgspec.structs import replace

from quietswap.rules.amounts import BPS, difference_bps
from quietswap.rules.quotes.quote import Route, SourceOutcome, SourceReport, VerificationStatus
from quietswap.rules.routers.method import Measure
from quietswap.rules.safety.methods import measure
from quietswap.rules.tokens.token import WETH, Token
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address

_WEI = Decimal(10**18)
REFERENCE_BPS = 100
"""The pools' price is before fees: an unsimulated promise further above it is not credible."""
_AGREEING = 3
"""The least number of promises that can show one of them to be wrong."""
_FAR = 2
"""Two figures of one quantity that differ by more than this factor contradict each other."""

APPROVAL_GAS = 46_000
"""Gas units of a first approval: 21,000 for the transaction, 22,100 for a slot that was zero
(https://eips.ethereum.org/EIPS/eip-2929), the rest for its data, its log and the token's code."""


def first_approval_gas(*, is_amsterdam: bool) -> int:
    return APPROVAL_GAS + fees.NEW_SLOT_GAS * is_amsterdam


_NEAR_BPS = 50
"""If gas cannot be converted, outputs this close to the best count as equal."""


class UsdRates(msgspec.Struct, frozen=True):
    """USD per whole ETH, sell token and buy token; None without a reliable price."""

    eth: Decimal | None
    sell: Decimal | None
    buy: Decimal | None


class PricingContext(msgspec.Struct, frozen=True):
    """The inputs that all candidates share; `base_fee` of the next block in wei.

    `approval_gas`: what a first approval uses.
    """

    sell: Token
    sell_amount: int
    buy: Token
    rates: UsdRates
    base_fee: int
    approval_gas: int = APPROVAL_GAS


class Candidate(msgspec.Struct, frozen=True):
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


class Score(msgspec.Struct, frozen=True):
    """USD values; None if the buy token (or ETH, for the gas) has no price."""

    net_value_usd: Decimal | None
    gas_cost_usd: Decimal | None


def to_whole_tokens(amount: int, decimals: int) -> Decimal:
    return Decimal(amount).scaleb(-decimals)


def value_usd(amount: int, token: Token, price: Decimal | None) -> Decimal | None:
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


def reference_amount(
    sell: Token, sell_amount: int, buy: Token, by_pools: Sequence[Decimal | None]
) -> int | None:
    """Return what the amount is worth in the buy token at the pools' prices, before their fees.

    `by_pools` are USD per whole token, sell before buy. None without either.
    """
    sold, bought = by_pools
    if not sold or not bought:
        return None
    worth = Decimal(sell_amount).scaleb(buy.decimals - sell.decimals) * sold / bought
    return int(worth) or None


def with_reference(
    reports: Sequence[SourceReport], reference: int | None
) -> tuple[SourceReport, ...]:
    """Return the reports with each promise against the reference in bps, named if incredible."""
    if reference is None:
        return tuple(reports)
    return tuple(_with_reference(report, reference) for report in reports)


_OFFERED = (SourceOutcome.WON, SourceOutcome.ANSWERED, SourceOutcome.UNVERIFIED)


def _with_reference(report: SourceReport, reference: int) -> SourceReport:
    if report.promised is None:
        return report
    bps = difference_bps(report.promised, reference)
    reason = report.reason
    if bps > REFERENCE_BPS and report.simulated is None and report.outcome in _OFFERED:
        above = f"promises {bps} bps more than the pools' price and was not simulated"
        reason = above if reason is None else f"{reason}; {above}"
    return replace(report, reference_bps=bps, reason=reason)


def without_contradicted_prices(market: PricingContext, candidates: "Promises") -> PricingContext:
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


def _middle(candidates: "Promises") -> int:
    return median_low([candidate.worth for candidate in candidates])


def gas_price_in_buy_token(candidates: "Promises", market: PricingContext) -> Decimal | None:
    """Return smallest units of the buy token per unit of gas, one figure for all candidates.

    With WETH on either side the swap's own rate is enough. Otherwise the price of either token is
    used. If both are known and contradict each other, the lower figure counts: a false price then
    gives gas too little weight, and never more than the output. Therefore `market` has the rates as
    read, not as returned by `without_contradicted_prices`. None if no conversion is possible.
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


def believable(promises: Sequence[int], reference: int | None = None) -> int | None:
    """Return the highest plausible unverified promise; None if nothing says.

    It is at most 1.05 x the median of three promises or more, and REFERENCE_BPS above `reference`.
    """
    limits = [] if reference is None else [reference + reference * REFERENCE_BPS // BPS]
    if len(promises) >= _AGREEING:
        middle = median_low(promises)
        limits.append(middle + middle // 20)
    return min(limits, default=None)


def rank(
    candidates: Sequence[Candidate],
    market: PricingContext,
    approved: Collection[Address] = (),
    reference: int | None = None,
) -> list[Candidate]:
    """Return the candidates best first; `market` with the rates as read.

    `reference` is the output at the pools' prices. `approved` are the routers that may already move
    the sold amount. A route through any other one is ranked as if it used the gas of an approval
    more: the wallet pays for that, too.

    A route whose terms are not proven ranks behind every proven one. An unverified promise ranks
    behind every verified one; among the unverified, one that is not `believable` ranks last. Then
    the output net of gas counts, in the buy token (the same order as net USD, because all share
    one price), then a router that measures its own output (a payout owed to the wallet does not
    satisfy it), then less gas, then the configured order.

    If gas cannot be converted, routes within 50 bps of the best output come first, by their gas.
    """
    if not candidates:
        return []
    per_gas = gas_price_in_buy_token(candidates, market)
    credible = believable([c.worth for c in candidates if _is_unchecked(c)], reference)

    def standing(candidate: Candidate) -> tuple[bool, bool]:
        unchecked = _is_unchecked(candidate)
        incredible = unchecked and credible is not None and candidate.worth > credible
        return unchecked, incredible

    best: dict[tuple[bool, bool], int] = {}
    for candidate in candidates:
        at = standing(candidate)
        best[at] = max(best.get(at, 0), candidate.worth)

    def key(entry: tuple[int, Candidate]) -> tuple[object, ...]:
        place, candidate = entry
        at, gas, route = standing(candidate), candidate.gas, candidate.route
        at_wallet = measure(route.target, route.data) in (Measure.RECIPIENT, None)
        if route.target not in approved:
            gas += market.approval_gas
        if per_gas is not None:
            return (*at, -(candidate.worth - gas * per_gas), at_wallet, gas, place)
        is_far = candidate.worth * BPS < best[at] * (BPS - _NEAR_BPS)
        return (*at, is_far, 0 if is_far else gas, -candidate.worth, at_wallet, gas, place)

    return [candidate for _, candidate in sorted(enumerate(candidates), key=key)]


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


@dataclass(frozen=True, slots=True)
class SourcePrice:
    """The promise of one source: smallest units of the buy token, gas units, impact in percent."""

    source: str
    buy_amount: int
    gas: int | None = None
    impact_percent: Decimal | None = None

    @property
    def worth(self) -> int:
        return self.buy_amount

    @property
    def gas_estimate(self) -> int:
        """Return gas units: the source's figure, and at least that of a plain swap."""
        return fees.unsimulated_gas(self.gas, 1)


Promises = Sequence[Candidate] | Sequence[SourcePrice]
"""Outputs of the swap that sources promise, verified or not."""
