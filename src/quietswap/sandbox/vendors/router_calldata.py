"""The swap that every stand-in encodes in its router's layout, and the parts of hostile calldata.

Selectors, layouts and the flags of honest answers are those of the mainnet contracts and of
recorded answers. The bytes for a vendor's executor are a plan of the sandbox's own format
(contracts/Executor.sol).

Each attack is a possible answer of a vendor that steals from a wallet which checks answers by
simulation only, and stands in its stand-in by fault. Some revert in the router. Others are found
only by decoding the calldata (docs/security.md). A thief pays from its own balance.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, V3_WETH_USDC, WETH
from quietswap.sandbox.vendors.market import PoolRoute

NOBODY = Address("0x" + "00" * 20)
FOREVER = 2**48 - 1
"""A deadline in the far future, in Unix seconds."""


@dataclass(frozen=True, slots=True)
class RouterSwap:
    """One exact-in swap: amounts in smallest units, `deadline` in Unix seconds (0: none).

    `quoted_out` is the quoted output where the layout has a field for it (0: the minimum).
    `fee_bps` is the partner's fee, which only Velora's router has, after its check of the minimum.

    The other fields are for hostile answers: another `executor` and its `work`, more `flags`, a
    `permit`, a `partner`, and another Settler.
    """

    route: PoolRoute
    amount: int
    min_out: int
    recipient: Address
    quoted_out: int = 0
    deadline: int = 0
    fee_bps: int = 0
    executor: Address | None = None
    work: bytes | None = None
    flags: int = 0
    permit: bytes = b""
    partner: Address = NOBODY
    settler: Address = addresses.SETTLER

    @property
    def sell(self) -> Address:
        return self.route.sell

    @property
    def buy(self) -> Address:
        return self.route.buy

    def plan(self, to: Address = NOBODY) -> bytes:
        """Return the executor's plan; `to` receives the output, by default its caller."""
        return self.route.coded(self.deadline, to) if self.work is None else self.work

    def runner(self, vendor: str) -> Address:
        """Return the executor behind the vendor's router."""
        return self.executor or addresses.EXECUTORS[vendor]

    @property
    def quote(self) -> int:
        return self.quoted_out or self.min_out


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
