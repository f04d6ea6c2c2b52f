"""The sandbox's liquidity: the pools, their addresses and their reserves at genesis."""

from dataclasses import dataclass, replace
from decimal import Decimal
from math import isqrt

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import encode
from quietswap.sandbox.contracts.tokens import (
    DAI,
    FEE,
    SOLADY,
    USDC,
    USDT,
    VYPER,
    WBTC,
    WETH,
    SandboxToken,
)


@dataclass(frozen=True, slots=True)
class Pool:
    """One Uniswap pool of two tokens in address order; `fee` in millionths (3000 = 0.3 %).

    `depth_usd` is the value of each side at genesis. For the V3 pool it is the virtual depth: near
    its opening price it trades like a V2 pool of that size.
    """

    first: SandboxToken
    second: SandboxToken
    depth_usd: Decimal
    v3: bool = False
    fee: int = 3000

    @property
    def address(self) -> Address:
        """The CREATE2 address from the factory, the same as on mainnet."""
        one, two = self.first.address, self.second.address
        if self.v3:
            salt = keccak256(encode("(address,address,uint24)", (one, two, self.fee)))
            return _create2(
                contract_addresses.V3_FACTORY, salt, contract_addresses.V3_POOL_CODE_HASH
            )
        salt = keccak256(addresses.to_bytes(one) + addresses.to_bytes(two))
        return _create2(contract_addresses.V2_FACTORY, salt, contract_addresses.V2_PAIR_CODE_HASH)

    @property
    def amounts(self) -> tuple[int, int]:
        """`depth_usd` in smallest units of the first and of the second token."""
        first, second = self.first, self.second
        return first.units(self.depth_usd / first.usd), second.units(self.depth_usd / second.usd)

    @property
    def name(self) -> str:
        """The name of the pool's protocol."""
        return "uniswap-v3" if self.v3 else "uniswap-v2"

    def other(self, token: Address) -> Address:
        """Return the pool's other token."""
        return self.second.address if token == self.first.address else self.first.address


def _create2(factory: Address, salt: bytes, code_hash: bytes) -> Address:
    digest = keccak256(b"\xff" + addresses.to_bytes(factory) + salt + code_hash)
    return addresses.from_bytes(digest[12:])


def _pool(a: SandboxToken, b: SandboxToken, depth_usd: int) -> Pool:
    first, second = sorted((a, b), key=lambda token: int(token.address, 16))
    return Pool(first, second, Decimal(depth_usd))


V3_WETH_USDC = replace(_pool(WETH, USDC, 1_500_000), v3=True, fee=500)
POOLS = (
    _pool(WETH, USDC, 3_000_000),
    _pool(WETH, USDT, 3_000_000),
    _pool(WETH, DAI, 2_400_000),
    _pool(WETH, WBTC, 2_700_000),
    _pool(USDC, DAI, 4_000_000),
    _pool(USDC, USDT, 4_000_000),
    _pool(WETH, FEE, 300_000),
    _pool(WETH, VYPER, 300_000),
    _pool(WETH, SOLADY, 300_000),
    V3_WETH_USDC,
)

V3_TICK_SPACING = 10
V3_RANGE_TICKS = 6000
"""The V3 liquidity is within 6000 ticks, a factor of 1.82, of the opening price."""


def v3_opening(pool: Pool) -> tuple[int, int, int]:
    """Return (sqrtPriceX96, middle tick, liquidity) of the pool at genesis.

    sqrtPriceX96 = sqrt(amount1 / amount0) * 2**96 and L = sqrt(amount0 * amount1), the V2 curve's
    (Uniswap v3 whitepaper, 6.1 and 6.2).
    """
    amount0, amount1 = pool.amounts
    sqrt_price = isqrt((amount1 << 192) // amount0)
    tick = int((Decimal(amount1) / amount0).ln() / Decimal("1.0001").ln())
    return sqrt_price, tick - tick % V3_TICK_SPACING, isqrt(amount0 * amount1)
