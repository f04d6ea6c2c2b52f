"""Text that others choose, such as a token's name or a vendor's error, made harmless to show."""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    import msgspec

T = TypeVar("T")

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, bidirectional and zero-width marks, surrogates, private use, line separators."""
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Letters, marks and symbols that show nothing: fillers of Hangul, the empty Braille pattern."""
MARKS = frozenset({"Mn", "Me"})
MOST_MARKS = 2
"""Combining marks on one letter. More of them draw over the neighbouring lines."""
_MARKUP = str.maketrans({"<": "‹", ">": "›", '"': "”", "'": "’", "`": "’"})
"""Characters with a meaning in HTML, and what looks like them without it."""
_READ_FACTOR = 8
_NO_QUOTES = str.maketrans("“”", "’’")

_SHORTEST_SECRET = 6
_ADDRESS = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://\S+"
    r"|(?<![\w.-])(?:(?:[\w-]+\.)+[\w-]+|localhost|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}(?![\w.])"
)
"""A URL, or HOST:PORT: one behind a proxy that is nobody's business, and often with a key."""


def _is_invisible(char: str) -> bool:
    """Return whether a character shows nothing; variation selectors change the one before only."""
    return (
        char in _INVISIBLE or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    )


def printable(text: bytes, limit: int) -> str:
    """Return at most `limit` printable ASCII characters of untrusted text."""
    shown = text.decode("ascii", "ignore")
    return "".join(c for c in shown if c.isprintable())[:limit].strip()


def secrets_of(url: str) -> list[str]:
    """Return the parts of a URL that may be a key: user, password, path and values, and itself."""
    parts = urlsplit(url)
    account = [parts.username, parts.password, *parts.path.split("/")]
    account += [value for _, value in parse_qsl(parts.query)]
    secrets = [url, *account, *(unquote(part) for part in account if part)]
    return [part for part in secrets if part and len(part) >= _SHORTEST_SECRET]


def host_is_ambiguous(url: str) -> bool:
    """Return whether a part of user or password may be read, and shown, as the host.

    A raw / or ? of the password ends the host, and an @ follows. Any # is refused: it does, too.
    """
    parts = urlsplit(url)
    return "#" in url or "@" in parts.path + parts.query


def masked(text: str, secrets: Iterable[str] = (), limit: int = 200) -> str:
    """Return at most `limit` printable characters of what a node says.

    Neither its `secrets`, nor any URL or HOST:PORT is left in them.
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _ADDRESS.sub("***", text[: 4 * limit])
    return "".join(c if c.isprintable() else " " for c in text)[:limit]


def harmless(text: str, limit: int) -> str:
    """Return at most `limit` characters in one line: no control, no direction mark, no markup.

    A page that shows the text as HTML by mistake gets no element and no attribute from it.
    """
    characters: list[str] = []
    marks = 0
    for char in unicodedata.normalize("NFC", text[: limit * _READ_FACTOR]):
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in MARKS else 0
        if char.isspace():
            characters.append(" ")
        elif kind not in HIDDEN and marks <= MOST_MARKS and not _is_invisible(char):
            characters.append(char)
    return " ".join("".join(characters).translate(_MARKUP).split())[:limit].rstrip()


def quoted(text: str, limit: int) -> str:
    """Return at most `limit` harmless characters in quotation marks, which they cannot end.

    Nothing is quoted if nothing is left.
    """
    printable = harmless(text, limit).translate(_NO_QUOTES)
    return f"“{printable}”" if printable else ""


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


_decoders: "dict[object, msgspec.json.Decoder[Any]]" = {}
"""One for each type that the code names. `msgspec.json.decode` builds one each time for any type
but a Struct."""


def decode(text: "bytes | msgspec.Raw", shape: type[T]) -> T:
    """Return JSON text as `shape`, strictly.

    Raises msgspec.ValidationError for another shape; msgspec.DecodeError, UnicodeDecodeError and
    RecursionError for other content.
    """
    decoder = _decoders.get(shape)
    if decoder is None:
        import msgspec  # the help of a command needs none

        decoder = _decoders[shape] = msgspec.json.Decoder(shape)
    decoded: T = decoder.decode(text)
    return decoded
