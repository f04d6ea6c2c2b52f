"""The local chain: an anvil process with the sandbox's contracts, and the operations on it."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

from quietswap.rules.tx.address import Address
from quietswap.sandbox.chain import anvil as mining
from quietswap.sandbox.chain.anvil import Order, start_anvil
from quietswap.sandbox.chain.deploy import BLOCK_SECONDS, SETUP_BLOCKS, deploy
from quietswap.sandbox.contracts import abi, pools
from quietswap.sandbox.rpc import RpcError, SandboxRpcClient

_REVERTED = 3


class CallReverted(Exception):
    """A call reverted; `data` is the revert data, such as an ABI-encoded error."""

    def __init__(self, message: str, data: bytes) -> None:
        super().__init__(message)
        self.data = data


class NotOnThisNode(Exception):
    """The chain's node cannot do what was asked; the message says what."""


class ChainProcess(Protocol):
    """A running node."""

    @property
    def process(self) -> asyncio.subprocess.Process: ...

    @property
    def url(self) -> str:
        """Return its JSON-RPC endpoint."""

    @property
    def port(self) -> int: ...

    async def ended(self) -> str:
        """Wait until it ends by itself, and return a line that says so."""


@dataclass(frozen=True)
class LocalChain:
    """A local copy of mainnet: chain id 1, with every contract and pool.

    Amounts are in wei and smallest units. A block is mined only when `mine` is called.
    """

    node: ChainProcess
    rpc: SandboxRpcClient

    @property
    def url(self) -> str:
        return self.node.url

    async def mine(self, timestamp: int | None = None) -> int:
        return await mining.mine(self.rpc, timestamp)

    async def reorg(self, depth: int) -> None:
        """Replace the last `depth` blocks by empty ones and drop their transactions."""
        await self.rpc.call("anvil_reorg", depth, [])
        await mining.hold_base_fee(self.rpc, await self.head())

    async def head(self) -> dict[str, Any]:
        return await self.rpc.head()

    async def receipt(self, tx_hash: str) -> dict[str, Any] | None:
        """Return the receipt in JSON-RPC format; None while the transaction is not mined."""
        mined: dict[str, Any] | None = await self.rpc.call("eth_getTransactionReceipt", tx_hash)
        return mined

    async def call(self, to: str, data: bytes, sender: str | None = None) -> bytes:
        """Return the result of a call on the latest block. Raises CallReverted."""
        request = {"to": to, "data": "0x" + data.hex()} | ({"from": sender} if sender else {})
        try:
            answer: str = await self.rpc.call("eth_call", request, "latest")
        except RpcError as error:
            if error.code != _REVERTED:
                raise
            raise CallReverted(str(error), bytes.fromhex((error.data or "0x")[2:])) from error
        return bytes.fromhex(answer[2:])

    async def send_raw(self, raw: bytes) -> str:
        """Send a signed transaction to the mempool and return its hash. Raises RpcError."""
        tx_hash: str = await self.rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        return tx_hash

    async def token_balance(self, token: Address, owner: str) -> int:
        return abi.word(await self.call(token, abi.call("balanceOf(address)", owner)), 0)

    async def allowance(self, token: Address, owner: str, spender: str) -> int:
        calldata = abi.call("allowance(address,address)", owner, spender)
        return abi.word(await self.call(token, calldata), 0)

    async def set_price(self, pair: str, usd: Decimal, updated_at: int = 0) -> None:
        await self.rpc.batch(list(pools.answers(pair, usd, updated_at)))


@asynccontextmanager
async def running_chain(port: int = 0, order: Order = "fees") -> AsyncIterator[LocalChain]:
    """Run a node on a loopback port (0: a free one) with the sandbox's genesis.

    Raises MissingPackage (the message says what to install), AnvilFailed, GenesisFailed.
    """
    # the setup blocks have timestamps in the past, so that the next block can have the present
    genesis_time = int(time.time()) - (SETUP_BLOCKS + 1) * BLOCK_SECONDS
    anvil = await start_anvil(genesis_time, port, order)
    rpc = SandboxRpcClient(anvil.url)
    try:
        await deploy(rpc)
        yield LocalChain(anvil, rpc)
    finally:
        await rpc.close()
        await anvil.stop()
