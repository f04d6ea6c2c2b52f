"""Output that cannot be written, with real processes: it must not hide what was signed."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quietswap.rules.orders.order import OrderStatus
from tests.cli.conftest import KEY
from tests.cli.test_swap_command import SWAP, approved
from tests.client.fake_chain import FakeChain
from tests.client.fake_servers import FakeServers, FakeService
from tests.client.test_polling import at
from tests.forked import Forked
from tests.waiting import LONG_S

__all__ = ["approved"]

Start = Callable[..., subprocess.Popen[str]]
Lose = Callable[..., tuple[int, str]]
SIGNING = pytest.mark.parametrize("words", [(*SWAP, "--yes"), ("wrap", "0.5", "--yes")])


@pytest.fixture
def variables(outside: FakeServers, tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "XDG_STATE_HOME": str(tmp_path),
        "QUIETSWAP_URL": outside.url,
        "QUIETSWAP_API_KEY": "qs_right",
        "QUIETSWAP_RPC_URL": outside.rpc_url,
        "QUIETSWAP_PRIVATE_KEY": KEY,
    }


@pytest.fixture
def start(variables: dict[str, str]) -> Start:
    def run(*words: str, script: str = 'exec "$@"', **options: Any) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["sh", "-c", script, "sh", sys.executable, "-m", "quietswap", *words],
            env=variables, text=True, **{"stderr": subprocess.PIPE, **options},
        )  # fmt: skip

    return run


@pytest.fixture
def lose(variables: dict[str, str], tmp_path: Path) -> Lose:
    """Run a command whose output is full, or both outputs; return its exit code and its errors."""

    def run(*words: str, both: bool = False) -> tuple[int, str]:
        errors = tmp_path / "errors"
        with Path("/dev/full").open("wb") as full, errors.open("wb") as kept:
            stderr = full if both else kept
            process = Forked(words, variables, stdout=full.fileno(), stderr=stderr.fileno())
            code = process.wait(LONG_S)
        return code, errors.read_text("utf-8")

    return run


def posted(service: FakeService) -> int:
    return len(service.bodies("order") + service.bodies("wrap order"))


@SIGNING
def test_a_quote_that_cannot_be_shown_is_not_signed(
    lose: Lose, service: FakeService, approved: FakeChain, words: tuple[str, ...]
) -> None:
    code, told = lose(*words)
    assert (code, posted(service)) == (1, 0), told
    assert "No space left on device" in told


@SIGNING
def test_a_result_that_cannot_be_written_is_in_the_exit_code(
    lose: Lose, service: FakeService, approved: FakeChain, words: tuple[str, ...]
) -> None:
    """Code 1 says that nothing was swapped: a program would repeat it."""
    code, told = lose(*words, "--json")
    assert (code, posted(service)) == (0, 1), told
    assert told.endswith("No space left on device; the exit code says how it ended\n")


@SIGNING
@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_a_failure_that_cannot_be_told_is_in_the_exit_code(
    lose: Lose, service: FakeService, approved: FakeChain, words: tuple[str, ...],
    mode: tuple[str, ...],
) -> None:  # fmt: skip
    code, _ = lose(*words, *mode, both=True)
    assert (code, posted(service)) == (1, 0)


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
def test_an_order_is_followed_without_a_reader(
    start: Start, service: FakeService, approved: FakeChain, errors: int
) -> None:
    service.next("status", *map(at, [OrderStatus.PENDING, OrderStatus.MINING]))
    process = start(*SWAP, "--yes", stdout=subprocess.PIPE, stderr=errors)
    assert process.stdout is not None
    assert any("submitted" in line for line in process.stdout)
    process.stdout.close()
    assert process.wait(LONG_S) == 0
    if process.stderr is not None:
        with process.stderr:
            assert "Broken pipe; the exit code says how it ended" in process.stderr.read()
    assert [each.path for each in service.asked][-1].endswith("ord_1"), "it asks until it knows"


@SIGNING
def test_nothing_begins_with_a_closed_output(
    start: Start, service: FakeService, approved: FakeChain, words: tuple[str, ...]
) -> None:
    process = start(*words, script='exec "$@" >&-')
    _, told = process.communicate(timeout=LONG_S)
    assert (process.returncode, service.asked) == (1, [])
    assert told == "Error: standard output is closed: redirect it, as in > /dev/null\n"


@pytest.mark.parametrize("mode", [(), ("--json",)])
def test_an_error_that_cannot_be_told_keeps_its_exit_code(
    lose: Lose, service: FakeService, mode: tuple[str, ...]
) -> None:
    code, _ = lose("price", "1", "WETH", "WETH2", *mode, both=True)
    assert code == 2
