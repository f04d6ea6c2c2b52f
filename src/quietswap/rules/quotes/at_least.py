"""Which sell amount to quote, so that the minimum of its quote reaches one that is asked for.

Sources sell an exact amount, so the amount is found by quotes. What a swap delivers grows more
slowly than what it sells: along a pool of constant product, and close to it along others, the
reciprocal of the output is linear in the reciprocal of the input (amountOut of the white paper of
Uniswap v2, https://uniswap.org/whitepaper.pdf, 3.2). Amounts are in smallest units.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from quietswap.rules.amounts import BPS

MOST_QUOTES = 3
_CLOSE_BPS = 50
"""A minimum of at most so much more than asked for ends the search: half of what is promised."""
_AIM_BPS = 10
"""So much above it is aimed at: prices move between two quotes, and sources round."""


class AtLeast(NamedTuple):
    """What is asked for in the place of a sell amount: the least one with this minimum."""

    min_buy_amount: int


class TriedAmount(NamedTuple):
    """A sell amount, and the minimum of its quote."""

    sell_amount: int
    min_buy_amount: int


def promise_for(goal: AtLeast, slippage_bps: int) -> int:
    """Return what a route has to promise for this minimum; a unit more, as each step rounds down.

    Of dust that unit decides: a promise of 1 has a minimum of 0.
    """
    return ceil(Fraction(goal.min_buy_amount * BPS, BPS - slippage_bps)) + 1


def first_sell_amount(reverse: int) -> int:
    """Return the first amount to quote; `reverse` is what the promise itself sells for."""
    return ceil(Fraction(reverse * (BPS + _AIM_BPS), BPS))


def is_close(goal: AtLeast, tried: TriedAmount) -> bool:
    """Return whether no further quote is worth its requests to the sources."""
    least = goal.min_buy_amount
    return least * BPS <= tried.min_buy_amount * BPS <= least * (BPS + _CLOSE_BPS)


def next_sell_amount(goal: AtLeast, tried: Sequence[TriedAmount]) -> int:
    """Return the amount to quote after those of `tried`, of which the last two decide."""
    aim = Fraction(goal.min_buy_amount * (BPS + _AIM_BPS), BPS)
    return ceil(_along_curve(aim, *tried[-2:]) or _by_one(aim, tried[-1]))


def _by_one(aim: Fraction, tried: TriedAmount) -> Fraction:
    """Return the amount by one quote: in proportion, and more for the price that it moves.

    A first quote falls short by the price impact there and back. With r = aim / output, a pool of
    constant product needs (1 + r) / (3 - r) times the amount, to second order r + (r - 1)^2 / 2.
    """
    ratio = aim / tried.min_buy_amount
    return tried.sell_amount * (ratio + (ratio - 1) ** 2 / 2)


def _along_curve(
    aim: Fraction, tried: TriedAmount, other: TriedAmount | None = None
) -> Fraction | None:
    """Return the amount by the curve through two quotes; None if they show no such curve."""
    if other is None or tried.sell_amount == other.sell_amount:
        return None
    first, second = Fraction(1, tried.sell_amount), Fraction(1, other.sell_amount)
    rise = Fraction(1, tried.min_buy_amount) - Fraction(1, other.min_buy_amount)
    slope = rise / (first - second)
    if slope <= 0:
        return None
    at_aim = second + (1 / aim - Fraction(1, other.min_buy_amount)) / slope
    return 1 / at_aim if at_aim > 0 else None
