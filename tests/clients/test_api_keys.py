"""Keys: expiry, disabled clients, rotation, and the last use, which no request waits for."""

from collections.abc import AsyncIterator

import pytest

from quietswap.rules.clients import ApiKey, AuditEntry, Client, KeyScope
from quietswap.rules.errors.base import Unauthorized
from quietswap.rules.orders.stores import StoreUnavailable
from quietswap.service.clients import credentials
from quietswap.service.clients.credentials import LASTS_MS, hash_secret, new_client, new_key
from quietswap.service.clients.keys import Authenticate
from quietswap.service.storage.factory import Storage
from tests.manual_clock import ManualClock
from tests.patient import open_storage
from tests.stored_orders import NOW_MS

HOUR_MS = 3_600_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW_MS // 1000)


@pytest.fixture
async def storage(clock: ManualClock) -> AsyncIterator[Storage]:
    storage = await open_storage("sqlite:///:memory:", clock=clock)
    yield storage
    await storage.close()


async def a_key(
    storage: Storage, client: Client | None = None, expires_at_ms: int | None = None
) -> tuple[ApiKey, str]:
    """Store a key, of a new client if there is none yet; return it and its secret."""
    owner = client or new_client("a company", NOW_MS)
    key, secret = new_key(owner.id, "bot", NOW_MS, KeyScope.TRADE, expires_at_ms)
    await storage.keys.add(key, hash_secret(secret), None if client else owner)
    return key, secret


def an_entry(event: str) -> AuditEntry:
    return AuditEntry(f"aud_{event}", NOW_MS, {"user": "root"}, event, {})


async def reason(authenticate: Authenticate, secret: str) -> str:
    with pytest.raises(Unauthorized) as refused:
        await authenticate(secret)
    assert refused.value.details is not None
    return str(refused.value.details["reason"])


async def test_a_key_works_until_the_moment_it_expires_even_from_the_cache(
    storage: Storage, clock: ManualClock
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    key, secret = await a_key(storage, expires_at_ms=NOW_MS + 700)
    assert await authenticate(secret) == key
    clock.advance(0.5)
    assert await authenticate(secret) == key
    clock.advance(0.2)
    assert LASTS_MS > 700, "the key is in the cache"
    assert await reason(authenticate, secret) == "EXPIRED"


async def test_the_keys_of_a_disabled_client_stop_within_a_second_and_work_again(
    storage: Storage, clock: ManualClock
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    key, secret = await a_key(storage)
    assert await authenticate(secret) == key
    assert await storage.clients.switch(key.client_id, NOW_MS, an_entry("client_disabled"))
    assert not await storage.clients.switch(key.client_id, NOW_MS, an_entry("twice"))
    clock.advance(LASTS_MS / 1000)
    assert await reason(authenticate, secret) == "CLIENT_DISABLED"
    assert await storage.clients.switch(key.client_id, None, an_entry("client_enabled"))
    assert await authenticate(secret) == key
    events = [entry.event for entry in await storage.audit.list(0, 10)]
    assert events == ["client_disabled", "client_enabled"]


async def test_a_rotated_key_ends_after_the_overlap_and_the_owner_stays(
    storage: Storage, clock: ManualClock
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    old, old_secret = await a_key(storage)
    new, new_secret = new_key(old.client_id, old.name, NOW_MS)
    ends = NOW_MS + HOUR_MS
    digest = hash_secret(new_secret)
    assert await storage.keys.rotate(new, digest, old.id, ends, an_entry("key_rotated"))
    for secret, key in ((old_secret, old), (new_secret, new)):
        found = await authenticate(secret)
        assert found is not None
        assert (found.id, found.client_id) == (key.id, old.client_id)
    clock.advance(HOUR_MS / 1000)
    assert await reason(authenticate, old_secret) == "EXPIRED"
    assert await authenticate(new_secret) is not None


async def test_a_rotation_never_lengthens_a_key_and_leaves_a_revoked_one_alone(
    storage: Storage, clock: ManualClock
) -> None:
    old, old_secret = await a_key(storage, expires_at_ms=NOW_MS + 10)
    new, secret = new_key(old.client_id, "next", NOW_MS)
    entry = an_entry("key_rotated")
    assert await storage.keys.rotate(new, hash_secret(secret), old.id, NOW_MS + HOUR_MS, entry)
    found = await storage.keys.find(hash_secret(old_secret))
    assert found is not None
    assert found.expires_at_ms == NOW_MS + 10
    assert await storage.keys.revoke(old.id, NOW_MS)
    third, secret = new_key(old.client_id, "third", NOW_MS)
    assert not await storage.keys.rotate(third, hash_secret(secret), old.id, NOW_MS, entry)
    assert await storage.keys.find(hash_secret(secret)) is None
    assert len(await storage.audit.list(0, 10)) == 1


async def test_the_last_use_is_stored_later_and_never_goes_back(
    storage: Storage, clock: ManualClock
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    key, secret = await a_key(storage)
    await a_key(storage)
    await authenticate(secret)
    clock.advance(5)
    await authenticate(secret)
    assert [one.last_used_at_ms for one in await storage.keys.list()] == [None, None]
    await authenticate.store_uses()
    await storage.keys.used({key.id: NOW_MS})
    by_id = {one.id: one.last_used_at_ms for one in await storage.keys.list()}
    assert by_id.pop(key.id) == NOW_MS + 5000
    assert list(by_id.values()) == [None]


async def test_a_last_use_that_cannot_be_stored_is_stored_later(
    storage: Storage, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    _, secret = await a_key(storage)
    await authenticate(secret)

    async def away(_: object) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(type(storage.keys), "used", staticmethod(away))
    with pytest.raises(StoreUnavailable):
        await authenticate.store_uses()
    monkeypatch.undo()
    await authenticate.store_uses()
    [found] = await storage.keys.list()
    assert found.last_used_at_ms == NOW_MS


async def test_a_clock_that_goes_back_keeps_no_revoked_key(
    storage: Storage, clock: ManualClock
) -> None:
    authenticate = Authenticate(storage.keys, clock)
    key, secret = await a_key(storage)
    assert await authenticate(secret) == key
    clock.advance(-3600)
    await storage.keys.revoke(key.id, NOW_MS)
    assert await authenticate(secret) is None


async def test_the_cache_of_keys_has_a_bound_and_goes_on_after_it(
    storage: Storage, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that left the cache is read again, so its revocation is seen at once."""
    monkeypatch.setattr(credentials, "_CACHE_SIZE", 2)
    authenticate = Authenticate(storage.keys, clock)
    stored = [await a_key(storage) for _ in range(3)]
    for key, secret in stored:
        assert await authenticate(secret) == key
        await storage.keys.revoke(key.id, NOW_MS)
    live = [await authenticate(secret) for _, secret in stored]
    assert [one and one.id for one in live] == [None, None, stored[2][0].id]
