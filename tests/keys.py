"""New API keys, stored as `quietswap keys create` stores them, without a process for each."""

import asyncio
import tempfile
from collections.abc import Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from quietswap.service.base.clock import SystemClock
from quietswap.service.clients import credentials
from quietswap.service.server.settings import load
from quietswap.service.storage.database_urls import missing_file
from tests.patient import open_storage

T = TypeVar("T")


def new_key(variables: Mapping[str, str], name: str = "default") -> str:
    """Return a new key for the service that starts with these variables."""
    file = variables.get("QUIETSWAP_SETTINGS")
    return issue_key(load(Path(file) if file else None, variables).storage.url, name)


def issue_key(url: str, name: str = "default") -> str:
    """Write a new key and its client into the database, and return the secret.

    A SQLite file that does not exist yet gets the schema.
    """
    if file := missing_file(url):
        file.write_bytes(_new_database())
    return _run(_added(url, name))


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, also within a test that runs an event loop itself."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


async def _added(url: str, name: str) -> str:
    clock = SystemClock()
    storage = await open_storage(url, clock=clock)
    try:
        client = credentials.new_client(name, clock.now_ms())
        key, secret = credentials.new_key(client.id, client.name, client.created_at_ms)
        await storage.keys.add(key, credentials.hash_secret(secret), client)
    finally:
        await storage.close()
    return secret


@cache
def _new_database() -> bytes:
    """Return a SQLite file with the schema. All migrations take 0.05 s of CPU."""

    async def migrate(file: Path) -> None:
        await (await open_storage(f"sqlite:///{file}", clock=SystemClock())).close()

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "new.sqlite3"
        _run(migrate(file))
        return file.read_bytes()
