"""Token metadata from the chain, remembered: a contract's decimals do not change."""

from collections import OrderedDict

from quietswap.adapters import erc20
from quietswap.adapters.multicall import MULTICALL3, View
from quietswap.domain.address import Address
from quietswap.domain.token import Token
from quietswap.ports.outside import Clock

_MOST_DECIMALS = 255


def views(address: Address) -> list[View]:
    """Return the views that tell a token from any other contract.

    `balanceOf` is asked too: price feeds and vault adapters also have decimals.
    """
    asked = (erc20.DECIMALS, erc20.SYMBOL, erc20.balance_of(MULTICALL3))
    return [View(address, data) for data in asked]


def token(address: Address, answers: list[bytes | None]) -> Token | None:
    """Return the token these answers to `views` describe; None when it is no ERC-20."""
    decimals, balance = erc20.read_uint(answers[0]), erc20.read_uint(answers[2])
    if decimals is None or balance is None or decimals > _MOST_DECIMALS:
        return None
    return Token(address, decimals, erc20.read_symbol(answers[1]))


class TokenMemory:
    """The last `size` tokens for good, and for `unknown_for_s` that an address is none."""

    def __init__(self, clock: Clock, *, size: int = 10_000, unknown_for_s: float = 60.0) -> None:
        self._clock = clock
        self._size = size
        self._unknown_for_s = unknown_for_s
        self._known: OrderedDict[Address, tuple[Token | None, float]] = OrderedDict()

    def recall(self, address: Address) -> tuple[bool, Token | None]:
        """Return (whether it is remembered, what was found)."""
        found = self._known.get(address)
        if found is None:
            return False, None
        remembered, since = found
        if remembered is None and self._clock.monotonic() - since >= self._unknown_for_s:
            return False, None
        self._known.move_to_end(address)
        return True, remembered

    def remember(self, address: Address, found: Token | None) -> None:
        """Keep what was found, and drop what was not asked for longest."""
        self._known[address] = (found, self._clock.monotonic())
        self._known.move_to_end(address)
        if len(self._known) > self._size:
            self._known.popitem(last=False)
