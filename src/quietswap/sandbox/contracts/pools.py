"""The sandbox's tokens, pools and price feeds, with their reserves and answers at genesis."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from math import isqrt
from typing import Literal

from quietswap.rules.tokens.token import WETH as WETH_ADDRESS
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.address import from_any_case as _at
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import Call, encode, set_storage

Layout = Literal["solidity", "vyper", "solady"]
_SOLADY_BALANCE_SEED = "87a211a2"
_SOLADY_ALLOWANCE_SEED = "7f5e9f20"


@dataclass(frozen=True, slots=True)
class SandboxToken:
    """One token and the storage layout of its balances and allowances.

    `usd` is the price of a whole token at genesis, at which every pool opens. `contract` is its
    name in contracts/artifacts.json; None for WETH9, which comes from npm.
    """

    symbol: str
    address: Address
    decimals: int
    usd: Decimal
    contract: str | None
    balances_slot: int = 0
    allowances_slot: int = 0
    layout: Layout = "solidity"

    def units(self, amount: Decimal | int | str) -> int:
        return int(Decimal(amount) * 10**self.decimals)

    def balance_key(self, owner: str) -> str:
        """Return the storage key of the owner's balance, as 0x and 64 digits."""
        if self.layout == "solady":
            return _solady(owner, _SOLADY_BALANCE_SEED)
        return _hex(self._entry(self.balances_slot.to_bytes(32), owner))

    def allowance_key(self, owner: str, spender: str) -> str:
        """Return the storage key of the allowance of `spender` for `owner`."""
        if self.layout == "solady":
            return _solady(owner, _SOLADY_ALLOWANCE_SEED + spender[2:])
        return _hex(self._entry(self._entry(self.allowances_slot.to_bytes(32), owner), spender))

    def _entry(self, slot: bytes, key: str) -> bytes:
        padded = bytes.fromhex(key[2:]).rjust(32, b"\0")
        return keccak256(slot + padded if self.layout == "vyper" else padded + slot)


def _hex(key: bytes) -> str:
    return "0x" + key.hex()


def _solady(owner: str, rest: str) -> str:
    return _hex(keccak256(bytes.fromhex(owner[2:] + "00" * 8 + rest)))


SUPPLY_KEY = _hex(keccak256(b"quietswap.sandbox.supply"))
"""The storage key of `totalSupply` in contracts/Erc20.sol."""

_USD = Decimal(1)
_USDC_AT = _at("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")
_USDT_AT = _at("0xdac17f958d2ee523a2206206994597c13d831ec7")
_DAI_AT = _at("0x6b175474e89094c44da98b954eedeac495271d0f")
_WBTC_AT = _at("0x2260fac5e5542a773aa44fbcfedf7c193bc2c599")
_FEE_AT = _at("0xfee0000000000000000000000000000000000001")
_VYPER_AT = _at("0x7ee0000000000000000000000000000000000002")
_SOLADY_AT = _at("0x50ad000000000000000000000000000000000003")
_WORTHLESS_AT = _at("0x0000000000000000000000000000000000dec0de")

WETH = SandboxToken("WETH", WETH_ADDRESS, 18, Decimal(3000), None, 3, 4)
USDC = SandboxToken("USDC", _USDC_AT, 6, _USD, "Usdc", 9, 10)
USDT = SandboxToken("USDT", _USDT_AT, 6, _USD, "Usdt", 2, 5)
DAI = SandboxToken("DAI", _DAI_AT, 18, _USD, "Dai", 2, 3)
WBTC = SandboxToken("WBTC", _WBTC_AT, 8, Decimal(90_000), "Wbtc", 0, 2)
FEE = SandboxToken("FEE", _FEE_AT, 18, _USD, "FeeToken", 0, 1)
VYPER = SandboxToken("VYP", _VYPER_AT, 18, _USD, "VyperToken", 3, 4, "vyper")
SOLADY = SandboxToken("SLDY", _SOLADY_AT, 18, _USD, "SoladyToken", layout="solady")
WORTHLESS = SandboxToken("NIL", _WORTHLESS_AT, 18, _USD, "WorthlessToken", 0, 1)
"""A token whose owner prints it; only its two thin pools say that it has a price."""

TOKENS = {token.symbol: token for token in (WETH, USDC, USDT, DAI, WBTC)}
"""The tokens that the sandbox announces, by symbol."""
ODD_TOKENS = {token.symbol: token for token in (FEE, VYPER, SOLADY)}
"""A fee on transfer, and two storage layouts other than Solidity's."""
ALL_TOKENS = TOKENS | ODD_TOKENS
BY_ADDRESS = {token.address: token for token in ALL_TOKENS.values()}


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
            v3_hash = contract_addresses.V3_POOL_CODE_HASH
            return _create2(contract_addresses.V3_FACTORY, salt, v3_hash)
        salt = keccak256(addresses.to_bytes(one) + addresses.to_bytes(two))
        return _create2(contract_addresses.V2_FACTORY, salt, contract_addresses.V2_PAIR_CODE_HASH)

    @property
    def amounts(self) -> tuple[int, int]:
        """`depth_usd` in smallest units of the first and of the second token."""
        first, second = self.first, self.second
        return first.units(self.depth_usd / first.usd), second.units(self.depth_usd / second.usd)

    def other(self, token: Address) -> Address:
        return self.second.address if token == self.first.address else self.first.address


def _create2(factory: Address, salt: bytes, code_hash: bytes) -> Address:
    digest = keccak256(b"\xff" + addresses.to_bytes(factory) + salt + code_hash)
    return addresses.from_bytes(digest[12:])


def _pool(a: SandboxToken, b: SandboxToken, depth_usd: int, v3_fee: int = 0) -> Pool:
    first, second = sorted((a, b), key=lambda token: int(token.address, 16))
    return Pool(first, second, Decimal(depth_usd), bool(v3_fee), v3_fee or 3000)


V3_WETH_USDC = _pool(WETH, USDC, 1_500_000, 500)
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
MORE_POOLS = (
    _pool(WETH, USDC, 60_000, 100),
    _pool(WETH, USDC, 400_000, 3000),
    _pool(WETH, USDT, 900_000, 500),
    _pool(WETH, USDT, 300_000, 3000),
    _pool(WETH, DAI, 250_000, 3000),
    _pool(WETH, WBTC, 500_000, 500),
    _pool(WETH, WBTC, 800_000, 3000),
    _pool(USDC, USDT, 2_000_000, 100),
    _pool(USDC, DAI, 2_000_000, 100),
    _pool(WETH, WORTHLESS, 400),
    _pool(WETH, WORTHLESS, 300, 10_000),
)
"""Pools over which the vendors' stand-ins do not route: only the own source finds them."""
ALL_POOLS = POOLS + MORE_POOLS

V3_TICK_SPACINGS = {100: 1, 500: 10, 3000: 60, 10_000: 200}
"""By fee. On mainnet the factory's owner enabled the first; the others are its constructor's."""
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
    return sqrt_price, tick - tick % V3_TICK_SPACINGS[pool.fee], isqrt(amount0 * amount1)


_DECIMALS = 8
_ANSWER, _UPDATED_AT, _ROUND, _DESCRIPTION = range(4)  # the slots of contracts/Feed.sol


def genesis() -> Iterator[Call]:
    """Yield the calls that fill Chainlink's feeds with the prices at which the pools open."""
    for name, token in TOKENS.items():
        pair = f"{name.removeprefix('W')} / USD"
        yield from answers(pair, token.usd)
        text = pair.encode().ljust(31, b"\0") + bytes([2 * len(pair)])
        yield set_storage(contract_addresses.FEEDS[pair], _DESCRIPTION, int.from_bytes(text))


def answers(pair: str, usd: Decimal, updated_at: int = 0, round_id: int = 1) -> Iterator[Call]:
    """Yield the calls that make the feed of `pair`, such as `ETH / USD`, answer `usd`.

    `updated_at` in Unix seconds; 0 stands for the block in which the feed is read. A negative
    price is allowed, because real feeds have had errors.
    """
    words = {_ANSWER: int(usd * 10**_DECIMALS), _UPDATED_AT: updated_at, _ROUND: round_id}
    for slot, value in words.items():
        yield set_storage(contract_addresses.FEEDS[pair], slot, value)
