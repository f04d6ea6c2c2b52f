"""Calls of Uniswap's SwapRouter02 (https://github.com/Uniswap/swap-router-contracts).

`encode` has one encoding for each set of terms: `multicall` with a deadline around one leg that
pays the wallet, or around several that pay the router, and `sweepToken` last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.chain.address import Address, to_bytes
from quietswap.chain.erc20 import address_word, word

_MULTICALL = bytes.fromhex("5ae401dc")
_V3_SINGLE = bytes.fromhex("04e45aaf")
_V3_PATH = bytes.fromhex("b858183f")
_V2_PATH = bytes.fromhex("472b43f3")
_SWEEP = bytes.fromhex("df2ab5bb")
_ITSELF = Address("0x0000000000000000000000000000000000000002")
"""As a recipient the router reads this as itself."""


@dataclass(frozen=True, slots=True)
class Leg:
    """One path of pools. `amount` of the first of `tokens` buys the last.

    `fees` are those of its Uniswap V3 pools, in hundredths of a bps; a leg without fees is over
    Uniswap V2.
    """

    amount: int
    tokens: tuple[Address, ...]
    fees: tuple[int, ...] = ()


def encode(legs: Sequence[Leg], deadline: int, minimum: int, wallet: Address) -> bytes:
    """Return the call that pays `wallet` at least `minimum` for all legs, or reverts.

    It reverts in every block whose time is after `deadline`, in seconds.
    """
    if len(legs) == 1:
        calls = [_call(legs[0], minimum, wallet)]
    else:
        bought = address_word(legs[0].tokens[-1])
        calls = [_call(leg, 0, _ITSELF) for leg in legs]
        calls.append(_SWEEP + bought + word(minimum) + address_word(wallet))
    tails = [_octets(call) for call in calls]
    heads = [word(32 * len(tails) + sum(map(len, tails[:at]))) for at in range(len(tails))]
    return b"".join((_MULTICALL, word(deadline), word(64), word(len(tails)), *heads, *tails))


def _call(leg: Leg, minimum: int, to: Address) -> bytes:
    tokens = [address_word(token) for token in leg.tokens]
    terms = word(leg.amount) + word(minimum)
    if not leg.fees:
        path = word(len(tokens)) + b"".join(tokens)
        return _V2_PATH + terms + word(128) + address_word(to) + path
    if len(leg.fees) == 1:
        first, last = tokens
        return _V3_SINGLE + first + last + word(leg.fees[0]) + address_word(to) + terms + word(0)
    first, *rest = map(to_bytes, leg.tokens)
    hops = zip(leg.fees, rest, strict=True)
    path = first + b"".join(fee.to_bytes(3) + token for fee, token in hops)
    return _V3_PATH + word(32) + word(128) + address_word(to) + terms + _octets(path)


def _octets(data: bytes) -> bytes:
    """Return a byte string as ABI words: its length, and the bytes padded to whole words."""
    return word(len(data)) + data.ljust(-(-len(data) // 32) * 32, b"\0")
