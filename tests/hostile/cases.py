"""Random calldata for every bound method, with hostile contracts wherever it accepts an address.

A case is made from one seed and so can be made again. Half of the hostile parts pay what is wanted
of them: a proof of what happens only when calls revert would be none.
"""

from dataclasses import dataclass

from quietswap.rules.tx.address import Address
from quietswap.rules.vendors import VENDORS
from tests.hostile.draw import MOST, Draw
from tests.hostile.trial import Trade
from tests.routers.router_calldata import OWN


@dataclass(frozen=True)
class Case:
    """One requested trade, and its origin."""

    method: str
    seed: str
    trade: Trade
    sell: Address
    buy: Address
    amount: int
    least: int


MAKERS = {
    f"{name} {method}": (VENDORS[name].router, maker)
    for name, case in OWN.items()
    for method, maker in case.makers.items()
}
"""Router and maker by method: one for every bound row of `router_methods`."""


def make(method: str, seed: str) -> Case:
    """Return the case of a method and a seed."""
    router, maker = MAKERS[method]
    draw = Draw(f"{method} {seed}")
    data = maker(draw)
    if draw.chance(0.3):
        data = _mutated(draw, data)
    trade = Trade(router, data, tuple(draw.lessons))
    return Case(method, seed, trade, draw.sell, draw.buy, draw.amount, draw.least)


def _mutated(draw: Draw, data: bytes) -> bytes:
    """Return it with a word or a bit changed, cut off or something behind it."""
    words = (len(data) - 4) // 32
    at = 4 + 32 * draw.random.randrange(min(words, 24) if draw.chance(0.8) else words)
    found = int.from_bytes(data[at : at + 32])
    value = draw.random.choice(
        [
            *(0, 1, 32, 64, MOST, found ^ 1, found + 1, found * 2, found + 32, found - 32),
            *(int(draw.name(), 16), draw.number(), found ^ 1 << draw.random.randrange(256)),
            *(found ^ 1 << draw.random.randrange(160, 256), draw.amount, draw.least),
        ]
    )
    if draw.chance(0.1):
        return data[: draw.random.randrange(4, len(data))]
    if draw.chance(0.1):
        return data + draw.random.randbytes(draw.random.randrange(1, 70))
    return data[:at] + (value % 2**256).to_bytes(32) + data[at + 32 :]
