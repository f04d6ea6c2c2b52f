"""Sessions of the web page on both databases: bounds, end, deletion, and what lists leave out."""

import asyncio

import pytest

from quietswap.rules.clients import WebSessionBounds
from quietswap.rules.errors.base import RateLimitExceeded, Unauthorized
from quietswap.rules.orders.order import OrderStatus
from quietswap.rules.wallet_rpc_token import WalletRpcToken
from quietswap.service.clients.credentials import hash_secret
from quietswap.service.clients.keys import Authenticate
from quietswap.service.storage.factory import Storage
from quietswap.service.web.sessions import FIRST_MS, LASTS_MS, WebSessions
from tests.storage.examples import WALLET, HandClock, an_order, move_to, store

ADDRESS = "192.0.2.7"


def sessions(storage: Storage, clock: HandClock, each: int = 3, total: int = 5) -> WebSessions:
    return WebSessions(storage.web_sessions, clock, WebSessionBounds(each, total))


async def rows(storage: Storage, table: str) -> int:
    [found] = await storage.database.fetch(f"SELECT COUNT(*) FROM {table}")
    return int(found[0])


async def test_a_session_is_a_client_with_one_key(storage: Storage, clock: HandClock) -> None:
    key, secret = await sessions(storage, clock).begin(ADDRESS)
    found = await Authenticate(storage.keys, clock)(secret)
    assert found == key
    assert key.is_web_session
    assert key.client_id == key.id
    assert key.expires_at_ms == clock.now_ms() + FIRST_MS
    assert secret.startswith("qw_")


async def test_lists_of_operators_leave_sessions_out(storage: Storage, clock: HandClock) -> None:
    await sessions(storage, clock).begin(ADDRESS)
    assert await storage.keys.list() == []
    assert await storage.clients.list() == []


async def test_the_address_is_stored_as_a_hash(storage: Storage, clock: HandClock) -> None:
    await sessions(storage, clock).begin(ADDRESS)
    [row] = await storage.database.fetch("SELECT address_hash FROM web_sessions")
    assert len(row[0]) == 8
    assert ADDRESS.encode() not in bytes(row[0])


async def test_an_address_has_few_sessions_and_keeps_those_in_use(
    storage: Storage, clock: HandClock
) -> None:
    """Whoever opens many does not keep the next visitor of the address out."""
    web = sessions(storage, clock)
    other, _ = await web.begin("192.0.2.8")
    first, secret = await web.begin(ADDRESS)
    for _ in range(20):
        clock.ms += 1000
        await storage.keys.used({first.id: clock.now_ms()})
        await web.begin(ADDRESS)
    assert await rows(storage, "api_keys") == await rows(storage, "clients") == 4
    assert await Authenticate(storage.keys, clock)(secret)
    [kept] = await storage.database.fetch("SELECT 1 FROM web_sessions WHERE id = ?", other.id)
    assert kept
    clock.ms += 1000
    latest = [await web.begin(ADDRESS) for _ in range(3)]
    assert await Authenticate(storage.keys, clock)(secret) is None, "it was used least lately"
    for _, one in latest:
        assert await Authenticate(storage.keys, clock)(one)


async def test_a_session_with_an_order_is_not_replaced(storage: Storage, clock: HandClock) -> None:
    web = sessions(storage, clock)
    for number in range(3):
        key, _ = await web.begin(ADDRESS)
        order = an_order(client_id=key.id, order_id=f"ord_{number}", tx_hash=f"0x{number:064x}")
        await store(storage.orders, order)
        clock.ms += 1000
    with pytest.raises(RateLimitExceeded, match="too many visitors"):
        await web.begin(ADDRESS)
    await web.begin("192.0.2.8")


async def test_parallel_sessions_of_an_address_are_counted_one_by_one(
    storage: Storage, clock: HandClock
) -> None:
    web = sessions(storage, clock, each=4, total=50)

    await asyncio.gather(*(web.begin(ADDRESS) for _ in range(20)))
    assert await rows(storage, "web_sessions") == 4


async def test_all_addresses_together_have_few_sessions(storage: Storage, clock: HandClock) -> None:
    web = sessions(storage, clock)
    for number in range(5):
        await web.begin(f"192.0.2.{number}")
    with pytest.raises(RateLimitExceeded):
        await web.begin("192.0.2.99")
    clock.ms += FIRST_MS
    with pytest.raises(RateLimitExceeded):  # the bound counts rows, until they are deleted
        await web.begin("192.0.2.99")
    assert not await web.purge()
    await web.begin("192.0.2.99")


async def test_a_session_that_goes_on_ends_later(storage: Storage, clock: HandClock) -> None:
    web, authenticate = sessions(storage, clock), Authenticate(storage.keys, clock)
    key, secret = await web.begin(ADDRESS)
    renewed = await web.renew(key)
    assert renewed.expires_at_ms == clock.now_ms() + LASTS_MS
    clock.ms += 2 * FIRST_MS
    assert await authenticate(secret) == renewed
    assert await web.renew(renewed) != renewed
    clock.ms += LASTS_MS
    with pytest.raises(Unauthorized):
        await authenticate(secret)


async def test_a_session_is_not_written_at_each_visit(storage: Storage, clock: HandClock) -> None:
    web = sessions(storage, clock)
    renewed = await web.renew((await web.begin(ADDRESS))[0])
    clock.ms += FIRST_MS - 1
    assert await web.renew(renewed) is renewed


async def test_ended_sessions_are_deleted_with_all_they_own(
    storage: Storage, clock: HandClock
) -> None:
    web = sessions(storage, clock)
    key, secret = await web.begin(ADDRESS)
    token = WalletRpcToken(
        "rpc_1", key.id, "", frozenset([WALLET]), "refuse", clock.now_ms(), None, key.id
    )
    await storage.rpc_tokens.add(token, b"hash")
    clock.ms += FIRST_MS - 1
    await web.purge()
    assert await rows(storage, "web_sessions") == 1
    clock.ms += 1
    assert not await web.purge()
    for table in ("web_sessions", "api_keys", "clients", "wallet_rpc_tokens"):
        assert await rows(storage, table) == 0, table
    assert await storage.keys.find(hash_secret(secret)) is None


async def test_a_session_with_an_open_order_is_kept(storage: Storage, clock: HandClock) -> None:
    web = sessions(storage, clock)
    key, _ = await web.begin(ADDRESS)
    placed = await store(storage.orders, an_order(client_id=key.id))
    clock.ms += FIRST_MS
    await web.purge()
    assert await rows(storage, "web_sessions") == 1
    await move_to(storage.orders, placed, OrderStatus.CONFIRMED)
    await web.purge()
    assert await rows(storage, "web_sessions") == 0
    assert await rows(storage, "orders") == 1
