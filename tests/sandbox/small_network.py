"""A chain with relay, block builder and searcher, without HTTP, for their tests."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from quietswap.rules.tx.address import Address
from quietswap.sandbox.block_builder import BlockBuilder
from quietswap.sandbox.chain.anvil import ReadWriteLock
from quietswap.sandbox.chain.local_chain import LocalChain, running_chain
from quietswap.sandbox.chain.transactions import Transaction, TransactionFields, sign
from quietswap.sandbox.contracts import abi, addresses
from quietswap.sandbox.contracts.abi import WALLETS, Wallet
from quietswap.sandbox.contracts.pools import USDC, WETH, SandboxToken
from quietswap.sandbox.faults import ActiveFaults
from quietswap.sandbox.relay import RelayTransaction, SandboxRelay, SubmissionOptions
from quietswap.sandbox.searcher import Searcher

ALICE, BOB = WALLETS[0], WALLETS[1]
GWEI = 10**9
FOREVER = 2**40


@dataclass(frozen=True)
class SmallNetwork:
    """The parts that determine a block; `builder.mine` builds one."""

    chain: LocalChain
    active_faults: ActiveFaults
    relay: SandboxRelay
    searcher: Searcher
    builder: BlockBuilder
    public: set[str]
    chain_lock: ReadWriteLock

    async def nonce(self, wallet: Wallet = ALICE) -> int:
        """Return the wallet's next nonce."""
        count = await self.chain.rpc.call("eth_getTransactionCount", wallet.address, "latest")
        return int(count, 16)

    async def signed(self, wallet: Wallet = ALICE, **fields: object) -> Transaction:
        """Return a transaction; by default a payment of 1 wei to Bob, tip 0."""
        given: dict[str, object] = {
            "nonce": await self.nonce(wallet),
            "to": BOB.address,
            "data": b"",
            "gas": 21_000,
            "max_fee": 3 * GWEI,
            "value": 1,
        }
        return sign(TransactionFields(**(given | fields)), wallet.private_key)  # type: ignore[arg-type]

    async def hold(
        self, tx: Transaction, endpoint: str = "fast", **terms: object
    ) -> RelayTransaction:
        """Submit a transaction to the relay."""
        return await self.relay.pool.accept(tx.raw, SubmissionOptions(endpoint, **terms))  # type: ignore[arg-type]

    async def block_of(self, tx: Transaction) -> int | None:
        """Return the number of a transaction's block."""
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
    ) -> Transaction:
        """Return a signed swap of WETH for USDC on the V2 router."""
        await self.allow(WETH, wallet, addresses.V2_ROUTER)
        data = abi.call(
            "swapExactTokensForTokens(uint256,uint256,address[],address,uint256)",
            *(WETH.units(weth), least, (WETH.address, USDC.address), wallet.address, FOREVER),
        )
        at = await self.nonce(wallet) if nonce is None else nonce
        fields = TransactionFields(at, addresses.V2_ROUTER, data, 250_000, 5 * GWEI, tip)
        return sign(fields, wallet.private_key)


@asynccontextmanager
async def running_small_network() -> AsyncIterator[SmallNetwork]:
    """Run the parts within a `with` block."""
    async with running_chain(order="fifo") as chain:
        active_faults, chain_lock, public = ActiveFaults(), ReadWriteLock(), set()
        relay, searcher = SandboxRelay("relay", chain.rpc, active_faults), Searcher(chain)
        await searcher.start()
        builder = BlockBuilder(
            chain=chain,
            chain_lock=chain_lock,
            relays=[relay],
            searcher=searcher,
            public=public,
            block_time=60,
            genesis=int((await chain.head())["number"], 16),
        )
        yield SmallNetwork(chain, active_faults, relay, searcher, builder, public, chain_lock)
