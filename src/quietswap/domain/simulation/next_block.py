"""The block of a simulated swap. It equals the real next block as far as that is predictable.

Block fields of eth_simulateV1: https://ethereum.github.io/execution-apis/api-documentation/.
A contract reads the same number, base fee, gas limit and block hashes as in the real next block.
`prevrandao` is random, the time is one slot (12 s) later, coinbase and gas limit are those of the
latest block.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from quietswap.domain.address import Address

RandBelow = Callable[[int], int]
"""Returns a random integer from 0 to below its argument, as `secrets.randbelow` does."""

SLOT_S = 12
"""Seconds between two blocks of mainnet."""
_ETHER = 10**18


class ParentBlock(Protocol):
    """The latest block: `time` in Unix seconds, `next_base_fee` in wei per gas.

    None for a field that the node does not return; it then sets that field of the next block.
    """

    @property
    def number(self) -> int: ...
    @property
    def time(self) -> int: ...
    @property
    def next_base_fee(self) -> int: ...
    @property
    def gas_limit(self) -> int | None: ...
    @property
    def coinbase(self) -> Address | None: ...


@dataclass(frozen=True, slots=True)
class NextBlock:
    """The block after `head`, with a random `randao`.

    `exact`: the simulation runs on `head`, and the node validates fees and balances as in a real
    block. Otherwise it runs on the node's latest block without validation, and the node sets number
    and time.
    """

    head: ParentBlock
    randao: int
    exact: bool = True

    @classmethod
    def after(cls, head: ParentBlock, below: RandBelow) -> "NextBlock":
        """Return the exact block after `head`."""
        return cls(head, below(2**256 - 1))  # below 2**256 `randbelow` discards half of its draws

    def inexact(self) -> "NextBlock":
        """Return the form for a node that does not support the exact one."""
        return replace(self, exact=False)

    @property
    def tag(self) -> str:
        """Return the block on which the simulation runs."""
        return hex(self.head.number) if self.exact else "latest"

    @property
    def view_fee(self) -> int:
        """Return the fee cap in wei per gas of calls that only read: twice the base fee."""
        return 2 * self.head.next_base_fee

    def overrides(self, later: int = 0) -> dict[str, object]:
        """Return `blockOverrides` of this block, or of the block `later` blocks after it."""
        fields: dict[str, object] = {
            "baseFeePerGas": hex(self.head.next_base_fee),
            "prevRandao": f"0x{(self.randao + later) % 2**256:064x}",
        }
        if self.head.coinbase is not None:
            fields["feeRecipient"] = self.head.coinbase
        if self.head.gas_limit is not None:
            fields["gasLimit"] = hex(self.head.gas_limit)
        if self.exact:
            fields["number"] = hex(self.head.number + 1 + later)
            fields["time"] = hex(self.head.time + SLOT_S * (1 + later))
        return fields


def unused_address(below: RandBelow) -> bytes:
    """Return 20 random bytes: an address that nobody has used."""
    return below(2**160 - 1).to_bytes(20)  # below 2**160 `randbelow` discards half of its draws


def plausible_amount(needed: int, below: RandBelow) -> int:
    """Return a random amount above `needed`, up to five times as much.

    The exact amount, or any constant, would let a contract detect the simulation.
    """
    spread = max(needed, 1000) << below(3)
    return needed + 1 + below(spread)


def plausible_wei(needed: int, below: RandBelow) -> int:
    """Return a random balance in wei above `needed`, by some thousandths of an ETH to some ETH."""
    return needed + _ETHER // 1000 + below(_ETHER // 100 * 10 ** below(3))
