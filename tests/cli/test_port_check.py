"""A service does not share its port with another one in silence."""

import contextlib
import json
import os
import resource
import socket
import threading
from collections.abc import Iterator

import click
import pytest

from quietswap.service.server import free_port
from quietswap.service.server.free_port import wait_for_free_port
from tests.cli.conftest import Quietswap


@contextlib.contextmanager
def shared() -> Iterator[socket.socket]:
    """A listener that shares its port, as the service's workers do."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other


def test_a_second_service_on_the_port_is_refused(
    quietswap: Quietswap, environment: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(free_port, "_PATIENCE_S", 0.0)
    environment["QUIETSWAP_NODE__URLS"] = "http://127.0.0.1:9"
    with shared() as other:
        port = other.getsockname()[1]
        result = quietswap("serve", "--port", str(port))
    assert result.exit_code == 1
    logged = json.loads(result.stderr.splitlines()[-1])  # the log is JSON, its last line, too
    assert logged["event"] == "start_failed"
    taken = f"server.port {port} cannot be listened on: Address already in use by process"
    assert f"{taken} {os.getpid()} (" in logged["message"]


def test_settings_that_cannot_be_used_end_the_log_as_json(
    quietswap: Quietswap, environment: dict[str, str | None]
) -> None:
    """The fatal line that an operator meets first: a collector reads it as the others."""
    environment["QUIETSWAP_SERVER__PROT"] = "1"
    result = quietswap("serve")
    logged = json.loads(result.stderr)
    assert (result.exit_code, logged["event"]) == (2, "start_failed")
    assert logged["message"].startswith("quietswap cannot start: the settings cannot be used: ")
    assert "there is no setting prot" in logged["message"]
    plain = quietswap("serve", "--check")
    assert (plain.exit_code, "there is no setting prot" in plain.stderr) == (2, True)
    assert plain.stderr.startswith("Usage: ")


def test_a_check_names_the_process_on_the_port(
    quietswap: Quietswap, environment: dict[str, str | None]
) -> None:
    """It may be the service that runs already, so it is no fault."""
    environment["QUIETSWAP_NODE__URLS"] = "http://127.0.0.1:9"
    with shared() as other:
        port = other.getsockname()[1]
        result = quietswap("serve", "--check", "--json", "--port", str(port))
        plain = quietswap("serve", "--check", "--port", str(port))
    assert result.exit_code == 0
    [warning] = json.loads(result.stdout)["warnings"]
    assert f"Address already in use by process {os.getpid()} (" in warning
    first, *_, last = plain.stdout.splitlines()
    assert first.startswith("the settings have no fault, but a warning below: http on ")
    assert (plain.exit_code, last) == (0, f"warning: {warning}")
    assert "good" not in plain.stdout


def test_a_process_that_may_open_few_files_does_not_start(
    quietswap: Quietswap, environment: dict[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment["QUIETSWAP_NODE__URLS"] = "http://127.0.0.1:9"
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    result = quietswap("serve", "--check")
    assert result.exit_code == 2
    assert "may open 64 files" in result.stderr


def test_a_sandbox_beside_a_service_on_the_port_is_refused_at_once(quietswap: Quietswap) -> None:
    with shared() as other:
        port = other.getsockname()[1]
        result = quietswap("sandbox", "--port", str(port), "--json")
    assert result.exit_code == 1
    assert f"port {port} cannot be listened on: Address already in use" in result.stderr
    assert json.loads(result.stdout)["ok"] is False


def test_the_last_requests_of_a_killed_service_are_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with shared() as other:
        port = other.getsockname()[1]
        leaving = threading.Timer(0.2, other.close)
        leaving.start()
        wait_for_free_port("127.0.0.1", port, 20)
        leaving.join()
    assert f"port {port} is in use: waiting 20 s for it" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["192.0.2.1", "nowhere.invalid"])
def test_an_address_of_another_machine_is_refused_at_once(host: str) -> None:
    with pytest.raises(click.ClickException, match=f"server.host {host}"):
        wait_for_free_port(host, 8080, 20)


def test_a_free_port_is_taken_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    with shared() as other:
        port = other.getsockname()[1]
    wait_for_free_port("127.0.0.1", port)
    assert not capsys.readouterr().err
