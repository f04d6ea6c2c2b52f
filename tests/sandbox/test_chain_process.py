"""The anvil process: search of the binary, start on a free port, and its end."""

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from quietswap.sandbox import npm
from quietswap.sandbox.chain.anvil import AnvilFailed
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from tests import loopback
from tests.waiting import WITHIN_S, eventually

PARENT = """
import asyncio
from quietswap.sandbox.chain.local_chain import running_chain

async def main():
    async with running_chain() as chain:
        print(chain.node.process.pid, flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def until_gone(pid: int) -> bool:
    async def gone() -> bool:
        return not is_running(pid)

    await eventually(gone)
    return True


async def test_two_run_side_by_side(chain: LocalChain) -> None:
    async with running_chain() as other:
        assert other.url != chain.url
        await other.mine()
        assert (await other.head())["number"] != (await chain.head())["number"]


async def test_no_web_page_of_another_origin_may_read_it(chain: LocalChain) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    async with loopback.AsyncClient(trust_env=False) as http:
        answer = await http.post(chain.url, json=call, headers={"Origin": "https://evil.example"})
    assert answer.json()["result"] == "0x1"
    assert "access-control-allow-origin" not in answer.headers


async def test_stopping_leaves_no_process_behind() -> None:
    async with running_chain() as chain:
        pid = chain.node.process.pid
        assert is_running(pid)
    assert not is_running(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
async def test_it_dies_with_a_parent_that_was_killed() -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    pid = int(await asyncio.wait_for(parent.stdout.readline(), WITHIN_S))
    assert is_running(pid)
    parent.send_signal(signal.SIGKILL)
    await parent.wait()
    assert await until_gone(pid)


async def test_a_taken_port_is_named_in_the_error(chain: LocalChain) -> None:
    with pytest.raises(AnvilFailed, match=str(chain.node.port)):
        async with running_chain(chain.node.port):
            pass


def test_without_a_binary_it_says_npm_ci(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(npm, "_HERE", tmp_path / "src" / "quietswap" / "sandbox" / "npm.py")
    monkeypatch.setattr(npm, "install_folder", lambda: tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("QUIETSWAP_PROJECT_ROOT", raising=False)
    monkeypatch.delenv("QUIETSWAP_ANVIL", raising=False)
    with pytest.raises(npm.MissingPackage, match="sandbox --install") as caught:
        npm.find_anvil()
    assert "\n" not in str(caught.value)
    with pytest.raises(npm.MissingPackage, match="sandbox --install"):
        npm.read_artifact("canonical-weth/build/contracts/WETH9.json")


def test_the_environment_names_the_binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary = tmp_path / "anvil"
    binary.touch(mode=0o755)
    monkeypatch.setenv("QUIETSWAP_ANVIL", str(binary))
    assert npm.find_anvil() == str(binary)
    binary.chmod(0o644)
    with pytest.raises(npm.MissingPackage, match="QUIETSWAP_ANVIL"):
        npm.find_anvil()


def test_a_binary_on_the_path_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "anvil").touch(mode=0o755)
    monkeypatch.setattr(npm, "_roots", lambda: iter(()))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("QUIETSWAP_ANVIL", raising=False)
    assert npm.find_anvil() == str(tmp_path / "anvil")
