"""A chain with relay, builder and searcher on it, but no HTTP: what the tests of those share."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from quietswap.domain.address import Address
from quietswap.sandbox import abi, places
from quietswap.sandbox.builder import Builder
from quietswap.sandbox.chain import Chain, running_chain
from quietswap.sandbox.faults import FaultBoard
from quietswap.sandbox.mempool import PublicRecord
from quietswap.sandbox.rawtx import Signed, Unsigned, sign
from quietswap.sandbox.relay import Relay
from quietswap.sandbox.relay_pool import Held, Terms
from quietswap.sandbox.searcher import Searcher
from quietswap.sandbox.tokens import USDC, WETH, SandboxToken
from quietswap.sandbox.turns import Turns
from quietswap.sandbox.wallets import WALLETS, Wallet

ALICE, BOB = WALLETS[0], WALLETS[1]
GWEI = 10**9
FOREVER = 2**40


@dataclass(frozen=True)
class Town:
    """Everything of the sandbox that decides what is mined; blocks come from `builder.mine`."""

    chain: Chain
    board: FaultBoard
    relay: Relay
    searcher: Searcher
    builder: Builder
    public: PublicRecord
    turns: Turns

    async def nonce(self, wallet: Wallet = ALICE) -> int:
        """Return the wallet's next nonce on the chain."""
        count = await self.chain.rpc.call("eth_getTransactionCount", wallet.address, "latest")
        return int(count, 16)

    async def signed(self, wallet: Wallet = ALICE, **fields: object) -> Signed:
        """Return a transaction; by default a payment of 1 wei to Bob, tip 0."""
        given: dict[str, object] = {
            "nonce": await self.nonce(wallet),
            "to": BOB.address,
            "data": b"",
            "gas": 21_000,
            "max_fee": 3 * GWEI,
            "value": 1,
        }
        return sign(Unsigned(**(given | fields)), wallet.private_key)  # type: ignore[arg-type]

    async def hold(self, tx: Signed, endpoint: str = "fast", **terms: object) -> Held:
        """Give a transaction to the relay."""
        return await self.relay.pool.accept(tx.raw, Terms(endpoint, **terms))  # type: ignore[arg-type]

    async def block_of(self, tx: Signed) -> int | None:
        """Return the block a transaction is in."""
        receipt = await self.chain.receipt(tx.hash)
        return receipt and int(receipt["blockNumber"], 16)

    async def mined(self) -> list[str]:
        """Return the hashes in the latest block, in order."""
        hashes: list[str] = (await self.chain.head())["transactions"]
        return hashes

    async def allow(self, token: SandboxToken, wallet: Wallet, spender: Address) -> None:
        """Approve without a transaction."""
        word = f"0x{2**255:064x}"
        key = token.allowance_key(wallet.address, spender)
        await self.chain.rpc.call("anvil_setStorageAt", token.address, key, word)

    async def v2_swap(
        self, wallet: Wallet, weth: str, least: int, *, tip: int = GWEI, nonce: int | None = None
    ) -> Signed:
        """Return a signed swap of WETH for USDC over the V2 router."""
        await self.allow(WETH, wallet, places.V2_ROUTER)
        data = abi.call(
            "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
            *(WETH.units(weth), least, (WETH.address, USDC.address), wallet.address, FOREVER),
        )
        at = await self.nonce(wallet) if nonce is None else nonce
        fields = Unsigned(at, places.V2_ROUTER, data, 250_000, 5 * GWEI, tip)
        return sign(fields, wallet.private_key)


@asynccontextmanager
async def running_town() -> AsyncIterator[Town]:
    """Run a town for the length of a `with` block."""
    async with running_chain(order="fifo") as chain:
        board, turns, public = FaultBoard(), Turns(), PublicRecord()
        relay, searcher = Relay("relay", chain.rpc, board), Searcher(chain)
        await searcher.start()
        builder = Builder(
            chain,
            turns=turns,
            relays=[relay],
            searcher=searcher,
            public=public,
            block_time=60,
            genesis=int((await chain.head())["number"], 16),
        )
        yield Town(chain, board, relay, searcher, builder, public, turns)
