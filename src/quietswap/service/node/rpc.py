"""JSON-RPC batches to the operator's Ethereum nodes.

All calls are reads, so a retry on another node is always safe.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from urllib.parse import urlsplit

from cachetools import TTLCache
from msgspec.structs import replace

from quietswap.rules.chain.node_reads import CHAIN_ID, HEIGHT
from quietswap.rules.chain.records import NodeUnavailable
from quietswap.rules.chain.rpc_wire import (
    BATCH_TOO_LARGE,
    BUSY_STATUS,
    RESPONSE_TOO_LARGE,
    BatchRefused,
    MalformedResult,
    NodeCall,
    Result,
    RpcCall,
    RpcErrorObject,
    V,
    batch_limit,
    read_replies,
    request_body,
)
from quietswap.rules.foreign_text import masked, secrets_of
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import CircuitBreaker
from quietswap.service.base.http_client import (
    BodyTooLarge,
    HttpClient,
    HttpError,
    HttpReply,
    HttpTimeout,
)
from quietswap.service.node.work import Lane, NodeWork

MAX_BYTES = 32 * 1024 * 1024
"""Bytes. A full block of calldata has several megabytes of JSON."""

_TOO_LARGE, _BUSY = "too_large", "busy"
_STILL_SERVES = (_TOO_LARGE, _BUSY)
"""Kinds of failure of a node that answers, but not to this batch, or not now."""
_HEIGHT_TTL_S = 60.0
_UNSUPPORTED_TTL_S = 15.0
_METHODS = 64
"""Methods per node that are remembered as unsupported; the service calls about 12."""


class NodeHealth:
    """State of one node. `name` is the host only: path, query and password may contain keys.

    `failures` in a row open its circuit for `pause_s`; after that, one further failure does.
    """

    def __init__(
        self,
        url: str,
        index: int,
        clock: Clock,
        *,
        failures: int,
        pause_s: float,
        most_calls: int,
    ) -> None:
        parts = urlsplit(url)
        self.url = url
        self.index = index
        self.name = f"{parts.hostname or 'node'}#{index + 1}"
        self.circuit = CircuitBreaker(clock, failures=failures, pause_s=pause_s)
        self.height: int | None = None
        self.height_at = -math.inf
        self.lacks: TTLCache[str, None]
        self.lacks = TTLCache(_METHODS, _UNSUPPORTED_TTL_S, timer=clock.monotonic)
        """Methods that it does not support."""
        self.most_calls = most_calls
        """Calls in one batch, with the chain id: the setting, or less as its refusals taught."""
        self._secrets = secrets_of(url)

    def masked(self, text: str, limit: int = 200) -> str:
        """Return at most `limit` printable characters of its `text`, without addresses and keys."""
        return masked(text, self._secrets, limit)


class NodePool:
    """The configured nodes in their order; the last node with a complete response comes first.

    A node more than `max_lag` blocks behind the highest other node lags.
    """

    def __init__(self, nodes: Sequence[NodeHealth], clock: Clock, *, max_lag: int) -> None:
        if not nodes:
            raise ValueError("at least one node URL is needed")
        self.all = nodes
        self._clock = clock
        self._max_lag = max_lag
        self._current = 0

    def usable(self, methods: Iterable[str]) -> list[NodeHealth]:
        """Return the nodes to try now, best first.

        A node without one of the methods is used only if all others lack one too. A node with an
        open circuit is used if there is no other: a pause would only prolong the outage.
        """
        level = [n for n in self.all if not self.lags(n)]
        up = [n for n in level if not n.circuit.is_open] or level
        up.sort(key=lambda n: (n.index != self._current, n.index))
        needed = set(methods)
        able = [n for n in up if needed.isdisjoint(n.lacks)]
        return able or up

    def lags(self, node: NodeHealth) -> bool:
        """Return whether another node was more than `max_lag` blocks ahead within 60 s."""
        if node.height is None:
            return False
        fresh = self._clock.monotonic() - _HEIGHT_TTL_S
        seen = (n.height for n in self.all if n.height is not None and n.height_at >= fresh)
        return max(seen, default=node.height) - node.height > self._max_lag

    def served(self, node: NodeHealth) -> None:
        node.circuit.record_success()
        self._current = node.index

    def seen_at(self, node: NodeHealth, height: int) -> None:
        """Record the latest block of a node, which also proves that it responds."""
        node.height, node.height_at = height, self._clock.monotonic()
        node.circuit.record_success()


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """Result of one node check: `height` is the latest block, `reason` why it is not usable."""

    name: str
    height: int | None
    lags: bool
    seconds: float
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as this process last saw it: its `height` was read `age_s` seconds ago.

    Without an answer, `height` is None.
    """

    name: str
    height: int | None
    age_s: float
    lags: bool
    is_paused: bool


Post = Callable[[str, bytes], Awaitable[HttpReply]]
"""Send a body to the URL of a node and return the response. Raises HttpError."""


class NodeReads(Protocol):
    async def batch(self, calls: Sequence[RpcCall]) -> list[Result]:
        """Return one result per call, in order. Raises NodeUnavailable."""


async def ask(nodes: NodeReads, call: NodeCall[V]) -> V:
    """Return the value of one call. Raises NodeUnavailable."""
    return call.value((await nodes.batch([call]))[0])


class _BatchTooLarge(Exception):
    """A node refused a batch for its size; the node's limit is lower now."""


class _NoAnswer(Exception):
    """A node returned no usable response to a batch; `kind` is one word, the text is masked."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class NodeRpcClient:
    """A batch client over several node URLs.

    `timeout_s` limits one attempt at one node, `batch_size` the calls in one batch.
    Each answer of a node contains its chain id: one URL may lead to another chain at any time, and
    an answer of another chain than `chain_id` is never used. With several nodes, the height of all
    is read every `probe_pause_s` seconds. What a request makes a node do takes a place of `work`.
    """

    def __init__(
        self,
        http: HttpClient,
        urls: Sequence[str],
        clock: Clock,
        *,
        timeout_s: float,
        max_lag_blocks: int,
        chain_id: int = 1,
        probe_pause_s: float = 5.0,
        failures: int = 3,
        pause_s: float = 5.0,
        max_bytes: int = MAX_BYTES,
        batch_size: int = 100,
        on_failure: Callable[[str, str, str], None] = observe.node_failed,
        work: NodeWork | None = None,
    ) -> None:
        self._http = http
        self._work = work
        self._clock = clock
        self._timeout_s = timeout_s
        self._chain_id = chain_id
        self._probe_pause_s = probe_pause_s
        self._max_bytes = max_bytes
        self._on_failure = on_failure
        nodes = [
            NodeHealth(url, at, clock, failures=failures, pause_s=pause_s, most_calls=batch_size)
            for at, url in enumerate(urls)
        ]
        self._nodes = NodePool(nodes, clock, max_lag=max_lag_blocks)
        self._next_id = 1
        self._probed_at = 0.0
        self._probing: asyncio.Task[list[NodeStatus]] | None = None
        self._knows_heights = False

    def nodes(self) -> list[NodeView]:
        """Return what this process knows of each node, in their order. No I/O."""
        now, lags = self._clock.monotonic(), self._nodes.lags
        return [
            NodeView(n.name, n.height, now - n.height_at, lags(n), n.circuit.is_open)
            for n in self._nodes.all
        ]

    async def batch(self, calls: Sequence[RpcCall], post: Post | None = None) -> list[Result]:
        """Return one result per call, in order, all from one node and one round trip.

        Raises NodeUnavailable if no node returned a complete response. An RpcError is returned only
        after all usable nodes were tried, unless the call caused it. `post` sends it to a node, by
        default at once, or in the turn of the request that needs it.
        """
        if not calls:
            return []  # nodes reject an empty batch
        await self._keep_probed()
        second_best: list[Result] | None = None
        reasons = []
        for node in self._nodes.usable(call.method for call in calls):
            try:
                asking = self._ask(node, calls, post or self._post_for(calls))
                results = await observe.in_span("node", asking, node=node.name)
            except _NoAnswer as error:
                reasons.append(f"{node.name}: {error}")
                continue
            if self._is_settled(node, calls, results):
                self._nodes.served(node)
                return results
            second_best = results
        if second_best is None:
            raise NodeUnavailable("; ".join(reasons) or "no node can be asked now")
        return second_best

    def _is_settled(
        self, node: NodeHealth, calls: Sequence[RpcCall], results: Sequence[Result]
    ) -> bool:
        settled = True
        for call, result in zip(calls, results, strict=True):
            if not isinstance(result, RpcErrorObject) or result.is_verdict:
                continue
            settled = False
            if result.is_unsupported:
                node.lacks[call.method] = None
            else:
                self._on_failure(node.name, "error", f"{call.method}: {result.message}")
        return settled

    async def _ask(self, node: NodeHealth, calls: Sequence[RpcCall], post: Post) -> list[Result]:
        """Return the results of one node. Raises _NoAnswer, which is recorded and reported."""
        try:
            results = await self._exchange(node, calls, post)
            if node.most_calls == 1:  # no answer has room for the chain id
                _check_chain((await self._request(node, [CHAIN_ID], post))[0], self._chain_id)
        except _NoAnswer as error:
            self._record_failure(node, error)
            raise
        return results

    def _record_failure(self, node: NodeHealth, error: _NoAnswer) -> None:
        if error.kind not in _STILL_SERVES:
            node.circuit.record_failure()
        self._on_failure(node.name, error.kind, str(error))

    def _post_for(self, calls: Sequence[RpcCall]) -> Post:
        lane = self._work.lane(calls) if self._work else None
        return self._post if lane is None else partial(self._post_in_turn, lane)

    async def _post_in_turn(self, lane: Lane, url: str, body: bytes) -> HttpReply:
        assert self._work is not None
        return await self._work.in_turn(lane, url, lambda: self._post(url, body))

    async def _post(self, url: str, body: bytes) -> HttpReply:
        return await self._http.post(
            url, body, timeout_s=self._timeout_s, max_bytes=self._max_bytes, repeatable=True
        )

    async def _exchange(
        self, node: NodeHealth, calls: Sequence[RpcCall], post: Post
    ) -> list[Result]:
        """Return the results of one node; in several batches if it takes only smaller ones."""
        room = max(node.most_calls - 1, 1)
        if len(calls) > room:
            return await self._in_pieces(node, calls, room, post)
        try:
            if node.most_calls == 1:
                return await self._request(node, calls, post)
            chain, *results = await self._request(node, [CHAIN_ID, *calls], post)
        except _BatchTooLarge:
            return await self._exchange(node, calls, post)
        _check_chain(chain, self._chain_id)
        answered = _answered(results)
        if answered == len(results) or len(results) == 1:
            return results
        if answered == 0:
            return await self._in_pieces(node, calls, (len(calls) + 1) // 2, post)
        return results[:answered] + await self._exchange(node, calls[answered:], post)

    async def _in_pieces(
        self, node: NodeHealth, calls: Sequence[RpcCall], size: int, post: Post
    ) -> list[Result]:
        pieces = [calls[at : at + size] for at in range(0, len(calls), size)]
        return [r for piece in pieces for r in await self._exchange(node, piece, post)]

    async def _request(
        self, node: NodeHealth, calls: Sequence[RpcCall], post: Post
    ) -> list[Result]:
        """Return the results of one request. Raises _BatchTooLarge after it has learned a limit."""
        first = self._next_id
        self._next_id += len(calls)
        body = request_body(calls, first)
        try:
            reply = await post(node.url, body)
        except HttpError as error:
            raise _NoAnswer(_kind(error), node.masked(str(error))) from None
        results: list[Result] = []
        fault, refusal = None, None
        try:
            results = read_replies(reply.body, first, len(calls))
            refusal = _refused_by_limit(results)
        except MalformedResult as error:
            fault = error
            refusal = error.refusal if isinstance(error, BatchRefused) else None
        self._learn_limit(node, len(calls), reply, refusal)
        if reply.status != 200:
            kind = _BUSY if reply.status in BUSY_STATUS else "status"
            text = ": ".join(filter(None, (f"HTTP status {reply.status}", reply.words())))
            raise _NoAnswer(kind, node.masked(text))
        if fault is not None:
            words = reply.words() if not isinstance(fault, BatchRefused) else ""
            raise _NoAnswer("malformed", node.masked(": ".join(filter(None, (str(fault), words)))))
        return [_masked(result, node) for result in results]

    def _learn_limit(
        self, node: NodeHealth, asked: int, reply: HttpReply, refusal: RpcErrorObject | None
    ) -> None:
        words = "" if refusal is None else refusal.message
        is_named = refusal is not None and refusal.code in BATCH_TOO_LARGE
        limit = batch_limit(words, asked, too_large=is_named or reply.status == 413)
        if limit is not None:
            node.most_calls = limit
            self._on_failure(node.name, "batch_limit", f"{limit} calls: {node.masked(words)}")
            raise _BatchTooLarge

    async def _keep_probed(self) -> None:
        """Start a check of all nodes if it is due. Only the first check is awaited."""
        if len(self._nodes.all) < 2:
            return
        now = self._clock.monotonic()
        if self._probing is None or now - self._probed_at >= self._probe_pause_s:
            self._probed_at = now
            self._probing = asyncio.create_task(self.probe())
        if not self._knows_heights:
            await asyncio.shield(self._probing)

    async def probe(self) -> list[NodeStatus]:
        """Read the chain id and the height of every node. Never raises."""
        states = await asyncio.gather(*(self._probe_node(node) for node in self._nodes.all))
        self._knows_heights = True
        return [
            NodeStatus(node.name, height, self._nodes.lags(node), seconds, reason)
            for node, (height, seconds, reason) in zip(self._nodes.all, states, strict=True)
        ]

    async def _probe_node(self, node: NodeHealth) -> tuple[int | None, float, str | None]:
        started = self._clock.monotonic()
        height, reason = None, None
        try:
            [latest] = await self._ask(node, [HEIGHT], self._post)
            height = _value(HEIGHT, latest)
            self._nodes.seen_at(node, height)
        except _NoAnswer as error:
            reason = str(error)
        return height, self._clock.monotonic() - started, reason

    async def close(self) -> None:
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.gather(self._probing, return_exceptions=True)


def _kind(error: HttpError) -> str:
    if isinstance(error, BodyTooLarge):
        return _TOO_LARGE
    return "timed_out" if isinstance(error, HttpTimeout) else "unreachable"


def _value(call: NodeCall[V], result: Result) -> V:
    if isinstance(result, RpcErrorObject):
        raise _NoAnswer("error", f"error {result.code}: {result.message}")
    try:
        return call.read(result)
    except MalformedResult:
        raise _NoAnswer("malformed", "it did not answer a number") from None


def _check_chain(result: Result, chain_id: int) -> None:
    served = _value(CHAIN_ID, result)
    if served != chain_id:
        raise _NoAnswer("wrong_chain", f"it serves chain {served}, not {chain_id}")


def _refused_by_limit(results: Sequence[Result]) -> RpcErrorObject | None:
    """Return an entry that names a limit of batches: some nodes repeat it in each."""
    errors = (one for one in results if isinstance(one, RpcErrorObject) and not one.is_verdict)
    return next((one for one in errors if "batch" in one.message.lower()), None)


def _answered(results: Sequence[Result]) -> int:
    """Return how many results came before a node ended its answer, which had become too large."""
    count = len(results)
    while count and _is_too_large(results[count - 1]):
        count -= 1
    return count


def _is_too_large(result: Result) -> bool:
    if not isinstance(result, RpcErrorObject) or result.is_verdict:
        return False
    return result.code in RESPONSE_TOO_LARGE


def _masked(result: Result, node: NodeHealth) -> Result:
    if isinstance(result, RpcErrorObject):
        return replace(result, message=node.masked(result.message))
    return result
