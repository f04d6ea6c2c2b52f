"""ERC-20 tokens, and the two conventional placeholders for native ETH."""

import json
import unicodedata
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


# Text that anybody can choose, such as a token's name, made harmless to show.


_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, bidirectional and zero-width marks, surrogates, private use, line separators."""
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols that show nothing: fillers of Hangul, the empty Braille pattern."""
_MARKS = frozenset({"Mn", "Me"})
_MOST_MARKS = 2
"""Combining marks on one letter. More of them draw over the neighbouring lines."""
_MARKUP = str.maketrans({"<": "‹", ">": "›", '"': "”", "'": "’", "`": "’"})
"""Characters with a meaning in HTML, and what looks like them without it."""
_READ_FACTOR = 8


def _is_invisible(char: str) -> bool:
    """Return whether a character shows nothing; variation selectors change the one before only."""
    return (
        char in _INVISIBLE or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    )


def printable(text: bytes, limit: int) -> str:
    """Return at most `limit` printable ASCII characters of untrusted text."""
    shown = text.decode("ascii", "ignore")
    return "".join(c for c in shown if c.isprintable())[:limit].strip()


def harmless(text: str, limit: int) -> str:
    """Return at most `limit` characters in one line: no control, no direction mark, no markup.

    A page that shows the text as HTML by mistake gets no element and no attribute from it.
    """
    kept: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text[: limit * _READ_FACTOR]):
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in _MARKS else 0
        if char.isspace():
            kept.append(" ")
        elif kind not in _DROPPED and marks <= _MOST_MARKS and not _is_invisible(char):
            kept.append(char)
    return " ".join("".join(kept).translate(_MARKUP).split())[:limit].rstrip()


def visible(text: str, keep: str = "") -> str:
    """Return `text` with each unprintable character outside `keep` as its JSON escape.

    No terminal acts on the result: it has no control character and no direction mark. JSON keeps
    its value, because JSON has such characters within strings only.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep else json.dumps(char)[1:-1] for char in text
    )
