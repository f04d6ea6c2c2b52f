"""The client and the server that the tests of adapters use."""

from tests.adapters.conftest import http, upstream

__all__ = ["http", "upstream"]
