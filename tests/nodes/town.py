"""A sandbox on geth in this process, and a client whose wallets get tokens by transactions."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import httpx
from eth_account import Account
from eth_account.signers.local import LocalAccount

from quietswap.sandbox.chain.geth import Geth
from quietswap.sandbox.contracts import abi
from quietswap.sandbox.contracts.abi import WALLETS
from quietswap.sandbox.contracts.pools import ALL_TOKENS, USDC, USDT, WETH, SandboxToken
from quietswap.sandbox.http_server import HttpServer
from quietswap.sandbox.network import GethOptions
from quietswap.sandbox.ports import Ports
from quietswap.sandbox.stack import SandboxStack
from tests import loopback
from tests.e2e.conftest import Town
from tests.e2e.serving import serving
from tests.reports.proxy import RpcProxy
from tests.spec.api_client import ETHER, ApiClient, Signed
from tests.spec.wire import data, order_body, sign
from tests.waiting import LONG_S, WITHIN_S

T = TypeVar("T")
Desk = TypeVar("Desk", bound=ApiClient)
_FEES = {"type": 2, "chainId": 1, "maxFeePerGas": 10**11, "maxPriorityFeePerGas": 0}


Run = Callable[[Coroutine[Any, Any, T]], T]
"""Runs a coroutine in another thread to its end."""


@dataclass
class GethTown(Town):
    """The sandbox's facts and clients; `do` runs a method of its node, `geth`."""

    geth: Geth
    do: Run[Any]

    @contextmanager
    def options(self, *options: str) -> Iterator[None]:
        """Start the node again with further options, and as before at the end."""
        plain = self.geth.options
        try:
            self.restart(*plain, *options)
            yield
        finally:
            self.restart(*plain)

    def restart(self, *options: str) -> None:
        self.do(self.geth.stop())
        self.geth.options = options
        self.do(self.geth.start())

    def stop_blocks(self) -> int:
        """Start the node again without blocks of its own, until the next start of it.

        Return the time of its newest block.
        """
        period, self.geth.period = self.geth.period, 0
        self.restart(*self.geth.options)
        self.geth.period = period
        newest = {"jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber"}
        answer = loopback.post(self.geth.url, json=newest | {"params": ["latest", False]}).json()
        return int(answer["result"]["timestamp"], 16)


@contextmanager
def background_loop() -> Iterator[Run[Any]]:
    """Run an event loop in a thread for the length of a `with` block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield lambda work: asyncio.run_coroutine_threadsafe(work, loop).result(LONG_S)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def listening(proxy: RpcProxy) -> Iterator[str]:
    """Run a proxy for the length of a `with` block; yield its URL."""
    server = HttpServer(proxy.handle)
    with background_loop() as do:
        try:
            yield do(server.start())
        finally:
            do(server.stop())
            do(proxy.close())


@contextmanager
def visited(town: Town, folder: Path, kind: type[Desk], **settings: str) -> Iterator[Desk]:
    """Run a service with own settings beside the town's, and yield a desk of it.

    Its node is the one that the desk shows, too.
    """
    node = {"rpcUrl": settings["NODE__URLS"]} if "NODE__URLS" in settings else {}
    with serving(town, folder, **settings) as served:
        facts = town.facts | {"baseUrl": served.url} | node
        own = replace(served.town, facts=facts)
        with kind(own, f"sqlite:///{folder / 'own.sqlite3'}") as desk:
            yield desk


@contextmanager
def running_geth_town(amsterdam_in: int | None = None) -> Iterator[GethTown]:
    """Run the whole sandbox on geth, with a block each second, for the length of a `with` block."""
    geth_options = GethOptions(amsterdam_in)
    stack = SandboxStack(Ports(), block_time=1.0, patience_s=WITHIN_S, geth=geth_options)
    with background_loop() as do:
        try:
            facts = do(stack.start())
            assert stack.stage is not None
            node = stack.stage.chain.node
            assert isinstance(node, Geth)
            with clients(facts) as (api, control):
                yield GethTown(facts, api, control, node, do)
        finally:
            do(stack.stop())


@contextmanager
def clients(facts: dict[str, Any]) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """Yield clients of the API and of the control address."""
    headers = {"X-API-Key": facts["apiKey"]}
    with (
        loopback.Client(base_url=facts["baseUrl"], headers=headers, timeout=WITHIN_S) as api,
        loopback.Client(base_url=facts["controlUrl"], timeout=WITHIN_S) as control,
    ):
        yield api, control


HOLDINGS = {WETH: ETHER, USDC: 3000 * 10**6, USDT: 1000 * 10**6}
"""What each new wallet has, and 3 ETH."""
_FUNDERS = [Account.from_key(wallet.private_key) for wallet in WALLETS[4:]]
_turns = itertools.cycle(_FUNDERS)


class GethDesk(ApiClient):
    """A desk on a node whose state nobody can write: what the others set, this one transacts.

    `stuck_raw` has the signed bytes of the swaps that `stuck` made, by order id.
    """

    def __init__(self, town: Town, database_url: str | None = None) -> None:
        super().__init__(town, database_url)
        self.stuck_raw: dict[str, str] = {}
        self.genesis_wallets = [Account.from_key(wallet.private_key) for wallet in WALLETS]

    def wallet(self, *, ether: float = 3, tokens: int = 0) -> LocalAccount:
        """Return a new wallet with `HOLDINGS`."""
        account: LocalAccount = Account.create()
        calls: list[dict[str, Any]] = [{"to": account.address, "value": int(ether * ETHER)}]
        for token, amount in HOLDINGS.items():
            sending = abi.call("transfer(address,uint256)", account.address, amount)
            calls.append({"to": token.address, "data": sending})
        self.transact(next(_turns), *calls)
        return account

    def fresh_wallet(self) -> LocalAccount:
        """Return a new wallet with 3 ETH and 1 WETH alone."""
        account: LocalAccount = Account.create()
        sending = abi.call("transfer(address,uint256)", account.address, HOLDINGS[WETH])
        ether = {"to": account.address, "value": 3 * ETHER}
        self.transact(next(_turns), ether, {"to": WETH.address, "data": sending})
        return account

    def ether_wallet(self) -> LocalAccount:
        """Return a new wallet with 3 ETH and no token."""
        account: LocalAccount = Account.create()
        self.transact(next(_turns), {"to": account.address, "value": 3 * ETHER})
        return account

    def give(self, account: LocalAccount, token: SandboxToken, amount: int) -> None:
        raise NotImplementedError("a wallet on geth has `HOLDINGS`")

    def approve(self, account: LocalAccount, quote: dict[str, Any], amount: int = 2**255) -> None:
        token = next(t for t in ALL_TOKENS.values() if t.address == quote["sellToken"])
        allowing = abi.call("approve(address,uint256)", quote["dexRoute"]["target"], amount)
        self.transact(account, {"to": token.address, "data": allowing})

    def swap(self, account: LocalAccount, **changes: str) -> Signed:
        """Quote, approve in a block of its own, quote again with the next nonce, and sign."""
        approved: set[str] = set()
        while (quote := self.quote(account, **changes))["dexRoute"]["target"] not in approved:
            self.approve(account, quote)
            approved.add(quote["dexRoute"]["target"])
        raw = sign(account, quote["mevProtection"]["transactionParams"])
        slippage = int(changes.get("slippageBps", "50"))
        return Signed(quote, raw, order_body(account, quote, raw, slippage))

    def stuck(self, account: LocalAccount) -> tuple[str, int]:
        """Return id and nonce of an open swap that would revert, so that no relay includes it.

        Its tokens are taken away by a third account, so that the wallet's nonce stays free.
        """
        taker = next(_turns)
        allowing = abi.call("approve(address,uint256)", taker.address, 2**255)
        self.transact(account, {"to": WETH.address, "data": allowing})
        with self.no_blocks():
            signed = self.swap(account)
            order_id: str = data(self.submit(signed))["order"]["orderId"]
            self.stuck_raw[order_id] = signed.raw
            words = account.address, taker.address, self.held(account, "WETH")
            taking = abi.call("transferFrom(address,address,uint256)", *words)
            self.transact(taker, {"to": WETH.address, "data": taking})
        return order_id, signed.quote["mevProtection"]["transactionParams"]["nonce"]

    def delegate(self, account: LocalAccount, target: str) -> None:
        """Set the wallet's code by its own signature (EIP-7702), which uses a nonce of it."""
        nonce = int(self.rpc("eth_getTransactionCount", account.address, "latest"), 16)
        authorization = {"chainId": 1, "address": target, "nonce": nonce}
        signed = account.sign_authorization(authorization)
        self.transact(
            next(_turns), {"type": 4, "to": account.address, "authorizationList": [signed]}
        )

    def transact(self, account: LocalAccount, *calls: dict[str, Any]) -> list[str]:
        """Send public transactions and wait until they are mined; return their hashes."""
        first = int(self.rpc("eth_getTransactionCount", account.address, "pending"), 16)
        hashes = []
        for nonce, call in enumerate(calls, first):
            fields = _FEES | {"gas": 600_000, "value": 0, "nonce": nonce} | call
            raw = account.sign_transaction(fields).raw_transaction
            hashes.append(self.rpc("eth_sendRawTransaction", "0x" + bytes(raw).hex()))
        for tx_hash in hashes:
            self.until(lambda sent=tx_hash: self.receipt(sent))
            assert self.receipt(tx_hash)["status"] == "0x1"
        return hashes

    def receipt(self, tx_hash: str) -> dict[str, Any]:
        """Return the receipt, which is empty while there is none."""
        return self.rpc("eth_getTransactionReceipt", tx_hash) or {}

    def head(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def until_block(self, number: int) -> None:
        self.until(lambda: self.head() >= number)
