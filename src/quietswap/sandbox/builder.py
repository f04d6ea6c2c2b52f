"""The block builder: private transactions first, then the searcher's bundle, then the public rest.

The node mines in order of arrival, so the order is made by taking the public transactions out of
its mempool and putting everything back in the order wanted. Private ones enter the mempool only
now, while the proxy lets nobody look (`turns`), and whatever was not mined is taken out again.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from quietswap.domain.address import Address
from quietswap.sandbox import mempool
from quietswap.sandbox.chain import Chain
from quietswap.sandbox.draft import Draft
from quietswap.sandbox.mempool import PublicRecord
from quietswap.sandbox.relay import Relay
from quietswap.sandbox.relay_pool import Held
from quietswap.sandbox.rpc import RpcError
from quietswap.sandbox.searcher import Searcher
from quietswap.sandbox.simulation import simulate
from quietswap.sandbox.turns import Turns


class TooDeep(ValueError):
    """A reorg would reach below the sandbox's beginning; the message says how deep it may be."""


class Builder:
    """Builds a block every `block_time` seconds while running and not paused, or on demand."""

    def __init__(
        self,
        chain: Chain,
        *,
        turns: Turns,
        relays: Sequence[Relay],
        searcher: Searcher,
        public: PublicRecord,
        block_time: float,
        genesis: int,
    ) -> None:
        """`block_time` in seconds; `genesis` is the block no reorg may replace."""
        self._chain = chain
        self._turns = turns
        self._relays = relays
        self._searcher = searcher
        self._public = public
        self._block_time = block_time
        self._halt = asyncio.Event()
        self._genesis = genesis
        self._built = 0
        self.paused = False

    async def run(self) -> None:
        """Build until `halt`, on a steady clock; a turn that takes too long delays the next."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._block_time
        while not await self._halted_before(due):
            if not self.paused:
                await self.mine(1)
            due = max(due + self._block_time, loop.time())

    def halt(self) -> None:
        """Let `run` return after the block it is at.

        A flag and not a cancellation, which the HTTP client at times swallows.
        """
        self._halt.set()

    async def _halted_before(self, due: float) -> bool:
        try:
            async with asyncio.timeout_at(due):
                return await self._halt.wait()
        except TimeoutError:
            return False

    async def mine(self, blocks: int) -> int:
        """Build that many blocks at once and return the number of the last."""
        number = 0
        for _ in range(blocks):
            async with self._turns.build():
                number = await self._block()
        return number

    async def reorg(self, depth: int) -> int:
        """Replace the last `depth` blocks by empty ones and return the head's number.

        Public transactions return to the mempool, private ones to their relay, the searcher's are
        gone. Raises TooDeep.
        """
        async with self._turns.build():
            head = int((await self._chain.head())["number"], 16)
            if depth > head - self._genesis:
                raise TooDeep(f"a reorg may be {head - self._genesis} blocks deep now")
            returning = await self._public_of(range(head - depth + 1, head + 1))
            await self._chain.reorg(depth)
            self._went_back(head - depth)
            for raw in returning:
                with contextlib.suppress(RpcError):  # its fee may be below the new head's
                    await self._chain.send_raw(raw)
            return head

    async def _public_of(self, numbers: range) -> list[bytes]:
        blocks = [
            await self._chain.rpc.call("eth_getBlockByNumber", hex(number), False)
            for number in numbers
        ]
        hashes = [tx for block in blocks for tx in block["transactions"] if tx in self._public]
        return list((await mempool.raws(self._chain.rpc, hashes)).values())

    async def _block(self) -> int:
        """Build one block; the caller holds the turn."""
        rpc = self._chain.rpc
        public = await mempool.pending(rpc, self._public)
        head = int(await rpc.call("eth_blockNumber"), 16)
        if head < self._built:  # somebody put the chain back, with evm_revert
            self._went_back(head)
        self._built = head + 1
        offers = self._offers(head + 1)
        nonces = await self._nonces({offer.transaction.sender for offer in offers})
        offers = _unused(offers, nonces, head)
        base_fee = await self._base_fee()
        bundle = await self._searcher.find(public, base_fee) if public else None
        if not offers and bundle is None:
            return await self._chain.mine()
        draft = Draft(tuple(public), tuple(offers), bundle, nonces, base_fee)
        draft = await self._proven(draft)
        await self._fill(draft)
        number = await self._chain.mine()
        await self._tidy(draft)
        if draft.bundle:
            await self._searcher.record(draft.bundle, number)
        return number

    def _went_back(self, number: int) -> None:
        """Take back what is known of blocks above `number`."""
        self._searcher.forget(above=number)
        for relay in self._relays:
            relay.pool.reorganised(above=number)

    def _offers(self, block: int) -> list[Held]:
        offered = (held for relay in self._relays for held in relay.offers(block))
        return list({held.transaction.hash: held for held in offered}.values())

    async def _proven(self, draft: Draft) -> Draft:
        """Return the draft without what its simulation forbids, in as many rounds as it takes."""
        while True:
            order = draft.order()
            outcomes = await simulate(self._chain.rpc, order)
            failed = {
                tx.hash
                for tx, outcome in zip(order, outcomes, strict=True)
                if not outcome.succeeded
            }
            barred = [h for h in draft.offers if h.transaction.hash in failed and h.is_protected]
            spoilt = draft.bundle is not None and any(
                tx.hash in failed for tx in draft.bundle.row[-3:]
            )
            if not barred and not spoilt:
                return draft
            for held in barred:
                held.fail("execution reverted")
            offers = tuple(held for held in draft.offers if held not in barred)
            draft = replace(draft, offers=offers, bundle=None if spoilt else draft.bundle)

    async def _fill(self, draft: Draft) -> None:
        """Put the draft's order into the node's mempool."""
        order = draft.order()
        own = draft.private_raws()
        public = [tx.hash for tx in order if tx.hash not in own]
        raws = await mempool.raws(self._chain.rpc, public)
        await self._drop(raws)
        for tx in order:
            raw = own.get(tx.hash) or raws.get(tx.hash)
            with contextlib.suppress(RpcError):  # not taken now: the relay still holds it
                await self._chain.send_raw(raw or b"")

    async def _tidy(self, draft: Draft) -> None:
        """Take everything private that was not mined out of the node's mempool again."""
        mined = set((await self._chain.head())["transactions"])
        await self._drop(set(draft.private_raws()) - mined)

    async def _drop(self, hashes: Iterable[str]) -> None:
        await self._chain.rpc.batch([("anvil_dropTransaction", (one,)) for one in hashes])

    async def _base_fee(self) -> int:
        history = await self._chain.rpc.call("eth_feeHistory", "0x1", "latest", [])
        return int(history["baseFeePerGas"][-1], 16)

    async def _nonces(self, senders: set[Address]) -> dict[Address, int]:
        counts = await self._chain.rpc.batch(
            [("eth_getTransactionCount", (sender, "latest")) for sender in senders]
        )
        return {s: int(count, 16) for s, count in zip(senders, counts, strict=True)}


def _unused(offers: Sequence[Held], nonces: Mapping[Address, int], head: int) -> list[Held]:
    """Return the offers whose nonce is still free, and mark the others as settled at `head`."""
    for held in offers:
        if held.transaction.fields.nonce < nonces[held.transaction.sender]:
            held.used_at = head
    return [held for held in offers if held.used_at is None]
