"""The sandbox's tokens: mainnet's at their mainnet addresses, and three odd ones of its own."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256
from quietswap.domain.token import WETH as WETH_ADDRESS
from quietswap.sandbox.abi import encode

Layout = Literal["solidity", "vyper", "solady"]
_SOLADY_BALANCE_SEED = "87a211a2"
_SOLADY_ALLOWANCE_SEED = "7f5e9f20"


@dataclass(frozen=True, slots=True)
class SandboxToken:
    """One token and where its contract keeps balances and allowances.

    `usd` is what a whole token is worth at genesis; every pool opens at that price. `contract` is
    its name in contracts/artifacts.json, None for WETH9, which comes from npm.
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
        """Return an amount of whole tokens in smallest units."""
        return int(Decimal(amount) * 10**self.decimals)

    def balance_key(self, owner: str) -> str:
        """Return the storage key of the owner's balance, as 0x and 64 digits."""
        if self.layout == "solady":
            return _solady(owner, _SOLADY_BALANCE_SEED)
        return _hex(self._entry(_word(self.balances_slot), owner))

    def allowance_key(self, owner: str, spender: str) -> str:
        """Return the storage key of what `spender` may take from `owner`."""
        if self.layout == "solady":
            return _solady(owner, _SOLADY_ALLOWANCE_SEED + spender[2:])
        return _hex(self._entry(self._entry(_word(self.allowances_slot), owner), spender))

    def _entry(self, slot: bytes, key: str) -> bytes:
        padded = encode("(address)", (key,))
        return keccak256(slot + padded if self.layout == "vyper" else padded + slot)


def _word(number: int) -> bytes:
    return number.to_bytes(32)


def _hex(key: bytes) -> str:
    return "0x" + key.hex()


def _solady(owner: str, rest: str) -> str:
    return _hex(keccak256(bytes.fromhex(owner[2:] + "00" * 8 + rest)))


SUPPLY_KEY = _hex(keccak256(b"quietswap.sandbox.supply"))
"""Where contracts/Erc20.sol keeps `totalSupply`."""


def _at(text: str) -> Address:
    return addresses.from_any_case(text)


WETH = SandboxToken("WETH", WETH_ADDRESS, 18, Decimal(3000), None, 3, 4)
USDC = SandboxToken(
    "USDC", _at("0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"), 6, Decimal(1), "Usdc", 9, 10
)
USDT = SandboxToken(
    "USDT", _at("0xdac17f958d2ee523a2206206994597c13d831ec7"), 6, Decimal(1), "Usdt", 2, 5
)
DAI = SandboxToken(
    "DAI", _at("0x6b175474e89094c44da98b954eedeac495271d0f"), 18, Decimal(1), "Dai", 2, 3
)
WBTC = SandboxToken(
    "WBTC", _at("0x2260fac5e5542a773aa44fbcfedf7c193bc2c599"), 8, Decimal(90_000), "Wbtc", 0, 2
)
FEE = SandboxToken(
    "FEE", _at("0xfee0000000000000000000000000000000000001"), 18, Decimal(1), "FeeToken", 0, 1
)
VYPER = SandboxToken(
    "VYP",
    _at("0x7ee0000000000000000000000000000000000002"),
    18,
    Decimal(1),
    "VyperToken",
    3,
    4,
    "vyper",
)
SOLADY = SandboxToken(
    "SLDY",
    _at("0x50ad000000000000000000000000000000000003"),
    18,
    Decimal(1),
    "SoladyToken",
    layout="solady",
)

TOKENS = {token.symbol: token for token in (WETH, USDC, USDT, DAI, WBTC)}
"""What the sandbox hands out, by symbol."""
ODD_TOKENS = {token.symbol: token for token in (FEE, VYPER, SOLADY)}
"""A fee on transfer, and two storage layouts other than Solidity's."""
ALL_TOKENS = TOKENS | ODD_TOKENS
BY_ADDRESS = {token.address: token for token in ALL_TOKENS.values()}
