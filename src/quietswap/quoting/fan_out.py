"""Request a route or a price from all sources at the same time.

Sources with an open circuit or without request budget are skipped.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic

from quietswap import observe
from quietswap.chain.address import Address
from quietswap.clients.client import ApiKey, day_of
from quietswap.clock import Clock
from quietswap.quoting.quote import NoRoute, NoRouteReason, SwapQuote, WrapQuote
from quietswap.quoting.request import SwapQuoteRequest, WrapQuoteRequest
from quietswap.quoting.sources import F, Source, SourceAnswer
from quietswap.storage.client_usage import UsageStore
from quietswap.tokens.token import WETH
from quietswap.vendors.adapter import VendorAdapter

TOO_LATE = "no answer before the quote's deadline"


class SourceFanOut(Generic[F]):
    """One request of a client to all sources; `ask` sends it to one. Use as a context manager.

    `found` is called with each result when it arrives, also after the exit. `unfit` returns why an
    adapter cannot be asked for this request, or None.

    After the exit late requests may continue; those without an answer within `hard_s` of the start
    are cancelled and count as failures.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        client_id: str,
        ask: Callable[[VendorAdapter], Awaitable[F]],
        clock: Clock,
        *,
        hard_s: float,
        found: Callable[[F], None] = lambda _: None,
        unfit: Callable[[VendorAdapter], str | None] = lambda _: None,
    ) -> None:
        self._clock = clock
        self._found = found
        self._unfit = unfit
        self._client_id = client_id
        self._request = ask
        self._hard_s = hard_s
        self._started = clock.monotonic()
        self._order = [source.name for source in sources]
        self._answers: dict[str, SourceAnswer[F]] = {}
        self._taken: set[str] = set()
        self._tasks: dict[asyncio.Task[SourceAnswer[F]], Source] = {}
        for source in sources:
            self._tasks[asyncio.create_task(self._ask(source))] = source

    def __enter__(self) -> "SourceFanOut[F]":
        return self

    def __exit__(self, *_: object) -> None:
        left_s = self._hard_s - self.elapsed_s
        for task, source in self._tasks.items():
            if not task.done():
                source.let_finish(task, self._client_id, left_s)

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the requests were sent."""
        return self._clock.monotonic() - self._started

    @property
    def is_open(self) -> bool:
        """Return whether a source has not answered yet and may still do so before `hard_s`."""
        return self.elapsed_s < self._hard_s and not all(task.done() for task in self._tasks)

    async def wait(self, until_s: float, *, first: bool = False) -> None:
        """Wait for all sources (or with `first` for one more) until `until_s` after the start."""
        waiting = [task for task in self._tasks if not task.done()]
        left = until_s - self.elapsed_s
        if waiting and left > 0:
            when = asyncio.FIRST_COMPLETED if first else asyncio.ALL_COMPLETED
            await asyncio.wait(waiting, timeout=left, return_when=when)
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    def fresh(self) -> list[F]:
        """Return results that were not returned before, in the configured order of the sources."""
        results = [
            answer.found
            for name in self._order
            if (answer := self._answers.get(name)) and answer.found and name not in self._taken
        ]
        self._taken.update(result.source for result in results)
        return results

    def answers(self) -> list[SourceAnswer[F]]:
        """Return one answer per source; a missing one counts as timed out."""
        return [self._answers.get(name) or self._late(name) for name in self._order]

    def _late(self, name: str) -> SourceAnswer[F]:
        elapsed = self._milliseconds()
        miss = NoRoute(NoRouteReason.TIMED_OUT, TOO_LATE)
        return SourceAnswer(name, elapsed, miss=miss)

    def _milliseconds(self) -> int:
        return round(self.elapsed_s * 1000)

    async def _ask(self, source: Source) -> SourceAnswer[F]:
        answer: SourceAnswer[F]
        # here: no source waits for another's budget
        refusal = self._unfit(source.adapter) or await source.refusal(self._client_id)
        if refusal is not None:
            miss = NoRoute(NoRouteReason.RATE_LIMITED, refusal)
            answer = self._answers[source.name] = SourceAnswer(
                source.name, 0, miss=miss, skipped=True
            )
            return answer
        try:
            asking = self._request(source.adapter)
            found = await observe.in_span("source", asking, source=source.name)
        except NoRoute as miss:
            source.note(self._client_id, miss)
            answer = SourceAnswer(source.name, self._milliseconds(), miss=miss)
            observe.source_missed(source.name, miss.miss, miss.reason)
        else:
            source.note(self._client_id, None)
            answer = SourceAnswer(source.name, self._milliseconds(), found=found)
        outcome = answer.miss.miss if answer.miss else "answered"
        observe.source_answered(source.name, outcome, answer.latency_ms / 1000)
        self._answers[source.name] = answer
        if answer.found:
            self._found(answer.found)
        return answer


# Refuses a quote that the limits of its client do not allow, before any source is asked.
#
# The store checks the same limits once more when it counts the quote: only there is the count
# exact.


class AdmitQuotes:
    """Checks wallet, tokens and the quotes of the day of a client with limits."""

    def __init__(self, usage: UsageStore, clock: Clock) -> None:
        self._usage = usage
        self._clock = clock

    def swaps(
        self, quote: Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]
    ) -> Callable[[ApiKey, SwapQuoteRequest], Awaitable[SwapQuote]]:
        """Return `quote` behind the check."""

        async def admitted(key: ApiKey, ask: SwapQuoteRequest) -> SwapQuote:
            await self._check(key, ask.wallet, ask.sell_token, ask.buy_token)
            return await quote(key, ask)

        return admitted

    def wraps(
        self, quote: Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]
    ) -> Callable[[ApiKey, WrapQuoteRequest], Awaitable[WrapQuote]]:
        """Return `quote` behind the check."""

        async def admitted(key: ApiKey, ask: WrapQuoteRequest) -> WrapQuote:
            await self._check(key, ask.wallet, WETH)
            return await quote(key, ask)

        return admitted

    async def _check(self, key: ApiKey, wallet: Address, *tokens: Address) -> None:
        limits = key.limits
        if limits is None:
            return
        limits.check_trade(wallet, tokens)
        if limits.quotes_per_day is not None:
            now = self._clock.now_ms()
            used = await self._usage.day(key.client_id, day_of(now))
            limits.check_quotes(used.quotes + 1, now)
