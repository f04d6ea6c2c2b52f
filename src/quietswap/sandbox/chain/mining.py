"""Mining of single blocks, with timestamps at the present and a lower bound for the base fee."""

import time

from quietswap.sandbox.wire.rpc_client import SandboxRpcClient

BASE_FEE_FLOOR = 1_000_000_000
"""Wei per gas (1 gwei). Without a floor the fee of nearly empty blocks falls to 7 wei."""


async def mine(rpc: SandboxRpcClient, timestamp: int | None = None) -> int:
    """Mine the pending transactions into one block and return its number.

    Its timestamp (Unix seconds) is `timestamp` or the present, and at least one second after its
    parent's. The next block's base fee follows EIP-1559, but is at least BASE_FEE_FLOOR.
    """
    earliest = int((await rpc.head())["timestamp"], 16) + 1
    wanted = int(time.time()) if timestamp is None else timestamp
    await rpc.call("evm_mine", {"timestamp": max(earliest, wanted)})
    head = await rpc.head()
    await hold_base_fee(rpc, head)
    return int(head["number"], 16)


async def hold_base_fee(rpc: SandboxRpcClient, head: dict[str, str]) -> None:
    """Raise the fee of the block after `head` to the floor when it would be lower."""
    fee, target = int(head["baseFeePerGas"], 16), int(head["gasLimit"], 16) // 2
    following = fee + fee * (int(head["gasUsed"], 16) - target) // target // 8
    if following < BASE_FEE_FLOOR:
        await rpc.call("anvil_setNextBlockBaseFeePerGas", hex(BASE_FEE_FLOOR))
