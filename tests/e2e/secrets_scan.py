"""Looking for secrets in a text, in every form a careless line could give them."""

import re
from collections.abc import Iterator, Mapping, Sequence

_PIECE = 32
"""Hexadecimal digits: sixteen bytes in a row are not there by chance."""
_NOTHING = {"0" * _PIECE, "f" * _PIECE}


def leaks(text: str, secrets: Mapping[str, str], raws: Sequence[str]) -> list[str]:
    """Return the names of what was found: `secrets` by name, `raws` are transactions in hex.

    A transaction is looked for in pieces of sixteen bytes, its signature included, and as Python
    writes bytes. Addresses in the text are set aside: those of contracts are in the calldata, too.
    """
    lower = text.lower()
    found = [name for name, secret in secrets.items() if secret.lower() in lower]
    written = set(_pieces(re.sub(r"\b0x[0-9a-f]{40}\b", "", lower)))
    for place, raw in enumerate(raws):
        if written & (set(_pieces(raw.lower())) - _NOTHING):
            found.append(f"transaction {place}")
        first = bytes.fromhex(raw.removeprefix("0x"))[:8]
        if repr(first)[2:-1] in text:
            found.append(f"the bytes of transaction {place}")
    return found


def _pieces(text: str) -> Iterator[str]:
    for run in re.findall(rf"[0-9a-f]{{{_PIECE},}}", text):
        for start in range(len(run) - _PIECE + 1):
            yield run[start : start + _PIECE]
