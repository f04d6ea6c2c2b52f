"""Clients and their API keys on both databases."""

from dataclasses import replace

import pytest

from quietswap.rules.clients import ApiKey, Client
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0

_CLIENT = Client("client-1", "a company", T0)
_KEY = ApiKey("key-1", "wallet team", T0, None, _CLIENT.id)


async def test_a_key_is_found_by_the_hash_of_its_secret(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"\x00hash", _CLIENT)
    assert await storage.keys.find(b"\x00hash") == _KEY
    assert await storage.keys.find(b"\x00has") is None


async def test_keys_are_listed_oldest_first(storage: Storage) -> None:
    young = ApiKey("a", "young", T0 + 5, None, _CLIENT.id)
    await storage.keys.add(young, b"2")
    await storage.keys.add(_KEY, b"1", _CLIENT)
    assert await storage.keys.list() == [_KEY, young]


async def test_a_key_is_revoked_once(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"1", _CLIENT)
    assert await storage.keys.revoke("key-1", T0 + 9)
    assert not await storage.keys.revoke("key-1", T0 + 10)
    assert not await storage.keys.revoke("key-2", T0 + 10)
    assert await storage.keys.find(b"1") == replace(_KEY, revoked_at_ms=T0 + 9)


async def test_a_client_is_found_by_id_or_by_name(storage: Storage) -> None:
    namesake = Client("client-2", _CLIENT.name, T0 + 5)
    await storage.clients.add(_CLIENT)
    await storage.clients.add(namesake)
    assert await storage.clients.list() == [_CLIENT, namesake]
    assert await storage.clients.find("client-2") == [namesake]
    assert await storage.clients.find(_CLIENT.name) == [_CLIENT, namesake]
    assert await storage.clients.find("client-3") == []


async def test_a_key_that_is_refused_leaves_no_client(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"1", _CLIENT)
    other = Client("client-2", "another", T0)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await storage.keys.add(replace(_KEY, id="key-2", client_id=other.id), b"1", other)
    assert await storage.clients.list() == [_CLIENT]
