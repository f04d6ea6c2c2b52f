"""The sandbox's tokens: mainnet's at their mainnet addresses, and three unusual ones of its own."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from quietswap.domain.address import Address
from quietswap.domain.address import from_any_case as _at
from quietswap.domain.crypto import keccak256
from quietswap.domain.token import WETH as WETH_ADDRESS

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
        """Return an amount of whole tokens in smallest units."""
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

WETH = SandboxToken("WETH", WETH_ADDRESS, 18, Decimal(3000), None, 3, 4)
USDC = SandboxToken("USDC", _USDC_AT, 6, _USD, "Usdc", 9, 10)
USDT = SandboxToken("USDT", _USDT_AT, 6, _USD, "Usdt", 2, 5)
DAI = SandboxToken("DAI", _DAI_AT, 18, _USD, "Dai", 2, 3)
WBTC = SandboxToken("WBTC", _WBTC_AT, 8, Decimal(90_000), "Wbtc", 0, 2)
FEE = SandboxToken("FEE", _FEE_AT, 18, _USD, "FeeToken", 0, 1)
VYPER = SandboxToken("VYP", _VYPER_AT, 18, _USD, "VyperToken", 3, 4, "vyper")
SOLADY = SandboxToken("SLDY", _SOLADY_AT, 18, _USD, "SoladyToken", layout="solady")

TOKENS = {token.symbol: token for token in (WETH, USDC, USDT, DAI, WBTC)}
"""The tokens that the sandbox announces, by symbol."""
ODD_TOKENS = {token.symbol: token for token in (FEE, VYPER, SOLADY)}
"""A fee on transfer, and two storage layouts other than Solidity's."""
ALL_TOKENS = TOKENS | ODD_TOKENS
BY_ADDRESS = {token.address: token for token in ALL_TOKENS.values()}
