"""Calldata of every bound method, with all parts as parameters."""

from collections.abc import Sequence
from typing import Any

from quietswap.chain import address as addresses
from quietswap.chain.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.venues import router_calldata
from quietswap.sandbox.venues.market import Hop
from quietswap.vendors.kyberswap import stand_in as kyberswap_stand_in
from quietswap.vendors.velora import stand_in as velora_stand_in

_TAIL = "uint256,uint256,uint256,bytes32,address"


def kyberswap(target: Address, work: bytes, description: Sequence[Any]) -> bytes:
    """`swap`, in simple mode if the description's flags say so."""
    return abi.call(kyberswap_stand_in.KYBERSWAP_SWAP, (target, target, work, description, b""))


def simple_work(sequences: Sequence[tuple[Address, int, bytes]], last: bytes) -> bytes:
    """The data of Kyber's simple mode: (first pool, its amount, the caller's data) per part."""
    pools, amounts, works = zip(*sequences, strict=True) if sequences else ((), (), ())
    plan = (pools, amounts, works, router_calldata.FOREVER, last)
    return abi.encode("((address[],uint256[],bytes[],uint256,bytes))", (plan,))


def velora(terms: Sequence[Any], executor: Address, fees: int, work: bytes) -> bytes:
    """`swapExactAmountIn`; `terms` are the fields of a GenericData."""
    return abi.call(velora_stand_in.VELORA_SWAP, executor, terms, fees, b"", work)


def velora_direct(version: int, terms: Sequence[Any], fees: int, pools: bytes) -> bytes:
    """`swapExactAmountInOnUniswapV2` or `…V3`."""
    method = f"swapExactAmountInOnUniswapV{version}{velora_stand_in.VELORA_UNISWAP}"
    return abi.call(method, (*terms, pools), fees, b"")


def velora_curve(version: int, terms: Sequence[Any], fees: int, exchange: int) -> bytes:
    """`swapExactAmountInOnCurveV1` or `…V2`; `exchange` is the word of flags and address."""
    if version == 1:
        method = (
            f"swapExactAmountInOnCurveV1((uint256,uint256,address,address,{_TAIL}),uint256,bytes)"
        )
        return abi.call(method, (exchange, 1, *terms), fees, b"")
    method = (
        "swapExactAmountInOnCurveV2"
        f"((uint256,uint256,uint256,address,address,address,{_TAIL}),uint256,bytes)"
    )
    pool = addresses.from_bytes((exchange % 2**160).to_bytes(20))
    return abi.call(method, (exchange, 0, 1, pool, *terms), fees, b"")


def v2_groups(hops: Sequence[Hop]) -> bytes:
    """Pools as Augustus' UniswapV2 form reads them."""
    return b"".join(
        addresses.to_bytes(hop.pool.first.address)
        + addresses.to_bytes(hop.pool.second.address)
        + (hop.token_in == hop.pool.first.address).to_bytes(24)
        for hop in hops
    )


def v3_groups(hops: Sequence[Hop]) -> bytes:
    """Pools as Augustus' UniswapV3 form reads them."""
    return b"".join(
        (
            (hop.token_in == hop.pool.first.address) << 255 | int(hop.pool.first.address, 16)
        ).to_bytes(32)
        + int(hop.pool.second.address, 16).to_bytes(32)
        + hop.pool.fee.to_bytes(32)
        for hop in hops
    )


def unoswap_pool(hop: Hop) -> int:
    """The word by which 1inch names a genuine pool and the direction."""
    forward = hop.token_in == hop.pool.first.address
    return hop.pool.v3 << 253 | forward << 247 | int(hop.pool.address, 16)


SINGLE = "exactInputSingle((address,address,uint24,address,uint256,uint256,uint160))"
PATH = "exactInput((bytes,address,uint256,uint256))"
PAIRS = "swapExactTokensForTokens(uint256,uint256,address[],address)"
SWEEP = "sweepToken(address,uint256,address)"
ITSELF = addresses.from_bytes((2).to_bytes(20))
"""As a recipient SwapRouter02 reads this as itself."""


def uniswap_leg(hops: Sequence[Hop], amount: int, minimum: int, to: Address) -> bytes:
    """One call within SwapRouter02's `multicall`, over pools that are all V2 or all V3."""
    tokens = [hops[0].token_in, *(hop.token_out for hop in hops)]
    if not hops[0].pool.v3:
        return abi.call(PAIRS, amount, minimum, tokens, to)
    if len(hops) == 1:
        return abi.call(SINGLE, (*tokens, hops[0].pool.fee, to, amount, minimum, 0))
    path = addresses.to_bytes(tokens[0])
    for hop in hops:
        path += hop.pool.fee.to_bytes(3) + addresses.to_bytes(hop.token_out)
    return abi.call(PATH, (path, to, amount, minimum))


def uniswap(deadline: int, parts: Sequence[bytes]) -> bytes:
    """SwapRouter02's `multicall` with a deadline."""
    return abi.call("multicall(uint256,bytes[])", deadline, parts)
