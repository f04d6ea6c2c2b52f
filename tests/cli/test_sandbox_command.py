"""`quietswap sandbox` as a newcomer uses it: what is printed is pasted, and works."""

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.cli.output.sandbox_text import write_env_file
from quietswap.sandbox import ports
from quietswap.sandbox.ports import Ports, free_port
from quietswap.sandbox.stack import API_KEY, SandboxStack
from quietswap.service.server.settings import load
from tests import forked, loopback
from tests.api_port import api_port
from tests.cli.sandbox_process import Piped
from tests.waiting import LONG_S, WITHIN_S

SANDBOX = ("sandbox", "--free-ports", "--block-time", "0.5")
BARE = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
"""What another terminal knows: nothing of this project."""
_URLS = ("baseUrl", "apiKey", "rpcUrl", "walletRpcUrl", "settingsFile", "controlUrl")
BEFORE = dict.fromkeys(_URLS, "before") | {"wallets": [{"privateKey": "before"}]}
"""Facts of a sandbox that has ended."""


@contextmanager
def printing(*options: str) -> Iterator[str]:
    """Run a sandbox and yield what it printed when it was ready."""
    with Piped([*SANDBOX, *options], os.environ) as process:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        yield "".join(lines)
        process.terminate()
        process.communicate(LONG_S)
    assert process.returncode == 0


def pasted(printed: str) -> str:
    """Return the lines below the hint, as somebody would select them."""
    return printed.partition("Paste into another terminal:\n")[2].partition("\n\n")[0]


def shell(script: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["/bin/sh", "-ec", script], env=BARE, input="y\n", cwd="/",
        capture_output=True, text=True, timeout=LONG_S, check=False,
    )  # fmt: skip


def test_the_printed_lines_work_and_each_wallet_holds_ether() -> None:
    with printing() as printed:
        script = pasted(printed)
        assert script.strip().splitlines()[-1].strip() == "quietswap swap 1 WETH USDC"
        done = shell(script + " --yes")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "confirmed" in done.stdout
        assert shell(script.replace("swap 1 WETH USDC", "orders list")).returncode == 0
        wallets = re.findall(r"^ {4}(0x[0-9a-fA-F]{40}) {2}(0x[0-9a-f]{64})$", printed, re.M)
        node = re.search(r"node +(http://\S+)", printed)
        assert len(wallets) == 8
        assert node is not None
        for address, _ in wallets:
            ask = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBalance", "params": [address]}
            ask["params"] = [address, "latest"]
            assert int(loopback.post(node[1], json=ask).json()["result"], 16) > 10**20


def test_the_environment_can_be_had_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sandbox env"
    write_env_file(file, BEFORE)  # its own file is written anew
    with printing("--env-file", str(file)) as printed:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f"QUIETSWAP_API_KEY={API_KEY}\n" in file.read_text()
        assert "before" not in file.read_text()
        done = shell(pasted(printed).replace("swap 1 WETH USDC", "balances"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "WETH" in done.stdout


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("SECRET=1\n")
    done = forked.run([*SANDBOX, "--env-file", str(file)], os.environ)
    assert done.returncode == 2
    assert "was not written by the sandbox" in done.stderr
    assert file.read_text() == "SECRET=1\n"


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Put the usual ports where no other test is."""
    parts = {name: free_port() for name in ports.PARTS}
    monkeypatch.setattr(ports, "PARTS", parts)
    monkeypatch.setattr(ports, "API", api_port())
    return parts


async def test_ports_and_key_are_the_same_at_every_start(usual: dict[str, int]) -> None:
    """Ports that are in use are left to their owners and named."""
    first, moved = await _started()
    assert moved == []
    assert first["rpcUrl"] == f"http://127.0.0.1:{usual['node']}"
    assert first["baseUrl"] == f"http://127.0.0.1:{ports.API}"
    assert first["apiKey"] == API_KEY
    with (
        socket.create_server(("127.0.0.1", usual["node"])),
        socket.create_server(("127.0.0.1", ports.API)),
    ):
        second, moved = await _started()
    assert [line.split(":")[0] for line in moved] == [
        f"port {ports.API} is in use",
        f"port {usual['node']} is in use",
    ]
    differing = {name for name, fact in first.items() if second[name] != fact}
    assert differing == {"baseUrl", "rpcUrl", "walletRpcUrl", "operatorUrl", "settingsFile"}
    assert second["relayUrl"] == f"http://127.0.0.1:{usual['relay']}"


async def _started() -> tuple[dict[str, Any], list[str]]:
    """Return what a sandbox on the usual ports tells, and which ports were in use."""
    town = SandboxStack(Ports(None, stable=True))
    try:
        facts = await town.start()
        return facts, town.moved(facts)
    finally:
        await town.stop()


def test_a_key_made_elsewhere_is_stored_once(tmp_path: Path) -> None:
    def create(secret: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "quietswap", "keys", "create", "--secret-stdin", "--json"],
            input=secret, capture_output=True, text=True, check=False, cwd=tmp_path,
        )  # fmt: skip

    secret = "qs_" + "0f" * 32
    assert json.loads(create(secret + "\n").stdout)["key"] == secret
    again = create(secret)
    assert again.returncode == 1
    assert "this key is stored already, as key_" in again.stderr
    wrong = create("hunter2")
    assert wrong.returncode == 2
    assert "hunter2" not in wrong.stderr
    assert "64 lower-case hexadecimal digits" in wrong.stderr


@pytest.mark.parametrize(
    ("part", "said"),
    [("rpcUrl", "the chain (anvil) ended"), ("baseUrl", "the service ended")],
)
def test_a_part_that_dies_ends_the_sandbox_in_words(part: str, said: str) -> None:
    with Piped([*SANDBOX, "--json"], os.environ) as process:
        facts = json.loads(process.stdout.readline())
        chain = part == "rpcUrl"
        [victim] = [
            child.pid for child in psutil.Process(process.pid).children()
            if (child.name() == "anvil") == chain and (chain or _listens(child, facts[part]))
        ]  # fmt: skip
        os.kill(victim, signal.SIGKILL)
        _, errors = process.communicate(LONG_S)
    assert process.returncode == 1
    assert f"Error: {said} with exit code -9" in errors
    assert "Traceback" not in errors


def _listens(process: psutil.Process, url: str) -> bool:
    """Return whether a process or its worker serves a URL."""
    port = int(url.rpartition(":")[2])
    tree = (process, *process.children(recursive=True))
    opened = [one for each in tree for one in each.net_connections() if not one.raddr]
    return any(one.laddr.port == port for one in opened)


@pytest.mark.xdist_group("live-cli")
def test_its_service_is_as_patient_as_asked(town: SandboxInfo) -> None:
    settings = load(Path(town.settings_file), {"HOME": "/"})
    assert settings.relay.backup is not None
    limits = [settings.node.timeout_s, settings.relay.first.timeout_s]
    limits += [settings.relay.backup.timeout_s, settings.quotes.soft_deadline_s]
    limits += [settings.quotes.hard_deadline_s, *(s.timeout_s for s in settings.source.values())]
    assert set(limits) == {WITHIN_S}
    assert len(limits) == 5 + len(settings.source) > 8
