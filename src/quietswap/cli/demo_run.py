"""The steps of the demo, as an ordinary client of the API does them."""

from eth_account import Account

from quietswap.cli.demo_compare import Comparison
from quietswap.cli.demo_report import Holdings, Report
from quietswap.cli.demo_sandbox import Town
from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import short
from quietswap.cli.tokens import KNOWN
from quietswap.client import (
    Approved,
    Polling,
    QuietswapClient,
    Receipt,
    SwapRequest,
    SwapResult,
    WrapResult,
    chain,
)
from quietswap.client.approvals import ensure_allowance
from quietswap.client.resources import OrderStatus, Submission, SwapQuote
from quietswap.client.swaps import Event as SwapEvent
from quietswap.client.wrap_resources import WrapOrder
from quietswap.client.wraps import Event as WrapEvent

WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]
ONE = 10**18
POLLING = Polling(interval_s=0.25, node_interval_s=0.25, patience_s=60)


class DemoRun:
    """Runs every step once; what it proves goes into the report's checks."""

    def __init__(self, report: Report, town: Town) -> None:
        self._report = report
        self._town = town
        self._account = Account.from_key(town.wallets[0].private_key)
        self._wallet = str(self._account.address)
        self._client = QuietswapClient(
            town.base_url, town.api_key, rpc_url=town.rpc_url, polling=POLLING
        )
        self._request = SwapRequest(WETH.address, USDC.address, ONE, self._wallet)

    def __call__(self) -> None:
        """Run the demo. Raises ClientError where a step cannot go on."""
        self._report.ready()
        town = self._town
        self._report.facts["sandbox"] = {"baseUrl": town.base_url, "rpcUrl": town.rpc_url}
        self._report.line(f"ready after {self._report.seconds:.1f} s: API {town.base_url}")
        self._report.line(f"real EVM, {len(town.venues)} venues, a relay, a searcher, chain id 1")
        self._report.line(f"wallet {self._wallet}")
        with self._client:
            self._wrap()
            self._approve()
            self._swap()
            self._unwrap()
            self._history()
            Comparison(self._report, self._client, self._account)()

    def _balances(self) -> Holdings:
        node = self._client.node
        tokens = (WETH, USDC)
        held = {t.symbol: node(chain.token_balance(t.address, self._wallet)) for t in tokens}
        return {"ETH": node(chain.eth_balance(self._wallet)), **held}

    def _wrap(self) -> None:
        progress = self._report.title("1  Wrap 2 ETH")
        before = self._balances()
        result = self._client.wrap("2", self._account, watch=_Told(progress).wrapping)
        after = self._balances()
        self._report.moved(before, after)
        self._mined("wrap", result)
        self._report.check("2 ETH became 2 WETH", holds=_gain(before, after, "WETH") == 2 * ONE)

    def _approve(self) -> None:
        progress = self._report.title("2  Approve the router for 1 WETH (public, as always)")
        quote = self._client.quote(self._request)
        sent = self._client.run(
            ensure_allowance(
                token=quote.sell_token,
                router=quote.dex_route.target,
                amount=quote.sell_amount,
                wallet=self._wallet,
                signer=self._account,
                approval="exact",
                polling=POLLING,
            )
        )
        for approved in sent:
            _Told(progress).swapping(approved)

    def _swap(self) -> None:
        progress = self._report.title("3  Swap 1 WETH for USDC, privately")
        told = _Told(progress, self._report)
        before = self._balances()
        result = self._client.swap(self._request, self._account, told.swapping)
        after = self._balances()
        self._report.moved(before, after)
        self._report.check("the swap was confirmed", holds=result.succeeded)
        self._report.check(
            f"received {USDC.show(_gain(before, after, 'USDC'))},"
            f" at least {USDC.number(result.quote.min_buy_amount)} was promised",
            holds=_gain(before, after, "USDC") >= result.quote.min_buy_amount,
        )
        self._sources(result)

    def _sources(self, result: SwapResult) -> None:
        reports = result.quote.sources
        simulated = sum(row.simulated is not None for row in reports)
        self._report.facts["sources"] = reports
        claim = f"{simulated} of {len(reports)} sources gave a route that was simulated"
        self._report.check(claim, holds=simulated > 0)

    def _unwrap(self) -> None:
        progress = self._report.title("4  Unwrap 0.5 WETH")
        before = self._balances()
        result = self._client.unwrap("0.5", self._account, watch=_Told(progress).wrapping)
        after = self._balances()
        self._report.moved(before, after)
        self._mined("unwrap", result)
        gain = _gain(before, after, "WETH")
        self._report.check("0.5 WETH became ETH", holds=gain == -ONE // 2)

    def _mined(self, what: str, result: WrapResult) -> None:
        receipt = result.receipt
        holds = receipt is not None and receipt.succeeded
        self._report.check(f"the {what} was confirmed", holds=holds)

    def _history(self) -> None:
        self._report.title("5  History")
        page = self._client.order_history(self._wallet)
        for item in page.orders:
            sold = WETH.show(item.summary.sell_amount)
            bought = USDC.show(item.summary.buy_amount)
            self._report.line(f"{item.status:<10} {sold} → {bought}  {short(item.order_id)}", "")
        states = [item.status for item in page.orders]
        self._report.check("the history holds the swap", holds="confirmed" in states)


def _gain(before: Holdings, after: Holdings, symbol: str) -> int:
    return after[symbol] - before[symbol]


class _Told:
    """Turns the client's events into lines."""

    def __init__(self, progress: Progress, report: Report | None = None) -> None:
        self._progress = progress
        self._report = report

    def wrapping(self, event: WrapEvent) -> None:
        """Tell one event of a wrap."""
        if isinstance(event, WrapOrder):
            self._progress.say(f"tx {event.tx_hash}")
            self._progress.name(event.status)
        elif isinstance(event, Receipt):
            self._progress.name("confirmed")
            self._progress.say(f"block {event.block_number}, gas {event.gas_used:,}", "dim")

    def swapping(self, event: SwapEvent) -> None:
        """Tell one event of a swap."""
        if isinstance(event, Approved):
            block = event.receipt.block_number
            amount = WETH.show(event.amount)
            self._progress.say(f"approved   {amount} for {short(event.router)}, block {block}")
        elif isinstance(event, SwapQuote) and self._report is not None:
            self._report.quote(event, USDC)
        elif isinstance(event, Submission):
            self._progress.say(f"tx {event.order.tx_hash}")
            self._progress.name(event.order.status)
        elif isinstance(event, OrderStatus):
            self._progress.state(event)
