"""Parts of calldata that steals from a wallet which checks answers by simulation only.

Each attack is a possible answer of a hostile vendor, and stands in its stand-in by fault. Some
revert in the router. Others are found only by decoding the calldata (docs/security.md). A thief
pays from its own balance.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from quietswap.chain.address import Address
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, V3_WETH_USDC, WETH
from quietswap.sandbox.vendors.router_calldata import RouterSwap

Attack = Callable[[RouterSwap], bytes]

GREED = 10
"""A draining method takes this multiple of the amount."""
PARTIAL_FILL = 1
FORWARD, REVERSED = 1 << 247, 1 << 255
PERMIT = bytes(224)
"""An EIP-2612 permit without a valid signature."""


def script(steps: Sequence[tuple[Address, bytes, bool]] = (), answer: bytes = b"") -> bytes:
    """Return a puppet's program (contracts/Hostile.sol): (target, data, must succeed), answer."""
    return abi.encode("((address,bytes,bool)[],bytes)", (steps, answer))


def word(value: int) -> bytes:
    return value.to_bytes(32)


def pays(token: Address, to: Address, amount: int) -> tuple[Address, bytes, bool]:
    """Return the step that pays from the thief's balance."""
    return token, abi.call("transfer(address,uint256)", to, amount), True


def made_up_pool_word(flags: int = FORWARD) -> int:
    """Return the fake pool that reports any amount, in 1inch's encoding of pools."""
    return int(addresses.MADE_UP_POOL, 16) | flags


def lying(encode: Attack) -> Attack:
    """An executor that keeps everything and reports the minimum."""

    def attack(swap: RouterSwap) -> bytes:
        work = script(answer=word(swap.min_out))
        return encode(replace(swap, executor=addresses.THIEF, work=work))

    return attack


def changed(encode: Attack, **fields: Any) -> Attack:
    """An honest answer with these fields changed."""
    return lambda swap: encode(replace(swap, **fields))


def other_than(sell: Address) -> tuple[Address, bool]:
    """Return a token other than the sold one, and whether it is the first of the V3 pool."""
    token = USDC if sell == WETH.address else WETH
    return token.address, token is V3_WETH_USDC.first


def part(swap: RouterSwap, encode: Attack, to: Address) -> bytes:
    """Return an answer whose executor leaves nine tenths at `to`, and pays a tenth of it."""
    unsold, least = swap.amount - swap.amount // GREED, swap.min_out // GREED + 1
    work = script([pays(swap.sell, to, unsold), pays(swap.buy, to, least)], word(least))
    return encode(replace(swap, executor=addresses.THIEF, work=work, flags=PARTIAL_FILL))
