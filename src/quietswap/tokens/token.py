"""ERC-20 tokens, and the two conventional placeholders for native ETH."""

from dataclasses import dataclass

from quietswap.chain.address import Address

WETH = Address("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
"""Canonical WETH9 on Ethereum mainnet, 18 decimals."""

WITHOUT_TRANSFER_FEE = frozenset(
    {
        WETH,
        Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"),  # USDC
        Address("0x6B175474E89094C44Da98b954EedeAC495271d0F"),  # DAI
        Address("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599"),  # WBTC
    }
)
"""Tokens whose code has no fee on transfer. USDT has one that is switched off."""

_NATIVE = frozenset({"0x" + "0" * 40, "0x" + "e" * 40})


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token on mainnet; `decimals` as the contract says (0 to 255)."""

    address: Address
    decimals: int
    symbol: str = ""


def is_native(address: str) -> bool:
    """Return whether an address is a placeholder for native ETH, in any letter case."""
    return address.lower() in _NATIVE


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
