"""JSON-RPC batches to the operator's Ethereum nodes.

Reads only, so asking another node after a failure is always safe.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from quietswap import observe
from quietswap.adapters.chain_wire import Malformed, quantity, read
from quietswap.adapters.http import HttpClient, HttpTrouble, TimedOut
from quietswap.adapters.nodes import Node, Nodes
from quietswap.adapters.rpc_wire import Call, Result, RpcError, read_replies, request_body
from quietswap.ports.outside import ChainDown, Clock

MAX_BYTES = 32 * 1024 * 1024
"""A full block of calldata is several megabytes of JSON."""

_UNSUPPORTED_LASTS_S = 15.0


@dataclass(frozen=True, slots=True)
class NodeState:
    """One row of a survey: `height` is its latest block, `reason` why it cannot be used."""

    name: str
    height: int | None
    lags: bool
    seconds: float
    reason: str | None = None


class _NoAnswer(Exception):
    """A node gave no usable answer to a batch; `kind` is one word, the text is masked."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


class JsonRpc:
    """A batch client over several node URLs.

    `timeout_s` bounds one attempt at one node. A node that serves another chain than `chain_id` is
    never used. With more than one node all are asked for their height every `survey_s` seconds.
    """

    def __init__(
        self,
        http: HttpClient,
        urls: Sequence[str],
        clock: Clock,
        *,
        timeout_s: float = 3.0,
        chain_id: int = 1,
        max_lag_blocks: int = 3,
        survey_s: float = 5.0,
        failures: int = 3,
        pause_s: float = 5.0,
        on_failure: Callable[[str, str, str], None] = observe.node_failed,
    ) -> None:
        self._http = http
        self._clock = clock
        self._timeout_s = timeout_s
        self._chain_id = chain_id
        self._survey_s = survey_s
        self._on_failure = on_failure
        self._nodes = Nodes(urls, clock, max_lag=max_lag_blocks, failures=failures, pause_s=pause_s)
        self._next_id = 1
        self._surveyed_at = 0.0
        self._survey: asyncio.Task[list[NodeState]] | None = None
        self._knows_heights = False

    async def batch(self, calls: Sequence[Call]) -> list[Result]:
        """Return one result per call, in order, all from one node and one round trip.

        Raises ChainDown when no node gave a complete answer. An RpcError stands for its call only
        after every usable node was asked, unless the call itself is at fault.
        """
        if not calls:
            return []  # nodes refuse an empty batch
        await self._keep_surveyed()
        second_best: list[Result] | None = None
        reasons = []
        for node in self._nodes.usable(call.method for call in calls):
            try:
                results = await observe.in_span("node", self._ask(node, calls), node=node.name)
            except _NoAnswer as error:
                reasons.append(f"{node.name}: {error}")
                continue
            if self._is_settled(node, calls, results):
                self._nodes.served(node)
                return results
            second_best = results
        if second_best is None:
            raise ChainDown("; ".join(reasons) or "no node can be asked now")
        return second_best

    async def call(self, method: str, *params: object) -> Result:
        """Return the result of one call. Raises ChainDown."""
        return (await self.batch([Call(method, params)]))[0]

    def _is_settled(self, node: Node, calls: Sequence[Call], results: Sequence[Result]) -> bool:
        settled = True
        for call, result in zip(calls, results, strict=True):
            if not isinstance(result, RpcError) or result.is_verdict:
                continue
            settled = False
            if result.is_unsupported:
                self._nodes.lacks(node, call.method, _UNSUPPORTED_LASTS_S)
            else:
                self._on_failure(node.name, "error", f"{call.method}: {result.message}")
        return settled

    async def _ask(self, node: Node, calls: Sequence[Call]) -> list[Result]:
        """Return the results of one node, which must have shown its chain id by then."""
        proves = not node.proven  # another call may prove it while this one is under way
        asked = [*calls, Call("eth_chainId")] if proves else calls
        try:
            results = await self._exchange(node, asked)
            if proves:
                self._prove(node, results.pop())
        except _NoAnswer as error:
            self._nodes.failed(node)
            self._on_failure(node.name, error.kind, str(error))
            raise
        return results

    def _prove(self, node: Node, result: Result) -> None:
        served = _number(result)
        if served != self._chain_id:
            raise _NoAnswer("wrong_chain", f"it serves chain {served}, not {self._chain_id}")
        node.proven = True

    async def _exchange(self, node: Node, calls: Sequence[Call]) -> list[Result]:
        first = self._next_id
        self._next_id += len(calls)
        body = request_body(calls, first)
        try:
            reply = await self._http.post(
                node.url, body, timeout_s=self._timeout_s, max_bytes=MAX_BYTES
            )
        except HttpTrouble as error:
            kind = "timed_out" if isinstance(error, TimedOut) else "unreachable"
            raise _NoAnswer(kind, node.masked(str(error))) from None
        if reply.status != 200:
            raise _NoAnswer("status", f"HTTP status {reply.status}")
        try:
            results = read_replies(reply.body, first, len(calls))
        except Malformed as error:
            raise _NoAnswer("malformed", str(error)) from None
        return [_masked(result, node) for result in results]

    async def _keep_surveyed(self) -> None:
        """Look at all nodes now and then; only the very first time anybody waits for it."""
        if len(self._nodes.all) < 2:
            return
        now = self._clock.monotonic()
        if self._survey is None or now - self._surveyed_at >= self._survey_s:
            self._surveyed_at = now
            self._survey = asyncio.create_task(self.survey())
        if not self._knows_heights:
            await asyncio.shield(self._survey)

    async def survey(self) -> list[NodeState]:
        """Ask every node for its chain and its height; never raises."""
        states = await asyncio.gather(*(self._look_at(node) for node in self._nodes.all))
        self._knows_heights = True
        return [
            NodeState(node.name, height, self._nodes.lags(node), seconds, reason)
            for node, (height, seconds, reason) in zip(self._nodes.all, states, strict=True)
        ]

    async def _look_at(self, node: Node) -> tuple[int | None, float, str | None]:
        started = self._clock.monotonic()
        height, reason = None, None
        try:
            chain, latest = await self._exchange(
                node, [Call("eth_chainId"), Call("eth_blockNumber")]
            )
            self._prove(node, chain)
            height = _number(latest)
            self._nodes.seen_at(node, height)
        except _NoAnswer as error:
            self._nodes.failed(node)
            self._on_failure(node.name, error.kind, str(error))
            reason = str(error)
        return height, self._clock.monotonic() - started, reason

    async def close(self) -> None:
        """Stop a survey under way."""
        if self._survey is not None:
            self._survey.cancel()
            await asyncio.gather(self._survey, return_exceptions=True)


def _number(result: Result) -> int:
    if isinstance(result, RpcError):
        raise _NoAnswer("error", f"error {result.code}: {result.message}")
    try:
        return quantity(read(result, str))
    except Malformed:
        raise _NoAnswer("malformed", "it did not answer a number") from None


def _masked(result: Result, node: Node) -> Result:
    if isinstance(result, RpcError):
        return replace(result, message=node.masked(result.message))
    return result
