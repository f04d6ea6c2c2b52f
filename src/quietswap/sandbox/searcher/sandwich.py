"""The arithmetic of a sandwich on a Uniswap V2 pair, in integers as in the pair's code.

Source of the formula: UniswapV2Library.getAmountOut (v2-periphery), with a fee of 0.3 %.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_FEE, _SCALE = 997, 1000
_STEPS = 16


def amount_out(amount_in: int, reserve_in: int, reserve_out: int) -> int:
    """Return the output of a pair for `amount_in`."""
    with_fee = amount_in * _FEE
    return with_fee * reserve_out // (reserve_in * _SCALE + with_fee)


@dataclass(frozen=True, slots=True)
class Sandwich:
    """A victim's swap of `victim_in` on a pair with these reserves."""

    reserve_in: int
    reserve_out: int
    victim_in: int

    @property
    def pays(self) -> bool:
        """Whether the smallest attack has a profit: g^2 (1 + v/x) (1 + g v/x) > 1, g = 0.997."""
        x, v = self.reserve_in, self.victim_in
        return _FEE**2 * (x + v) * (_SCALE * x + _FEE * v) > _SCALE**3 * x * x

    def bought(self, front: int) -> int:
        """Return the output of the front-run."""
        return amount_out(front, self.reserve_in, self.reserve_out)

    def profit(self, front: int) -> int:
        """Return the attacker's profit in the input token, before gas."""
        bought = self.bought(front)
        x, y = self.reserve_in + front, self.reserve_out - bought
        victim_out = amount_out(self.victim_in, x, y)
        return amount_out(bought, y - victim_out, x + self.victim_in) - front


async def largest_front(most: int, victim_passes: Callable[[int], Awaitable[bool]]) -> int:
    """Return the largest front-run up to `most` after which the victim's swap still succeeds.

    Bisection, because a larger front-run leaves the victim less; precise to 1/65 536. Return 0 when
    the victim fails without a front-run.
    """
    if not await victim_passes(0):
        return 0
    if await victim_passes(most):
        return most
    high = most
    while (low := high // 16) and not await victim_passes(low):
        high = low
    for _ in range(_STEPS):
        middle = (low + high) // 2
        low, high = (middle, high) if await victim_passes(middle) else (low, middle)
    return low


def best_front(sandwich: Sandwich, most: int) -> int:
    """Return the most profitable front-run up to `most`. The profit has one maximum."""
    low, high = 0, most
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        if sandwich.profit(left) < sandwich.profit(right):
            low = left
        else:
            high = right
    return max(range(low, high + 1), key=sandwich.profit)
