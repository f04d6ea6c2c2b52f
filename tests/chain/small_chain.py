"""An anvil with Multicall3, the sandbox's tokens and feeds, and this folder's odd contracts."""

import atexit
import contextlib
import fcntl
import json
import subprocess
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from quietswap.rules.tokens.token import Token
from quietswap.rules.tx import address as addresses
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.keccak import keccak256
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts import addresses as contract_addresses
from quietswap.sandbox.contracts.artifacts import own_runtime
from quietswap.sandbox.contracts.pools import ALL_TOKENS, SUPPLY_KEY
from quietswap.sandbox.npm import find_anvil
from quietswap.sandbox.rpc import SandboxRpcClient
from quietswap.service.base.http_client import HttpClient
from quietswap.service.node.chain import NodeChain
from quietswap.service.node.rpc import NodeRpcClient
from tests.defaults import NODE
from tests.manual_clock import ManualClock

WALLET = addresses.from_any_case("0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266")
"""The first of anvil's own accounts; it can send."""
NOBODY = addresses.from_bytes(keccak256(b"nobody")[12:])
VENUE = addresses.from_bytes(keccak256(b"Venue")[12:])


_HERE = Path(__file__).parent
PACKAGES = _HERE.parents[1] / "node_modules"
_CACHE = _HERE.parents[1] / ".pytest_cache" / "odd_contracts"


@cache
def odd_runtimes() -> dict[str, str]:
    """Return the runtime code of every contract in contracts/.

    Compiled once for all processes of a test run: solc takes two seconds of CPU.
    """
    _CACHE.mkdir(parents=True, exist_ok=True)
    file = _CACHE / f"{_digest()}.json"
    with (_CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            written = file.with_suffix(".new")
            written.write_bytes(_compiled())
            written.replace(file)
    runtimes: dict[str, str] = json.loads(file.read_bytes())
    return runtimes


def _digest() -> str:
    """Return a digest of all that the code depends on: sources, script, packages."""
    packages = [PACKAGES / name / "package.json" for name in ("solc", "solady")]
    sources = sorted((_HERE / "contracts").iterdir())
    parts = [part.read_bytes() for part in (*sources, _HERE / "compile.mjs", *packages)]
    return keccak256(b"".join(keccak256(part) for part in parts)).hex()


def _compiled() -> bytes:
    command = ["node", "--liftoff-only", str(_HERE / "compile.mjs")]
    return subprocess.run(command, capture_output=True, check=True, timeout=60).stdout


def odd(name: str, decimals: int = 18) -> Token:
    """Return one of the odd contracts as a token."""
    return Token(addresses.from_bytes(keccak256(name.encode())[12:]), decimals, "ODD")


@dataclass
class SmallChain:
    """The node, its raw client for the test's own moves, and the adapters under test."""

    url: str
    raw: SandboxRpcClient
    http: HttpClient
    rpc: NodeRpcClient
    chain: NodeChain
    clock: ManualClock

    async def mine(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            await self.raw.call("evm_mine")

    async def send(self, to: str, signature: str, *values: Any, sender: str = WALLET) -> str:
        """Send a transaction from an unlocked account and return its hash, not yet mined."""
        data = "0x" + abi.call(signature, *values).hex()
        call = {"from": sender, "to": to, "data": data, "gas": hex(3_000_000)}
        tx_hash: str = await self.raw.call("eth_sendTransaction", call)
        return tx_hash

    async def give(self, token: Token, owner: Address, amount: int) -> None:
        """Mint one of the odd tokens."""
        await self.send(token.address, "mint(address,uint256)", owner, amount)
        await self.mine()

    async def give_sandbox(self, symbol: str, owner: Address, amount: int) -> None:
        """Write a balance of one of the sandbox's tokens."""
        token = ALL_TOKENS[symbol]
        word = f"0x{amount:064x}"
        await self.raw.call("anvil_setStorageAt", token.address, token.balance_key(owner), word)

    async def balance(self, token: Token, owner: Address) -> int:
        data = "0x" + abi.call("balanceOf(address)", owner).hex()
        answer: str = await self.raw.call("eth_call", {"to": token.address, "data": data}, "latest")
        return int(answer, 16)


@contextlib.asynccontextmanager
async def small_chain() -> AsyncIterator[SmallChain]:
    """Yield a chain that mines only when told to. What is done to it ends with the block."""
    node = _node()
    raw, http, clock = SandboxRpcClient(node.url), HttpClient(), ManualClock()
    rpc = NodeRpcClient(http, [node.url], clock, **NODE)
    try:
        async with node.restored(raw):
            chain = NodeChain(rpc, clock, measures_itself=lambda _: False)
            yield SmallChain(node.url, raw, http, rpc, chain, clock)
    finally:
        await http.close()
        await raw.close()


@dataclass
class _Node:
    """One anvil for all tests of a process, which run one after the other."""

    url: str
    has_codes: bool = False
    is_in_use: bool = False

    @contextlib.asynccontextmanager
    async def restored(self, raw: SandboxRpcClient) -> AsyncIterator[None]:
        """Put the node back into its first state at the end of a `with` block."""
        assert not self.is_in_use, "this process has only one small chain"
        if not self.has_codes:
            await raw.batch(_codes())
            await raw.call("evm_mine")
            self.has_codes = True
        # A snapshot has neither the mempool, nor the fee of the next block, nor its beneficiary.
        following = await raw.call("eth_getBlockByNumber", "pending", False)
        snapshot = await raw.call("evm_snapshot")
        self.is_in_use = True
        try:
            yield
        finally:
            await raw.call("anvil_dropAllTransactions")
            assert await raw.call("evm_revert", snapshot)
            await raw.call("anvil_setNextBlockBaseFeePerGas", following["baseFeePerGas"])
            await raw.call("anvil_setCoinbase", following["miner"])
            self.is_in_use = False


@cache
def _node() -> _Node:
    options = ("--port", "0", "--chain-id", "1", "--no-mining", "--gas-limit", "60000000")
    process = subprocess.Popen([find_anvil(), *options], stdout=subprocess.PIPE)
    atexit.register(_end, process)
    assert process.stdout is not None
    line = next(line for line in process.stdout if b"Listening on " in line)
    # a full pipe would stop the node
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return _Node(f"http://127.0.0.1:{int(line.rsplit(b':', 1)[1])}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait()


def _codes() -> list[tuple[str, tuple[str, ...]]]:
    codes: dict[str, str] = {odd(name).address: code for name, code in odd_runtimes().items()}
    codes[contract_addresses.MULTICALL] = own_runtime("Multicall3")
    codes |= {feed: own_runtime("Feed") for feed in contract_addresses.FEEDS.values()}
    codes |= {t.address: own_runtime(t.contract) for t in ALL_TOKENS.values() if t.contract}
    supply = (ALL_TOKENS["FEE"].address, SUPPLY_KEY, f"0x{10**30:064x}")  # its fee is burnt
    calls: list[tuple[str, tuple[str, ...]]] = [("anvil_setStorageAt", supply)]
    return calls + [("anvil_setCode", pair) for pair in codes.items()]
