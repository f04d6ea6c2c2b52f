"""Simulation of a transaction sequence on the latest state, and decoding of its token events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256
from quietswap.sandbox.chain.mempool import PendingTransaction
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.pools import POOLS, Pool
from quietswap.sandbox.wire.rpc_client import RpcError, SandboxRpcClient

_TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
_V2_SWAP = "0x" + keccak256(b"Swap(address,uint256,uint256,uint256,uint256,address)").hex()
_V2_PAIRS = {pool.address: pool for pool in POOLS if not pool.v3}


@dataclass(frozen=True, slots=True)
class V2Swap:
    """A `Swap` event of a V2 pair, in smallest units."""

    pool: Pool
    token_in: Address
    amount_in: int
    amount_out: int


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """The result of one transaction, simulated or mined."""

    succeeded: bool
    logs: Sequence[dict[str, Any]]

    def v2_swaps(self) -> list[V2Swap]:
        """Return the swaps on known V2 pairs, in order."""
        return [swap for log in self.logs if (swap := _v2_swap(log))]

    def gains(self, owner: Address) -> dict[Address, int]:
        """Return the change of each token balance of `owner`, in smallest units."""
        changes: dict[Address, int] = {}
        for log in self.logs:
            if log["topics"][0] != _TRANSFER or len(log["topics"]) != 3:
                continue
            amount = abi.word(bytes.fromhex(log["data"][2:]), 0)
            source, target = (_address(topic) for topic in log["topics"][1:])
            token = addresses.from_any_case(log["address"])
            change = amount * ((target == owner) - (source == owner))
            changes[token] = changes.get(token, 0) + change
        return {token: change for token, change in changes.items() if change}


def from_receipt(receipt: dict[str, Any]) -> ExecutionResult:
    """Return the result of a mined transaction."""
    return ExecutionResult(receipt["status"] == "0x1", receipt["logs"])


async def simulate(
    rpc: SandboxRpcClient, row: Sequence[PendingTransaction]
) -> list[ExecutionResult]:
    """Return the result of each transaction, executed in this order in the next block.

    An invalid one, such as without enough ETH for its gas, counts as failed and is left out.
    """
    if not row:
        return []
    try:
        return await _whole(rpc, row)
    except RpcError:  # the node rejects the whole sequence for one invalid transaction
        return await _one_by_one(rpc, row)


async def _whole(rpc: SandboxRpcClient, row: Sequence[PendingTransaction]) -> list[ExecutionResult]:
    block = {"blockStateCalls": [{"calls": [tx.call for tx in row]}]}
    answer = await rpc.call("eth_simulateV1", block, "latest")
    return [from_receipt(one) for one in answer[0]["calls"]]


async def _one_by_one(
    rpc: SandboxRpcClient, row: Sequence[PendingTransaction]
) -> list[ExecutionResult]:
    startable: list[PendingTransaction] = []
    outcomes: list[ExecutionResult] = []
    for tx in row:
        try:
            outcomes.append((await _whole(rpc, [*startable, tx]))[-1])
        except RpcError:
            outcomes.append(ExecutionResult(False, ()))
        else:
            startable.append(tx)
    return outcomes


def _v2_swap(log: dict[str, Any]) -> V2Swap | None:
    pool = _V2_PAIRS.get(addresses.from_any_case(log["address"]))
    if pool is None or log["topics"][0] != _V2_SWAP:
        return None
    data = bytes.fromhex(log["data"][2:])
    in0, in1, out0, out1 = (abi.word(data, at) for at in range(4))
    if in0 > 0:
        return V2Swap(pool, pool.first.address, in0, out1)
    return V2Swap(pool, pool.second.address, in1, out0)


def _address(topic: str) -> Address:
    return addresses.from_any_case("0x" + topic[-40:])
