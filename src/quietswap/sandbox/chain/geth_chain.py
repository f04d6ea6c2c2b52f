"""The local chain on geth, which makes its blocks itself. Nothing can be written into its state."""

import asyncio
import math
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path

from quietswap.sandbox.chain.genesis import genesis, read_alloc
from quietswap.sandbox.chain.geth import Geth
from quietswap.sandbox.chain.local_chain import LocalChain, NotOnThisNode, running_chain
from quietswap.sandbox.contracts import addresses
from quietswap.sandbox.rpc import SandboxRpcClient

_LOOK_S = 0.05


class GethChain(LocalChain):
    async def mine(self, timestamp: int | None = None) -> int:
        """Wait for the node's next block and return its number; its time is the node's own."""
        before = await self.rpc.number("eth_blockNumber")
        while True:
            number = await self.rpc.number("eth_blockNumber")
            if number > before:
                return number
            await asyncio.sleep(_LOOK_S)

    async def reorg(self, depth: int) -> None:
        """Remove the last `depth` blocks and their transactions; other blocks follow."""
        head = await self.rpc.number("eth_blockNumber")
        await self.rpc.call("debug_setHead", hex(head - depth))

    async def set_price(self, pair: str, usd: Decimal, updated_at: int = 0) -> None:
        raise NotOnThisNode("a feed keeps its price on geth: its storage cannot be written")


@asynccontextmanager
async def running_geth_chain(
    block_time: float = 1.0, amsterdam_in: int | None = None
) -> AsyncIterator[GethChain]:
    """Run geth on a loopback port with the sandbox's genesis, and a block every `block_time` s.

    Amsterdam's rules begin `amsterdam_in` seconds after the genesis. Raises MissingPackage,
    AnvilFailed, GenesisFailed and GethFailed.
    """
    async with running_chain() as local:
        alloc, head = await read_alloc(local.rpc), await local.head()
    started = int(time.time())
    fork = None if amsterdam_in is None else started + amsterdam_in
    with tempfile.TemporaryDirectory(prefix="quietswap-geth-") as folder:
        fees_to = ("--miner.pending.feeRecipient", addresses.BUILDER)
        geth = Geth(Path(folder), max(1, math.ceil(block_time)), fees_to)
        await geth.init(genesis(alloc, int(head["timestamp"], 16), fork))
        rpc = SandboxRpcClient(geth.url)
        try:
            await geth.start()
            yield GethChain(geth, rpc)
        finally:
            await rpc.close()
            await geth.stop()
