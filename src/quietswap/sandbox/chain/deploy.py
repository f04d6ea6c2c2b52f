"""Genesis: put contracts, balances and liquidity on an empty chain, in few round trips."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain.anvil import mine
from quietswap.sandbox.contracts import abi, artifacts, pools
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import SEARCHER, TREASURY, WALLETS, Call, set_storage
from quietswap.sandbox.contracts.pools import ALL_POOLS, WETH, Pool, SandboxToken
from quietswap.sandbox.rpc import SandboxRpcClient
from quietswap.sandbox.vendors.stand_in import stand_ins

WALLET_USD, SEARCHER_USD = Decimal(100_000), Decimal(3_000_000)
"""USD value of each token that a wallet or thief, and that the searcher holds at genesis."""

_TOKENS = (*pools.ALL_TOKENS.values(), pools.WORTHLESS)
DUST = 1
"""Balance of every router and executor in every token, in smallest units."""

_CONSTRUCTION_GAS, _POOL_GAS, _SYNC_GAS = 3_000_000, 7_000_000, 200_000
_MAX_FEE_PER_GAS = 10**10
_LEAST_FEE = (
    contract_addresses.V3_FACTORY,
    abi.call("enableFeeAmount(uint24,int24)", 100, pools.V3_TICK_SPACINGS[100]),
    _SYNC_GAS,
)
"""The fee tier that the V3 factory does not have from its constructor."""

SETUP_BLOCKS = 4
BLOCK_SECONDS = 12
"""Seconds between the setup blocks, as on mainnet."""


class GenesisFailed(Exception):
    """A transaction of the genesis failed; the message says which."""


async def deploy(rpc: SandboxRpcClient) -> None:
    """Fill the empty chain behind `rpc`. Raises MissingPackage, RpcError and GenesisFailed."""
    creations = artifacts.public_creations()
    code = [*_own_code(), *_set_code(creations.items())]
    vendors = (call for stand_in in stand_ins().values() for call in stand_in.genesis())
    await rpc.batch([*code, *vendors, *pools.genesis(), *_money()])
    await rpc.call("anvil_setCoinbase", contract_addresses.BUILDER)
    await _construct_in_place(rpc, list(creations))
    pairs = [pool for pool in ALL_POOLS if not pool.v3]
    await _transact(rpc, [_LEAST_FEE, *map(_opening, pairs)])
    await _transact(rpc, [_opening(pool) for pool in ALL_POOLS if pool.v3])
    # a pair's price oracle starts in its second block; without this step the first swap of each
    # pair would use more gas than estimated
    await _transact(rpc, [(pair.address, abi.call("sync()"), _SYNC_GAS) for pair in pairs])


def _own_code() -> Iterator[Call]:
    contracts = dict(contract_addresses.CONTRACTS)
    contracts |= dict.fromkeys(contract_addresses.FEEDS.values(), "Feed")
    for stand_in in stand_ins().values():
        contracts |= stand_in.contracts
    contracts |= {token.address: token.contract for token in _TOKENS if token.contract}
    return _set_code((at, artifacts.own_runtime(name)) for at, name in contracts.items())


def _set_code(codes: Iterable[tuple[Address, str]]) -> Iterator[Call]:
    return (("anvil_setCode", (address, code)) for address, code in codes)


def _money() -> Iterator[Call]:
    for token in _TOKENS:
        holdings = _holdings(token)
        for owner, amount in holdings.items():
            yield set_storage(token.address, token.balance_key(owner), amount)
        if token is WETH:
            yield "anvil_setBalance", (WETH.address, hex(sum(holdings.values())))
        else:
            yield set_storage(token.address, pools.SUPPLY_KEY, sum(holdings.values()))


def _holdings(token: SandboxToken) -> dict[Address, int]:
    thieves = contract_addresses.THIEF, contract_addresses.SHY_SETTLER
    rich = (*(wallet.address for wallet in WALLETS), *thieves)
    holdings = dict.fromkeys(rich, token.units(WALLET_USD / token.usd))
    holdings[SEARCHER.address] = token.units(SEARCHER_USD / token.usd)
    sides = [
        amount
        for pool in ALL_POOLS
        for side, amount in zip((pool.first, pool.second), pool.amounts, strict=True)
        if side is token
    ]
    # routers on mainnet hold dust of every token. A balance that never returns to zero gives no gas
    # refund, so that reported gas equals the needed gas limit. 0x's Settler pays out all it holds
    traders = (*contract_addresses.ROUTERS.values(), *contract_addresses.EXECUTORS.values())
    holdings |= dict.fromkeys(traders, DUST)
    # twice the amount, because a token with a transfer fee loses some on the way to its pool
    return holdings | {contract_addresses.SEEDER: 2 * sum(sides)}


async def _construct_in_place(rpc: SandboxRpcClient, addresses: Sequence[Address]) -> None:
    """Run the creation code that is at each address, and put the runtime code there.

    A call returns the runtime code with correct immutables, including `address(this)`. A
    transaction writes the constructor's storage. Together they are a deployment at that address.
    """
    runtimes = await rpc.each("eth_call", [{"to": to} for to in addresses], "latest")
    await _transact(rpc, [(to, b"", _CONSTRUCTION_GAS) for to in addresses])
    await rpc.batch(list(_set_code(zip(addresses, runtimes, strict=True))))


def _opening(pool: Pool) -> tuple[Address, bytes, int]:
    tokens = pool.first.address, pool.second.address
    if pool.v3:
        sqrt_price, tick, liquidity = pools.v3_opening(pool)
        ticks = tick - pools.V3_RANGE_TICKS, tick + pools.V3_RANGE_TICKS
        data = abi.call(
            "openV3(address,address,address,uint24,uint160,int24,int24,uint128)",
            *(contract_addresses.V3_FACTORY, *tokens, pool.fee, sqrt_price, *ticks, liquidity),
        )
    else:
        values = contract_addresses.V2_FACTORY, *tokens, *pool.amounts
        data = abi.call("openV2(address,address,address,uint256,uint256)", *values)
    return contract_addresses.SEEDER, data, _POOL_GAS


async def _transact(rpc: SandboxRpcClient, calls: Sequence[tuple[Address, bytes, int]]) -> None:
    """Mine one block with a transaction of the treasury per (to, data, gas), in this order."""
    nonce = await rpc.number("eth_getTransactionCount", TREASURY.address, "latest")
    fees = {"maxFeePerGas": hex(_MAX_FEE_PER_GAS), "maxPriorityFeePerGas": "0x0"}
    own = {"from": TREASURY.address, **fees}
    sent = [
        own | {"to": to, "data": "0x" + data.hex(), "gas": hex(gas), "nonce": hex(at)}
        for at, (to, data, gas) in enumerate(calls, nonce)
    ]
    hashes = await rpc.each("eth_sendTransaction", sent)
    await mine(rpc, int((await rpc.head())["timestamp"], 16) + BLOCK_SECONDS)
    receipts = await rpc.each("eth_getTransactionReceipt", hashes)
    for (to, data, _), receipt in zip(calls, receipts, strict=True):
        if receipt is None or receipt["status"] != "0x1":
            raise GenesisFailed(f"a call of {to} failed at genesis: 0x{data.hex()[:200]}")
