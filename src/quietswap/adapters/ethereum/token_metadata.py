"""Token metadata from the chain, cached: the decimals of a contract do not change."""

import math

from cachetools import TLRUCache

from quietswap.adapters.rpc import erc20
from quietswap.adapters.rpc.multicall import MULTICALL3, ViewCall
from quietswap.domain.address import Address
from quietswap.domain.token import Token
from quietswap.ports.clock import Clock

_MOST_DECIMALS = 255


def views(address: Address) -> list[ViewCall]:
    """Return the views that identify an ERC-20 contract.

    They include `balanceOf`, because price feeds and vault adapters also have decimals.
    """
    asked = (erc20.DECIMALS, erc20.SYMBOL, erc20.balance_of(MULTICALL3))
    return [ViewCall(address, data) for data in asked]


def token(address: Address, answers: list[bytes | None]) -> Token | None:
    """Return the token that the answers to `views` describe; None if it is not an ERC-20."""
    decimals, balance = erc20.read_uint(answers[0]), erc20.read_uint(answers[2])
    if decimals is None or balance is None or decimals > _MOST_DECIMALS:
        return None
    return Token(address, decimals, erc20.read_symbol(answers[1]))


class TokenMetadataCache(TLRUCache[Address, Token | None]):
    """The last `size` tokens, without expiry. None (no token) is cached for `unknown_for_s`."""

    def __init__(self, clock: Clock, *, size: int = 10_000, unknown_for_s: float = 60.0) -> None:
        def expires(_: Address, found: Token | None, now: float) -> float:
            return now + unknown_for_s if found is None else math.inf

        super().__init__(size, expires, timer=clock.monotonic)
