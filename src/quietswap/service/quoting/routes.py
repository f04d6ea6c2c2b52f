"""Collect routes: ask all sources, verify each route when it arrives, wait while none is usable."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal

from quietswap.rules.chain.records import ChainReader, PreparedSimulation
from quietswap.rules.errors.base import Details, InsufficientLiquidity, ServiceUnavailable
from quietswap.rules.errors.requests import InvalidTokenAddress, TokenNotSupported
from quietswap.rules.quotes.at_least import AtLeast
from quietswap.rules.quotes.mev import MAJORS
from quietswap.rules.quotes.quote import (
    Remedy,
    Route,
    RouteRequest,
    SourceOutcome,
    SourceReport,
    SwapQuote,
)
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.tokens.token import Token, TokenPolicy
from quietswap.rules.tx import fees
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service import observe
from quietswap.service.base.clock import Clock
from quietswap.service.base.concurrency import SingleFlight
from quietswap.service.quoting.arriving_routes import ArrivingRoutes
from quietswap.service.quoting.sources import Source, SourceAnswer, SourceFanOut
from quietswap.service.quoting.verify import VerificationResult, VerifyRoutes
from quietswap.service.sources.adapter import VendorAdapter

MOST_EARLY = 16
"""Quotes in flight with which a route is simulated on arrival. With more, the processor is what
limits: all routes of a quote are one request to the node then, after the last answer, unless
somebody waits for each of them."""


@dataclass(frozen=True, slots=True)
class CollectedRoutes:
    """The verified candidates, one report for each source, and what they were simulated with."""

    candidates: tuple[Candidate, ...]
    reports: tuple[SourceReport, ...]
    prepared: PreparedSimulation

    def transaction(
        self, to: Address, data: bytes, gas_limit: int, nonce: int | None, *, wrapped: int = 0
    ) -> UnsignedTransaction:
        """Return the wallet's transaction; its calls wrap `wrapped` wei of ETH beside the gas."""
        cap = fees.max_fee_per_gas(
            self.prepared.next_base_fee,
            fees.SWAP_FEE_MULTIPLE,
            gas_limit=gas_limit,
            balance=self.prepared.sender.eth_balance,
            value=wrapped,
        )
        return UnsignedTransaction(to, data, 0, gas_limit, cap, nonce)


class CollectRoutes:
    """Return at `soft_s` if a route is usable; otherwise wait until `hard_s`, in seconds.

    A source whose last answers to the client were all late is not waited for until then. A late
    route is used while it is the only one. Identical requests of a client in flight (tokens,
    amount, wallet, slippage) share one result. Those of two clients do not: which sources are asked
    depends on the client's own budget and circuits. A request with `verified` shares nothing, and
    its routes are verified on arrival however many quotes are in flight.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        verify: VerifyRoutes,
        clock: Clock,
        *,
        soft_s: float,
        hard_s: float,
    ) -> None:
        self._sources = sources
        self._verify = verify
        self._clock = clock
        self._soft_s = soft_s
        self._hard_s = hard_s
        self._in_flight: SingleFlight[tuple[object, ...], CollectedRoutes] = SingleFlight()

    async def __call__(
        self,
        client_id: str,
        request: RouteRequest,
        verified: Callable[[Candidate], None] | None = None,
        reading: "asyncio.Future[RouteRequest] | None" = None,
    ) -> CollectedRoutes:
        """Return the routes of all sources that answered in time.

        `reading` becomes `request` with tokens that were not read before; until then only sources
        are asked that need no decimals. Its error is the caller's to raise: nothing is collected
        then. Raises NodeUnavailable if the wallet's state cannot be read.
        """
        key = (
            client_id,
            request.sell.address,
            request.buy.address,
            request.sell_amount,
            request.wallet,
            request.slippage_bps,
            verified,
        )
        return await self._in_flight(
            key, lambda: self._collect(client_id, request, verified, reading)
        )

    async def _collect(
        self,
        client_id: str,
        request: RouteRequest,
        verified: Callable[[Candidate], None] | None,
        reading: "asyncio.Future[RouteRequest] | None",
    ) -> CollectedRoutes:
        wallet = observe.in_phase("wallet", self._wallet(request, reading))
        preparing = asyncio.create_task(wallet)  # read while the source requests are in flight
        preparing.add_done_callback(lambda task: task.cancelled() or task.exception())
        try:
            answers, verdicts = await self._asked(client_id, request, preparing, verified, reading)
            prepared = await preparing
        finally:
            preparing.cancel()
        by_source = {verdict.route.source: verdict for verdict in verdicts}
        return CollectedRoutes(
            tuple(
                verdict.candidate
                for answer in answers
                if (verdict := by_source.get(answer.source)) and verdict.candidate
            ),
            tuple(_report(answer, by_source.get(answer.source)) for answer in answers),
            prepared,
        )

    async def _wallet(
        self, request: RouteRequest, reading: "asyncio.Future[RouteRequest] | None"
    ) -> PreparedSimulation:
        if reading is None:
            await asyncio.sleep(0)  # a turn of the loop, in which the sources are asked
        else:
            request = await asyncio.shield(reading)  # its storage layout is read with the token
        return await self._verify.prepare_simulation(request)

    async def _asked(
        self,
        client_id: str,
        request: RouteRequest,
        preparing: "asyncio.Task[PreparedSimulation]",
        verified: Callable[[Candidate], None] | None,
        reading: "asyncio.Future[RouteRequest] | None",
    ) -> tuple[list[SourceAnswer[Route]], list[VerificationResult]]:
        def ask(adapter: VendorAdapter) -> Awaitable[Route]:
            if reading is None or not adapter.needs_decimals:
                return adapter.route(request)
            return adapter.route(reading.result())

        async def ready(adapter: VendorAdapter) -> str | None:
            if reading is None or not adapter.needs_decimals:
                return None
            await asyncio.wait([reading])
            is_read = not reading.cancelled() and reading.exception() is None
            return None if is_read else "not asked: the token could not be read"

        def unfit(adapter: VendorAdapter) -> str | None:
            least, most = adapter.slippage_bps
            if least <= request.slippage_bps <= most:
                return None
            return f"its vendor takes a slippage of {least} to {most} bps"

        is_early = verified is not None or len(self._in_flight) <= MOST_EARLY
        arriving = ArrivingRoutes(self._verify, request, preparing, is_early, verified)
        async with arriving as routes:
            with SourceFanOut(
                self._sources, client_id, ask, self._clock,
                hard_s=self._hard_s, soft_s=self._soft_s, found=routes.add, unfit=unfit,
                ready=ready,
            ) as asked:  # fmt: skip
                await observe.in_phase("sources", asked.wait_for_prompt())
                await observe.in_phase("verification", routes.settled())
                await self._until_usable(asked, routes)
                return asked.answers(), routes.verdicts()

    async def _until_usable(self, asked: SourceFanOut[Route], routes: ArrivingRoutes) -> None:
        """Verify late routes as they come, until one is usable or none can come any more."""
        while not routes.is_usable and (routes.has_new or asked.is_open):
            if not routes.has_new:
                await asked.wait(self._hard_s, first=True)
            await routes.settled()


def _report(answer: SourceAnswer[Route], verdict: VerificationResult | None) -> SourceReport:
    if answer.miss is not None or verdict is None:
        return answer.missed()
    return SourceReport(
        answer.source,
        verdict.outcome,
        answer.latency_ms,
        promised=verdict.route.buy_amount,
        simulated=verdict.simulated,
        difference_bps=verdict.difference,
        reason=verdict.reason,
        remedy=verdict.remedy,
    )


def require_tradable(policy: TokenPolicy, sell: Address, buy: Address) -> None:
    """Raise TokenNotSupported if the operator's lists refuse one, InvalidTokenAddress if equal."""
    for address in (sell, buy):
        reason = policy.refusal(address)
        if reason:
            raise TokenNotSupported(token=address, reason=reason)
    if sell == buy:
        raise InvalidTokenAddress(field="buyToken", provided=buy, reason="both tokens are the same")


async def tradable_tokens(
    chain: ChainReader, policy: TokenPolicy, sell: Address, buy: Address
) -> tuple[Token, Token]:
    """Return decimals and symbol of both; nothing is awaited if the chain has them cached.

    Raises as `require_tradable`, TokenNotSupported if one is not an ERC-20, and NodeUnavailable.
    """
    require_tradable(policy, sell, buy)
    sell_token, buy_token = await chain.tokens(sell, buy)
    return _known(sell_token, sell, "sellToken"), _known(buy_token, buy, "buyToken")


def _known(token: Token | None, address: Address, field: str) -> Token:
    if token is None:
        raise TokenNotSupported(token=address, reason=f"{field} is not an ERC-20 on mainnet")
    return token


def _rows(reports: Sequence[SourceReport]) -> list[Details]:
    return [
        {"source": report.source, "outcome": report.outcome.value, "reason": report.reason}
        for report in reports
    ]


def minimum_not_reached(
    goal: AtLeast, quotes: Sequence[SwapQuote], cause: InsufficientLiquidity | None = None
) -> InsufficientLiquidity:
    """Return the error for a minimum that none of the quotes has; without a quote by its cause."""
    lacks = f"has a minimum of minBuyAmount {goal.min_buy_amount}"
    if cause is not None and not quotes:
        rows = (cause.details or {}).get("sources", ())
        return InsufficientLiquidity(sources=rows, message=f"no quote {lacks}: {cause.message}")
    best = max(quotes, key=lambda quote: quote.min_buy_amount)
    impact = ""
    if best.impact_percent is not None:
        percent = best.impact_percent.quantize(Decimal("0.01"), ROUND_DOWN)
        impact = f", at a price impact of {percent} %"
    return InsufficientLiquidity(
        sources=_rows(best.sources),
        message=f"no quote of {len(quotes)} {lacks}: the closest has {best.min_buy_amount}, for a"
        f" sellAmount of {best.sell_amount}{impact}",
    )


_FOUND_NOTHING = frozenset({SourceOutcome.NO_ROUTE, SourceOutcome.UNSAFE})
"""The source answered, but gave no usable route. It does not answer for one that is away."""
_AWAY = frozenset(map(SourceOutcome, ("unavailable", "timed_out", "rate_limited", "skipped")))
_SIMULATED = frozenset({SourceOutcome.REVERTED, SourceOutcome.SHORT_DELIVERY})
_UNVERIFIED = (
    "Try again in a few seconds. If it stays so, the reason says what is missing: the wallet's "
    "tokens or allowance, or a node with eth_simulateV1 (node.urls; `quietswap sources check`)."
)
_OFFER = " The operator can offer routes without a simulation: quotes.require_verification = false."


def _no_route(unfit: Sequence[SourceReport], rows: Sequence[Details]) -> InsufficientLiquidity:
    if not unfit:
        return InsufficientLiquidity(sources=rows)
    limits = "; ".join(f"{report.source}: {report.reason}" for report in unfit)
    return InsufficientLiquidity(
        sources=rows,
        message=f"no route delivers this swap at this slippageBps ({limits})",
        suggestion="Try another slippageBps, another amount, or another pair.",
    )


def no_route_error(
    reports: Sequence[SourceReport], sell_token: Address, buy_token: Address
) -> Exception:
    """Return the error for a quote without a candidate.

    ServiceUnavailable if there are routes and none could be simulated. Otherwise
    InsufficientLiquidity if a simulated route fell short, or if a source answered without a usable
    route, or takes no such slippage, and none is away; otherwise TokenNotSupported if any does not
    know a token of the pair; otherwise ServiceUnavailable.

    No vendor says which of the two tokens it does not know. Every vendor knows `MAJORS`, so if only
    the buy token is one of them, the error names the sell token, otherwise the buy token.
    """
    unfit = [r for r in reports if r.remedy is Remedy.OTHER_SLIPPAGE]
    outcomes = {r.outcome for r in reports if r not in unfit}
    rows = _rows(reports)
    blind = [r for r in reports if r.outcome is SourceOutcome.UNVERIFIED]
    if blind and not outcomes & _SIMULATED:
        may_be_offered = any(r.remedy is Remedy.OFFER_UNVERIFIED for r in blind)
        return ServiceUnavailable(
            f"there are routes, but none could be simulated: {blind[0].reason}",
            _UNVERIFIED + _OFFER * may_be_offered,
            sources=rows,
        )
    has_answered = outcomes & _FOUND_NOTHING or (unfit and not outcomes)
    if outcomes & _SIMULATED or (has_answered and not outcomes & _AWAY):
        return _no_route(unfit, rows)
    if SourceOutcome.TOKEN_UNKNOWN in outcomes:
        names = ", ".join(r.source for r in reports if r.outcome is SourceOutcome.TOKEN_UNKNOWN)
        return TokenNotSupported(
            token=sell_token if buy_token in MAJORS and sell_token not in MAJORS else buy_token,
            reason=f"sellToken or buyToken is unknown to {names}; no other source gave a route",
        )
    return ServiceUnavailable("no source gave a usable answer", sources=rows)
