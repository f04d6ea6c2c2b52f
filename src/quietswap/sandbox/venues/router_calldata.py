"""The calldata of each vendor's router, in the vendor's layout.

Every function takes the same swap. Selectors, layouts and the flags of honest answers are those of
the mainnet contracts and of recorded answers. The bytes for a vendor's executor are a plan of the
sandbox's own format (contracts/Executor.sol).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.chain.address import Address
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.venues.market import PoolRoute

NOBODY = Address("0x" + "00" * 20)
FOREVER = 2**48 - 1
"""A deadline in the far future, in Unix seconds."""

KYBERSWAP_DESCRIPTION = (
    "(address,address,address[],uint256[],address[],uint256[],"
    "address,uint256,uint256,uint256,bytes)"
)
KYBERSWAP_SWAP = f"swap((address,address,bytes,{KYBERSWAP_DESCRIPTION},bytes))"
ONEINCH_SWAP = "swap(address,(address,address,address,address,uint256,uint256,uint256),bytes)"
OPENOCEAN_SWAP = (
    "swap(address,(address,address,address,address,uint256,uint256,uint256,uint256,address,bytes),"
    "(uint256,uint256,uint256,bytes)[])"
)
SUSHI_SNWAP = "snwap(address,uint256,address,address,uint256,address,bytes)"
VELORA_SWAP = (
    "swapExactAmountIn(address,(address,address,uint256,uint256,uint256,bytes32,address),"
    "uint256,bytes,bytes)"
)
ZEROEX_EXEC = "exec(address,address,uint256,address,bytes)"
ZEROEX_EXECUTE = "execute((address,address,uint256),bytes[],bytes32)"
ZEROEX_TAKE = "TRANSFER_FROM(address,((address,uint256),uint256,uint256),bytes)"
ZEROEX_BASIC = "BASIC(address,uint256,address,uint256,bytes)"

KYBERSWAP_LIVE = 0x200
"""A flag in all live answers of 2026. The router's source does not read it."""
OPENOCEAN_CLAIM = 2
VELORA_CAP_SURPLUS = 1 << 92


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
        """The token that the router takes from its caller."""
        return self.route.sell

    @property
    def buy(self) -> Address:
        """The token that the recipient receives."""
        return self.route.buy

    def plan(self, to: Address = NOBODY) -> bytes:
        """Return the executor's plan; `to` receives the output, by default its caller."""
        return self.route.coded(self.deadline, to) if self.work is None else self.work

    def runner(self, vendor: str) -> Address:
        """Return the executor behind the vendor's router."""
        return self.executor or addresses.EXECUTORS[vendor]

    def kyberswap_description(self, receivers: Sequence[Address]) -> tuple[Any, ...]:
        """Return the fields of a `SwapDescriptionV2` that sends the sold tokens to `receivers`."""
        return (
            *(self.sell, self.buy, receivers, [self.amount] * len(receivers), (), ()),
            *(self.recipient, self.amount, self.min_out, KYBERSWAP_LIVE | self.flags, self.permit),
        )

    @property
    def velora_fees(self) -> int:
        """The word with partner, flags and fee."""
        partner = addresses.PARTNER if self.fee_bps else self.partner
        return int(partner, 16) << 96 | VELORA_CAP_SURPLUS ^ self.flags | self.fee_bps

    @property
    def quote(self) -> int:
        """The quoted output."""
        return self.quoted_out or self.min_out


def encode_kyberswap(swap: RouterSwap) -> bytes:
    """MetaAggregationRouterV2 `swap`, selector 0xe21fd0e9."""
    executor = swap.runner("kyberswap")
    desc = swap.kyberswap_description([executor])
    return abi.call(KYBERSWAP_SWAP, (executor, NOBODY, swap.plan(), desc, b""))


def encode_velora(swap: RouterSwap) -> bytes:
    """Augustus v6.2 `swapExactAmountIn`, selector 0xe3ead59e."""
    data = (swap.sell, swap.buy, swap.amount, swap.min_out, swap.quote, b"", swap.recipient)
    executor = swap.runner("velora")
    return abi.call(VELORA_SWAP, executor, data, swap.velora_fees, swap.permit, swap.plan())


def encode_sushi(swap: RouterSwap) -> bytes:
    """RedSnwapper `snwap`, selector 0x5f3bd1c8."""
    work = abi.call("callBytes(bytes)", swap.plan(swap.recipient))
    return abi.call(
        SUSHI_SNWAP,
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.min_out),
        *(swap.runner("sushi"), work),
    )


def encode_openocean(swap: RouterSwap) -> bytes:
    """ExchangeV2 `swap`, selector 0x90411a32."""
    executor = swap.runner("openocean")
    desc = (
        *(swap.sell, swap.buy, executor, swap.recipient, swap.amount, swap.min_out),
        *(swap.quote, OPENOCEAN_CLAIM | swap.flags, NOBODY, swap.permit),
    )
    return abi.call(OPENOCEAN_SWAP, executor, desc, [(0, 0, 0, swap.plan(swap.recipient))])


def encode_zeroex(swap: RouterSwap) -> bytes:
    """AllowanceHolder `exec`, selector 0x2213bc0b, around Settler `execute`, 0x1fff991f.

    Two actions: pay the executor, then call it. Settler receives the output.
    """
    executor = swap.runner("zeroex")
    permit = ((swap.sell, swap.amount), 0, swap.deadline or FOREVER)
    trade = abi.call("callBytes(bytes)", swap.plan())
    actions = [
        abi.call(ZEROEX_TAKE, executor, permit, b""),
        abi.call(ZEROEX_BASIC, NOBODY, 0, executor, 0, trade),
    ]
    return zeroex_exec(swap, actions)


def zeroex_exec(swap: RouterSwap, actions: Sequence[bytes]) -> bytes:
    """Return `exec` with `execute` of these actions and the swap's terms."""
    slippage = (swap.recipient, swap.buy, swap.min_out)
    execute = abi.call(ZEROEX_EXECUTE, slippage, actions, b"")
    return abi.call(ZEROEX_EXEC, swap.settler, swap.sell, swap.amount, swap.settler, execute)


def encode_oneinch(swap: RouterSwap) -> bytes:
    """AggregationRouterV6 `swap`, selector 0x07ed2379."""
    executor = swap.runner("oneinch")
    desc = (
        *(swap.sell, swap.buy, executor, swap.recipient),
        *(swap.amount, swap.min_out, swap.flags),
    )
    return abi.call(ONEINCH_SWAP, executor, desc, swap.plan())


ENCODERS: dict[str, Callable[[RouterSwap], bytes]] = {
    "kyberswap": encode_kyberswap,
    "velora": encode_velora,
    "sushi": encode_sushi,
    "openocean": encode_openocean,
    "zeroex": encode_zeroex,
    "oneinch": encode_oneinch,
}
"""By aggregator."""
