"""An answer on its way out."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

JSON = b"application/json"
HTML = b"text/html; charset=utf-8"

HeaderList = tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """A status, a finished body and headers beyond those every answer carries."""

    status: int
    body: bytes
    content_type: bytes = JSON
    headers: HeaderList = ()


Page = Callable[[], Awaitable[Reply]]
"""A page anyone may read: it takes nothing and never raises."""
