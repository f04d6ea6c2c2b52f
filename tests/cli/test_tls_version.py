"""The server's minimum TLS version is given to granian, not left to its default."""

from pathlib import Path
from typing import Any

import pytest
from granian.constants import SSLProtocols
from granian.server import MPServer

from quietswap.service.server import process as server_process
from quietswap.service.settings import Settings


def test_the_first_start_names_tls_1_3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(MPServer, "__init__", lambda self, *args, **options: given.update(options))
    server_process._Reloading(Settings(), tmp_path / "settings.toml", {})
    assert given["ssl_protocol_min"] is SSLProtocols.tls13


def test_a_reload_names_tls_1_3(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(MPServer, "build_ssl_context", lambda self, *args: given.extend(args))
    server = server_process._Reloading(Settings(), None, {})
    given.clear()  # those of the first start
    server._use(Settings())
    assert SSLProtocols.tls13 in given
