"""ERC-20 tokens as they are swapped and shown, with their warnings; placeholders for native ETH."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from quietswap.rules.tx.address import Address

WETH = Address("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2")
"""Canonical WETH9 on Ethereum mainnet, 18 decimals."""
USDC = Address("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48")
USDT = Address("0xdAC17F958D2ee523a2206206994597C13D831ec7")
DAI = Address("0x6B175474E89094C44Da98b954EedeAC495271d0F")
WBTC = Address("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599")

WITHOUT_TRANSFER_FEE = frozenset({WETH, USDC, DAI, WBTC})
"""Tokens whose code has no fee on transfer. USDT has one that is switched off."""
UNRESTRICTED = frozenset({WETH, DAI})
"""Tokens whose code can neither pause transfers nor block a holder."""
RESTRICTED = frozenset({USDC, USDT, WBTC})
"""Tokens whose code lets their issuer pause transfers or block a holder: USDC is Pausable and
Blacklistable, USDT Pausable and BlackList, WBTC PausableToken."""

ETH = "ETH"
"""The word for ETH as the token of a swap or a wrap."""
NATIVE = Address("0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE")
"""The address that stands for ETH in the tokens of an order."""
_NATIVE = frozenset({"0x" + "0" * 40, NATIVE.lower()})


@dataclass(frozen=True, slots=True)
class Token:
    """An ERC-20 token on mainnet as its contract says: `decimals` 0 to 255, texts harmless to show.

    The texts are empty where they were not asked.
    """

    address: Address
    decimals: int
    symbol: str = ""
    name: str = ""


KNOWN_TOKENS = (
    Token(WETH, 18, "WETH", "Wrapped Ether"),
    Token(USDC, 6, "USDC", "USD Coin"),
    Token(USDT, 6, "USDT", "Tether USD"),
    Token(DAI, 18, "DAI", "Dai Stablecoin"),
    Token(WBTC, 8, "WBTC", "Wrapped BTC"),
)
"""The tokens that service and command know by themselves."""


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


class TokenWarning(StrEnum):
    """What a user should know before a trade. The values are shown and never change."""

    UNLISTED = "unlisted"
    IMITATES = "symbol of a listed token"
    """Unlisted, with the symbol of a listed token, or one that looks like it."""
    IMITATES_NAME = "name of a listed token"
    """Unlisted, with the name of a listed token, or one that looks like it."""
    WRONG_DECIMALS = "listed decimals are wrong"
    NOT_A_TOKEN = "not a token on chain"
    REFUSED = "not traded here"
    """The operator's allow or deny list excludes it."""
    FEE = "fee on transfer"
    FEE_UNKNOWN = "fee on transfer unknown"
    REVERTS = "transfer reverts"
    RESTRICTED = "pausable/blacklist"
    RESTRICTED_UNKNOWN = "pausable/blacklist unknown"


@dataclass(frozen=True, slots=True)
class TransferFee:
    """Result of simulated transfers: `bps` lost, rounded up. None: not measured or it reverts."""

    bps: int | None = None
    reverts: bool = False


@dataclass(frozen=True, slots=True)
class TokenView:
    """One token of an answer; `transfer_fee_bps` is None where it is not measured."""

    address: Address
    symbol: str
    name: str
    decimals: int
    logo_uri: str | None
    lists: tuple[str, ...]
    transfer_fee_bps: int | None
    warnings: tuple[TokenWarning, ...]


@dataclass(frozen=True, slots=True)
class TokenPage:
    """One page of tokens, and the number of all that were found."""

    tokens: tuple[TokenView, ...]
    total: int


@dataclass(frozen=True, slots=True)
class TokenHolding:
    """Balance and allowances by router in smallest units; None where the token does not tell."""

    token: Address
    details: Token | None
    balance: int | None
    allowances: Mapping[Address, int | None]


@dataclass(frozen=True, slots=True)
class WalletHoldings:
    """ETH in wei and tokens of a wallet, all at one block."""

    wallet: Address
    block_number: int
    eth: int
    tokens: tuple[TokenHolding, ...]


def own_warnings(address: Address, fee: TransferFee | None) -> list[TokenWarning]:
    """Return the warnings about a token's code; `fee` None: never measured."""
    warnings = []
    if fee is None or (fee.bps is None and not fee.reverts):
        if address not in WITHOUT_TRANSFER_FEE:
            warnings.append(TokenWarning.FEE_UNKNOWN)
    elif fee.reverts:
        warnings.append(TokenWarning.REVERTS)
    elif fee.bps:
        warnings.append(TokenWarning.FEE)
    if address in RESTRICTED:
        warnings.append(TokenWarning.RESTRICTED)
    elif address not in UNRESTRICTED:
        warnings.append(TokenWarning.RESTRICTED_UNKNOWN)
    return warnings


class WrapOperation(StrEnum):
    WRAP = "wrap"
    UNWRAP = "unwrap"
