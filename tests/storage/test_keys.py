"""API keys on both databases."""

from dataclasses import replace

from quietswap.ports.stores import ApiKey
from quietswap.storage.open import Storage
from tests.storage.examples import T0

_KEY = ApiKey("key-1", "wallet team", T0, None)


async def test_a_key_is_found_by_the_hash_of_its_secret(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"\x00hash")
    assert await storage.keys.find(b"\x00hash") == _KEY
    assert await storage.keys.find(b"\x00has") is None


async def test_keys_are_listed_oldest_first(storage: Storage) -> None:
    young = ApiKey("a", "young", T0 + 5, None)
    await storage.keys.add(young, b"2")
    await storage.keys.add(_KEY, b"1")
    assert await storage.keys.list() == [_KEY, young]


async def test_a_key_is_revoked_once(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"1")
    assert await storage.keys.revoke("key-1", T0 + 9)
    assert not await storage.keys.revoke("key-1", T0 + 10)
    assert not await storage.keys.revoke("key-2", T0 + 10)
    assert await storage.keys.find(b"1") == replace(_KEY, revoked_at_ms=T0 + 9)
