"""Calls of SwapRouter02 as the source makes them, each with one hostile change."""

from collections.abc import Callable, Iterator
from random import Random

from quietswap.rules.routers.swap_router02 import Leg, encode
from quietswap.rules.tx.address import Address, to_bytes
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import ALL_POOLS, TOKENS, WORTHLESS, SandboxToken
from tests.hostile.trial import WALLET
from tests.vendors.uniswap import ITSELF, SWEEP

Mutant = tuple[bytes, SandboxToken, SandboxToken, int, int]
"""Calldata with the request that it answers: tokens, amount and minimum."""
COUNT = 500
DEADLINE = 2**40
_NAMES = (
    *(WALLET, addresses.THIEF, addresses.UNISWAP, ITSELF, Address("0x" + "1".zfill(40))),
    *(Address("0x" + "0" * 40), WORTHLESS.address, *(token.address for token in TOKENS.values())),
)
_SELECTORS = (
    "pull(address,uint256)",
    "sweepToken(address,uint256)",
    "sweepTokenWithFee(address,uint256,address,uint256,address)",
    "unwrapWETH9(uint256,address)",
    "exactOutputSingle((address,address,uint24,address,uint256,uint256,uint160))",
    "exactOutput((bytes,address,uint256,uint256))",
    "swapTokensForExactTokens(uint256,uint256,address[],address)",
    "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))",
    "exactInput((bytes,address,uint256,uint256))",
    "swapExactTokensForTokens(uint256,uint256,address[],address)",
    SWEEP,
)


def mutants(count: int = COUNT) -> Iterator[Mutant]:
    """Yield the first `count` mutants; each is made from its number."""
    for number in range(count):
        drawn = Random(f"uniswap {number}")
        sell, buy = drawn.sample([*TOKENS.values()], 2)
        usd = drawn.choice([10, 500, 3000])
        amount, minimum = (
            sell.units(usd / sell.usd),
            buy.units(usd * drawn.choice([1, 3, 8]) / buy.usd / 10),
        )
        paths = drawn.sample(
            known := paths_between(sell, buy), min(len(known), drawn.randint(1, 4))
        )
        parts = [amount // len(paths)] * len(paths)
        parts[0] += amount - sum(parts)
        legs = [Leg(part, *path) for part, path in zip(parts, paths, strict=True)]
        data = encode(legs, DEADLINE, minimum, WALLET)
        for _ in range(drawn.choice([1, 1, 1, 2])):
            data = drawn.choice(_CHANGES)(drawn, data)
        yield data, sell, buy, amount, minimum


def paths_between(
    sell: SandboxToken, buy: SandboxToken
) -> list[tuple[tuple[Address, ...], tuple[int, ...]]]:
    """Return tokens and fees of all paths over one or two pools that one leg may take."""
    found = []
    for first in (pool for pool in ALL_POOLS if sell in (pool.first, pool.second)):
        middle = first.other(sell.address)
        if middle == buy.address:
            found.append(((sell.address, middle), (first.fee,) * first.v3))
            continue
        for second in ALL_POOLS:
            ends = {second.first.address, second.second.address}
            if ends == {middle, buy.address} and first.v3 == second.v3:
                fees = (first.fee, second.fee) if first.v3 else ()
                found.append(((sell.address, middle, buy.address), fees))
    return found


def _word(drawn: Random, data: bytes) -> bytes:
    """One word, of the call or of a call within, is another."""
    at = 4 + drawn.choice([0, 4]) + 32 * drawn.randrange(len(data) // 32 - 1)
    found = int.from_bytes(data[at : at + 32])
    value = drawn.choice(
        [
            *(0, 1, 2, 32, 64, 2**256 - 1, 2**255, found + 1, found - 1, found * 2, found // 2),
            *(found + 32, found - 32, found ^ 1 << drawn.randrange(256), 10**24),
            *(int(drawn.choice(_NAMES), 16) for _ in range(4)),
        ]
    )
    return data[:at] + (value % 2**256).to_bytes(32) + data[at + 32 :]


def _name(drawn: Random, data: bytes) -> bytes:
    """An address is another, at one place or at all."""
    old = drawn.choice([each for each in map(to_bytes, _NAMES[: -len(TOKENS)]) if each in data])
    return _replaced(drawn, data, old, to_bytes(drawn.choice(_NAMES)))


def _token(drawn: Random, data: bytes) -> bytes:
    """A token is another, at one place or at all."""
    tokens = [to_bytes(token.address) for token in TOKENS.values()]
    old = drawn.choice([each for each in tokens if each in data] or tokens)
    return _replaced(drawn, data, old, drawn.choice(tokens))


def _replaced(drawn: Random, data: bytes, old: bytes, new: bytes) -> bytes:
    parts = data.split(old)
    if drawn.random() < 0.3:
        return new.join(parts)
    at = drawn.randrange(1, max(len(parts), 2))
    return old.join(parts[:at]) + (new if len(parts) > 1 else b"") + old.join(parts[at:])


def _selector(drawn: Random, data: bytes) -> bytes:
    """A call within is another method."""
    old, new = (abi.selector(drawn.choice(_SELECTORS)) for _ in range(2))
    old = drawn.choice([each for each in _known() if each in data] or [old])
    return data.replace(old, new, 1)


def _known() -> list[bytes]:
    return [abi.selector(each) for each in _SELECTORS[-4:]]


def _length(drawn: Random, data: bytes) -> bytes:
    """Something is cut off, behind it, left out or there twice."""
    at, size = drawn.randrange(4, len(data)), drawn.choice([1, 32, 64, 256])
    extra = drawn.choice([bytes(size), drawn.randbytes(size)])
    cut, doubled = data[:at] + data[at + size :], data[: at + size] + data[at:]
    return drawn.choice([data[:at], data + extra, cut, doubled])


def _swapped(drawn: Random, data: bytes) -> bytes:
    """Two words have changed places."""
    one, two = sorted(4 + 32 * drawn.randrange(len(data) // 32 - 1) for _ in range(2))
    first, second = data[one : one + 32], data[two : two + 32]
    return (
        data[:one] + second + data[one + 32 : two] + first + data[two + 32 :]
        if one != two
        else data
    )


_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _word, _word, _word, _name, _token, _token, _selector, _length, _swapped,
)  # fmt: skip
