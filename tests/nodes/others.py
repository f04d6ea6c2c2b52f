"""Nodes without eth_simulateV1, with the state of the sandbox: hardhat and ethereumjs."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from quietswap.sandbox.chain.genesis import Alloc, genesis
from quietswap.sandbox.ports import free_port
from tests import loopback
from tests.waiting import WITHIN_S, wait_until

MODULES = Path(__file__).parent / "node_modules"
needs_node_packages = pytest.mark.skipif(
    not (MODULES / ".installed").exists(),
    reason="the packages of tests/nodes are not installed: `make nodes` does that",
)
_HARDHAT = """module.exports = {networks: {hardhat: {chainId: 1, hardfork: "osaka",
  blockGasLimit: 60000000, initialBaseFeePerGas: 1000000000}}};
"""


@dataclass(frozen=True)
class OtherNode:
    """A running node; `name` with its version."""

    name: str
    url: str


def version(package: str) -> str:
    text = (MODULES / package / "package.json").read_text("utf-8")
    return str(json.loads(text)["version"])


@contextmanager
def hardhat(alloc: Alloc, _: int, folder: Path) -> Iterator[OtherNode]:
    (folder / "hardhat.config.cjs").write_text(_HARDHAT, "utf-8")
    (folder / "package.json").write_text("{}", "utf-8")
    (folder / "node_modules").symlink_to(MODULES)
    port = free_port()
    program = MODULES / "hardhat" / "internal" / "cli" / "bootstrap.js"
    words = ["--config", "hardhat.config.cjs", "node", "--hostname", "127.0.0.1", "--port", port]
    with _running([str(program), *map(str, words)], folder, port) as url:
        for address, account in alloc.items():
            _call(url, "hardhat_setBalance", address, account["balance"])
            if account["code"] not in {"", "0x"}:
                _call(url, "hardhat_setCode", address, account["code"])
            for slot, word in account.get("storage", {}).items():
                _call(url, "hardhat_setStorageAt", address, _quantity(slot), word)
        _call(url, "hardhat_mine")
        yield OtherNode(f"hardhat {version('hardhat')}", url)


@contextmanager
def ethereumjs(alloc: Alloc, time: int, folder: Path) -> Iterator[OtherNode]:
    file = folder / "genesis.json"
    file.write_text(json.dumps(_until_prague(genesis(alloc, time))), "utf-8")
    port = free_port()
    program = MODULES / "@ethereumjs" / "client" / "dist" / "esm" / "bin" / "cli.js"
    words = [
        "--gethGenesis", file, "--dataDir", folder / "data", "--rpc", "--rpcPort", port,
        "--rpcAddr", "127.0.0.1", "--port", free_port(), "--discV4", "false",
        "--discDns", "false", "--maxPeers", "0", "--isSingleNode",
    ]  # fmt: skip
    with _running([str(program), *map(str, words)], folder, port) as url:
        yield OtherNode(f"ethereumjs {version('@ethereumjs/client')}", url)


def _until_prague(whole: dict[str, Any]) -> dict[str, Any]:
    """Return a genesis without the rules that ethereumjs does not know."""
    config = dict(whole["config"])
    blobs = config.pop("blobSchedule")
    for name in ("osakaTime", "bpo1Time", "bpo2Time"):
        config.pop(name)
    known = {name: blobs[name] for name in ("cancun", "prague")}
    return whole | {"config": config | {"blobSchedule": known}}


@contextmanager
def _running(words: list[str], folder: Path, port: int) -> Iterator[str]:
    """Run a program of Node until it answers at `port`; end it after the `with` block."""
    log, url = folder / "node.log", f"http://127.0.0.1:{port}"
    with log.open("wb") as written:
        process = subprocess.Popen(["node", *words], cwd=folder, stdout=written, stderr=written)
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text("utf-8")[-2000:]
            try:
                return bool(_call(url, "eth_chainId") == "0x1")
            except httpx.TransportError:
                return False

        wait_until(answers, lambda: log.read_text("utf-8")[-2000:], every_s=0.2)
        yield url
    finally:
        process.terminate()
        process.wait(WITHIN_S)


def _call(url: str, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = loopback.post(url, json=body, timeout=WITHIN_S).json()
    assert "error" not in answer, answer
    return answer["result"]


def _quantity(word: str) -> str:
    return hex(int(word, 16))
