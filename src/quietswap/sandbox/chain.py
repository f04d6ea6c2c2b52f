"""The running chain, and all that the rest of the sandbox does to it."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from quietswap.domain.address import Address
from quietswap.sandbox import abi, blocks, feeds
from quietswap.sandbox.anvil import Anvil, Order, start_anvil
from quietswap.sandbox.deploy import BLOCK_SECONDS, SETUP_BLOCKS, deploy, set_storage
from quietswap.sandbox.rpc import Rpc, RpcError
from quietswap.sandbox.tokens import SUPPLY_KEY, WETH, SandboxToken

MAX_FEE_PER_GAS = 10**11
"""Wei per gas the sandbox's own transactions offer at most."""
_REVERTED = 3


class CallReverted(Exception):
    """A call reverted; `data` is what it returned, such as an ABI-coded error."""

    def __init__(self, message: str, data: bytes) -> None:
        super().__init__(message)
        self.data = data


@dataclass(frozen=True, slots=True)
class Chain:
    """A miniature mainnet: chain id 1, every contract and pool in place.

    Amounts are in wei and smallest units. A block is mined only when `mine` is called.
    """

    anvil: Anvil
    rpc: Rpc

    @property
    def url(self) -> str:
        """The JSON-RPC endpoint."""
        return self.anvil.url

    async def stop(self) -> None:
        """End the node and close the connections."""
        await self.rpc.close()
        await self.anvil.stop()

    async def mine(self, timestamp: int | None = None) -> int:
        """Mine what is waiting into one block and return its number (see `blocks.mine`)."""
        return await blocks.mine(self.rpc, timestamp)

    async def reorg(self, depth: int, kept: Sequence[tuple[bytes, int]] = ()) -> None:
        """Replace the last `depth` blocks by empty ones; what they held is forgotten.

        `kept` are (signed transaction, which of the new blocks it is in, from 0).
        """
        again = [("0x" + raw.hex(), at) for raw, at in kept]
        await self.rpc.call("anvil_reorg", depth, again)
        await blocks.hold_base_fee(self.rpc, await self.head())

    async def head(self) -> dict[str, Any]:
        """Return the latest block with the hashes of its transactions, as JSON-RPC gives it."""
        block: dict[str, Any] = await self.rpc.call("eth_getBlockByNumber", "latest", False)
        return block

    async def receipt(self, tx_hash: str) -> dict[str, Any] | None:
        """Return the receipt as JSON-RPC gives it; None while the transaction is not mined."""
        found: dict[str, Any] | None = await self.rpc.call("eth_getTransactionReceipt", tx_hash)
        return found

    async def call(self, to: str, data: bytes, sender: str | None = None) -> bytes:
        """Return what a call on the latest block answers. Raises CallReverted."""
        request = {"to": to, "data": "0x" + data.hex()} | ({"from": sender} if sender else {})
        try:
            answer: str = await self.rpc.call("eth_call", request, "latest")
        except RpcError as error:
            if error.code != _REVERTED:
                raise
            raise CallReverted(str(error), bytes.fromhex((error.data or "0x")[2:])) from error
        return bytes.fromhex(answer[2:])

    async def send(
        self,
        sender: str,
        to: str,
        data: bytes = b"",
        *,
        value: int = 0,
        priority_fee: int = 0,
        gas: int | None = None,
    ) -> str:
        """Put a transaction of any account, its key known or not, into the mempool.

        Returns its hash. Without `gas` the limit is the node's estimate and a quarter; then
        RpcError is raised when it would revert.
        """
        await self.rpc.call("anvil_impersonateAccount", sender)
        transaction = {
            "from": sender,
            "to": to,
            "data": "0x" + data.hex(),
            "value": hex(value),
            "maxFeePerGas": hex(MAX_FEE_PER_GAS),
            "maxPriorityFeePerGas": hex(priority_fee),
        }
        if gas is None:
            gas = int(await self.rpc.call("eth_estimateGas", transaction), 16) * 5 // 4
        tx_hash: str = await self.rpc.call("eth_sendTransaction", transaction | {"gas": hex(gas)})
        return tx_hash

    async def send_raw(self, raw: bytes) -> str:
        """Put a signed transaction into the mempool and return its hash. Raises RpcError."""
        tx_hash: str = await self.rpc.call("eth_sendRawTransaction", "0x" + raw.hex())
        return tx_hash

    async def eth_balance(self, owner: str) -> int:
        """Return wei."""
        return int(await self.rpc.call("eth_getBalance", owner, "latest"), 16)

    async def token_balance(self, token: Address, owner: str) -> int:
        """Return smallest units."""
        return abi.word(await self.call(token, abi.call("balanceOf(address)", owner)), 0)

    async def allowance(self, token: Address, owner: str, spender: str) -> int:
        """Return smallest units."""
        asked = abi.call("allowance(address,address)", owner, spender)
        return abi.word(await self.call(token, asked), 0)

    async def give_eth(self, owner: str, amount: int) -> None:
        """Set the wei an account holds, at once and without a transaction."""
        await self.rpc.call("anvil_setBalance", owner, hex(amount))

    async def give(self, token: SandboxToken, owner: str, amount: int) -> None:
        """Set what an account holds, at once and without a transaction or an event.

        The supply moves along, so that WETH stays backed by ETH.
        """
        change = amount - await self.token_balance(token.address, owner)
        await self.rpc.batch([set_storage(token.address, token.balance_key(owner), amount)])
        if token is WETH:
            await self.give_eth(WETH.address, await self.eth_balance(WETH.address) + change)
            return
        supply = abi.word(await self.call(token.address, abi.call("totalSupply()")), 0)
        await self.rpc.batch([set_storage(token.address, SUPPLY_KEY, supply + change)])

    async def set_price(self, pair: str, usd: Decimal, updated_at: int = 0) -> None:
        """Make the feed of `pair` answer `usd` (see `feeds.answers`)."""
        await self.rpc.batch(list(feeds.answers(pair, usd, updated_at)))


async def start_chain(port: int = 0, order: Order = "fees") -> Chain:
    """Start a node on a loopback port (0: a free one) and fill it.

    Raises MissingPackage (says what to install), AnvilFailed, GenesisFailed.
    """
    # the blocks of the setup lie in the past, so that the first one mined later can be on time
    genesis_time = int(time.time()) - (SETUP_BLOCKS + 1) * BLOCK_SECONDS
    anvil = await start_anvil(genesis_time, port, order)
    chain = Chain(anvil, Rpc(anvil.url))
    try:
        await deploy(chain.rpc)
    except BaseException:
        await chain.stop()
        raise
    return chain


@asynccontextmanager
async def running_chain(port: int = 0, order: Order = "fees") -> AsyncIterator[Chain]:
    """Run a chain for the length of a `with` block."""
    chain = await start_chain(port, order)
    try:
        yield chain
    finally:
        await chain.stop()
