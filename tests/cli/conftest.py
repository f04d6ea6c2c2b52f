"""The command line over a fake service and node, with nothing of this machine's environment."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from quietswap.cli.demo_sandbox import SandboxInfo
from tests.cli.operator_commands import Run
from tests.client.conftest import node, outside, service
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_servers import FakeServers
from tests.e2e.conftest import running_town
from tests.keys import new_key

__all__ = ["node", "outside", "service"]

Quietswap = Callable[..., Result]
KEY = "0x" + bytes(ACCOUNT.key).hex()


@pytest.fixture(autouse=True)
def signals_as_before() -> Iterator[None]:
    """An interrupted command ignores them from then on, as its process ends."""
    before = {name: signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for name, handler in before.items():
        signal.signal(name, handler)


@pytest.fixture
def environment(outside: FakeServers, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
    """The client's environment; a test may change it before it runs a command."""
    monkeypatch.delenv("COLUMNS", raising=False)
    return {
        "QUIETSWAP_URL": outside.url,
        "QUIETSWAP_API_KEY": "qs_right",
        "QUIETSWAP_RPC_URL": outside.rpc_url,
        "QUIETSWAP_PRIVATE_KEY": KEY,
        "QUIETSWAP_KEYSTORE": None,
        "QUIETSWAP_KEYSTORE_PASSWORD": None,
        "NO_COLOR": None,
    }


@pytest.fixture
def quietswap(environment: dict[str, str | None]) -> Quietswap:
    def run(*words: str, **options: Any) -> Result:
        return CliRunner().invoke(command, words, env=environment, **options)

    return run


@pytest.fixture(scope="package")
def sandbox() -> Iterator[SandboxInfo]:
    """A live sandbox: one per test process, started when it is first needed."""
    with running_town("--block-time", "0.5") as running:
        yield msgspec.convert(running.facts, SandboxInfo)


@pytest.fixture
def town(sandbox: SandboxInfo) -> SandboxInfo:
    """The sandbox with a client of its own for each test.

    On a fast machine tests that share one use up its requests of a minute.
    """
    key = new_key({"QUIETSWAP_SETTINGS": sandbox.settings_file})
    return msgspec.structs.replace(sandbox, api_key=key)


@pytest.fixture
def operate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command of an operator on a database of its own."""
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path / 'own.db'}")
    monkeypatch.delenv("QUIETSWAP_SETTINGS", raising=False)

    def run(*words: str, code: int = 0) -> Result:
        done = CliRunner().invoke(command, words)
        assert done.exit_code == code, done.output
        return done

    return run
