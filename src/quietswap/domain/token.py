"""ERC-20 tokens and the two conventional placeholders for native ETH that are not tokens."""

from dataclasses import dataclass

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.errors import InvalidTokenAddress, NativeEthNotSupported

WETH = Address("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
"""Canonical WETH9 on Ethereum mainnet, 18 decimals."""

_NATIVE = frozenset({"0x" + "0" * 40, "0x" + "e" * 40})


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token on mainnet; `decimals` as the contract says (0 to 255)."""

    address: Address
    decimals: int
    symbol: str = ""


def parse_token(text: str | None, field: str) -> Address:
    """Return the token address of query field `field`.

    Raises NativeEthNotSupported for the zero or all-e placeholder in any case, and
    InvalidTokenAddress when the text is missing, misshapen or wrongly checksummed.
    """
    if not text:
        raise InvalidTokenAddress(field=field, provided="", reason=f"{field} is missing")
    if text.lower() in _NATIVE:
        raise NativeEthNotSupported(field=field, provided=text, weth=WETH)
    try:
        return addresses.parse(text)
    except addresses.BadAddress as error:
        raise InvalidTokenAddress(field=field, provided=text[:100], reason=str(error)) from error
