"""Runs a swap through a RedSnwapper with the service's simulation, both clients' and as mined.

The executor is `Onlooker`, which reads all that a contract can read.
"""

import copy
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from quietswap.client.errors import UnsafeQuote
from quietswap.client.flows.effects import run_async
from quietswap.client.flows.moment import at_one_moment
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.simulation import simulate_swap
from quietswap.client.node_calls import NodeBatch, NodeCall
from quietswap.client.wire import decode
from quietswap.rules.chain.records import SimulationResult
from quietswap.rules.chain.rpc_wire import Result, RpcCall
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.quotes.quote import Route, RouteRequest
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.vendors.sushi import ROUTER as SUSHI
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.artifacts import own_runtime
from quietswap.sandbox.vendors.sushi import SAFE_EXECUTOR
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.chain.simulate_once import simulate_once
from tests.chain.small_chain import WALLET, SmallChain, odd, small_chain
from tests.client.fake_servers import swap_quote
from tests.defaults import NODE
from tests.response_json import quotes
from tests.typescript.package import TypeScript

AMOUNT = 1_000_000
SELL, BUY, ONLOOKER = odd("Ordinary"), odd("Bought"), odd("Onlooker").address
COINBASE = Address("0x" + "cb" * 20)
GAS = 420_000
BEACON_ROOTS = "0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02"
_BEACON_ROOTS_CODE = (
    "0x3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f35801560495762001fff8106"
    "90815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f359062001fff015500"
)
_RING = 8191


@dataclass
class Trial:
    """Whether a swap passed, why not, and what it logged."""

    passed: bool
    reason: str
    logs: Sequence[dict[str, Any]]
    gas_limit: int = 0


@asynccontextmanager
async def watched_chain() -> AsyncIterator[SmallChain]:
    """Yield a chain with a RedSnwapper, beacon roots, and a wallet that is ready to swap."""
    async with small_chain() as small:
        await small.raw.call("anvil_setCode", SUSHI, own_runtime("SushiSnwapper"))
        await small.raw.call("anvil_setCode", SAFE_EXECUTOR, own_runtime("SushiSafeExecutor"))
        await small.raw.call("anvil_setCode", BEACON_ROOTS, _BEACON_ROOTS_CODE)
        await small.raw.call("anvil_setCoinbase", COINBASE)
        await small.raw.call("anvil_setBalance", COINBASE, hex(10**17))
        await small.give(SELL, WALLET, 3 * AMOUNT)
        await small.give(BUY, WALLET, AMOUNT)
        await small.send(SELL.address, "approve(address,uint256)", SUSHI, 2 * AMOUNT)
        await small.mine(2)
        small.clock.advance(60)
        yield small


def snwap(executor_data: bytes, *, minimum: int = 0) -> bytes:
    """Return a swap of `AMOUNT`; with a minimum of 0 the router binds nothing."""
    return abi.call(
        "snwap(address,uint256,address,address,uint256,address,bytes)",
        *(SELL.address, AMOUNT, WALLET, BUY.address, minimum, ONLOOKER, executor_data),
    )


async def by_service(small: SmallChain, swaps: Sequence[bytes]) -> list[Trial]:
    """Simulate the swaps as the service does, all in one quote."""
    rpc = _Noting(small)
    chain = NodeChain(rpc, small.clock)
    routes = [Route("a", "dex", SUSHI, SUSHI, 0, s, (), 1, AMOUNT, GAS, None) for s in swaps]
    request = RouteRequest(SELL, BUY, AMOUNT, WALLET, 50, 10**9, 2_000_000_000)
    results = await simulate_once(chain, request, routes)
    logs = [rpc.logs.get(swap, []) for swap in swaps]
    return [_of(result, log) for result, log in zip(results, logs, strict=True)]


def _of(result: SimulationResult, logs: list[dict[str, Any]]) -> Trial:
    passed = bool(result.succeeded and result.broken is None and (result.received or 0) >= AMOUNT)
    return Trial(passed, result.broken or result.reason, logs, result.gas_limit or GAS)


class _Noting(NodeRpcClient):
    """The client of the node, and the logs of simulated swaps by their calldata."""

    def __init__(self, small: SmallChain) -> None:
        super().__init__(small.http, [small.url], small.clock, **NODE)
        self.logs: dict[bytes, list[dict[str, Any]]] = {}

    async def batch(self, calls: Sequence[RpcCall]) -> list[Result]:
        results = await super().batch(calls)
        for call, result in zip(calls, results, strict=True):
            if call.method == "eth_simulateV1" and isinstance(result, msgspec.Raw):
                first, *more = msgspec.json.decode(result)
                if more:
                    options = msgspec.json.decode(msgspec.json.encode(call.params))[0]
                    data = options["blockStateCalls"][0]["calls"][0]["data"]
                    self.logs[bytes.fromhex(data[2:])] = first["calls"][0]["logs"]
        return results


async def by_python(
    small: SmallChain, swaps: Sequence[bytes], limits: Sequence[int]
) -> list[Trial]:
    """Simulate the swaps as the Python client does."""
    fee = await max_fee(small)
    found = []
    for swap, limit in zip(swaps, limits, strict=True):
        quote = decode(msgspec.json.encode(_quote(swap, limit, fee)), SwapQuoteResponse)
        node, trial = _Node(small), simulate_swap(quote, _request(), must=True)
        try:
            await run_async(at_one_moment(trial), node.perform)
            found.append(Trial(True, "", node.logs, limit))
        except UnsafeQuote as error:
            found.append(Trial(False, str(error), node.logs, limit))
    return found


@dataclass
class _Node:
    """Performs the calls of a flow, and notes the logs of its simulation."""

    small: SmallChain
    logs: Sequence[dict[str, Any]] = ()

    async def perform(self, effect: Any) -> Any:
        if isinstance(effect, NodeBatch):
            return tuple([await self.perform(call) for call in effect.calls])
        assert isinstance(effect, NodeCall)
        answer = await self.small.raw.call(effect.method, *effect.params)
        if effect.method == "eth_simulateV1":
            self.logs = answer[0]["calls"][0]["logs"]
        return effect.read(msgspec.json.encode(answer))


async def by_typescript(
    small: SmallChain, typescript: TypeScript, swaps: Sequence[bytes], limits: Sequence[int]
) -> list[Trial]:
    """Simulate the swaps as the TypeScript client does."""
    fee = await max_fee(small)
    request = {
        "wallet": WALLET,
        "sellToken": SELL.address,
        "buyToken": BUY.address,
        "sellAmount": f"n:{AMOUNT}",
    }
    cases = [[_quote(s, limit, fee), request] for s, limit in zip(swaps, limits, strict=True)]
    answers = typescript.ask("simulate", small.url, cases)
    return [
        Trial(
            "refused" not in one,
            one.get("refused", ""),
            one["answer"]["result"][0]["calls"][0]["logs"],
            limit,
        )
        for one, limit in zip(answers, limits, strict=True)
    ]


def _request() -> SwapRequest:
    return SwapRequest(SELL.address, BUY.address, AMOUNT, WALLET)


_QUOTE = quotes.swap_quote_response(swap_quote(target=SUSHI, data=b""))


def _quote(swap: bytes, limit: int, fee: int) -> dict[str, Any]:
    quote: dict[str, Any] = copy.deepcopy(msgspec.to_builtins(_QUOTE))
    quote |= {"buyToken": BUY.address, "minBuyAmount": str(AMOUNT), "sellAmount": str(AMOUNT)}
    quote["dexRoute"]["data"] = data = "0x" + swap.hex()
    params = quote["mevProtection"]["transactionParams"]
    params |= {"to": SUSHI, "data": data, "value": "0"}
    params |= {"gasLimit": str(limit), "maxFeePerGas": str(fee), "maxPriorityFeePerGas": "0"}
    return quote


async def max_fee(small: SmallChain) -> int:
    """Return the fee cap that the service sets, in wei per gas."""
    head = await NodeChain(small.rpc, small.clock).head()
    return fees.SWAP_FEE_MULTIPLE * head.next_base_fee


async def mined(small: SmallChain, swap: bytes, limit: int, *, root: int) -> dict[str, Any]:
    """Sign and mine the swap in the very next block, a slot later; return the receipt.

    anvil has no beacon chain: what its system call would write is written here, `root`.
    """
    head = await NodeChain(small.rpc, small.clock).head()
    time = head.time + 12
    fee = fees.SWAP_FEE_MULTIPLE * head.next_base_fee
    call = {"from": WALLET, "to": SUSHI, "data": "0x" + swap.hex(), "gas": hex(limit)}
    call |= {"maxFeePerGas": hex(fee), "maxPriorityFeePerGas": "0x0"}
    words = {time % _RING: time, time % _RING + _RING: root}
    await small.raw.batch(
        [
            ("anvil_setStorageAt", (BEACON_ROOTS, hex(slot), f"0x{word:064x}"))
            for slot, word in words.items()
        ]
    )
    await small.raw.call("evm_setNextBlockTimestamp", time)
    tx_hash = await small.raw.call("eth_sendTransaction", call)
    await small.mine()
    receipt: dict[str, Any] = await small.raw.call("eth_getTransactionReceipt", tx_hash)
    return receipt
