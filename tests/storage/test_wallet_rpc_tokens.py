"""Tokens of the wallet RPC endpoint on both databases."""

import asyncio
from dataclasses import replace

import pytest

from quietswap.rules.clients import ApiKey, AuditEntry, Client
from quietswap.rules.tx.address import Address
from quietswap.rules.wallet_rpc_token import TooManyRpcTokens, WalletRpcToken
from quietswap.service.storage.factory import Storage
from tests.storage.examples import T0, WALLET

_OTHER = Address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")
_TOKEN = WalletRpcToken(
    id="rpc_1", client_id="client-1", name="my wallet", wallets=frozenset({WALLET, _OTHER}),
    unmatched="refuse", created_at_ms=T0, revoked_at_ms=None, key_id="key-1",
)  # fmt: skip
_CLIENT = Client("client-1", "a company", T0)
_KEY = ApiKey("key-1", "a wallet", T0, None, _CLIENT.id)


async def test_a_token_is_found_by_the_hash_of_its_secret(storage: Storage) -> None:
    await storage.rpc_tokens.add(_TOKEN, b"\x00hash")
    assert await storage.rpc_tokens.find(b"\x00hash") == _TOKEN
    assert await storage.rpc_tokens.find(b"\x00has") is None


async def test_tokens_of_one_client_are_listed_oldest_first(storage: Storage) -> None:
    young = replace(_TOKEN, id="rpc_0", unmatched="private", created_at_ms=T0 + 5)
    foreign = replace(_TOKEN, id="rpc_2", client_id="client-2", created_at_ms=T0 - 1)
    for number, token in enumerate((young, _TOKEN, foreign)):
        await storage.rpc_tokens.add(token, b"%d" % number)
    assert await storage.rpc_tokens.list("client-1") == [_TOKEN, young]
    assert await storage.rpc_tokens.list() == [foreign, _TOKEN, young]
    assert await storage.rpc_tokens.list("client-3") == []


async def test_a_token_is_revoked_once_and_by_its_client_only(storage: Storage) -> None:
    tokens = storage.rpc_tokens
    await tokens.add(_TOKEN, b"1")
    assert not await tokens.revoke("rpc_1", T0 + 7, "client-2")
    assert await tokens.find(b"1") == _TOKEN
    assert await tokens.revoke("rpc_1", T0 + 9, "client-1")
    assert not await tokens.revoke("rpc_1", T0 + 10)
    assert not await tokens.revoke("rpc_9", T0 + 10)
    assert await tokens.find(b"1") == replace(_TOKEN, revoked_at_ms=T0 + 9)
    await tokens.add(replace(_TOKEN, id="rpc_2"), b"2", most=1)


async def test_parallel_new_tokens_of_a_client_are_counted_one_by_one(storage: Storage) -> None:
    """A check before the transaction would let all of them through."""
    await storage.keys.add(_KEY, b"key", _CLIENT)

    async def add(number: int) -> bool:
        token = replace(_TOKEN, id=f"rpc_{number}")
        try:
            await storage.rpc_tokens.add(token, b"%d" % number, most=5)
        except TooManyRpcTokens:
            return False
        return True

    assert sum(await asyncio.gather(*map(add, range(20)))) == 5
    assert len(await storage.rpc_tokens.list(_CLIENT.id)) == 5


async def test_an_operator_revokes_the_token_of_any_client(storage: Storage) -> None:
    await storage.rpc_tokens.add(_TOKEN, b"1")
    assert await storage.rpc_tokens.revoke("rpc_1", T0 + 9)


async def test_a_token_ends_with_its_api_key(storage: Storage) -> None:
    await storage.keys.add(_KEY, b"key", _CLIENT)
    await storage.rpc_tokens.add(_TOKEN, b"1")
    assert await storage.rpc_tokens.find(b"1") == _TOKEN
    await storage.keys.revoke("key-1", T0 + 20)
    assert await storage.rpc_tokens.find(b"1") == replace(_TOKEN, revoked_at_ms=T0 + 20)
    assert [token.revoked_at_ms for token in await storage.rpc_tokens.list()] == [T0 + 20]


@pytest.mark.parametrize(
    ("change", "token"),
    [
        ("UPDATE clients SET disabled_at_ms = ?", replace(_TOKEN, revoked_at_ms=T0 + 30)),
        ("UPDATE api_keys SET expires_at_ms = ?", replace(_TOKEN, expires_at_ms=T0 + 30)),
    ],
)
async def test_a_token_ends_with_its_client_and_when_its_key_expires(
    storage: Storage, change: str, token: WalletRpcToken
) -> None:
    await storage.keys.add(_KEY, b"key", _CLIENT)
    await storage.rpc_tokens.add(_TOKEN, b"1")
    await storage.database.change(change, T0 + 30)
    found = await storage.rpc_tokens.find(b"1")
    assert found == token
    assert not found.is_live(T0 + 30)


async def rotate(storage: Storage, old: str, new: str) -> bool:
    entry = AuditEntry(f"aud_{new}", T0, {}, "key_rotated", {})
    return await storage.keys.rotate(replace(_KEY, id=new), new.encode(), old, T0 + 9, entry)


async def test_a_token_of_a_replaced_key_belongs_to_the_last_live_successor(
    storage: Storage,
) -> None:
    await storage.keys.add(_KEY, b"key", _CLIENT)
    assert await rotate(storage, "key-1", "key-2")
    assert await rotate(storage, "key-2", "key-3")
    stored = await storage.rpc_tokens.add(_TOKEN, b"1")
    assert stored == replace(_TOKEN, key_id="key-3")
    assert await storage.rpc_tokens.find(b"1") == stored
    await storage.keys.revoke("key-3", T0)
    second = await storage.rpc_tokens.add(replace(_TOKEN, id="rpc_2"), b"2")
    assert second.key_id == "key-2", "a revoked successor takes none"


async def test_parallel_rotations_of_a_key_make_one_successor_with_all_its_tokens(
    storage: Storage,
) -> None:
    await storage.keys.add(_KEY, b"key", _CLIENT)
    tokens = [replace(_TOKEN, id=f"rpc_{number}") for number in range(4)]
    _, *done = await asyncio.gather(
        asyncio.gather(*(storage.rpc_tokens.add(t, t.id.encode()) for t in tokens)),
        *(rotate(storage, "key-1", f"key-{number}") for number in range(2, 6)),
    )
    assert sorted(done) == [False, False, False, True]
    old, *others = await storage.keys.list()
    [successor] = [key.id for key in others]
    assert old.replaced_by == successor
    assert {token.key_id for token in await storage.rpc_tokens.list()} == {successor}
