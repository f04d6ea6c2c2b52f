"""A campaign of ends: orders under odd nodes and relays, each followed to its end in every way."""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from eth_account import Account

from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.rules.tx.address import from_any_case
from quietswap.sandbox.contracts.abi import Wallet, set_storage
from quietswap.sandbox.contracts.addresses import ROUTERS
from quietswap.sandbox.contracts.pools import USDC, WETH
from tests.chaos.campaign import settled
from tests.chaos.clients import Promised, Trader
from tests.chaos.environment import CampaignEnvironment, running_environment
from tests.chaos.fault_injection import DEEPEST, Faults, Reorgs
from tests.chaos.followers import NOTHING, Followers, Way, service_end
from tests.chaos.lying_service import lying_service
from tests.chaos.odd_nodes import ODD_NODES
from tests.reports.proxy import proxy
from tests.typescript.package import TypeScript

_AT_ONCE = 10
"""Orders that are placed and followed at the same time."""
_TRIES = 60
_PATIENCE_S = 8.0
"""What the service waits for its node: no fault of a busy machine, as this process is one."""
_CANCELLED = 0.15
"""Share of orders whose nonce their wallet takes back in public."""
_ETHER = 10**18


@dataclass(frozen=True, slots=True)
class Told:
    """An end that a follower told, and what the chain had at that moment."""

    who: str
    way: str
    sent: SubmittedTransaction
    end: str
    at_once: str


@dataclass
class Ends:
    """What a campaign saw; `contradictions` is empty when no end that was told was false."""

    seed: int
    orders: list[SubmittedTransaction] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    """How often a follower told no end, by its name."""
    fates: Counter[str] = field(default_factory=Counter)
    contradictions: list[str] = field(default_factory=list)
    taken_back: int = 0
    """Ends that were true when they were told, and that a reorg took back."""
    reorgs: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        by = Counter(f"{each.who} {each.way}" for each in self.told)
        ends = ", ".join(f"{number} {name}" for name, number in sorted(by.items()))
        none = ", ".join(f"{number} {name}" for name, number in sorted(self.open.items()))
        fates = ", ".join(f"{number} {name}" for name, number in self.fates.most_common())
        return (
            f"\nends: seed {self.seed}, {self.seconds:.0f} s, {len(self.orders)} orders"
            f" ({fates}), {self.reorgs} reorgs\n  {len(self.told)} ends told: {ends}\n"
            f"  no end: {none}\n  {len(self.contradictions)} contradictions,"
            f" {self.taken_back} taken back by a reorg, {len(self.faults)} faults\n"
            f"  {', '.join(f'{n} x {text}' for text, n in self.answers.most_common(12))}"
        )


async def run(folder: Path, orders: int, seed: int, typescript: TypeScript | None) -> Ends:
    """Place that many orders, follow each, and compare every end that was told with the chain."""
    began, ends = time.monotonic(), Ends(seed)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(64))
    async with running_environment(folder, seed, _PATIENCE_S) as stage, _ways(stage, seed) as ways:
        wallets = await _funded(stage, orders, seed)
        promised, over = Promised(), asyncio.Event()
        mischief = Faults(stage.sandbox, stage.proxies, f"{seed} faults", ODD_NODES)
        reorgs = Reorgs(stage.sandbox, f"{seed} reorgs")
        async with Followers(ways, stage.key, folder, typescript) as followers:
            campaign = _Campaign(stage, followers, ends, promised)
            watch = campaign.mined.watch(over)
            world = asyncio.gather(mischief.run(over), reorgs.run(over), watch)
            await campaign.run(wallets)
            over.set()
            await world
        ends.faults = await settled(stage, promised)
        ends.reorgs, ends.answers = len(reorgs.depths), promised.answers
        await _compare(stage, ends)
    ends.seconds = time.monotonic() - began
    return ends


@contextlib.asynccontextmanager
async def _ways(stage: CampaignEnvironment, seed: int) -> AsyncIterator[dict[str, Way]]:
    """Give all pairs of an honest or lying service and an honest or odd node of the caller."""
    node = stage.sandbox.chain.rpc.url
    async with lying_service(stage.victim.url, seed) as lying, contextlib.AsyncExitStack() as held:
        ways = {
            "": Way(stage.victim.url, node, "honest"),
            "lied to": Way(lying, node, "lied to"),
        }
        for number, trouble in enumerate(ODD_NODES):
            odd = await held.enter_async_context(proxy(node, trouble, f"{seed} own {number}"))
            ways[f"odd node {number}"] = Way(stage.victim.url, odd.url, "odd node")
            ways[f"both {number}"] = Way(lying, odd.url, "both")
        yield ways


async def _funded(stage: CampaignEnvironment, count: int, seed: int) -> list[Wallet]:
    """Return new wallets with ETH, tokens and allowances in blocks that no reorg replaces."""
    chance, rpc = random.Random(f"{seed} wallets"), stage.sandbox.chain.rpc
    wallets = []
    for _ in range(count):
        key = chance.randbytes(32)
        address = from_any_case(Account.from_key(key).address)
        wallets.append(Wallet(address, "0x" + key.hex()))
        calls = [("anvil_setBalance", (address, hex(100 * _ETHER)))]
        for token, amount in ((WETH, 100 * _ETHER), (USDC, 10**6 * 10**6)):
            calls.append(set_storage(token.address, token.balance_key(address), amount))
            calls += [
                set_storage(token.address, token.allowance_key(address, router), 2**255)
                for router in ROUTERS.values()
            ]
        await rpc.batch(calls)
    await rpc.call("anvil_setBalance", WETH.address, hex(10**6 * _ETHER))
    await stage.sandbox.builder.mine(DEEPEST + 1)
    return wallets


class _Campaign:
    def __init__(
        self, stage: CampaignEnvironment, followers: Followers, ends: Ends, promised: Promised
    ) -> None:
        self._stage, self._followers, self._ends = stage, followers, ends
        self._promised = promised
        self._chance = random.Random(f"{ends.seed} campaign")
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self.mined = _Mined(stage, ends)

    async def run(self, wallets: list[Wallet]) -> None:
        async with asyncio.TaskGroup() as group:
            for wallet in wallets:
                await self._slots.acquire()
                group.create_task(self._order(wallet, group))

    async def _order(self, wallet: Wallet, group: asyncio.TaskGroup) -> None:
        seed = f"{self._ends.seed} {wallet.address}"
        trader = Trader(self._stage, wallet, self._promised, seed)
        try:
            sent = await self._placed(trader, wallet)
            if sent is None:
                return
            self._ends.orders.append(sent)
            self._followers.record(sent)
            # a command may watch its node for a minute: it holds no slot
            group.create_task(self._follow("command", self._followers.command, sent))
            async with asyncio.TaskGroup() as following:
                following.create_task(self._service(sent))
                for name in ("awaited", "blocking", "tools", "script"):
                    follower = getattr(self._followers, name)
                    following.create_task(self._follow(name, follower, sent))
                if self._chance.random() < _CANCELLED:
                    await asyncio.sleep(self._chance.uniform(0, 1.5))
                    await trader.cancel()
        finally:
            await trader.close()
            self._slots.release()

    async def _placed(self, trader: Trader, wallet: Wallet) -> SubmittedTransaction | None:
        for _ in range(_TRIES):
            answer = None
            with contextlib.suppress(httpx.TransportError):
                answer = await trader.swap()
            if answer is not None and answer.status_code == 200:
                order = answer.json()["data"]["order"]
                nonce = trader.last_nonce or 0
                return SubmittedTransaction(
                    "the order", order["txHash"], wallet.address, nonce, order["orderId"]
                )
            await asyncio.sleep(0.3)
        return None

    async def _service(self, sent: SubmittedTransaction) -> None:
        end = await service_end(self._stage.victim.url, self._stage.key, str(sent.order_id))
        await self._note("service", "", sent, end)

    async def _follow(
        self,
        who: str,
        follower: Callable[[str, str], Awaitable[str | None]],
        sent: SubmittedTransaction,
    ) -> None:
        way = self._chance.choice(list(self._followers.ways))
        end = await follower(str(sent.order_id), way)
        await self._note(who, self._followers.ways[way].name, sent, end)

    async def _note(self, who: str, way: str, sent: SubmittedTransaction, end: str | None) -> None:
        if end is None:
            self._ends.open[f"{who} {way}".strip()] += 1
            return
        at_once = await _truth(self._stage, sent)
        if end == "mined" and sent.tx_hash in self.mined.hashes:
            at_once = end  # a reorg may have come while it was told
        self._ends.told.append(Told(who, way, sent, end, at_once))


class _Mined:
    """Which transactions some head's chain had as successful, also those that a reorg removed."""

    def __init__(self, stage: CampaignEnvironment, ends: Ends) -> None:
        self._stage, self._ends = stage, ends
        self.hashes: set[str] = set()

    async def watch(self, over: asyncio.Event) -> None:
        """Look at each new head until `over`."""
        head, rpc = None, self._stage.sandbox.chain.rpc
        while not over.is_set():
            latest = (await rpc.call("eth_getBlockByNumber", "latest", False))["hash"]
            if latest != head:
                head = latest
                await asyncio.gather(*map(self._look, self._ends.orders))
            await asyncio.sleep(0.05)

    async def _look(self, sent: SubmittedTransaction) -> None:
        if sent.tx_hash not in self.hashes and await _truth(self._stage, sent) == "mined":
            self.hashes.add(sent.tx_hash)


async def _truth(stage: CampaignEnvironment, sent: SubmittedTransaction) -> str:
    """Return what the chain itself has of a transaction: mined, reverted, replaced or open."""
    rpc = stage.sandbox.chain.rpc
    receipt = await rpc.call("eth_getTransactionReceipt", sent.tx_hash)
    if receipt is not None:
        return "mined" if receipt["status"] == "0x1" else "reverted"
    used = await rpc.number("eth_getTransactionCount", sent.wallet, "latest") > sent.nonce
    return "replaced" if used else "open"


def _agrees(end: str, truth: str) -> bool:
    return truth != "mined" if end == NOTHING else end == truth


async def _compare(stage: CampaignEnvironment, ends: Ends) -> None:
    last = {sent.tx_hash: await _truth(stage, sent) for sent in ends.orders}
    ends.fates.update(last.values())
    for told in ends.told:
        truth = last[told.sent.tx_hash]
        if _agrees(told.end, truth):
            continue
        if told.at_once != "open" and _agrees(told.end, told.at_once):
            ends.taken_back += 1
            continue
        ends.contradictions.append(
            f"{told.who} ({told.way}): {told.sent.order_id} {told.end}; the chain had"
            f" {told.at_once} then, and has {truth}"
        )
