"""Trying a row of transactions on the latest state, and reading what tokens moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quietswap.domain import address as addresses
from quietswap.domain.address import Address
from quietswap.domain.crypto import keccak256
from quietswap.sandbox import abi
from quietswap.sandbox.mempool import Waiting
from quietswap.sandbox.pools import POOLS, Pool
from quietswap.sandbox.rpc import Rpc, RpcError

_TRANSFER = "0x" + keccak256(b"Transfer(address,address,uint256)").hex()
_V2_SWAP = "0x" + keccak256(b"Swap(address,uint256,uint256,uint256,uint256,address)").hex()
_V2_PAIRS = {pool.address: pool for pool in POOLS if not pool.v3}


@dataclass(frozen=True, slots=True)
class V2Swap:
    """A swap a V2 pair reported, in smallest units."""

    pool: Pool
    token_in: Address
    amount_in: int
    amount_out: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one transaction did, tried or mined."""

    succeeded: bool
    gas_used: int
    logs: Sequence[dict[str, Any]]

    def v2_swaps(self) -> list[V2Swap]:
        """Return the swaps over known V2 pairs, in order."""
        return [swap for log in self.logs if (swap := _v2_swap(log))]

    def gains(self, owner: Address) -> dict[Address, int]:
        """Return by how much each token balance of `owner` changed."""
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


def from_receipt(receipt: dict[str, Any]) -> Outcome:
    """Return what a mined transaction did."""
    return Outcome(receipt["status"] == "0x1", int(receipt["gasUsed"], 16), receipt["logs"])


async def simulate(rpc: Rpc, row: Sequence[Waiting]) -> list[Outcome]:
    """Return what each transaction of the row would do, one after the other, in the next block.

    One that could not even start, such as for want of ETH, counts as failed and is passed over.
    """
    if not row:
        return []
    try:
        return await _whole(rpc, row)
    except RpcError:  # the node refuses a row for a single such transaction
        return await _one_by_one(rpc, row)


async def _whole(rpc: Rpc, row: Sequence[Waiting]) -> list[Outcome]:
    block = {"blockStateCalls": [{"calls": [tx.call for tx in row]}]}
    answer = await rpc.call("eth_simulateV1", block, "latest")
    return [from_receipt(one) for one in answer[0]["calls"]]


async def _one_by_one(rpc: Rpc, row: Sequence[Waiting]) -> list[Outcome]:
    startable: list[Waiting] = []
    outcomes: list[Outcome] = []
    for tx in row:
        try:
            outcomes.append((await _whole(rpc, [*startable, tx]))[-1])
        except RpcError:
            outcomes.append(Outcome(False, 0, ()))
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
