"""The inside as the edge sees it: use cases that answer what a test told them to."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

from msgspec import structs

from quietswap.rules.clients import ApiKey, ClientLimits, ClientUsage, DayUsage
from quietswap.rules.operator.inclusion import MinedOrder, inclusion_report
from quietswap.rules.orders.cancel_transaction import (
    CancelOrderRequest,
    CancelQuote,
    SubmittedCancel,
)
from quietswap.rules.orders.export import ExportFilter, ExportPage
from quietswap.rules.orders.order import Order, OrderKind, OrderStatus
from quietswap.rules.orders.order_views import OrderPage
from quietswap.rules.orders.request import (
    SubmittedSwap,
    SubmittedWrap,
    SwapOrderRequest,
    WrapOrderRequest,
)
from quietswap.rules.orders.statistics import OrderStatistics
from quietswap.rules.orders.stores import RateWindow
from quietswap.rules.quotes.quote import (
    AlternativeRoute,
    Route,
    SourceOutcome,
    SourceReport,
    SwapQuote,
    ThreatLevel,
    VerificationStatus,
    WrapQuote,
)
from quietswap.rules.quotes.request import SwapQuoteRequest, WrapBalances, WrapQuoteRequest
from quietswap.rules.quotes.scoring import Candidate
from quietswap.rules.relays import EndpointType, RelaySettings, ShareMode
from quietswap.rules.tokens.token import WETH, WrapOperation
from quietswap.rules.tx.address import Address
from quietswap.rules.tx.signed import UnsignedTransaction
from quietswap.service.api.operation import UseCases
from quietswap.service.storage.event_rows import StoredEvent
from tests.api.scripted_statistics import two_orders
from tests.api.scripted_stream import ScriptedStream
from tests.api.scripted_tokens import HOLDINGS, PRICE, token_page
from tests.api.scripted_wallet_rpc import ScriptedWalletRpc
from tests.api.scripted_watches import WATCH
from tests.api.scripted_webhooks import DELIVERY, WEBHOOK, created_webhook
from tests.stored_orders import NOW_MS, USDC, listed, order, recorded

WALLET = Address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
SECRET = "qs_right"
KEY = ApiKey("key-1", "a wallet", NOW_MS, None, "client-1")

PARAMS = UnsignedTransaction(
    to=ROUTER, data=b"\xe2\x1f\xd0\xe9", value=0, gas_limit=262_500, max_fee_per_gas=6 * 10**9,
    nonce=7,
)  # fmt: skip

SWAP_PROTECTION = RelaySettings(
    display_name="Test Relay",
    tier=2,
    endpoint="https://relay.test/noreverts?shareSafe=1&referrer=quietswap",
    endpoint_type=EndpointType.NOREVERTS,
    share_mode=ShareMode.SHARE_SAFE,
    expected_rebate_usd=Decimal("0.04"),
    drops_reverts=True,
)
WRAP_PROTECTION = structs.replace(
    SWAP_PROTECTION,
    endpoint="https://relay.test/fullprivacy?referrer=quietswap",
    endpoint_type=EndpointType.FULLPRIVACY,
    share_mode=ShareMode.NONE,
    expected_rebate_usd=None,
)


def swap_quote(**changes: Any) -> SwapQuote:
    """Return a quote of 1 WETH for USDC."""
    plain = SwapQuote(
        sell_token=WETH,
        buy_token=USDC,
        sell_amount=10**18,
        buy_amount=3_000_000_000,
        min_buy_amount=2_985_000_000,
        slippage_bps=50,
        wallet=WALLET,
        route=Route(
            source="kyberswap", dex="uniswap-v3", target=ROUTER, spender=ROUTER, value=0,
            data=PARAMS.data, path=(WETH, USDC), buy_amount=3_000_000_000,
            min_buy_amount=2_985_000_000, gas=200_000, impact_percent=Decimal("0.12"),
        ),
        gas=210_000,
        impact_percent=Decimal("0.12"),
        net_value_usd=Decimal("2999.123456789"),
        gas_cost_usd=Decimal("0.63"),
        threat_level=ThreatLevel.MEDIUM,
        protection_usd=Decimal("15.0"),
        protection=SWAP_PROTECTION,
        params=PARAMS,
        verification=VerificationStatus.VERIFIED,
        issued_at_ms=NOW_MS,
        alternatives=(AlternativeRoute("velora", 2_990_000_000, Decimal("2989.2")),),
        sources=(
            SourceReport("kyberswap", SourceOutcome.WON, 210, 3_000_000_000, 3_000_000_000, 0),
            SourceReport("sushi", SourceOutcome.TIMED_OUT, 3000, reason="no answer in time"),
        ),
        notes=("a note",),
    )  # fmt: skip
    return structs.replace(plain, **changes)


def wrap_quote(ask: WrapQuoteRequest) -> WrapQuote:
    """Return a quote that lives for five minutes."""
    value = ask.amount if ask.operation is WrapOperation.WRAP else 0
    params = replace(PARAMS, to=WETH, value=value, nonce=None)
    return WrapQuote(
        quote_id=f"weth_{ask.operation.value}_{NOW_MS}_4f3a9c",
        operation=ask.operation,
        amount=ask.amount,
        wallet=ask.wallet,
        gas=45_041,
        gas_wei=45_041 * 10**9,
        protection=WRAP_PROTECTION,
        params=params,
        issued_at_ms=NOW_MS,
        valid_until_ms=NOW_MS + 300_000,
    )


def cancel_quote(order_id: str) -> CancelQuote:
    """Return a cancel that lives for five minutes."""
    params = replace(PARAMS, to=WALLET, data=b"", gas_limit=21_000)
    return CancelQuote("cnq_1", order_id, WALLET, WRAP_PROTECTION, params, NOW_MS, NOW_MS + 300_000)


class HandClock:
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        self.ms = NOW_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    async def sleep(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


@dataclass
class Window:
    """Fixed windows in a dictionary."""

    clock: HandClock
    counts: dict[tuple[str, int], int] = field(default_factory=dict)

    async def hit(self, key: str, limit: int, window_s: int, count: int = 1) -> RateWindow:
        number = self.clock.now_ms() // (window_s * 1000)
        count = self.counts[key, number] = self.counts.get((key, number), 0) + count
        end = (number + 1) * window_s * 1000
        return RateWindow(count <= limit, limit, max(limit - count, 0), end)


INCLUDED = [
    *(MinedOrder(7_201, 1, "fast", "Relay", "none", "Titan", 9_000 + n, 5_000) for n in range(18)),
    *(MinedOrder(14_399, 3, "fast", "Relay", "none", "unknown", 9_900, 10_000) for _ in range(2)),
    MinedOrder(7_203, 30, "noreverts", "Relay", "none", "unknown", 9_999, 9_999),
]


class ScriptedUseCases:
    """Records every question in `asked`; `fails` is raised by whatever use case is called next."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.rate, self.guesses = Window(clock), Window(clock)
        self.asked: list[Any] = []
        self.fails: Exception | None = None
        self.refuses: Exception | None = None
        self.keys: dict[str, ApiKey] = {SECRET: KEY}
        self.quote = swap_quote()
        self.verified: list[Candidate] = []
        self.fails_at_last: Exception | None = None
        self.order: Order = order(submitted_at_ms=NOW_MS + 400, status=OrderStatus.SUBMITTED)
        self.page = OrderPage((listed(self.order),), 1)
        self.rpc = ScriptedWalletRpc(self._failing)
        self.batches: list[list[StoredEvent]] = [[]]
        self.streams: list[ScriptedStream] = []
        self.tokens, self.holdings, self.price = token_page(), HOLDINGS, PRICE
        self.exported: list[ExportPage | Exception] = []
        self.exports_closed = 0
        self.usage = ClientUsage(KEY.client_id, ClientLimits(), DayUsage(3, 2, 150), 1, NOW_MS)
        self.info = WrapBalances("Wrapped Ether", "WETH", 15 * 10**17, 25 * 10**16)

    def use_cases(self) -> UseCases:
        """Return the record the edge is given."""
        return UseCases(
            quote_swap=self._answering(self._quote_swap),
            submit_swap=self._answering(self._submit_swap),
            order_status=self._answering(lambda *_: recorded(self.order)),
            order_history=self._answering(lambda *_: self.page),
            order_statistics=self._answering(lambda _, days: self.statistics(days)),
            inclusion=self._answering(lambda days: inclusion_report(INCLUDED, 2, 0, NOW_MS)),
            export_orders=self._export,
            now_ms=self.clock.now_ms,
            wrap_info=self._answering(lambda *_: self.info),
            quote_wrap=self._answering(lambda _, ask: wrap_quote(ask)),
            submit_wrap=self._answering(self._submit_wrap),
            cancel=SimpleNamespace(
                issue=self._answering(lambda _, order_id: cancel_quote(order_id)),
                submit=self._answering(self._submit_cancel),
            ),
            **self.rpc.use_cases(),
            events=SimpleNamespace(follow=self._answering(self._follow_events)),
            webhooks=SimpleNamespace(
                create=self._answering(created_webhook),
                list=self._answering(lambda *_: (WEBHOOK,)),
                find=self._answering(lambda *_: WEBHOOK),
                delete=self._answering(lambda *_: None),
                test=self._answering(lambda *_: DELIVERY),
                deliveries=self._answering(lambda *_: (DELIVERY,)),
            ),
            watches=SimpleNamespace(
                create=self._answering(lambda *_: WATCH),
                list=self._answering(lambda *_: (WATCH,)),
                delete=self._answering(lambda *_: None),
            ),
            list_tokens=self._answering(lambda *_: self.tokens),
            balances=self._answering(lambda *_: self.holdings),
            price=self._answering(lambda *_: self.price),
            usage=self._answering(lambda *_: self.usage),
            authenticate=self._authenticate,
            rate=self.rate,
            guesses=self.guesses,
        )

    def _answering(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        async def use_case(*question: Any) -> Any:
            self.asked.append(question)
            if self.fails is not None:
                raise self.fails.with_traceback(None)
            return answer(*question)

        return use_case

    def _failing(self) -> None:
        if self.fails is not None:
            raise self.fails.with_traceback(None)

    def _follow_events(self, *_: object) -> "ScriptedStream":
        stream = ScriptedStream(list(self.batches))
        self.streams.append(stream)
        return stream

    async def _export(self, wanted: ExportFilter) -> AsyncGenerator[ExportPage]:
        self.asked.append((wanted,))
        try:
            for page in self.exported:
                if isinstance(page, Exception):
                    raise page
                yield page
        finally:
            self.exports_closed += 1

    def statistics(self, days: int) -> OrderStatistics:
        """Return the statistics of two orders."""
        return two_orders(days, self.clock.now_ms())

    async def _authenticate(self, secret: str) -> ApiKey | None:
        if self.refuses is not None:
            raise self.refuses
        return self.keys.get(secret)

    def _quote_swap(self, _: ApiKey, ask: SwapQuoteRequest) -> SwapQuote:
        for candidate in self.verified if ask.verified else ():
            ask.verified(candidate)
        if self.fails_at_last is not None:
            raise self.fails_at_last
        return structs.replace(self.quote, sell_token=ask.sell_token, buy_token=ask.buy_token)

    def _submit_swap(self, _: ApiKey, submission: SwapOrderRequest) -> SubmittedSwap:
        hash_ = self.order.tx_hash
        return SubmittedSwap(
            self.order, "Test Relay", f"https://relay.test/tx/{hash_}", hash_, "15-45 seconds"
        )

    def _submit_cancel(self, _: ApiKey, submission: CancelOrderRequest) -> SubmittedCancel:
        cancel = replace(self.order, order_id="cnl_1", kind=OrderKind.CANCEL)
        target = replace(self.order, order_id=submission.order_id)
        url = f"https://relay.test/tx/{cancel.tx_hash}"
        return SubmittedCancel(cancel, target, "Test Relay", url)

    def _submit_wrap(self, _: ApiKey, submission: WrapOrderRequest) -> SubmittedWrap:
        hash_ = self.order.tx_hash
        return SubmittedWrap(
            order=self.order,
            operation=submission.operation,
            sender=WALLET,
            amount=15 * 10**17,
            relay_name="Test Relay",
            tracking_url=f"https://relay.test/tx/{hash_}",
            explorer_url=f"https://etherscan.io/tx/{hash_}",
        )
