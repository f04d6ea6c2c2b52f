"""The calldata of each vendor's router, in the vendor's own layout.

Every function takes the same swap and differs in nothing but the layout. The selectors and where
the minimum sits are those of the mainnet contracts; the bytes that are opaque there carry our
route (see contracts/Swapper.sol).
"""

from collections.abc import Callable
from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.sandbox import abi, places
from quietswap.sandbox.routes import PoolRoute

_NOBODY = Address("0x" + "00" * 20)


@dataclass(frozen=True, slots=True)
class RouterSwap:
    """One exact-in swap: amounts in smallest units, `deadline` in Unix seconds (0: none).

    `fee_bps` is the partner's fee, known to Velora's router alone: it is taken after the minimum
    was checked.
    """

    route: PoolRoute
    amount: int
    min_out: int
    recipient: Address
    quoted_out: int = 0
    deadline: int = 0
    fee_bps: int = 0

    @property
    def sell(self) -> Address:
        """The token the router takes from its caller."""
        return self.route.sell

    @property
    def buy(self) -> Address:
        """The token the recipient gets."""
        return self.route.buy

    @property
    def coded(self) -> bytes:
        """The route in the form the routers read."""
        return self.route.coded(self.deadline)


def encode_kyberswap(swap: RouterSwap) -> bytes:
    """MetaAggregationRouterV2 `swap`, selector 0xe21fd0e9."""
    desc = (
        *(swap.sell, swap.buy, (), (), (), ()),
        *(swap.recipient, swap.amount, swap.min_out, 0, b""),
    )
    return abi.call(
        "swap((address,address,bytes,(address,address,address[],uint256[],address[],uint256[],"
        "address,uint256,uint256,uint256,bytes),bytes))",
        (places.KYBERSWAP, places.KYBERSWAP, swap.coded, desc, b""),
    )


def encode_velora(swap: RouterSwap) -> bytes:
    """Augustus v6.2 `swapExactAmountIn`, selector 0xe3ead59e."""
    data = (
        *(swap.sell, swap.buy, swap.amount, swap.min_out, swap.quoted_out or swap.min_out),
        *(b"", swap.recipient),
    )
    return abi.call(
        "swapExactAmountIn(address,(address,address,uint256,uint256,uint256,bytes32,address),"
        "uint256,bytes,bytes)",
        *(places.VELORA, data, swap.fee_bps, b"", swap.coded),
    )


def encode_sushi(swap: RouterSwap) -> bytes:
    """RedSnwapper `snwap`, selector 0x5f3bd1c8."""
    return abi.call(
        "snwap(address,uint256,address,address,uint256,address,bytes)",
        *(swap.sell, swap.amount, swap.recipient, swap.buy, swap.min_out),
        *(places.SUSHI, swap.coded),
    )


def encode_openocean(swap: RouterSwap) -> bytes:
    """ExchangeV2 `swap`, selector 0x90411a32."""
    desc = (
        *(swap.sell, swap.buy, places.OPENOCEAN, swap.recipient, swap.amount, swap.min_out),
        *(swap.quoted_out or swap.min_out, 0, _NOBODY, b""),
    )
    return abi.call(
        "swap(address,(address,address,address,address,uint256,uint256,uint256,uint256,address,"
        "bytes),(uint256,uint256,uint256,bytes)[])",
        *(places.OPENOCEAN, desc, [(0, 0, 0, swap.coded)]),
    )


def encode_zeroex(swap: RouterSwap) -> bytes:
    """AllowanceHolder `exec`, selector 0x2213bc0b, around Settler `execute`, 0x1fff991f."""
    action = abi.encode("(address,uint256,bytes)", (swap.sell, swap.amount, swap.coded))
    execute = abi.call(
        "execute((address,address,uint256),bytes[],bytes32)",
        *((swap.recipient, swap.buy, swap.min_out), [action], b""),
    )
    return abi.call(
        "exec(address,address,uint256,address,bytes)",
        *(places.SETTLER, swap.sell, swap.amount, places.SETTLER, execute),
    )


def encode_oneinch(swap: RouterSwap) -> bytes:
    """AggregationRouterV6 `swap`, selector 0x07ed2379."""
    desc = (
        *(swap.sell, swap.buy, places.ONEINCH, swap.recipient),
        *(swap.amount, swap.min_out, 0),
    )
    return abi.call(
        "swap(address,(address,address,address,address,uint256,uint256,uint256),bytes)",
        *(places.ONEINCH, desc, swap.coded),
    )


ENCODERS: dict[str, Callable[[RouterSwap], bytes]] = {
    "kyberswap": encode_kyberswap,
    "velora": encode_velora,
    "sushi": encode_sushi,
    "openocean": encode_openocean,
    "zeroex": encode_zeroex,
    "oneinch": encode_oneinch,
}
"""By aggregator, as `places.ROUTERS`."""
