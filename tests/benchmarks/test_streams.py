"""The clients of the benchmark's event streams."""

from pathlib import Path

from benchmarks.speed.streams import OWNERS, _owners
from quietswap.clients.credentials import hash_secret
from quietswap.clock import SystemClock
from tests.patient import open_storage


async def test_each_stream_has_a_key_of_its_client(tmp_path: Path) -> None:
    storage = await open_storage(f"sqlite:///{tmp_path / 'keys.sqlite3'}", clock=SystemClock())
    owners = await _owners(storage)
    for client_id, secret in owners:
        key = await storage.keys.find(hash_secret(secret))
        assert key is not None
        assert key.client_id == client_id
    await storage.close()
    assert len({client_id for client_id, _ in owners}) == OWNERS
