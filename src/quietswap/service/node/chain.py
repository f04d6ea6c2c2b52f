"""The chain, read from the operator's nodes."""

import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from cachetools import TTLCache

from quietswap.rules.chain import node_reads as reads
from quietswap.rules.chain.node_reads import LATEST, NEXT_FORK, eth_balance, nonce
from quietswap.rules.chain.node_reads import code as code_of
from quietswap.rules.chain.records import (
    TRACKED_HEAD_S,
    AccountState,
    Block,
    CallReverts,
    DryRun,
    Head,
    NodeUnavailable,
    PreparedSimulation,
    Receipt,
    SignedSwap,
    UnreadableToken,
    WalletSnapshot,
)
from quietswap.rules.chain.rpc_wire import NodeCall, Result, RpcCall, RpcErrorObject
from quietswap.rules.quotes.quote import RouteRequest
from quietswap.rules.routers import settlers
from quietswap.rules.tokens import erc20
from quietswap.rules.tokens.token import Token
from quietswap.rules.trial.dry_run import DryRunCodec, plain_call, read_plain
from quietswap.rules.trial.next_block import NextBlock, RandBelow
from quietswap.rules.trial.routes import MeasuresItself, measures_itself
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.node import lagging_backends, multicall, reverted_logs
from quietswap.service.node import token_metadata as metadata
from quietswap.service.node.chain_clock import ChainClock
from quietswap.service.node.lagging_backends import NewestBlock, from_block, late
from quietswap.service.node.multicall import ViewCall
from quietswap.service.node.receipts import read_receipts
from quietswap.service.node.rpc import NodeRpcClient, ask
from quietswap.service.node.simulation.overrides import SimulationUnsupported, probe_call
from quietswap.service.node.simulation.simulator import SwapSimulator
from quietswap.service.node.work import TokenCosts, shared

_SETTLER_VIEWS = (
    ViewCall(settlers.DEPLOYER, settlers.OWNER_OF),
    ViewCall(settlers.DEPLOYER, settlers.PREV),
)
_SETTLERS_TTL_S = 120.0
"""How long a Settler that 0x withdrew in an emergency may still be offered."""
_FORK_TTL_S = 600.0
_LOGS_TTL_S = 600.0
_VIEWS_GAS = 3_000_000
"""Gas limit of all view calls of one token together. A token may use all the gas it gets."""


_NO_FORK = (
    "the node names no time of the next fork (Amsterdam), and node.fork_times is not set: quotes"
    " issued shortly before it may lack gas after it; set node.fork_times once it has a date"
)


class NodeChain:
    """Implements quietswap.rules.chain.records.ChainReader over JSON-RPC.

    `head_ttl_s`: time to live of the cached head; `batch_size`: most calls in one batch (hosted
    nodes refuse more than 100 to 1000); `below`: random numbers that a simulated contract must not
    predict; `measures_itself`: routes that need a measurement of the buy token's transfer fee;
    `costs` gets what the code of tokens costs; `fork_times`: Unix times of forks.
    """

    def __init__(
        self,
        rpc: NodeRpcClient,
        clock: Clock,
        *,
        head_ttl_s: float = 0.9,
        batch_size: int = 100,
        fork_times: Sequence[int] = fees.MAINNET_FORKS,
        unknown_token_s: float = 60.0,
        below: RandBelow = secrets.randbelow,
        measures_itself: MeasuresItself = measures_itself,
        costs: TokenCosts | None = None,
    ) -> None:
        self._rpc = rpc
        self._clock = clock
        self._head_ttl_s = head_ttl_s
        self._room = max(batch_size - 2, 1)
        """Calls of one batch, beside those that tell the chain and the block."""
        self._below = below
        self._newest = NewestBlock(clock)
        self._simulator = SwapSimulator(
            rpc, clock, below=below, measures_itself=measures_itself, costs=costs
        )
        self._tokens = metadata.TokenMetadataCache(clock, unknown_for_s=unknown_token_s)
        self._settlers: tuple[frozenset[Address], float] | None = None
        self._settlers_in_flight: SingleFlight[None, frozenset[Address]] = SingleFlight()
        self._head: tuple[Head, float] | None = None
        self._in_flight: SingleFlight[None, Head] = SingleFlight()
        self._fork_times = fork_times
        self.time = ChainClock(clock)
        self._named_fork: int | None = None
        self._fork_reads: SingleFlight[None, None] = SingleFlight()
        self._fork_was_read: TTLCache[None, bool]
        self._fork_was_read = TTLCache(1, _FORK_TTL_S, timer=clock.monotonic)
        self._logs_of_reverts: TTLCache[None, bool]
        self._logs_of_reverts = TTLCache(1, _LOGS_TTL_S, timer=clock.monotonic)

    @property
    def can_simulate(self) -> bool:
        return self._simulator.can_simulate

    async def head(self, max_age_s: float | None = None) -> Head:
        """Return a head at most `max_age_s` old, or `head_ttl_s`. Concurrent callers share a call.

        Every read of a wallet, for a quote or an order, renews it.
        """
        ttl_s = self._head_ttl_s if max_age_s is None else max_age_s
        if self._head and self._clock.monotonic() - self._head[1] < ttl_s:
            return self._head[0]
        return await self._in_flight(None, self._ask_head)

    async def _ask_head(self) -> Head:
        return (await self._at_head([]))[0]

    async def _at_head(self, calls: Sequence[RpcCall]) -> tuple[Head, list[Result]]:
        """Return the head and the results of further calls; of late backends the newest answer."""
        answers = []
        for attempt in range(lagging_backends.BACKENDS):
            await lagging_backends.pause(self._clock, attempt)
            asked_at = self._clock.monotonic()
            header, *results = await self._rpc.batch([LATEST, *calls])
            head = self._keep(header, asked_at)
            answers.append((head, results))
            if self._newest.has(head.number):
                return answers[-1]
        return max(answers, key=lambda answer: answer[0].number)

    def _keep(self, header: Result, asked_at: float) -> Head:
        """Return the head of a header, and keep it unless the backend was late."""
        head = LATEST.value(header)
        self.time.measure(head.number, head.time)
        if self._newest.has(head.number):
            self._head = head, asked_at
        return head

    async def next_fork(self, after_s: int) -> int | None:
        if None not in self._fork_was_read:
            await self._fork_reads(None, self._read_fork)
        times = (*self._fork_times, self._named_fork or 0)
        return min((time for time in times if time > after_s), default=None)

    async def _read_fork(self) -> None:
        """Read which fork the node names; without an answer the earlier one stands."""
        with suppress(NodeUnavailable):
            self._named_fork = await ask(self._rpc, NEXT_FORK)
        self._fork_was_read[None] = True

    async def warnings(self) -> dict[str, str]:
        """Return by subject what the operator should mend. Raises NodeUnavailable."""
        head, notices = await self.head(), {}
        if self.time.warning is not None:
            notices["clock"] = self.time.warning
        if not head.is_amsterdam and await self.next_fork(head.time) is None:
            notices["fork"] = _NO_FORK
        if await self._reports_reverted_logs():
            notices["logs"] = reverted_logs.WARNING
        return notices

    async def _reports_reverted_logs(self) -> bool:
        """Return it by a trial every ten minutes; False where the node cannot simulate."""
        if None not in self._logs_of_reverts:
            self._logs_of_reverts[None] = False  # who asks meanwhile does not wait
            with suppress(NodeUnavailable):
                reports = await reverted_logs.reports_reverted_logs(self._rpc, self._below)
                self._logs_of_reverts[None] = reports
        return self._logs_of_reverts[None]

    async def token(self, address: Address) -> Token | None:
        return (await self.tokens(address))[0]

    async def tokens(self, *addresses: Address) -> list[Token | None]:
        known: dict[Address, Token | None] = {}
        for address in addresses:
            with suppress(KeyError):
                known[address] = self._tokens[address]
        missing = {one: metadata.views(one) for one in addresses if one not in known}
        views = [multicall.call(each, gas=_VIEWS_GAS) for each in missing.values()]
        probes = [probe_call(one) for one in missing] if self.can_simulate else []
        results = await self._beside_head([*views, *probes])
        for address, probe, result in zip(missing, probes, results[len(missing) :], strict=False):
            with suppress(SimulationUnsupported, NodeUnavailable):  # asked again where needed
                self._simulator.layouts.learn(address, probe, result)
        for address, call, result in zip(missing, views, results, strict=False):
            if isinstance(result, RpcErrorObject) and result.is_verdict:
                await multicall.require_runs(self._rpc)
                token = None  # its views use all the gas they get
            else:
                token = metadata.token(address, call.value(result))
            known[address] = self._tokens[address] = token
        return [known[address] for address in addresses]

    def has_read(self, *addresses: Address) -> bool:
        return all(address in self._tokens for address in addresses)

    async def total_supply(self, token: Address) -> int | None:
        call = multicall.call([ViewCall(token, erc20.TOTAL_SUPPLY)], gas=_VIEWS_GAS)
        [result] = await self._recent([call])
        if isinstance(result, RpcErrorObject):
            return None
        return erc20.read_uint(call.value(result)[0])

    async def _beside_head(self, calls: Sequence[RpcCall]) -> list[Result]:
        """Return the results of calls; the head that a quote needs next is read with them."""
        if not calls:
            return []
        asked_at = self._clock.monotonic()
        header, *results = await self._rpc.batch([LATEST, *calls])
        with suppress(NodeUnavailable):
            self._keep(header, asked_at)
        return results

    async def wallet(self, wallet: Address, token: Address, spender: Address) -> WalletSnapshot:
        calls = _facts_calls(wallet, token, spender)
        for attempt in range(lagging_backends.BACKENDS):
            await lagging_backends.pause(self._clock, attempt)
            facts = _facts(calls, await self._rpc.batch(calls))
            if self._newest.has(facts.head):
                return facts
        raise late(self._newest.number)

    async def wallet_and_gas(
        self, wallet: Address, token: Address, params: UnsignedTransaction
    ) -> tuple[Head, WalletSnapshot, int | None]:
        calls, estimate = _facts_calls(wallet, token, token), _estimate_call(wallet, params)
        head, [*answers, gas] = await self._at_head([*calls, estimate])
        if not self._newest.has(head.number):
            raise late(self._newest.number)
        return head, _facts(calls, answers), _or_none(estimate, gas)

    async def wallet_and_dry_run(
        self, swap: SignedSwap, token: Address, spender: Address
    ) -> tuple[WalletSnapshot, DryRun]:
        calls = _facts_calls(swap.wallet, token, spender)
        for attempt in range(lagging_backends.BACKENDS):
            await lagging_backends.pause(self._clock, attempt)
            runs, answers = await self._run_signed([swap], calls)
            facts = _facts(calls, answers)
            if self._newest.has(facts.head):
                return facts, runs[0]
        raise late(self._newest.number)

    async def newest_number(self) -> int:
        number = await lagging_backends.newest_number(self._rpc)
        self._newest.has(number)
        return number

    async def dry_runs(self, swaps: Sequence[SignedSwap]) -> Sequence[DryRun]:
        return (await self._run_signed(swaps, ()))[0] if swaps else []

    async def _run_signed(
        self, swaps: Sequence[SignedSwap], others: Sequence[RpcCall]
    ) -> tuple[list[DryRun], list[Result]]:
        """Simulate all swaps and run the other calls. Without eth_simulateV1, use eth_call."""
        if self._simulator.can_simulate:
            try:
                return await self._run_on_latest(swaps, others)
            except SimulationUnsupported:
                self._simulator.pause_simulation()
        results = await self._rpc.batch([*map(plain_call, swaps), *others])
        return [read_plain(one) for one in results[: len(swaps)]], results[len(swaps) :]

    async def _run_on_latest(
        self, swaps: Sequence[SignedSwap], others: Sequence[RpcCall]
    ) -> tuple[list[DryRun], list[Result]]:
        """Run all on the cached head, and again on the latest if that is another block: it may
        contain an approval, or new code of the wallet.

        The same batch reads the latest header, so that a head as old as the tracker's is no risk.
        `others` are empty, or the facts of a wallet.
        """
        head = await self.head(TRACKED_HEAD_S)
        runs, latest, answers = await self._run_beside(head, swaps, others)
        facts_at = reads.HEIGHT.value(answers[0]) if others else 0
        if latest.hash != head.hash and latest.number >= max(head.number, facts_at):
            head = latest
            runs, _, answers = await self._run_beside(head, swaps, others)
            facts_at = reads.HEIGHT.value(answers[0]) if others else 0
        if facts_at > head.number or any(run.succeeded is False for run in runs):
            latest = await self._in_flight(None, self._ask_head)  # a backend may have been late
            if latest.hash != head.hash:
                runs, answers = await self._run_on(latest, swaps, others)
        return runs, answers

    async def _run_beside(
        self, head: Head, swaps: Sequence[SignedSwap], others: Sequence[RpcCall]
    ) -> tuple[list[DryRun], Head, list[Result]]:
        """Run all on `head`; return the latest head, too, which is kept."""
        asked_at = self._clock.monotonic()
        runs, [header, *answers] = await self._run_on(head, swaps, [LATEST, *others])
        return runs, self._keep(header, asked_at), answers

    async def _run_on(
        self, head: Head, swaps: Sequence[SignedSwap], others: Sequence[RpcCall]
    ) -> tuple[list[DryRun], list[Result]]:
        runs = DryRunCodec(swaps, below=self._below)
        block = NextBlock.after(head, self._below)
        results = await self._simulator.blocks.run(lambda b: [*runs.calls(b), *others], block)
        count = 1 + len(swaps)
        return runs.read(results[:count]), results[count:]

    async def balances(self, wallet: Address, token: Address) -> tuple[int, int]:
        views = [multicall.eth_balance(wallet), ViewCall(token, erc20.balance_of(wallet))]
        call = multicall.call(views, gas=_VIEWS_GAS)
        eth, token_balance = multicall.amounts(call.value((await self._recent([call]))[0]))
        return eth, token_balance

    async def _recent(self, calls: Sequence[RpcCall]) -> list[Result]:
        return await from_block(self._rpc, self._clock, self._newest.number, calls)

    async def prepare_simulation(
        self, request: RouteRequest, spenders: Sequence[Address]
    ) -> PreparedSimulation:
        wallet, token = request.wallet, request.sell.address
        views = [
            ViewCall(token, erc20.balance_of(wallet)),
            *(ViewCall(token, erc20.allowance(wallet, spender)) for spender in spenders),
        ]
        count, wei, code = nonce(wallet, "latest"), eth_balance(wallet), code_of(wallet)
        call = multicall.call(views, gas=_VIEWS_GAS)
        calls: list[RpcCall] = [count, nonce(wallet, "pending"), wei, code, call]
        head, results = await self._at_head(  # a cached head may be older than the wallet's state
            [*calls, *self._simulator.reads_ahead(request, spenders)]
        )
        latest, pending, balance, its_code, answers, *ahead = results
        if isinstance(answers, RpcErrorObject) and answers.is_verdict:
            raise UnreadableToken("its balances cannot be read")
        held, *allowed = map(erc20.read_uint, call.value(answers))
        if held is None:
            raise UnreadableToken("it does not tell the wallet's balance")
        allowances = {s: a or 0 for s, a in zip(spenders, allowed, strict=True)}
        return await self._simulator.prepare_simulation(
            request,
            head,
            AccountState(
                count.value(latest),
                await self._with_mempool(request.wallet, latest, pending),
                wei.value(balance),
                held,
                allowances,
                code.value(its_code),
            ),
            ahead,
        )

    async def _with_mempool(self, wallet: Address, latest: Result, pending: Result) -> int:
        """Return the count with the mempool; without, where a node says twice that it has none."""
        call = nonce(wallet, "pending")
        count = _or_none(call, pending)
        if count is None:
            count = _or_none(call, (await self._rpc.batch([call]))[0])
        return call.value(latest) if count is None else count

    async def settlers(self) -> frozenset[Address]:
        if self._settlers and self._clock.monotonic() < self._settlers[1] + _SETTLERS_TTL_S:
            return self._settlers[0]
        return await self._settlers_in_flight(None, self._ask_settlers)

    async def _ask_settlers(self) -> frozenset[Address]:
        """Read the current Settler and the previous one, which stays valid, at one block."""
        asked_at = self._clock.monotonic()
        with shared():
            genuine = settlers.genuine(*await multicall.read_views(self._rpc, _SETTLER_VIEWS))
        self._settlers = genuine, asked_at
        return genuine

    async def estimate_gas(self, wallet: Address, params: UnsignedTransaction) -> int | None:
        call = _estimate_call(wallet, params)
        [result] = await self._recent([call])
        if isinstance(result, RpcErrorObject):
            await self.newest_number()  # an older block may lack an approval
            [result] = await self._recent([call])
        if isinstance(result, RpcErrorObject):
            run = read_plain(result)
            if run.succeeded is False:
                raise CallReverts(run.reason)
            if result.is_verdict:
                return None
        return call.value(result)

    async def block(self, number: int) -> Block | None:
        block = await self._block(reads.block(hex(number)), number)
        if block and block.number != number:
            raise NodeUnavailable("the node returned another block than requested")
        return block

    async def block_by_hash(self, block_hash: str) -> Block | None:
        block = await self._block(reads.block_by_hash(block_hash), 0)
        if block and block.hash != block_hash.lower():
            raise NodeUnavailable("the node returned another block than requested")
        return block

    async def _block(self, call: NodeCall[Block | None], number: int) -> Block | None:
        """Return a block; one that is missing up to the newest block is asked for again."""
        [result] = await self._rpc.batch([call])
        block = None if isinstance(result, RpcErrorObject) else call.value(result)
        if block is None and 0 < self._newest.number >= number:
            [result] = await self._recent([call])
        return block or call.value(result)

    async def finalized_number(self) -> int:
        return (await ask(self._rpc, reads.header("finalized"))).number

    async def receipts(self, tx_hashes: Sequence[str]) -> Mapping[str, Receipt | None]:
        return await read_receipts(self._rpc, tx_hashes, self._room, self._newest)

    async def pending_nonce(self, wallet: Address) -> int:
        counts = [nonce(wallet, "latest"), nonce(wallet, "pending")]
        return await self._with_mempool(wallet, *await self._recent(counts))

    async def nonces(self, wallets: Sequence[Address]) -> Mapping[Address, int]:
        calls = [nonce(wallet, "latest") for wallet in wallets]
        results = await self._batches(calls)
        return {w: call.value(r) for w, call, r in zip(wallets, calls, results, strict=True)}

    async def nonces_at(
        self, number: int, block_hash: str, wallets: Sequence[Address]
    ) -> Mapping[Address, int]:
        counts: dict[Address, int] = {}
        for start in range(0, len(wallets), self._room):
            part = wallets[start : start + self._room]
            header, calls = reads.header(hex(number)), [nonce(w, hex(number)) for w in part]
            first, *results = await self._rpc.batch([header, *calls])
            if header.value(first).hash != block_hash:
                raise NodeUnavailable(f"the node has another block {number} than it had shown")
            counts |= {w: one.value(r) for w, one, r in zip(part, calls, results, strict=True)}
        return counts

    async def _batches(self, calls: Sequence[RpcCall]) -> list[Result]:
        results: list[Result] = []
        for start in range(0, len(calls), self._room):
            results += await self._recent(calls[start : start + self._room])
        return results


def _estimate_call(wallet: Address, params: UnsignedTransaction) -> NodeCall[int]:
    call = {
        "from": wallet,
        "to": params.to,
        "data": "0x" + params.data.hex(),
        "value": hex(params.value),
    }
    return reads.estimate_gas(call, "latest")


def _or_none(call: NodeCall[int], result: Result) -> int | None:
    """Return the value of a result; None for an error or a malformed one."""
    with suppress(NodeUnavailable):
        return call.value(result)
    return None


def _facts_calls(wallet: Address, token: Address, spender: Address) -> list[NodeCall[Any]]:
    views = [
        multicall.eth_balance(wallet),
        ViewCall(token, erc20.balance_of(wallet)),
        ViewCall(token, erc20.allowance(wallet, spender)),
    ]
    return [
        reads.HEIGHT,
        nonce(wallet, "latest"),
        code_of(wallet),
        multicall.call(views, gas=_VIEWS_GAS),
    ]


def _facts(calls: Sequence[NodeCall[Any]], results: Sequence[Result]) -> WalletSnapshot:
    """Return the facts of `_facts_calls`."""
    number, count, code, views = (c.value(r) for c, r in zip(calls, results, strict=True))
    eth, held, allowed = multicall.amounts(views)
    return WalletSnapshot(number, count, eth, held, allowed, code)
