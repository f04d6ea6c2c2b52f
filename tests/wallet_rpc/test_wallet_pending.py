"""What a wallet reads of its open orders: pending transactions and the next nonce."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from eth_account import Account
from eth_account.typed_transactions import TypedTransaction
from hexbytes import HexBytes

from quietswap.rules.orders.order import FailureCode
from quietswap.rules.tx.address import Address
from quietswap.service.wallet_rpc.match import WalletOrders
from tests.orders.cancelling import ended
from tests.orders.submitting import Desk, open_desk
from tests.signing import OTHER_WALLET, sign
from tests.stored_orders import swap_quote
from tests.wallet_rpc.wallet_sends import SELF, approve, only_order, token


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    async with open_desk() as opened:
        await opened.storage.quotes.save(swap_quote())
        yield opened


async def test_an_open_order_is_a_pending_transaction_until_it_ends(desk: Desk) -> None:
    tx_hash = await desk.send(token(), sign(maxPriorityFeePerGas=5))
    pending = WalletOrders(desk.storage.orders).pending
    found = await pending(token(), tx_hash.upper().replace("0X", "0x"))
    assert found is not None
    assert (found["hash"], found["from"]) == (tx_hash, SELF.lower())
    assert [found[name] for name in ("blockHash", "blockNumber", "transactionIndex")] == [None] * 3
    await ended(desk, await only_order(desk), FailureCode.EXPIRED)
    assert await pending(token(), tx_hash) is None


async def test_its_members_are_those_that_were_signed(desk: Desk) -> None:
    raw = sign(maxPriorityFeePerGas=5, value=0)
    found = await WalletOrders(desk.storage.orders).pending(token(), await desk.send(token(), raw))
    assert found is not None
    signed = TypedTransaction.from_bytes(HexBytes(raw)).as_dict()
    for shown, name in (
        ("nonce", "nonce"), ("gas", "gas"), ("value", "value"), ("maxFeePerGas", "maxFeePerGas"),
        ("maxPriorityFeePerGas", "maxPriorityFeePerGas"), ("r", "r"), ("s", "s"), ("v", "v"),
        ("chainId", "chainId"), ("type", "type"),
    ):  # fmt: skip
        assert int(str(found[shown]), 16) == int(signed[name])
    assert HexBytes(str(found["input"])) == HexBytes(signed["data"])
    assert HexBytes(str(found["to"])) == HexBytes(signed["to"])
    assert Account.recover_transaction(raw) == SELF


async def test_a_pending_transaction_is_shown_to_its_client_and_wallet_alone(desk: Desk) -> None:
    tx_hash = await desk.send(token(), sign())
    pending = WalletOrders(desk.storage.orders).pending
    assert await pending(token(client_id="other"), tx_hash) is None
    elsewhere = replace(token(), wallets=frozenset({Address(OTHER_WALLET.address)}))
    assert await pending(elsewhere, tx_hash) is None
    assert await pending(token(), "0x" + "00" * 32) is None


async def test_the_nonce_follows_the_open_orders(desk: Desk) -> None:
    nonce = WalletOrders(desk.storage.orders).next_nonce
    assert await nonce(token(), SELF) is None
    await desk.send(token(), approve())
    assert await nonce(token(), SELF) == 8
    await desk.send(token(), sign(nonce=8))
    assert await nonce(token(), SELF) == 9
    assert await nonce(token(client_id="other"), SELF) is None
    assert await nonce(token(), Address(OTHER_WALLET.address)) is None
    for order in await desk.storage.orders.watched():
        await ended(desk, order, FailureCode.EXPIRED)
    assert await nonce(token(), SELF) is None
