"""Public contracts and tokens equal mainnet's: address, code, decimals, deviations, slots."""

import pytest

from quietswap.rules.tx import address as addresses
from quietswap.sandbox import npm
from quietswap.sandbox.chain.local_chain import CallReverted, LocalChain
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import WALLETS, set_storage
from quietswap.sandbox.contracts.pools import (
    ALL_POOLS,
    ALL_TOKENS,
    DAI,
    FEE,
    TOKENS,
    USDC,
    USDT,
    V3_WETH_USDC,
    WBTC,
    WETH,
)
from tests.sandbox.accounts import give_eth, send
from tests.sandbox.restored_chain import chain, module_chain

__all__ = ["chain", "module_chain"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

WALLET = WALLETS[0].address
STRANGER = addresses.from_any_case("0x" + "ab" * 20)

MAINNET_TOKENS = {
    "WETH": ("0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2", 18),
    "USDC": ("0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", 6),
    "USDT": ("0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
    "DAI": ("0x6B175474E89094C44Da98b954EedeAC495271d0F", 18),
    "WBTC": ("0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", 8),
}
MAINNET_POOLS = {
    frozenset((USDC, WETH)): "0xB4e16d0168e52d35CaCD2c6185b44281Ec28C9Dc",
    frozenset((USDT, WETH)): "0x0d4a11d5EEaaC28EC3F61d100daF4d40471f1852",
    frozenset((DAI, WETH)): "0xA478c2975Ab1Ea89e8196811F51A7B7Ade33eB11",
    frozenset((WBTC, WETH)): "0xBb2b8038a1640196FbE3e38816F3e67Cba72D940",
    frozenset((DAI, USDC)): "0xAE461cA67B15dc8dc81CE7615e0320dA1A9aB8D5",
    frozenset((USDC, USDT)): "0x3041CbD36888bECc7bbCBc0045E3B1f144466f5f",
}


async def text(chain: LocalChain, token: str, view: str) -> str:
    answer = await chain.call(token, abi.call(view))
    return answer[64 : 64 + abi.word(answer, 1)].decode()


async def number(chain: LocalChain, to: str, view: str, *values: object) -> int:
    return abi.word(await chain.call(to, abi.call(view, *values)), 0)


async def transact(chain: LocalChain, sender: str, to: str, data: bytes) -> bool:
    tx_hash = await send(chain, sender, to, data, gas=500_000)
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    return bool(receipt["status"] == "0x1")


@pytest.mark.parametrize("symbol", TOKENS)
async def test_a_token_has_its_mainnet_address_decimals_and_symbol(
    chain: LocalChain, symbol: str
) -> None:
    address, decimals = MAINNET_TOKENS[symbol]
    assert TOKENS[symbol].address == address
    assert TOKENS[symbol].decimals == decimals
    assert await number(chain, address, "decimals()") == decimals
    assert await text(chain, address, "symbol()") == symbol


async def test_weth_is_the_canonical_contract(chain: LocalChain) -> None:
    artifact = npm.read_artifact("canonical-weth/build/contracts/WETH9.json")
    assert (
        await chain.rpc.call("eth_getCode", WETH.address, "latest")
        == (artifact["deployedBytecode"])
    )
    assert await text(chain, WETH.address, "name()") == "Wrapped Ether"


async def test_usdt_returns_nothing_and_usdc_returns_true(chain: LocalChain) -> None:
    for signature in ("transfer(address,uint256)", "approve(address,uint256)"):
        data = abi.call(signature, STRANGER, 1)
        assert await chain.call(USDT.address, data, sender=WALLET) == b""
        assert abi.word(await chain.call(USDC.address, data, sender=WALLET), 0) == 1


async def test_a_usdt_allowance_changes_only_by_way_of_zero(chain: LocalChain) -> None:
    def approve(amount: int) -> bytes:
        return abi.call("approve(address,uint256)", STRANGER, amount)

    assert await transact(chain, WALLET, USDT.address, approve(5))
    assert not await transact(chain, WALLET, USDT.address, approve(6))
    assert await transact(chain, WALLET, USDT.address, approve(0))
    assert await transact(chain, WALLET, USDT.address, approve(6))
    assert await chain.allowance(USDT.address, WALLET, STRANGER) == 6


@pytest.mark.parametrize("symbol", [s for s in ALL_TOKENS if s != "WETH"])
async def test_an_allowance_is_spent(chain: LocalChain, symbol: str) -> None:
    token = ALL_TOKENS[symbol]
    assert await transact(
        chain, WALLET, token.address, abi.call("approve(address,uint256)", STRANGER, 100)
    )
    await give_eth(chain, STRANGER, 10**18)
    take = abi.call("transferFrom(address,address,uint256)", WALLET, STRANGER, 60)
    assert await transact(chain, STRANGER, token.address, take)
    assert await chain.token_balance(token.address, STRANGER) == 60
    assert await chain.allowance(token.address, WALLET, STRANGER) == 40
    assert not await transact(chain, STRANGER, token.address, take)


@pytest.mark.parametrize("symbol", ALL_TOKENS)
async def test_balances_and_allowances_live_in_the_slots_named(
    chain: LocalChain, symbol: str
) -> None:
    token = ALL_TOKENS[symbol]
    allowance = token.allowance_key(STRANGER, WALLET)
    await chain.rpc.batch(
        [
            set_storage(token.address, token.balance_key(STRANGER), 11),
            set_storage(token.address, allowance, 22),
        ]
    )
    assert await chain.token_balance(token.address, STRANGER) == 11
    assert await chain.allowance(token.address, STRANGER, WALLET) == 22


async def test_the_fee_token_delivers_one_percent_less(chain: LocalChain) -> None:
    supply = await number(chain, FEE.address, "totalSupply()")
    send = abi.call("transfer(address,uint256)", STRANGER, 1000)
    assert await transact(chain, WALLET, FEE.address, send)
    assert await chain.token_balance(FEE.address, STRANGER) == 990
    assert await number(chain, FEE.address, "totalSupply()") == supply - 10


async def test_pools_stand_at_their_mainnet_addresses(chain: LocalChain) -> None:
    for pool in ALL_POOLS:
        known = MAINNET_POOLS.get(frozenset((pool.first, pool.second)))
        if known and not pool.v3:
            assert pool.address == known
    assert V3_WETH_USDC.address == "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640"


async def test_the_factories_know_every_pool(chain: LocalChain) -> None:
    for pool in ALL_POOLS:
        asked = (pool.first.address, pool.second.address)
        if pool.v3:
            get = ("getPool(address,address,uint24)", *asked, pool.fee)
            found = await number(chain, contract_addresses.V3_FACTORY, *get)
        else:
            found = await number(
                chain, contract_addresses.V2_FACTORY, "getPair(address,address)", *asked
            )
        assert found == int(pool.address, 16)


async def test_every_pool_opens_with_its_depth_at_the_genesis_price(chain: LocalChain) -> None:
    for pool in ALL_POOLS:
        if pool.v3:
            continue
        answer = await chain.call(pool.address, abi.call("getReserves()"))
        taken = [99 if side is FEE else 100 for side in (pool.first, pool.second)]
        assert (abi.word(answer, 0), abi.word(answer, 1)) == tuple(
            amount * part // 100 for amount, part in zip(pool.amounts, taken, strict=True)
        )


async def test_the_v3_pool_opens_at_the_genesis_price(chain: LocalChain) -> None:
    slot0 = await chain.call(V3_WETH_USDC.address, abi.call("slot0()"))
    usdc, weth = V3_WETH_USDC.amounts
    price = abi.word(slot0, 0) ** 2 * usdc >> 192
    assert abs(price - weth) * 10**9 < weth
    assert await number(chain, V3_WETH_USDC.address, "liquidity()") ** 2 <= usdc * weth
    assert await number(chain, V3_WETH_USDC.address, "fee()") == 500


async def test_constructors_ran_where_the_contracts_stand(chain: LocalChain) -> None:
    assert await number(chain, contract_addresses.V2_ROUTER, "factory()") == int(
        contract_addresses.V2_FACTORY, 16
    )
    assert await number(chain, contract_addresses.V2_ROUTER, "WETH()") == int(WETH.address, 16)
    assert (
        await number(chain, contract_addresses.V3_FACTORY, "feeAmountTickSpacing(uint24)", 500)
        == 10
    )
    assert await number(chain, contract_addresses.V3_FACTORY, "owner()") != 0
    own = contract_addresses.UNISWAP
    assert await number(chain, own, "factoryV2()") == int(contract_addresses.V2_FACTORY, 16)
    assert await number(chain, own, "factory()") == int(contract_addresses.V3_FACTORY, 16)
    assert await number(chain, own, "WETH9()") == int(WETH.address, 16)


async def test_uniswaps_own_router_swaps(chain: LocalChain) -> None:
    path, deadline = [WETH.address, USDC.address], 2**40
    signature = "swapExactETHForTokens(uint256,address[],address,uint256)"
    data = abi.call(signature, 1, path, STRANGER, deadline)
    tx_hash = await send(chain, WALLET, contract_addresses.V2_ROUTER, data, value=10**18)
    await chain.mine()
    receipt = await chain.receipt(tx_hash)
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert await chain.token_balance(USDC.address, STRANGER) == 2_988_020_943


@pytest.mark.parametrize("pair", contract_addresses.FEEDS)
async def test_a_feed_says_what_it_prices(chain: LocalChain, pair: str) -> None:
    assert await text(chain, contract_addresses.FEEDS[pair], "description()") == pair
    assert await number(chain, contract_addresses.FEEDS[pair], "decimals()") == 8


async def test_multicall_answers_many_and_forgives_only_where_allowed(chain: LocalChain) -> None:
    good = (USDC.address, False, abi.call("balanceOf(address)", WALLET))
    bad = (USDC.address, True, abi.call("transfer(address,uint256)", WALLET, 2**255))
    ether = (contract_addresses.MULTICALL, False, abi.call("getEthBalance(address)", WALLET))
    signature = "aggregate3((address,bool,bytes)[])"
    answer = await chain.call(contract_addresses.MULTICALL, abi.call(signature, [good, bad, ether]))
    assert [abi.word(answer, 2 + abi.word(answer, 2 + i) // 32) for i in range(3)] == [1, 0, 1]
    unforgiven = abi.call(signature, [(bad[0], False, bad[2])])
    with pytest.raises(CallReverted, match="Multicall3: call failed"):
        await chain.call(contract_addresses.MULTICALL, unforgiven)
