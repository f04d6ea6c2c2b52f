"""Genesis: put code, money and liquidity on a fresh chain, in a handful of round trips."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox import abi, artifacts, feeds, places
from quietswap.sandbox.blocks import mine
from quietswap.sandbox.pools import POOLS, V3_RANGE_TICKS, Pool, v3_opening
from quietswap.sandbox.rpc import Rpc
from quietswap.sandbox.tokens import ALL_TOKENS, SUPPLY_KEY, WETH, SandboxToken
from quietswap.sandbox.wallets import SEARCHER, TREASURY, WALLETS

Call = tuple[str, Sequence[Any]]

WALLET_USD, SEARCHER_USD = Decimal(100_000), Decimal(3_000_000)
"""What each wallet and the searcher hold of every token, at genesis prices."""

DUST = 1
"""Smallest units of every token that every router holds."""

_CONSTRUCTION_GAS, _POOL_GAS, _SYNC_GAS = 3_000_000, 7_000_000, 200_000
_MAX_FEE_PER_GAS = 10**10

SETUP_BLOCKS = 3
BLOCK_SECONDS = 12
"""Between the blocks of the setup, as on mainnet."""


class GenesisFailed(Exception):
    """The chain did not take a step of its genesis; the message says which."""


async def deploy(rpc: Rpc) -> None:
    """Fill the empty chain behind `rpc`. Raises MissingPackage, RpcError and GenesisFailed."""
    creations = artifacts.public_creations()
    await rpc.batch([*_own_code(), *_set_code(creations.items()), *feeds.genesis(), *_money()])
    await rpc.call("anvil_setCoinbase", places.BUILDER)
    await _construct_in_place(rpc, list(creations))
    await _transact(rpc, [(places.SEEDER, _opening(pool), _POOL_GAS) for pool in POOLS])
    # a pair's price oracle starts with its second block; without it the first swap of each pair
    # would cost more gas than any estimate says
    pairs = [pool.address for pool in POOLS if not pool.v3]
    await _transact(rpc, [(pair, abi.call("sync()"), _SYNC_GAS) for pair in pairs])


def _own_code() -> Iterator[Call]:
    contracts = dict(places.CONTRACTS) | dict.fromkeys(places.FEEDS.values(), "Feed")
    contracts |= {token.address: token.contract for token in ALL_TOKENS.values() if token.contract}
    return _set_code((at, artifacts.own_runtime(name)) for at, name in contracts.items())


def _set_code(codes: Iterable[tuple[Address, str]]) -> Iterator[Call]:
    return (("anvil_setCode", (address, code)) for address, code in codes)


def _money() -> Iterator[Call]:
    for token in ALL_TOKENS.values():
        holdings = _holdings(token)
        for owner, amount in holdings.items():
            yield set_storage(token.address, token.balance_key(owner), amount)
        if token is WETH:
            yield "anvil_setBalance", (WETH.address, hex(sum(holdings.values())))
        else:
            yield set_storage(token.address, SUPPLY_KEY, sum(holdings.values()))


def _holdings(token: SandboxToken) -> dict[Address, int]:
    holdings = {wallet.address: token.units(WALLET_USD / token.usd) for wallet in WALLETS}
    holdings[SEARCHER.address] = token.units(SEARCHER_USD / token.usd)
    sides = [
        amount
        for pool in POOLS
        for side, amount in zip((pool.first, pool.second), pool.amounts, strict=True)
        if side is token
    ]
    # routers on mainnet hold dust of every token: a balance that never returns to zero gives no
    # gas refund, so that what a swap is said to use is what its gas limit must cover
    holdings |= dict.fromkeys((*places.ROUTERS.values(), places.SETTLER), DUST)
    # a token that takes a fee loses some on the way to its pool, hence twice the amount
    return holdings | {places.SEEDER: 2 * sum(sides)}


def set_storage(address: Address, key: str, value: int) -> Call:
    """Return the call that writes one storage word."""
    return "anvil_setStorageAt", (address, key, f"0x{value:064x}")


async def _construct_in_place(rpc: Rpc, addresses: Sequence[Address]) -> None:
    """Run creation code that stands at its contract's address, then put its result there.

    Run as a transaction it writes the constructor's storage, run as a call it returns the runtime
    code with every immutable right, `address(this)` included: as if deployed at that address.
    """
    runtimes = await rpc.batch([("eth_call", ({"to": to}, "latest")) for to in addresses])
    await _transact(rpc, [(to, b"", _CONSTRUCTION_GAS) for to in addresses])
    await rpc.batch(list(_set_code(zip(addresses, runtimes, strict=True))))


def _opening(pool: Pool) -> bytes:
    first, second = pool.first.address, pool.second.address
    if not pool.v3:
        values = (places.V2_FACTORY, first, second, *pool.amounts)
        return abi.call("openV2(address,address,address,uint256,uint256)", *values)
    sqrt_price, tick, liquidity = v3_opening(pool)
    ticks = (tick - V3_RANGE_TICKS, tick + V3_RANGE_TICKS)
    return abi.call(
        "openV3(address,address,address,uint24,uint160,int24,int24,uint128)",
        *(places.V3_FACTORY, first, second, pool.fee, sqrt_price, *ticks, liquidity),
    )


async def _transact(rpc: Rpc, calls: Sequence[tuple[Address, bytes, int]]) -> None:
    """Mine one transaction of the treasury per (to, data, gas), in this order, in one block."""
    nonce = int(await rpc.call("eth_getTransactionCount", TREASURY.address, "latest"), 16)
    sent = [
        {
            "from": TREASURY.address,
            "to": to,
            "data": "0x" + data.hex(),
            "gas": hex(gas),
            "nonce": hex(at),
            "maxFeePerGas": hex(_MAX_FEE_PER_GAS),
            "maxPriorityFeePerGas": "0x0",
        }
        for at, (to, data, gas) in enumerate(calls, nonce)
    ]
    hashes = await rpc.batch([("eth_sendTransaction", (one,)) for one in sent])
    parent = await rpc.call("eth_getBlockByNumber", "latest", False)
    await mine(rpc, int(parent["timestamp"], 16) + BLOCK_SECONDS)
    receipts = await rpc.batch([("eth_getTransactionReceipt", (one,)) for one in hashes])
    for (to, data, _), receipt in zip(calls, receipts, strict=True):
        if receipt is None or receipt["status"] != "0x1":
            raise GenesisFailed(f"a call of {to} failed at genesis: 0x{data.hex()[:200]}")
