"""The swap that every stand-in encodes in the layout of its vendor's router.

Selectors, layouts and the flags of honest answers are those of the mainnet contracts and of
recorded answers. The bytes for a vendor's executor are a plan of the sandbox's own format
(contracts/Executor.sol).
"""

from dataclasses import dataclass

from quietswap.chain.address import Address
from quietswap.sandbox.contracts import addresses
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
