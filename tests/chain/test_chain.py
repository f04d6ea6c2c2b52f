"""NodeChain against a real node."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from quietswap.rules.chain.records import CallReverts, WalletSnapshot
from quietswap.rules.tokens.token import Token
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.sandbox.contracts.abi import selector
from quietswap.sandbox.contracts.addresses import FEEDS
from quietswap.sandbox.contracts.pools import DAI, SOLADY, USDC, USDT, WBTC
from quietswap.service.base.http_client import HttpReply
from tests.chain.small_chain import NOBODY, VENUE, WALLET, SmallChain, odd, small_chain

ONE_ETHER = 10**18
ORDINARY = odd("Ordinary")


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        yield chain


async def test_the_head_tells_the_next_base_fee(small: SmallChain) -> None:
    for _ in range(4):
        await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
        await small.mine()
        small.clock.advance(1)
        head = await small.chain.head()
        raw = await small.raw.call("eth_getBlockByNumber", hex(head.number), False)
        assert (head.hash, head.parent_hash) == (raw["hash"], raw["parentHash"])
        assert (head.time, head.base_fee) == (
            int(raw["timestamp"], 16),
            int(raw["baseFeePerGas"], 16),
        )
        history = await small.raw.call("eth_feeHistory", "0x1", "latest", [])
        assert head.next_base_fee == int(history["baseFeePerGas"][-1], 16)


async def test_the_head_is_remembered_for_less_than_a_second(small: SmallChain) -> None:
    first = await small.chain.head()
    await small.mine()
    assert await small.chain.head() == first
    small.clock.advance(0.95)
    assert (await small.chain.head()).number == first.number + 1


@pytest.mark.parametrize("listed", [USDC, USDT, DAI, WBTC, SOLADY], ids=lambda t: str(t.symbol))
async def test_tokens_tell_decimals_and_symbol(small: SmallChain, listed: Token) -> None:
    token = await small.chain.token(listed.address)
    assert token == Token(listed.address, listed.decimals, listed.symbol)


@pytest.mark.parametrize(
    ("name", "decimals", "symbol"),
    [
        ("Bytes32Symbol", 18, "MKR"),
        ("RudeSymbol", 18, "EV1L‹script› and much more than"),
        ("NoSymbol", 6, ""),
    ],
)
async def test_odd_symbols(small: SmallChain, name: str, decimals: int, symbol: str) -> None:
    address = odd(name).address
    assert await small.chain.token(address) == Token(address, decimals, symbol)


async def test_what_is_no_token(small: SmallChain) -> None:
    for address in (NOBODY, VENUE, odd("ManyDecimals").address, FEEDS["ETH / USD"]):
        assert await small.chain.token(address) is None


async def test_several_tokens_take_one_round_trip_or_none(
    small: SmallChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    post = small.http.post

    async def counted(url: str, body: bytes, **options: Any) -> HttpReply:
        sent.append(len(msgspec.json.decode(body)))
        return await post(url, body, **options)

    await small.chain.token(DAI.address)
    monkeypatch.setattr(small.http, "post", counted)
    wanted = (USDC.address, DAI.address, NOBODY, USDC.address)
    usdc, dai, nobody, again = await small.chain.tokens(*wanted)
    assert (usdc, dai) == tuple(Token(t.address, t.decimals, t.symbol) for t in (USDC, DAI))
    assert (nobody, again) == (None, usdc)
    assert await small.chain.tokens(*wanted) == [usdc, dai, nobody, again]
    assert sent == [6]  # with the chain id, the head, and where the two store balances


async def test_tokens_are_remembered_and_strangers_only_for_a_minute(small: SmallChain) -> None:
    assert await small.chain.token(NOBODY) is None
    assert await small.chain.token(ORDINARY.address) is not None
    code = await small.raw.call("eth_getCode", ORDINARY.address, "latest")
    await small.raw.call("anvil_setCode", NOBODY, code)
    await small.raw.call("anvil_setCode", ORDINARY.address, "0x")
    assert await small.chain.token(NOBODY) is None
    small.clock.advance(61)
    assert await small.chain.token(NOBODY) is not None
    assert await small.chain.token(ORDINARY.address) is not None


async def test_a_wallet_in_one_round_trip(small: SmallChain) -> None:
    await small.give_sandbox("USDT", WALLET, 123)
    await small.send(USDT.address, "approve(address,uint256)", VENUE, 456)
    await small.mine()
    await small.send(USDT.address, "approve(address,uint256)", NOBODY, 1)
    eth = int(await small.raw.call("eth_getBalance", WALLET, "latest"), 16)
    facts = await small.chain.wallet(WALLET, USDT.address, VENUE)
    head = (await small.chain.head()).number
    assert facts == WalletSnapshot(head, 1, eth, 123, 456)
    assert await small.chain.balances(WALLET, USDT.address) == (eth, 123)


async def test_gas_estimates(small: SmallChain) -> None:
    def calling(data: str, value: int = 0) -> UnsignedTransaction:
        return UnsignedTransaction(VENUE, bytes.fromhex(data), value, 100_000, 10**9, None)

    take_ether = selector("takeEther()").hex()
    refuse = selector("refuse()").hex()
    gas = await small.chain.estimate_gas(WALLET, calling(take_ether, ONE_ETHER))
    assert gas is not None
    assert 21_000 < gas < 25_000
    with pytest.raises(CallReverts):
        await small.chain.estimate_gas(WALLET, calling(refuse))
    assert await small.chain.estimate_gas(NOBODY, calling(take_ether, ONE_ETHER)) is None


async def test_blocks_with_their_transactions(small: SmallChain) -> None:
    tx_hash = await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
    await small.mine()
    small.clock.advance(1)
    head = await small.chain.head()
    block = await small.chain.block(head.number)
    assert block is not None
    assert (block.hash, block.parent_hash, block.time) == (head.hash, head.parent_hash, head.time)
    [sent] = block.transactions
    assert (sent.hash, sent.sender, sent.nonce) == (tx_hash, WALLET, 0)
    assert (sent.to, sent.value, sent.data_size) == (ORDINARY.address, 0, 68)
    assert await small.chain.block_by_hash(head.hash) == block
    assert await small.chain.block(head.number + 1) is None
    assert await small.chain.block_by_hash("0x" + "ab" * 32) is None


async def test_a_contract_creation_has_no_recipient(small: SmallChain) -> None:
    await small.raw.call("eth_sendTransaction", {"from": WALLET, "data": "0x00", "gas": "0xf4240"})
    await small.mine()
    block = await small.chain.block((await small.chain.head()).number)
    assert block is not None
    assert [one.to for one in block.transactions] == [None]


async def test_a_reorganised_block_is_not_canonical(small: SmallChain) -> None:
    await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
    await small.mine(3)
    old = await small.chain.head()
    await small.raw.call("anvil_reorg", 2, [])
    new = await small.chain.block(old.number)
    assert new is not None
    assert new.hash != old.hash


async def test_receipts(small: SmallChain) -> None:
    good = await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
    await small.mine()
    bad = await small.send(VENUE, "refuse()")
    await small.mine()
    waiting = await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
    receipts = await small.chain.receipts([good, bad, waiting])
    assert [r and r.succeeded for r in receipts.values()] == [True, False, None]
    receipt = receipts[good]
    assert receipt is not None
    block = await small.chain.block(receipt.block_number)
    assert block is not None
    assert (receipt.block_hash, block.transactions[0].hash) == (block.hash, good)
    raw = await small.raw.call("eth_getTransactionReceipt", good)
    assert receipt.gas_used == int(raw["gasUsed"], 16)
    assert receipt.effective_gas_price == int(raw["effectiveGasPrice"], 16)


async def test_nonces_and_finality(small: SmallChain) -> None:
    await small.send(ORDINARY.address, "mint(address,uint256)", NOBODY, 1)
    assert await small.chain.nonces([WALLET, NOBODY]) == {WALLET: 0, NOBODY: 0}
    await small.mine(70)
    assert await small.chain.nonces([WALLET, NOBODY]) == {WALLET: 1, NOBODY: 0}
    finalized = await small.raw.call("eth_getBlockByNumber", "finalized", False)
    assert await small.chain.finalized_number() == int(finalized["number"], 16) > 0
