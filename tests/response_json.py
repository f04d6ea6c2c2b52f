"""The response functions of the API, with their Structs as plain JSON that a test can change."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import msgspec

from quietswap.service.orders import http as orders_http
from quietswap.service.quoting import http as quoting_http
from quietswap.service.tokens import http as tokens_http


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


cancels, orders, quotes, wraps = map(_JsonOf, (orders_http, orders_http, quoting_http, orders_http))
prices, tokens = map(_JsonOf, (quoting_http, tokens_http))
