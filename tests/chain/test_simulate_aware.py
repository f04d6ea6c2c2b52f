"""What a contract sees of a wallet that lacks something: nothing that is a constant."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import msgspec
import pytest

from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.sandbox.contracts import abi
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import NOBODY, WALLET, SmallChain, odd, small_chain
from tests.defaults import NODE

AMOUNT = 1_000_000
SELL, BUY = odd("Ordinary"), odd("Bought")
WITNESS = odd("Witness").address
COINBASE = "0x" + "cb" * 20
SEEN = (
    *("gas left", "gas price", "base fee", "coinbase", "time", "prevrandao", "number"),
    *("block hash", "block gas limit", "ETH", "ETH of the coinbase"),
    *("sell balance", "allowance", "buy balance", "code"),
)


@pytest.fixture
async def small() -> AsyncIterator[SmallChain]:
    async with small_chain() as chain:
        await chain.raw.call("anvil_setCoinbase", COINBASE)
        await chain.mine(2)
        yield chain


def through(router: Address, signature: str, *values: object) -> Route:
    return Route(
        "a", "dex", router, router, 0, abi.call(signature, *values), (), 1, 1, 420_000, None
    )


def request(wallet: Address) -> RouteRequest:
    return RouteRequest(SELL, BUY, AMOUNT, wallet, 50, 10**9, 2_000_000_000)


async def ready(small: SmallChain, router: Address) -> None:
    """Let the wallet hold thrice and approve twice what it sells."""
    await small.give(SELL, WALLET, 3 * AMOUNT)
    await small.send(SELL.address, "approve(address,uint256)", router, 2 * AMOUNT)
    await small.mine()
    small.clock.advance(60)


class Eavesdropper(NodeRpcClient):
    """The client of the node, and what simulated swaps returned."""

    def __init__(self, small: SmallChain) -> None:
        super().__init__(small.http, [small.url], small.clock, **NODE)
        self.returned: list[bytes] = []

    async def batch(self, calls: Sequence[RpcCall]) -> list[Result]:
        results = await super().batch(calls)
        for call, result in zip(calls, results, strict=True):
            if call.method == "eth_simulateV1" and isinstance(result, msgspec.Raw):
                first, *more = msgspec.json.decode(result)
                if more:
                    self.returned.append(bytes.fromhex(first["calls"][0]["returnData"][2:]))
        return results

    def seen(self) -> list[dict[str, int]]:
        return [numbers(returned) for returned in self.returned]


def numbers(data: bytes) -> dict[str, int]:
    return {name: abi.word(data, at) for at, name in enumerate(SEEN)}


def listening(small: SmallChain) -> tuple[Eavesdropper, NodeChain]:
    rpc = Eavesdropper(small)
    return rpc, NodeChain(rpc, small.clock, measures_itself=lambda _: False)


async def test_nothing_a_contract_sees_of_a_bare_wallet_is_a_constant(small: SmallChain) -> None:
    rpc, chain = listening(small)
    route = through(WITNESS, "swap(address,address,uint256)", SELL.address, BUY.address, AMOUNT)
    for _ in range(4):
        [one] = await simulate_once(chain, request(NOBODY), [route])
        assert (one.succeeded, one.broken) == (True, None)
    for name in ("prevrandao", "ETH", "sell balance", "allowance"):
        assert len({seen[name] for seen in rpc.seen()}) >= 4, name
    for seen in rpc.seen():
        assert min(seen["sell balance"], seen["allowance"]) > AMOUNT
        assert seen["sell balance"] != seen["allowance"]
        assert 0 < seen["ETH"] < 5 * 10**18
        assert seen["ETH"] != 10**19


@dataclass
class Wallet:
    """What a wallet has of the sell token, of its approval, and of ETH."""

    holds: int = 0
    approved: int = 0
    wei: int = 0


WALLETS = {
    "ready": Wallet(AMOUNT, AMOUNT, 10**18),
    "without ETH": Wallet(AMOUNT, AMOUNT, 0),
    "with too little ETH": Wallet(AMOUNT, AMOUNT, 10**12),
    "without the token": Wallet(0, AMOUNT, 10**18),
    "without enough of the token": Wallet(AMOUNT - 1, AMOUNT, 10**18),
    "without approval": Wallet(AMOUNT, 0, 10**18),
    "without enough approval": Wallet(AMOUNT, AMOUNT - 1, 10**18),
    "without anything": Wallet(),
}


@pytest.mark.parametrize("name", WALLETS)
async def test_every_wallet_can_be_simulated(small: SmallChain, name: str) -> None:
    wallet = WALLETS[name]
    await small.give(SELL, WALLET, wallet.holds)
    await small.send(SELL.address, "approve(address,uint256)", WITNESS, wallet.approved)
    await small.mine()
    await small.raw.call("anvil_setBalance", WALLET, hex(wallet.wei))
    rpc, chain = listening(small)
    route = through(WITNESS, "swap(address,address,uint256)", SELL.address, BUY.address, AMOUNT)
    [one] = await simulate_once(chain, request(WALLET), [route])
    assert one == SimulationResult(True, AMOUNT, one.gas, gas_limit=one.gas_limit)
    [seen] = rpc.seen()[-1:]
    if wallet.holds >= AMOUNT:
        assert seen["sell balance"] == wallet.holds
    if wallet.approved >= AMOUNT:
        assert seen["allowance"] == wallet.approved
    if wallet.wei == 10**18:
        assert one.gas_limit is not None
        locked = one.gas_limit * seen["gas price"]
        assert 0 < 10**18 - seen["ETH"] <= fees.SWAP_FEE_MULTIPLE * locked


async def test_the_nonce_is_the_wallets_own(small: SmallChain) -> None:
    """A wallet that has sent before: a wrong nonce would make the node refuse the payload."""
    await ready(small, WITNESS)
    count = await small.raw.call("eth_getTransactionCount", WALLET, "latest")
    assert int(count, 16) > 0
    route = through(WITNESS, "swap(address,address,uint256)", SELL.address, BUY.address, AMOUNT)
    [one] = await simulate_once(small.chain, request(WALLET), [route])
    assert one.succeeded
