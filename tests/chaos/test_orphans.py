"""A server that is killed leaves no worker behind that would serve on with its old settings."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from quietswap.sandbox.ports import free_port
from tests.chaos.environment import Victim

_SETTINGS = """\
[server]
port = {port}
[storage]
url = "sqlite:///{folder}/quietswap.sqlite3"
[node]
urls = ["http://127.0.0.1:9"]
"""
_WITHIN_S = 60


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
async def test_a_worker_ends_when_its_server_is_killed(tmp_path: Path) -> None:
    port = free_port()
    settings = tmp_path / "quietswap.toml"
    settings.write_text(_SETTINGS.format(port=port, folder=tmp_path), "utf-8")
    victim = Victim(settings, port)
    await victim.launch()
    await _listening(port)
    workers = victim.workers
    assert workers
    for worker in workers:  # it can handle no signal: only one that needs no handler ends it
        os.kill(worker, signal.SIGSTOP)
    await victim.kill_server()
    for _ in range(_WITHIN_S * 20):
        if not any(map(_is_alive, workers)):
            break
        await asyncio.sleep(0.05)
    left = [worker for worker in workers if _is_alive(worker)]
    await victim.kill()
    assert left == []


async def _listening(port: int) -> None:
    until = time.monotonic() + _WITHIN_S
    while time.monotonic() < until:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return
    raise AssertionError("the service never listened")


def _is_alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text("ascii").rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"
