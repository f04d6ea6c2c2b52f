"""Mining: one block at a time, with a clock that keeps up and a base fee as on a calm day."""

import time

from quietswap.sandbox.rpc import Rpc

BASE_FEE_FLOOR = 1_000_000_000
"""Wei per gas (1 gwei). Without a floor the fee of nearly empty blocks falls to 7 wei."""


async def mine(rpc: Rpc, timestamp: int | None = None) -> int:
    """Mine what is waiting into one block and return its number.

    Its timestamp (Unix seconds) is the given one or the present, at least one second after its
    parent's. The next block's base fee follows EIP-1559, but not below BASE_FEE_FLOOR.
    """
    parent = await rpc.call("eth_getBlockByNumber", "latest", False)
    earliest = int(parent["timestamp"], 16) + 1
    wanted = int(time.time()) if timestamp is None else timestamp
    await rpc.call("evm_mine", {"timestamp": max(earliest, wanted)})
    head = await rpc.call("eth_getBlockByNumber", "latest", False)
    await hold_base_fee(rpc, head)
    return int(head["number"], 16)


async def hold_base_fee(rpc: Rpc, head: dict[str, str]) -> None:
    """Keep the fee of the block after `head` from falling below the floor."""
    fee, target = int(head["baseFeePerGas"], 16), int(head["gasLimit"], 16) // 2
    following = fee + fee * (int(head["gasUsed"], 16) - target) // target // 8
    if following < BASE_FEE_FLOOR:
        await rpc.call("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_FLOOR))
