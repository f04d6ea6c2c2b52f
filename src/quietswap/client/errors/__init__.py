"""Exceptions of the client: base, one per error code of the API, and those of the flows."""

from typing import TYPE_CHECKING

from quietswap.client.errors.api import *  # noqa: F403  each public name of the three modules
from quietswap.client.errors.base import *  # noqa: F403
from quietswap.client.errors.flow import *  # noqa: F403

if not TYPE_CHECKING:  # a type checker follows the three lines above
    __all__ = ["ERROR_CLASSES"] + [  # noqa: F405
        name
        for name, kind in dict(vars()).items()
        if isinstance(kind, type) and issubclass(kind, base.ClientError)  # noqa: F405
    ]
