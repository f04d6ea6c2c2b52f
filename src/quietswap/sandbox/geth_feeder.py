"""The block builder's place on geth, which makes its blocks itself.

Once a block, the node is given what the relays hold. It orders a block by tip, and a transaction
that it has once is in its pool until it is mined: so nothing is private, and no searcher attacks.
"""

import asyncio
import contextlib

from pyreqwest.exceptions import RequestError

from quietswap.sandbox.block_builder import BlockBuilder, BlockTemplate, ReorgTooDeep
from quietswap.sandbox.chain.transactions import next_base_fee
from quietswap.sandbox.rpc import RpcError

_LOOKS_PER_BLOCK = 20


class GethFeeder(BlockBuilder):
    """Feeds the node at each new block, unless paused, and on request.

    A transaction of an endpoint with revert protection is given only if it succeeds in the next
    block, in simulation. The node may mine it in a later one.
    """

    _seen: int = 0

    async def run(self) -> None:
        while not self._halt.is_set():
            # the node is being started again, or drops the state that is read
            with contextlib.suppress(RequestError, RpcError):
                head = await self._head()
                if head != self._built and not self.paused:
                    await self._feed(head)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._halt.wait(), self.block_time / _LOOKS_PER_BLOCK)

    async def mine(self, blocks: int) -> int:
        """Feed the node, wait for this many new blocks and return the head's number."""
        number = await self._head()
        for _ in range(blocks):
            await self._feed(number)
            number = await self.chain.mine()
        return number

    async def reorg(self, depth: int) -> int:
        """Remove the last `depth` blocks and return the head's number.

        Private transactions return to their relay, public ones are lost. Raises ReorgTooDeep.
        """
        head = await self.chain.rpc.number("eth_blockNumber")
        if depth > head - self.genesis:
            raise ReorgTooDeep(f"a reorg may be {head - self.genesis} blocks deep now")
        await self.chain.reorg(depth)
        self._went_back(head - depth)
        return head - depth

    async def _head(self) -> int:
        """Return the newest block, also while paused: somebody else may use debug_setHead."""
        head = await self.chain.rpc.number("eth_blockNumber")
        if head < self._seen:
            self._went_back(head)
        self._seen = head
        return head

    async def _feed(self, head: int) -> None:
        self._built = head
        offers, nonces = await self._offers(head)
        if not offers:
            return
        draft = BlockTemplate((), tuple(offers), None, nonces, await next_base_fee(self.chain.rpc))
        draft = await self._with_refunds(await self._proven(draft))
        for tx in draft.order():
            with contextlib.suppress(RpcError):  # the node has it, or refuses it for now
                await self.chain.send_raw(tx.raw)
