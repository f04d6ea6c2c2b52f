"""Ports that the sandbox chooses, and that another process listens on a moment later."""

import socket
from pathlib import Path

import pytest

from quietswap.sandbox import ports

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_no_outgoing_connection_takes_a_chosen_port() -> None:
    first, last = map(int, OUTGOING.read_text().split()) if OUTGOING.exists() else (49_152, 65_535)
    if first < 32_000:
        pytest.skip("this machine gives nearly all ports to outgoing connections")
    assert not any(first <= ports.free_port() <= last for _ in range(50))


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr(ports, "_NEVER_OUTGOING", range(port, port + 1))
        with pytest.raises(OSError, match=f"no free port from {port} to {port}"):
            ports.free_port()
