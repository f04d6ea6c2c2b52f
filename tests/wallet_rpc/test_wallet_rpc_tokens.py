"""RPC URLs of wallets: who finds one, how soon a revoked one stops, and how many there may be."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from quietswap.rules.clients import ApiKey, Client
from quietswap.rules.errors.clients import RpcTokenNotFound
from quietswap.rules.errors.requests import InvalidParameter
from quietswap.rules.tx.address import Address
from quietswap.service.clients import credentials
from quietswap.service.storage.factory import Storage
from quietswap.service.wallet_rpc import tokens as wallet_rpc_tokens
from quietswap.service.wallet_rpc.tokens import WalletRpcTokens
from tests.patient import open_storage
from tests.storage.examples import T0, WALLET, HandClock

KEY = ApiKey("key-1", "a wallet", T0, None, "client-1")
SIBLING = ApiKey("key-2", "its other key", T0, None, "client-1")
STRANGER = ApiKey("key-3", "another", T0, None, "client-2")
WALLETS: list[Address] = [WALLET]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
async def storage(tmp_path: Path, clock: HandClock) -> AsyncIterator[Storage]:
    storage = await open_storage(f"sqlite:///{tmp_path}/own.db", clock=clock)
    for number, client in enumerate(("client-1", "client-2")):
        await storage.clients.add(Client(client, client, T0 + number))
    for number, key in enumerate((KEY, SIBLING, STRANGER)):
        await storage.keys.add(key, b"%d" % number)
    yield storage
    await storage.close()


@pytest.fixture
def tokens(storage: Storage, clock: HandClock) -> WalletRpcTokens:
    return WalletRpcTokens(storage.rpc_tokens, clock, "https://swap.example")


async def made(tokens: WalletRpcTokens, key: ApiKey = KEY) -> tuple[str, str]:
    """Make a token and return its id and its secret."""
    token, url = await tokens.create(key, "", WALLETS, "refuse")
    base, _, secret = url.rpartition("/")
    assert base == "https://swap.example/rpc"
    return token.id, secret


async def test_a_token_is_found_by_its_secret_alone(tokens: WalletRpcTokens) -> None:
    token_id, secret = await made(tokens)
    token = await tokens.find(secret)
    assert token is not None
    assert (token.id, token.client_id, token.key_id) == (token_id, "client-1", "key-1")
    assert await tokens.find(token_id) is None
    assert await tokens.find(secret[:-1]) is None
    assert secret not in repr(token)


async def test_secrets_differ(tokens: WalletRpcTokens) -> None:
    assert len({(await made(tokens))[1] for _ in range(5)}) == 5


async def test_a_revoked_token_stops_within_a_second(
    tokens: WalletRpcTokens, clock: HandClock
) -> None:
    token_id, secret = await made(tokens)
    assert await tokens.find(secret)
    assert await tokens.revoke(SIBLING, token_id) == clock.now_ms()
    clock.ms += credentials.LASTS_MS
    assert await tokens.find(secret) is None


@pytest.mark.parametrize("change", ["UPDATE api_keys SET expires_at_ms = ?"])
async def test_a_token_expires_with_its_key(
    tokens: WalletRpcTokens,
    storage: Storage,
    clock: HandClock,
    change: str,
) -> None:
    _, secret = await made(tokens)
    await storage.database.change(change, clock.now_ms() + 5000)
    assert await tokens.find(secret)
    clock.ms += 5000
    assert await tokens.find(secret) is None


async def test_a_clock_that_was_set_back_does_not_keep_a_token(
    tokens: WalletRpcTokens, clock: HandClock
) -> None:
    token_id, secret = await made(tokens)
    assert await tokens.find(secret)
    await tokens.revoke(KEY, token_id)
    clock.ms -= 3_600_000
    assert await tokens.find(secret) is None


async def test_tokens_belong_to_one_client(tokens: WalletRpcTokens) -> None:
    token_id, _ = await made(tokens)
    assert [token.id for token in await tokens.list(SIBLING)] == [token_id]
    assert await tokens.list(STRANGER) == []
    with pytest.raises(RpcTokenNotFound):
        await tokens.revoke(STRANGER, token_id)
    assert (await tokens.list(KEY))[0].revoked_at_ms is None


async def test_a_client_has_a_bounded_number_of_live_tokens(
    tokens: WalletRpcTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wallet_rpc_tokens, "MOST_TOKENS", 2)
    first, _ = await made(tokens)
    await made(tokens, SIBLING)
    with pytest.raises(InvalidParameter, match="revoke one"):
        await made(tokens)
    await made(tokens, STRANGER)
    await tokens.revoke(KEY, first)
    await made(tokens)


async def test_a_web_session_has_few_tokens_and_none_for_anything(
    tokens: WalletRpcTokens, storage: Storage
) -> None:
    session = ApiKey("web_1", "web page", T0, None, "web_1")
    await storage.keys.add(session, b"web", Client("web_1", "web page", T0))
    with pytest.raises(InvalidParameter, match="send only what this service offered"):
        await tokens.create(session, "", WALLETS, "private")
    for _ in range(wallet_rpc_tokens.MOST_WEB_TOKENS):
        await tokens.create(session, "", WALLETS, "refuse")
    with pytest.raises(InvalidParameter, match="this client has 20 RPC URLs"):
        await tokens.create(session, "", WALLETS, "refuse")


async def test_the_cache_of_tokens_has_a_bound_and_goes_on_after_it(
    storage: Storage, tokens: WalletRpcTokens,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """A token that left the cache is read again, so its revocation is seen at once."""
    monkeypatch.setattr(credentials, "_CACHE_SIZE", 2)
    other = WalletRpcTokens(storage.rpc_tokens, HandClock(), "")
    stored = [await made(tokens) for _ in range(3)]
    for token_id, secret in stored:
        found = await tokens.find(secret)
        assert found is not None
        await tokens.revoke(KEY, token_id)
        assert await other.find(secret) is None
    live = [await tokens.find(secret) is not None for _, secret in stored]
    assert live == [False, False, True]
