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


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """The operator's optional token lists; `allowed` None means every ERC-20."""

    allowed: frozenset[Address] | None = None
    denied: frozenset[Address] = frozenset()

    def refusal(self, address: Address) -> str | None:
        """Return why the token may not be swapped here, or None."""
        if address in self.denied:
            return "it is on this service's deny list"
        if self.allowed is not None and address not in self.allowed:
            return "it is not on this service's allow list"
        return None
