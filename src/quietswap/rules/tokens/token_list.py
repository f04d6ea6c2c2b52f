"""Listed tokens and the search among them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens.look_alikes import LookAlikes
from quietswap.rules.tokens.token import WETH
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address


@dataclass(frozen=True, slots=True)
class ListedToken:
    """A token of at least one list; `lists` names them. Texts are harmless to show."""

    address: Address
    symbol: str
    name: str
    decimals: int
    logo_uri: str | None = None
    lists: tuple[str, ...] = ()


BUILT_IN = tuple(
    ListedToken(Address(address), symbol, name, decimals, lists=("built in",))
    for address, symbol, name, decimals in (
        (WETH, "WETH", "Wrapped Ether", 18),
        ("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC", "USD Coin", 6),
        ("0xdAC17F958D2ee523a2206206994597C13D831ec7", "USDT", "Tether USD", 6),
        ("0x6B175474E89094C44Da98b954EedeAC495271d0F", "DAI", "Dai Stablecoin", 18),
        ("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", "WBTC", "Wrapped BTC", 8),
    )
)
"""What is listed where no list is configured."""


class TokenCatalogue:
    """All listed tokens. Of a token in several lists, the first list's text counts."""

    def __init__(self, tokens: Iterable[ListedToken]) -> None:
        merged: dict[Address, ListedToken] = {}
        for token in tokens:
            first = merged.setdefault(token.address, token)
            if first is not token:
                names = dict.fromkeys((*first.lists, *token.lists))
                merged[token.address] = replace(first, lists=tuple(names))
        self._tokens: Mapping[Address, ListedToken] = merged
        self._symbols = LookAlikes(token.symbol for token in merged.values())
        self._names = LookAlikes(token.name for token in merged.values())

    def get(self, address: Address) -> ListedToken | None:
        return self._tokens.get(address)

    def has_symbol(self, symbol: str) -> bool:
        """Return whether a listed token has this symbol, or one that looks like it."""
        return self._symbols.has(symbol)

    def has_name(self, name: str) -> bool:
        """Return whether a listed token has this name, or one that looks like it."""
        return self._names.has(name)

    def search(self, text: str = "") -> Sequence[ListedToken]:
        """Return the tokens whose symbol, name or address contains `text`, best first.

        Order: equal symbol, symbol that begins with the text, name that begins with it, others;
        then the order of the lists.
        """
        wanted = text.strip().casefold()
        if not wanted:
            return list(self._tokens.values())
        ranked = [
            (place, number, token)
            for number, token in enumerate(self._tokens.values())
            if (place := _place(token, wanted)) is not None
        ]
        return [token for *_, token in sorted(ranked, key=lambda row: row[:2])]


def _place(token: ListedToken, wanted: str) -> int | None:
    symbol, name = token.symbol.casefold(), token.name.casefold()
    rules = (
        symbol == wanted,
        symbol.startswith(wanted),
        name.startswith(wanted),
        wanted in symbol or wanted in name,
        wanted.startswith("0x") and token.address.lower().startswith(wanted),
    )
    return next((place for place, fits in enumerate(rules) if fits), None)


# Token lists in files (https://github.com/Uniswap/token-
# lists/blob/main/src/tokenlist.schema.json).
#
# A list is checked against the schema: one that breaks it is refused as a whole.


_MAINNET = 1
_LARGEST_FILE = 32 << 20
_LONGEST_URI = 500
_MOST_EXTENSIONS = 10
_EXTENSION_DEPTH = 3
_MOST_TAGS = 20
_SHOWN_NAME, _SHOWN_SYMBOL = 60, 20
_LOGO = re.compile(
    r"(https|ipfs)://(?:[A-Za-z0-9._~:/?#\[\]@!$&()*+,;=-]|%[0-9A-Fa-f]{2})+", re.ASCII
)
"""Characters of RFC 3986 without the apostrophe. Other URIs are dropped: `javascript:` and `data:`
can run code in a page, and a quotation mark can end an attribute of it."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+", re.ASCII)
_EXTENSION = re.compile(r"\w{1,40}")

_NAMES = {"chain_id": "chainId", "logo_uri": "logoURI"}
_Number = Annotated[int, Meta(ge=0)]
_Tag = Annotated[str, Meta(min_length=1, max_length=10, pattern=r"^\w+\Z")]
_Keyword = Annotated[str, Meta(min_length=1, max_length=20, pattern=r"^[\w ]+\Z")]


class BadTokenList(Exception):
    """The file is not a token list of the schema; the message names the place and the reason."""


class _Version(msgspec.Struct, forbid_unknown_fields=True):
    major: _Number
    minor: _Number
    patch: _Number


class _TagDefinition(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(min_length=1, max_length=20, pattern=r"^[ \w]+\Z")]
    description: Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[ \w.,:]+\Z")]


class _Token(
    msgspec.Struct,
    forbid_unknown_fields=True,
    rename={"chain_id": "chainId", "logo_uri": "logoURI"},
):
    chain_id: Annotated[int, Meta(ge=1)]
    address: Annotated[str, Meta(pattern=r"^(0x[a-fA-F0-9]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})\Z")]
    decimals: Annotated[int, Meta(ge=0, le=255)]
    name: Annotated[str, Meta(max_length=60, pattern=r"^([ \S]*)\Z")]
    symbol: Annotated[str, Meta(max_length=20, pattern=r"^(\S*)\Z")]
    logo_uri: str | None = None
    tags: Annotated[list[_Tag], Meta(max_length=10)] = []
    extensions: dict[str, Any] = {}


class _List(msgspec.Struct, rename=_NAMES):
    name: Annotated[str, Meta(min_length=1, max_length=30, pattern=r"^[\w ]+\Z")]
    timestamp: Annotated[datetime, Meta(tz=True)]
    version: _Version
    tokens: Annotated[list[_Token], Meta(min_length=1, max_length=10_000)]
    keywords: Annotated[list[_Keyword], Meta(max_length=20)] = []
    tags: Annotated[dict[_Tag, _TagDefinition], Meta(max_length=_MOST_TAGS)] = {}
    logo_uri: str | None = None


def read_token_list(path: Path) -> list[ListedToken]:
    """Return the mainnet tokens of a list in a file, in their order. Raises BadTokenList.

    Names become harmless text. Tokens of other chains are checked and left out.
    """
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise BadTokenList(f"it is larger than {_LARGEST_FILE >> 20} MiB")
        body = path.read_bytes()
    except OSError as error:
        raise BadTokenList(error.strerror or "it cannot be read") from error
    return parse_token_list(body)


def parse_token_list(body: bytes) -> list[ListedToken]:
    """Return the mainnet tokens of a list as JSON. Raises BadTokenList."""
    try:
        found = msgspec.json.decode(body, type=_List)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$.")
        raise BadTokenList(f"{where.rstrip('`') or 'the list'}: {text}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadTokenList(f"it is not JSON in UTF-8 ({error})") from error
    if len(set(found.keywords)) < len(found.keywords):
        raise BadTokenList("keywords: one is named twice")
    _check_uri(found.logo_uri, "logoURI")
    name = harmless(found.name, _SHOWN_NAME)
    return [
        _listed(token, f"tokens[{number}]", name)
        for number, token in enumerate(found.tokens)
        if _is_mainnet(token, f"tokens[{number}]")
    ]


def _is_mainnet(token: _Token, where: str) -> bool:
    _check_uri(token.logo_uri, f"{where}.logoURI")
    _check_extensions(token.extensions, f"{where}.extensions", _EXTENSION_DEPTH)
    return token.chain_id == _MAINNET


def _listed(token: _Token, where: str, list_name: str) -> ListedToken:
    logo = token.logo_uri
    shown = logo is not None and len(logo) <= _LONGEST_URI and _LOGO.fullmatch(logo)
    return ListedToken(
        address=_address(token.address, f"{where}.address"),
        symbol=harmless(token.symbol, _SHOWN_SYMBOL),
        name=harmless(token.name, _SHOWN_NAME),
        decimals=token.decimals,
        logo_uri=logo if shown else None,
        lists=(list_name,),
    )


def _address(text: str, where: str) -> Address:
    """Return the address. Only an all lower-case one may lack the checksum."""
    try:
        return addresses.from_any_case(text) if text == text.lower() else addresses.parse(text)
    except addresses.BadAddress as error:
        raise BadTokenList(f"{where}: {error}") from error


def _check_uri(text: str | None, where: str) -> None:
    if text is not None and not _URI.fullmatch(text):
        raise BadTokenList(f"{where}: it is not a URI")


def _check_extensions(values: Mapping[str, Any], where: str, depth: int) -> None:
    """Check an extension map: at most ten named values, nested at most twice."""
    if len(values) > _MOST_EXTENSIONS:
        raise BadTokenList(f"{where}: it has more than {_MOST_EXTENSIONS} members")
    for name, value in values.items():
        if not _EXTENSION.fullmatch(name):
            raise BadTokenList(f"{where}: a member's name is not 1 to 40 letters and digits")
        if isinstance(value, dict) and depth > 1:
            _check_extensions(value, f"{where}.{name}", depth - 1)
        elif isinstance(value, str):
            if not 1 <= len(value) <= 42:
                raise BadTokenList(f"{where}.{name}: a text has 1 to 42 characters")
        elif value is not None and not isinstance(value, bool | int | float):
            raise BadTokenList(f"{where}.{name}: it is no text, number, boolean or object")
