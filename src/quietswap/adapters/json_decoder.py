"""Decoding of JSON as a type."""

from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_decoders: dict[object, msgspec.json.Decoder[Any]] = {}
"""One for each type that the code names. `msgspec.json.decode` builds one each time for any type
but a Struct."""


def decode(text: bytes | msgspec.Raw, shape: type[T]) -> T:
    """Return JSON text as `shape`, strictly.

    Raises msgspec.ValidationError for another shape; msgspec.DecodeError, UnicodeDecodeError and
    RecursionError for other content.
    """
    decoder = _decoders.get(shape)
    if decoder is None:
        decoder = _decoders[shape] = msgspec.json.Decoder(shape)
    found: T = decoder.decode(text)
    return found
