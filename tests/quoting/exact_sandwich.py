"""The exact profit of a sandwich in a constant-product pool: what `mev.assess` approximates."""

from decimal import Decimal


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
