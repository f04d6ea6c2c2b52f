"""Token lists in files (https://github.com/Uniswap/token-
lists/blob/main/src/tokenlist.schema.json).

A list is checked against the schema: one that breaks it is refused as a whole.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from quietswap.rules.foreign_text import harmless
from quietswap.rules.tokens.token_list import ListedToken
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import MAINNET

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
        token_list = msgspec.json.decode(body, type=_List)
    except msgspec.ValidationError as error:
        text, _, where = str(error).partition(" - at `$.")
        raise BadTokenList(f"{where.rstrip('`') or 'the list'}: {text}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadTokenList(f"it is not JSON in UTF-8 ({error})") from error
    if len(set(token_list.keywords)) < len(token_list.keywords):
        raise BadTokenList("keywords: one is named twice")
    _check_uri(token_list.logo_uri, "logoURI")
    name = harmless(token_list.name, _SHOWN_NAME)
    return [
        _listed(token, f"tokens[{number}]", name)
        for number, token in enumerate(token_list.tokens)
        if _is_mainnet(token, f"tokens[{number}]")
    ]


def _is_mainnet(token: _Token, where: str) -> bool:
    _check_uri(token.logo_uri, f"{where}.logoURI")
    _check_extensions(token.extensions, f"{where}.extensions", _EXTENSION_DEPTH)
    return token.chain_id == MAINNET


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
