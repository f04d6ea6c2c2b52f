"""The command line over a fake service and node, with nothing of this machine's environment."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from quietswap.cli.demo_sandbox import Town, running_sandbox
from tests.client.conftest import node, outside, service
from tests.client.fake_chain import ACCOUNT
from tests.client.fake_outside import Outside

__all__ = ["node", "outside", "service"]

Quietswap = Callable[..., Result]
KEY = "0x" + bytes(ACCOUNT.key).hex()


@pytest.fixture
def environment(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> dict[str, str | None]:
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


@pytest.fixture(scope="session")
def town() -> Iterator[Town]:
    """A live sandbox: one per test process, started when it is first needed."""
    before = signal.getsignal(signal.SIGTERM)
    with running_sandbox(0.5) as running:
        signal.signal(signal.SIGTERM, before)
        yield running
