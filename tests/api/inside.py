"""The inside as the edge sees it: use cases that answer what a test told them to."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from quietswap.api.use_cases import UseCases
from quietswap.domain.address import Address
from quietswap.domain.order import Order, Status
from quietswap.domain.order_record import HistoryPage
from quietswap.domain.protection import EndpointType, Protection, ShareMode
from quietswap.domain.quote import (
    Alternative,
    Operation,
    Outcome,
    SourceReport,
    SwapQuote,
    ThreatLevel,
    Verification,
    WrapQuote,
)
from quietswap.domain.requests import (
    QuoteAsk,
    Submitted,
    SwapSubmission,
    WrapAsk,
    WrapInfo,
    WrapSubmission,
    WrapSubmitted,
)
from quietswap.domain.route import Route
from quietswap.domain.token import WETH
from quietswap.domain.transaction import TransactionParams
from quietswap.ports.stores import ApiKey, RateWindow
from tests.orders import NOW_MS, USDC, listed, order, recorded

WALLET = Address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
ROUTER = Address("0x6131B5fae19EA4f9D964eAc0408E4408b66337b5")
SECRET = "qs_right"
KEY = ApiKey("key-1", "a wallet", NOW_MS, None)

PARAMS = TransactionParams(
    to=ROUTER, data=b"\xe2\x1f\xd0\xe9", value=0, gas_limit=262_500, max_fee_per_gas=2 * 10**9,
    nonce=7,
)  # fmt: skip

SWAP_PROTECTION = Protection(
    display_name="Test Relay",
    tier=2,
    endpoint="https://relay.test/noreverts?shareSafe=1&referrer=quietswap",
    endpoint_type=EndpointType.NOREVERTS,
    share_mode=ShareMode.SHARE_SAFE,
    expected_rebate_usd=Decimal("0.04"),
    drops_reverts=True,
)
WRAP_PROTECTION = replace(
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
        verification=Verification.VERIFIED,
        issued_at_ms=NOW_MS,
        alternatives=(Alternative("velora", 2_990_000_000, Decimal("2989.2")),),
        sources=(
            SourceReport("kyberswap", Outcome.WON, 210, 3_000_000_000, 3_000_000_000, 0),
            SourceReport("sushi", Outcome.TIMED_OUT, 3000, reason="no answer in time"),
        ),
        notes=("a note",),
    )  # fmt: skip
    return replace(plain, **changes)


def wrap_quote(ask: WrapAsk) -> WrapQuote:
    """Return a quote that lives for five minutes."""
    value = ask.amount if ask.operation is Operation.WRAP else 0
    params = replace(PARAMS, to=WETH, value=value, nonce=None)
    return WrapQuote(
        quote_id=f"weth_{ask.operation.value}_{NOW_MS}_4f3a9c",
        operation=ask.operation,
        amount=ask.amount,
        wallet=ask.wallet,
        gas=45_041,
        protection=WRAP_PROTECTION,
        params=params,
        issued_at_ms=NOW_MS,
        valid_until_ms=NOW_MS + 300_000,
    )


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

    async def hit(self, key: str, limit: int, window_s: int) -> RateWindow:
        number = self.clock.now_ms() // (window_s * 1000)
        count = self.counts[key, number] = self.counts.get((key, number), 0) + 1
        end = (number + 1) * window_s * 1000
        return RateWindow(count <= limit, limit, max(limit - count, 0), end)


class Inside:
    """Records every question in `asked`; `fails` is raised by whatever use case is called next."""

    def __init__(self, clock: HandClock) -> None:
        self.clock = clock
        self.rate, self.guesses = Window(clock), Window(clock)
        self.asked: list[Any] = []
        self.fails: Exception | None = None
        self.keys: dict[str, ApiKey] = {SECRET: KEY}
        self.quote = swap_quote()
        self.order: Order = order(submitted_at_ms=NOW_MS + 400, status=Status.SUBMITTED)
        self.page = HistoryPage((listed(self.order),), 1)
        self.info = WrapInfo("Wrapped Ether", "WETH", 15 * 10**17, 25 * 10**16)

    def use_cases(self) -> UseCases:
        """Return the record the edge is given."""
        return UseCases(
            quote_swap=self._answering(self._quote_swap),
            submit_swap=self._answering(self._submit_swap),
            order_status=self._answering(lambda *_: recorded(self.order)),
            order_history=self._answering(lambda *_: self.page),
            wrap_info=self._answering(lambda *_: self.info),
            quote_wrap=self._answering(lambda _, ask: wrap_quote(ask)),
            submit_wrap=self._answering(self._submit_wrap),
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

    async def _authenticate(self, secret: str) -> ApiKey | None:
        return self.keys.get(secret)

    def _quote_swap(self, _: ApiKey, ask: QuoteAsk) -> SwapQuote:
        return replace(self.quote, sell_token=ask.sell_token, buy_token=ask.buy_token)

    def _submit_swap(self, _: ApiKey, submission: SwapSubmission) -> Submitted:
        hash_ = self.order.tx_hash
        return Submitted(
            self.order, "Test Relay", f"https://relay.test/tx/{hash_}", hash_, "15-45 seconds"
        )

    def _submit_wrap(self, _: ApiKey, submission: WrapSubmission) -> WrapSubmitted:
        hash_ = self.order.tx_hash
        return WrapSubmitted(
            order=self.order,
            operation=submission.operation,
            sender=WALLET,
            amount=15 * 10**17,
            relay_name="Test Relay",
            tracking_url=f"https://relay.test/tx/{hash_}",
            explorer_url=f"https://etherscan.io/tx/{hash_}",
        )
