"""Genesis: put contracts, balances and liquidity on an empty chain, in few round trips."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from quietswap.chain.address import Address
from quietswap.sandbox.chain.anvil import mine
from quietswap.sandbox.contracts import abi, addresses, artifacts, pools
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.abi import (
    SEARCHER,
    TREASURY,
    WALLETS,
    Call,
    entry,
    items,
    set_storage,
)
from quietswap.sandbox.contracts.pools import (
    ALL_TOKENS,
    BY_ADDRESS,
    POOLS,
    SUPPLY_KEY,
    V3_RANGE_TICKS,
    WETH,
    Pool,
    SandboxToken,
    v3_opening,
)
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.rpc import SandboxRpcClient

# Administrative state of the vendors' contracts: which code and which targets they trust.
#
# On mainnet the vendor changes it by a transaction. Here it is a word of storage.


NOBODY = Address("0x" + "00" * 20)
TAKER_SUBMITTED = 2
"""0x's feature number of Settlers that the taker's transaction calls."""
GENUINE = (addresses.SETTLER_BEFORE, addresses.SETTLER)
FAULTS = frozenset({"drain", "new_implementation", "settlers_removed"})
"""The faults that need the vendor's administrator keys on mainnet."""
VELORA_FACET = "swapAndTake(address,address,bytes)"
"""The method that the fault `drain` adds to Velora's router."""
_IMPLEMENTATION = 0x360894A13BA1A3210667C828492DB98DCA3E2076CC3735A920A3CA505D382BBC
_WHITELIST = _FACETS = _AUTHORIZED = 0
_INSTANCES = 1


@dataclass
class VendorGovernance:
    """Changes a vendor's contracts as its fault needs, and back when the fault ends."""

    vendor: str
    rpc: SandboxRpcClient
    board: ActiveFaults
    _shown: str | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def settle(self) -> None:
        """Apply the state that the current fault needs."""
        async with self._lock:
            kind = self.board.kind(self.vendor)
            needed = kind if kind in FAULTS else None
            if needed != self._shown:
                await self.rpc.batch(under(self.vendor, needed))
                self._shown = needed


def genesis() -> Iterator[Call]:
    """Yield the calls that write the state of honest vendors."""
    yield openocean_runs(addresses.OPENOCEAN_EXCHANGE)
    yield from settlers(GENUINE)
    authority = entry(TAKER_SUBMITTED.to_bytes(32), _AUTHORIZED)
    yield set_storage(addresses.SETTLER_DEPLOYER, authority, int(TREASURY.address, 16))
    yield kyberswap_calls(addresses.EXECUTORS["kyberswap"], True)


def under(vendor: str, fault: str | None) -> list[Call]:
    """Return the calls that write the state of a vendor's contracts under this fault."""
    match vendor:
        case "kyberswap":
            return [kyberswap_calls(token, fault == "drain") for token in BY_ADDRESS]
        case "velora":
            facet = addresses.VELORA_THIEF if fault == "drain" else NOBODY
            return [velora_has(abi.selector(VELORA_FACET), facet)]
        case "openocean":
            thief = fault == "new_implementation"
            return [
                openocean_runs(addresses.OPENOCEAN_THIEF if thief else addresses.OPENOCEAN_EXCHANGE)
            ]
        case "zeroex":
            return list(settlers([] if fault == "settlers_removed" else GENUINE))
    return []


def openocean_runs(implementation: Address) -> Call:
    """Return the call that sets the implementation of OpenOcean's proxy (EIP-1967)."""
    return set_storage(addresses.OPENOCEAN, _IMPLEMENTATION, int(implementation, 16))


def settlers(instances: Sequence[Address]) -> Iterator[Call]:
    """Yield the calls that set 0x's Settlers for takers, the newest last."""
    listed = entry(TAKER_SUBMITTED.to_bytes(32), _INSTANCES)
    yield set_storage(addresses.SETTLER_DEPLOYER, listed, len(instances))
    for at, instance in enumerate(instances):
        yield set_storage(addresses.SETTLER_DEPLOYER, items(listed) + at, int(instance, 16))


def kyberswap_calls(target: Address, allowed: bool) -> Call:
    """Return the call that allows or denies a target to KyberSwap's `swapGeneric`."""
    slot = entry(bytes.fromhex(target[2:]), _WHITELIST)
    return set_storage(addresses.KYBERSWAP, slot, int(allowed))


def velora_has(selector: bytes, facet: Address) -> Call:
    """Return the call that sets the facet of a selector of Velora's router."""
    slot = entry(selector.ljust(32, b"\0"), _FACETS)
    return set_storage(addresses.VELORA, slot, int(facet, 16))


WALLET_USD, SEARCHER_USD = Decimal(100_000), Decimal(3_000_000)
"""USD value of each token that a wallet or thief, and that the searcher holds at genesis."""

DUST = 1
"""Balance of every router and executor in every token, in smallest units."""

_CONSTRUCTION_GAS, _POOL_GAS, _SYNC_GAS = 3_000_000, 7_000_000, 200_000
_MAX_FEE_PER_GAS = 10**10

SETUP_BLOCKS = 3
BLOCK_SECONDS = 12
"""Seconds between the setup blocks, as on mainnet."""


class GenesisFailed(Exception):
    """A transaction of the genesis failed; the message says which."""


async def deploy(rpc: SandboxRpcClient) -> None:
    """Fill the empty chain behind `rpc`. Raises MissingPackage, RpcError and GenesisFailed."""
    creations = artifacts.public_creations()
    code = [*_own_code(), *_set_code(creations.items())]
    await rpc.batch([*code, *genesis(), *pools.genesis(), *_money()])
    await rpc.call("anvil_setCoinbase", contract_addresses.BUILDER)
    await _construct_in_place(rpc, list(creations))
    await _transact(rpc, [(contract_addresses.SEEDER, _opening(pool), _POOL_GAS) for pool in POOLS])
    # a pair's price oracle starts in its second block; without this step the first swap of each
    # pair would use more gas than estimated
    pairs = [pool.address for pool in POOLS if not pool.v3]
    await _transact(rpc, [(pair, abi.call("sync()"), _SYNC_GAS) for pair in pairs])


def _own_code() -> Iterator[Call]:
    contracts = dict(contract_addresses.CONTRACTS) | dict.fromkeys(
        contract_addresses.FEEDS.values(), "Feed"
    )
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
    rich = (
        *(wallet.address for wallet in WALLETS),
        contract_addresses.THIEF,
        contract_addresses.SHY_SETTLER,
    )
    holdings = dict.fromkeys(rich, token.units(WALLET_USD / token.usd))
    holdings[SEARCHER.address] = token.units(SEARCHER_USD / token.usd)
    sides = [
        amount
        for pool in POOLS
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


def _opening(pool: Pool) -> bytes:
    first, second = pool.first.address, pool.second.address
    if not pool.v3:
        values = (contract_addresses.V2_FACTORY, first, second, *pool.amounts)
        return abi.call("openV2(address,address,address,uint256,uint256)", *values)
    sqrt_price, tick, liquidity = v3_opening(pool)
    ticks = (tick - V3_RANGE_TICKS, tick + V3_RANGE_TICKS)
    return abi.call(
        "openV3(address,address,address,uint24,uint160,int24,int24,uint128)",
        *(contract_addresses.V3_FACTORY, first, second, pool.fee, sqrt_price, *ticks, liquidity),
    )


async def _transact(rpc: SandboxRpcClient, calls: Sequence[tuple[Address, bytes, int]]) -> None:
    """Mine one block with a transaction of the treasury per (to, data, gas), in this order."""
    nonce = await rpc.number("eth_getTransactionCount", TREASURY.address, "latest")
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
    hashes = await rpc.each("eth_sendTransaction", sent)
    await mine(rpc, int((await rpc.head())["timestamp"], 16) + BLOCK_SECONDS)
    receipts = await rpc.each("eth_getTransactionReceipt", hashes)
    for (to, data, _), receipt in zip(calls, receipts, strict=True):
        if receipt is None or receipt["status"] != "0x1":
            raise GenesisFailed(f"a call of {to} failed at genesis: 0x{data.hex()[:200]}")
