"""The local chain: blocks, balances, prices, reorgs."""

import time
from decimal import Decimal

import pytest
from eth_account import Account

from quietswap.rules.tx import address as addresses
from quietswap.sandbox.chain.anvil import BASE_FEE_FLOOR
from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain, running_chain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import SEARCHER, WALLETS
from quietswap.sandbox.contracts.pools import ALL_POOLS, ALL_TOKENS, TOKENS, USDC, WETH
from quietswap.sandbox.rpc import RpcError
from tests.sandbox.accounts import eth_balance, give, give_eth, send

WALLET = WALLETS[0]
STRANGER = addresses.from_any_case("0x" + "ab" * 20)


def signed(nonce: int = 0, priority_fee: int = 0, value: int = 1) -> bytes:
    fields = {
        "type": 2,
        "chainId": 1,
        "nonce": nonce,
        "to": STRANGER,
        "value": value,
        "gas": 21_000,
        "maxFeePerGas": 2 * BASE_FEE_FLOOR,
        "maxPriorityFeePerGas": priority_fee,
    }
    return bytes(Account.sign_transaction(fields, WALLET.private_key).raw_transaction)


async def test_it_has_its_first_block_when_it_is_up() -> None:
    async with running_chain() as chain:
        assert int((await chain.head())["number"], 16) >= 0


async def test_it_calls_itself_mainnet(chain: LocalChain) -> None:
    assert await chain.rpc.call("eth_chainId") == "0x1"
    head = await chain.head()
    assert int(head["gasLimit"], 16) == 60_000_000
    assert head["miner"] == contract_addresses.BUILDER.lower()


async def test_every_wallet_holds_ether_and_every_token(chain: LocalChain) -> None:
    for wallet in (*WALLETS, SEARCHER):
        assert await eth_balance(chain, wallet.address) >= 100 * 10**18
        for token in ALL_TOKENS.values():
            assert await chain.token_balance(token.address, wallet.address) >= token.units(1)


def test_the_wallets_are_those_of_the_public_mnemonic() -> None:
    for wallet in (*WALLETS, SEARCHER):
        assert Account.from_key(wallet.private_key).address == wallet.address
    assert WALLETS[0].address == "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"


async def test_a_transaction_without_priority_fee_is_mined(chain: LocalChain) -> None:
    tx_hash = await chain.send_raw(signed(priority_fee=0))
    assert await chain.receipt(tx_hash) is None
    number = await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    assert (receipt["status"], int(receipt["blockNumber"], 16)) == ("0x1", number)
    assert int(receipt["effectiveGasPrice"], 16) == BASE_FEE_FLOOR


async def test_nothing_is_mined_unasked(chain: LocalChain) -> None:
    before = await chain.head()
    await chain.send_raw(signed())
    assert (await chain.head())["hash"] == before["hash"]


async def test_the_higher_priority_fee_goes_first(chain: LocalChain) -> None:
    poor = await chain.send_raw(signed(priority_fee=0))
    rich = await send(chain, SEARCHER.address, STRANGER, value=1, priority_fee=10**9)
    await chain.mine()
    assert (await chain.head())["transactions"] == [rich, poor]


async def test_first_come_first_served_when_asked_for() -> None:
    async with running_chain(order="fifo") as chain:
        poor = await chain.send_raw(signed(priority_fee=0))
        rich = await send(chain, SEARCHER.address, STRANGER, value=1, priority_fee=10**9)
        await chain.mine()
        assert (await chain.head())["transactions"] == [poor, rich]


async def test_the_first_block_is_on_time_and_time_never_stands(chain: LocalChain) -> None:
    before = time.time()
    await chain.mine()
    first = int((await chain.head())["timestamp"], 16)
    assert before - 2 < first < time.time() + 2
    await chain.mine(timestamp=first - 100)
    assert int((await chain.head())["timestamp"], 16) == first + 1
    await chain.mine(timestamp=first + 500)
    assert int((await chain.head())["timestamp"], 16) == first + 500


async def test_the_base_fee_rests_on_its_floor(chain: LocalChain) -> None:
    for _ in range(3):
        await chain.mine()
        assert int((await chain.head())["baseFeePerGas"], 16) == BASE_FEE_FLOOR
    history = await chain.rpc.call("eth_feeHistory", "0x1", "latest", [])
    assert int(history["baseFeePerGas"][-1], 16) == BASE_FEE_FLOOR


async def test_above_the_floor_the_base_fee_falls_by_an_eighth(chain: LocalChain) -> None:
    await chain.rpc.call("anvil_setNextBlockBaseFeePerGas", hex(8 * BASE_FEE_FLOOR))
    await chain.mine()
    await chain.mine()
    assert int((await chain.head())["baseFeePerGas"], 16) == 7 * BASE_FEE_FLOOR


async def test_a_reorg_forgets_what_its_blocks_held(chain: LocalChain) -> None:
    tx_hash = await chain.send_raw(signed())
    number = await chain.mine()
    before = await chain.head()
    await chain.reorg(1)
    after = await chain.head()
    assert int(after["number"], 16) == number
    assert after["hash"] != before["hash"]
    assert after["parentHash"] == before["parentHash"]
    assert await chain.receipt(tx_hash) is None
    assert await eth_balance(chain, STRANGER) == 0
    await chain.send_raw(signed())
    await chain.mine()
    assert await eth_balance(chain, STRANGER) == 1


@pytest.mark.parametrize("symbol", ALL_TOKENS)
async def test_money_can_be_given_and_the_supply_follows(chain: LocalChain, symbol: str) -> None:
    token = ALL_TOKENS[symbol]
    supply = await chain.call(token.address, abi.call("totalSupply()"))
    await give(chain, token, STRANGER, 12345)
    assert await chain.token_balance(token.address, STRANGER) == 12345
    now = await chain.call(token.address, abi.call("totalSupply()"))
    assert abi.word(now, 0) == abi.word(supply, 0) + 12345


@pytest.mark.parametrize("symbol", TOKENS)
async def test_the_supply_is_what_all_holders_have(chain: LocalChain, symbol: str) -> None:
    token = TOKENS[symbol]
    supply = abi.word(await chain.call(token.address, abi.call("totalSupply()")), 0)
    holders = {
        contract_addresses.SEEDER,
        *contract_addresses.ROUTERS.values(),
        *contract_addresses.EXECUTORS.values(),
        contract_addresses.UNISWAP,
        contract_addresses.THIEF,
        contract_addresses.SHY_SETTLER,
        *(w.address for w in (*WALLETS, SEARCHER)),
    }
    pools = {p.address for p in ALL_POOLS if token in (p.first, p.second)}
    held = [await chain.token_balance(token.address, holder) for holder in holders | pools]
    assert supply == sum(held)


async def test_ether_can_be_given(chain: LocalChain) -> None:
    await give_eth(chain, STRANGER, 7)
    assert await eth_balance(chain, STRANGER) == 7


async def test_given_weth_can_be_unwrapped(chain: LocalChain) -> None:
    await give_eth(chain, STRANGER, 10**18)
    await give(chain, WETH, STRANGER, 10**23)
    tx_hash = await send(chain, STRANGER, WETH.address, abi.call("withdraw(uint256)", 10**23))
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert await eth_balance(chain, STRANGER) > 10**23


async def latest_round(chain: LocalChain, pair: str) -> tuple[int, int]:
    answer = await chain.call(contract_addresses.FEEDS[pair], abi.call("latestRoundData()"))
    return int.from_bytes(answer[32:64], signed=True), abi.word(answer, 3)


async def test_a_price_feed_is_as_fresh_as_the_block_until_told_otherwise(
    chain: LocalChain,
) -> None:
    await chain.mine()
    head = int((await chain.head())["timestamp"], 16)
    assert await latest_round(chain, "ETH / USD") == (3000 * 10**8, head)
    await chain.set_price("ETH / USD", Decimal("2999.5"), updated_at=head - 7200)
    assert await latest_round(chain, "ETH / USD") == (299950000000, head - 7200)
    await chain.set_price("ETH / USD", Decimal(-1))
    assert await latest_round(chain, "ETH / USD") == (-(10**8), head)


async def test_a_reverted_call_says_why(chain: LocalChain) -> None:
    transfer = abi.call("transfer(address,uint256)", STRANGER, 1)
    with pytest.raises(CallReverted, match="exceeds balance") as caught:
        await chain.call(USDC.address, transfer, sender=STRANGER)
    assert caught.value.data.startswith(abi.selector("Error(string)"))


async def test_other_errors_of_the_node_keep_their_code(chain: LocalChain) -> None:
    with pytest.raises(RpcError) as caught:
        await chain.rpc.call("eth_nonsense")
    assert caught.value.code == -32601
