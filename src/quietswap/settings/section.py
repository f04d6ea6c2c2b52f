"""The base of all tables of the settings file."""

from typing import Any

import msgspec
from msgspec import Meta


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the settings file. Unknown names are refused."""


def says(text: str, **bounds: Any) -> Meta:
    """Return the description of a setting and the limits of its value."""
    return Meta(description=text, **bounds)
