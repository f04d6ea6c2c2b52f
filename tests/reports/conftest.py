"""The client and the server that the reports about vendors use."""

from tests.adapters.conftest import http, upstream

__all__ = ["http", "upstream"]
