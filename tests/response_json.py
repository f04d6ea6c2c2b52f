"""The response functions of the API, with their Structs as plain JSON that a test can change."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from quietswap.api.responses import cancels as _cancels
from quietswap.api.responses import orders as _orders
from quietswap.api.responses import prices as _prices
from quietswap.api.responses import quotes as _quotes
from quietswap.api.responses import tokens as _tokens
from quietswap.api.responses import wraps as _wraps


def as_json(value: Any) -> Any:
    """Return a Struct as plain JSON."""
    return msgspec.json.decode(msgspec.json.encode(value))


class _JsonOf:
    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        response = getattr(self._module, name)

        def as_json(*values: Any) -> dict[str, Any]:
            data: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(response(*values)))
            return data

        return as_json


cancels, orders, quotes, wraps = map(_JsonOf, (_cancels, _orders, _quotes, _wraps))
prices, tokens = map(_JsonOf, (_prices, _tokens))
