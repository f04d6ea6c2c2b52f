"""Tokens as people name them, and amounts as people write them."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from quietswap.domain.address import BadAddress, from_any_case, parse
from quietswap.domain.amounts import format_units

if TYPE_CHECKING:
    from quietswap.client import QuietswapClient


@dataclass(frozen=True, slots=True)
class Token:
    """A token with what is needed to show its amounts."""

    address: str
    symbol: str
    decimals: int

    def show(self, amount: int, *, raw: bool = False) -> str:
        """Return an amount exactly, with its unit."""
        return f"{self.number(amount, raw=raw)} {self.symbol}"

    def number(self, amount: int, *, raw: bool = False) -> str:
        """Return an amount exactly: in whole tokens with thousands, or raw in smallest units."""
        if raw:
            return str(amount)
        sign, text = "-" if amount < 0 else "", format_units(abs(amount), self.decimals)
        whole, _, fraction = text.partition(".")
        return f"{sign}{int(whole):,}" + (f".{fraction}" if fraction else "")

    def brief(self, amount: int, *, raw: bool = False) -> str:
        """Return an amount for a narrow column, rounded down to six decimals."""
        if raw or self.decimals <= 6:
            return self.number(amount, raw=raw)
        step = 10 ** (self.decimals - 6)
        return self.number(amount // step * step)

    def at_most(self, amount: int, places: int) -> str:
        """Return an amount with its unit, rounded up to some decimals."""
        step = 10 ** max(self.decimals - places, 0)
        return self.show(-(-amount // step) * step)


KNOWN = {
    token.symbol: token
    for token in (
        Token("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", "WETH", 18),
        Token("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC", 6),
        Token("0xdAC17F958D2ee523a2206206994597C13D831ec7", "USDT", 6),
        Token("0x6B175474E89094C44Da98b954EedeAC495271d0F", "DAI", 18),
        Token("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", "WBTC", 8),
    )
}
ETHER = Token("", "ETH", 18)
GWEI = Token("", "gwei", 9)
"""1 gwei is 10^9 wei: the unit of gas prices."""
WETH = KNOWN["WETH"]
_BY_ADDRESS = {token.address: token for token in KNOWN.values()}
_MOST_DECIMALS = 77
_NATIVE = "0x" + 40 * "e"
"""How many interfaces write native ETH, as if it were a token."""
_AMOUNT = re.compile(r"([0-9]{1,78})(?:\.([0-9]{1,77}))?")


def wallet_address(text: str) -> str:
    """Return a wallet's address in EIP-55 spelling. Raises click.UsageError."""
    try:
        return _address(text)
    except BadAddress as error:
        raise click.UsageError(f"{text!r} is no wallet address: {error}") from error


def router_address(text: str) -> str:
    """Return a contract's address in EIP-55 spelling. Raises click.UsageError."""
    try:
        return _address(text)
    except BadAddress as error:
        raise click.UsageError(f"{text!r} is no router's address: {error}") from error


def _address(text: str) -> str:
    """All lower case carries no checksum and is taken; any other spelling must be right."""
    digits = text[2:]
    return from_any_case(text) if digits == digits.lower() else parse(text)


def find(text: str, client: "QuietswapClient", *, has_node: bool, raw: bool) -> Token:
    """Return the token of a symbol or address. Raises click.UsageError.

    The decimals of a token that is not built in are asked of the caller's node.
    """
    if text.upper() in KNOWN:
        return KNOWN[text.upper()]
    if text.lower() in ("eth", _NATIVE):
        raise click.UsageError("native ETH cannot be swapped: wrap it first, then use WETH")
    try:
        address = _address(text)
    except BadAddress as error:
        names = ", ".join(KNOWN)
        raise click.UsageError(f"{text!r} is neither {names} nor an address: {error}") from error
    return by_address(address, client, has_node=has_node, raw=raw)


def by_address(address: str, client: "QuietswapClient", *, has_node: bool, raw: bool) -> Token:
    """Return the token at a checksummed address, as `find` does."""
    if address in _BY_ADDRESS:
        return _BY_ADDRESS[address]
    short = f"{address[:6]}…{address[-4:]}"
    if not has_node:
        if raw:
            return Token(address, short, 0)
        raise click.UsageError(
            f"the decimals of {address} are unknown: give --rpc-url, or --raw and smallest units"
        )
    from quietswap.client import chain
    from quietswap.client.approvals import require_mainnet

    client.run(require_mainnet())
    decimals = client.node(chain.decimals(address))
    if decimals is None or decimals > _MOST_DECIMALS:
        raise click.UsageError(f"{address} is not an ERC-20 token: it tells no decimals")
    return Token(address, client.node(chain.symbol(address))[:11] or short, decimals)


def parse_amount(text: str, token: Token, *, raw: bool) -> int:
    """Return smallest units of an amount written in decimal digits. Raises click.UsageError."""
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise click.UsageError(f"{text!r} is not an amount: digits and a point, such as 1.5")
    whole, fraction = found[1], (found[2] or "").rstrip("0")
    decimals = 0 if raw else token.decimals
    if len(fraction) > decimals:
        most = "smallest units are whole" if raw else f"{token.symbol} has {decimals}"
        raise click.UsageError(f"{text!r} has too many decimals: {most}")
    units = int(whole + fraction.ljust(decimals, "0"))
    if units == 0:
        raise click.UsageError("the amount must be greater than zero")
    return units


def parse_ether(text: str, *, raw: bool) -> str:
    """Return an ETH amount as the interface writes it. Raises click.UsageError."""
    return format_units(parse_amount(text, ETHER, raw=raw), ETHER.decimals)
