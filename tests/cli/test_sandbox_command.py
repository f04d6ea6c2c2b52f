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

import pytest

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.sandbox import ports
from quietswap.sandbox.ports import Ports, free_port
from quietswap.sandbox.stack import API_KEY, SandboxStack
from quietswap.service.server.settings import load
from tests import loopback
from tests.api_port import api_port
from tests.processes import children
from tests.waiting import LONG_S, WITHIN_S

SANDBOX = (sys.executable, "-m", "quietswap", "sandbox", "--free-ports", "--block-time", "0.5")
BARE = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}
"""What another terminal knows: nothing of this project."""


@contextmanager
def printing(*options: str) -> Iterator[str]:
    """Run a sandbox and yield what it printed when it was ready."""
    process = subprocess.Popen([*SANDBOX, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Ctrl-C"):
                break
        yield "".join(lines)
    finally:
        process.send_signal(signal.SIGTERM)
        process.stdout.close()
        assert process.wait(LONG_S) == 0


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
    with printing("--env-file", str(file)) as printed:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f"QUIETSWAP_API_KEY={API_KEY}\n" in file.read_text()
        done = shell(pasted(printed).replace("swap 1 WETH USDC", "balances"))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "WETH" in done.stdout
    with printing("--env-file", str(file)):  # its own file is written anew
        assert "QUIETSWAP_URL=" in file.read_text()


def test_a_file_of_somebody_else_is_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("SECRET=1\n")
    done = subprocess.run(
        [*SANDBOX, "--env-file", str(file)], capture_output=True, text=True, check=False
    )
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
    seen = []
    for _ in range(2):
        town = SandboxStack(Ports(None, stable=True))
        try:
            facts = await town.start()
            assert town.moved(facts) == []
            seen.append({**facts, "settingsFile": ""})
        finally:
            await town.stop()
    assert seen[0] == seen[1]
    assert seen[0]["rpcUrl"] == f"http://127.0.0.1:{usual['node']}"
    assert seen[0]["baseUrl"] == f"http://127.0.0.1:{ports.API}"
    assert seen[0]["apiKey"] == API_KEY


async def test_ports_in_use_are_left_to_their_owners_and_named(usual: dict[str, int]) -> None:
    with socket.create_server(("127.0.0.1", usual["node"])), socket.socket() as api:
        api.bind(("127.0.0.1", ports.API))
        api.listen()
        town = SandboxStack(Ports(None, stable=True))
        try:
            facts = await town.start()
            moved = town.moved(facts)
        finally:
            await town.stop()
    assert [line.split(":")[0] for line in moved] == [
        f"port {ports.API} is in use",
        f"port {usual['node']} is in use",
    ]
    assert facts["relayUrl"] == f"http://127.0.0.1:{usual['relay']}"


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
    ("part", "said"), [("anvil", "the chain (anvil) ended"), ("serve", "the service ended")]
)
def test_a_part_that_dies_ends_the_sandbox_in_words(part: str, said: str) -> None:
    with subprocess.Popen(
        [*SANDBOX, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            facts = json.loads(process.stdout.readline())
            assert "baseUrl" in facts, facts
            chain = part == "anvil"
            [victim] = [
                pid for pid, words in children(process.pid).items() if ("anvil" in words) == chain
            ]
            os.kill(victim, signal.SIGKILL)
            _, errors = process.communicate(timeout=LONG_S)
        finally:
            process.kill()
    assert process.returncode == 1
    assert f"Error: {said} with exit code -9" in errors
    assert "Traceback" not in errors


@pytest.mark.xdist_group("live-cli")
def test_its_service_is_as_patient_as_asked(town: SandboxInfo) -> None:
    settings = load(Path(town.settings_file), {"HOME": "/"})
    assert settings.relay.backup is not None
    limits = [settings.node.timeout_s, settings.relay.first.timeout_s]
    limits += [settings.relay.backup.timeout_s, settings.quotes.soft_deadline_s]
    limits += [settings.quotes.hard_deadline_s, *(s.timeout_s for s in settings.source.values())]
    assert set(limits) == {WITHIN_S}
    assert len(limits) == 5 + len(settings.source) > 8
