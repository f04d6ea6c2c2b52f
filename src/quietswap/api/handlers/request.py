"""The input of every handler."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from quietswap.api.request_parsing.query_string import parse_query
from quietswap.contract.base import WireStruct, member_names
from quietswap.ports.clients import ApiKey
from quietswap.ports.stores import RateWindow

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuthenticatedRequest:
    """A request after the checks of API key, rate limit, method and body shape.

    `query` is the raw query string, `path_params` holds the decoded path parameters by name,
    `headers` those of the request, by lower-case name.
    """

    key: ApiKey
    query: bytes
    path_params: Mapping[str, str]
    body: Json
    headers: Mapping[bytes, bytes] = field(default_factory=dict)
    client_window: RateWindow | None = None
    """Requests of this minute of a client with such a limit."""

    def query_values(self, kind: type[WireStruct]) -> dict[str, str]:
        """Return the query by name; `kind` declares the names. Raises InvalidParameter."""
        return parse_query(self.query, member_names(kind))
