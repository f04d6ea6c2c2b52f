"""Ports that the sandbox chooses, and that another process listens on a moment later."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from quietswap.sandbox import ports
from quietswap.sandbox.http_server import HttpRequest, HttpResponse, HttpServer
from quietswap.sandbox.stack import ServiceProcess
from tests.api_port import api_port

STARTING = '"event":"service_starting"'
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


def test_a_port_is_chosen_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens on it yet, in this process or in another."""
    port = ports.free_port()
    monkeypatch.setattr(ports, "_NEVER_OUTGOING", range(port, port + 1))
    with pytest.raises(OSError, match=f"no free port from {port} to {port}"):
        ports.free_port()
    ask = f"from quietswap.sandbox import ports; print(ports._claim({port}))"
    other = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True)
    assert other.stdout == "None\n"


def test_a_claim_ends_with_the_64_next_choices() -> None:
    port = ports.free_port()
    assert ports._claim(port) is None
    for _ in range(64):
        ports.free_port()
    claim = ports._claim(port)
    assert claim is not None
    claim.close()


def test_two_sandboxes_never_choose_the_same_usual_port(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the choice and the service's listening nothing but the claim is in the way."""
    monkeypatch.setattr(ports, "API", api_port())
    with ports.Ports(None).choose_api() as first, ports.Ports(None).choose_api() as second:
        assert first == ports.API
        assert second != ports.API
    with ports.Ports(None).choose_api() as after:
        assert after == ports.API


async def test_a_service_is_not_taken_for_the_one_before_it_on_its_port(tmp_path: Path) -> None:
    """While it waits for its port, the health check reaches another process."""
    log = tmp_path / "service.log"
    seen = []

    async def answer(_: HttpRequest) -> HttpResponse:
        seen.append(STARTING in log.read_text())
        return HttpResponse()

    waiting = f"import time; time.sleep(0.3); print('{STARTING}', flush=True); time.sleep(600)"
    other = HttpServer(answer)
    await other.start()
    service = ServiceProcess(tmp_path / "toml", other.port, (sys.executable, "-c", waiting))
    try:
        await service.start()
    finally:
        await service.stop()
        await other.stop()
    assert seen == [True]
