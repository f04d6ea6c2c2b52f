"""Calls of Uniswap's SwapRouter02 (https://github.com/Uniswap/swap-router-contracts).

`encode` has one encoding for each set of terms: `multicall` with a deadline around one leg that
pays the wallet, or around legs that pay the router, and `sweepToken` last. `read` accepts nothing
but what `encode` makes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from quietswap.rules.routers.known_pools import V3_FEES
from quietswap.rules.routers.words import MalformedCalldata, UnboundCalldata, Words
from quietswap.rules.tokens.erc20 import address_word, word
from quietswap.rules.tx.address import Address, from_bytes, to_bytes

_MULTICALL = bytes.fromhex("5ae401dc")
_V3_SINGLE = bytes.fromhex("04e45aaf")
_V3_PATH = bytes.fromhex("b858183f")
_V2_PATH = bytes.fromhex("472b43f3")
_SWEEP = bytes.fromhex("df2ab5bb")
NESTED = " ".join(each.hex() for each in (_V3_SINGLE, _V3_PATH, _V2_PATH, _SWEEP))
"""Selectors of the calls within `multicall`; the last is of `sweepToken`."""
_MOST_CALLS = 16
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


@dataclass(frozen=True, slots=True)
class Multicall:
    """The terms of one call, as `encode` takes them."""

    legs: tuple[Leg, ...]
    deadline: int
    minimum: int
    wallet: Address


def pays_wallet(legs: Sequence[Leg]) -> bool:
    """Return whether the legs are one leg whose last pool pays the wallet.

    The router measures a leg over Uniswap V2 at its recipient. A token in its middle could let
    somebody pay the wallet what it is owed, which would count. So such a leg pays the router.
    """
    return len(legs) == 1 and (bool(legs[0].fees) or len(legs[0].tokens) == 2)


def encode(legs: Sequence[Leg], deadline: int, minimum: int, wallet: Address) -> bytes:
    """Return the call that pays `wallet` at least `minimum` for all legs, or reverts.

    It reverts in every block whose time is after `deadline`, in seconds.
    """
    if pays_wallet(legs):
        calls = [_call(legs[0], minimum, wallet)]
    else:
        bought = address_word(legs[0].tokens[-1])
        calls = [_call(leg, 0, _ITSELF) for leg in legs]
        calls.append(_SWEEP + bought + word(minimum) + address_word(wallet))
    tails = [abi_bytes(call) for call in calls]
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
    return _V3_PATH + word(32) + word(128) + address_word(to) + terms + abi_bytes(v3_path(leg))


def v3_path(leg: Leg) -> bytes:
    """Return the tokens and fees of a leg over Uniswap V3, packed as router and quoter read it."""
    first, *rest = map(to_bytes, leg.tokens)
    hops = zip(leg.fees, rest, strict=True)
    return first + b"".join(fee.to_bytes(3) + token for fee, token in hops)


def read(data: bytes) -> Multicall:
    """Return the terms of a call that `encode` makes. Raises UnboundCalldata for any other."""
    words = Words(data[4:])
    *calls, last = words.parts(1, _MOST_CALLS) or [b""]
    if last[:4] == _SWEEP and calls:
        sweep = Words(last[4:])
        bought = sweep.address(0)
        legs = tuple(_to_itself(call, bought) for call in calls)
        multicall = Multicall(legs, words.uint(0), sweep.uint(1), sweep.address(2))
    else:
        leg, minimum, wallet = _leg(last)
        multicall = Multicall((leg,), words.uint(0), minimum, wallet)
    _check_legs(multicall.legs)
    if encode(multicall.legs, multicall.deadline, multicall.minimum, multicall.wallet) != data:
        raise UnboundCalldata("its encoding is not the accepted one of its terms")
    return multicall


def _to_itself(call: bytes, swept: Address) -> Leg:
    leg, _, to = _leg(call)
    if to != _ITSELF:
        raise UnboundCalldata(f"a leg pays {to}, not the router")
    if leg.tokens[-1] != swept:
        raise UnboundCalldata(f"a leg buys {leg.tokens[-1]}, not {swept}")
    return leg


def _check_legs(legs: Sequence[Leg]) -> None:
    if len({leg.tokens[0] for leg in legs}) != 1:
        raise UnboundCalldata("its legs do not sell the same token")
    if not all(leg.amount for leg in legs):
        raise UnboundCalldata("a leg sells an amount of 0, which means the router's own balance")
    for fee in (fee for leg in legs for fee in leg.fees):
        if fee not in V3_FEES:
            raise UnboundCalldata(f"Uniswap V3 has no pools with a fee of {fee}")


def _leg(call: bytes) -> tuple[Leg, int, Address]:
    words = Words(call[4:])
    if call[:4] == _V3_SINGLE:
        leg = Leg(words.uint(4), (words.address(0), words.address(1)), (words.uint(2),))
        return leg, words.uint(5), words.address(3)
    if call[:4] == _V3_PATH:
        terms = words.follow(0)
        return Leg(terms.uint(2), *_path(terms.raw(0))), terms.uint(3), terms.address(1)
    if call[:4] == _V2_PATH:
        path = words.follow(2)
        tokens = tuple(path.address(1 + each) for each in range(path.uint(0)))
        if len(tokens) < 2:
            raise MalformedCalldata("a path has no pool")
        return Leg(words.uint(0), tokens), words.uint(1), words.address(3)
    raise UnboundCalldata(f"its multicall calls 0x{call[:4].hex()}")


def _path(packed: bytes) -> tuple[tuple[Address, ...], tuple[int, ...]]:
    """Return tokens and fees of a V3 path: 20 bytes for a token, 3 for the fee to the next."""
    if len(packed) < 43 or len(packed) % 23 != 20:
        raise MalformedCalldata("a path has no whole pools")
    tokens = [from_bytes(packed[at : at + 20]) for at in range(0, len(packed), 23)]
    fees = [int.from_bytes(packed[at : at + 3]) for at in range(20, len(packed), 23)]
    return tuple(tokens), tuple(fees)


def abi_bytes(data: bytes) -> bytes:
    """Return a byte string as ABI words: its length, and the bytes padded to whole words."""
    return word(len(data)) + data.ljust(-(-len(data) // 32) * 32, b"\0")
