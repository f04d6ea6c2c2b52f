"""The steps of the demo, run with the Python client."""

import contextlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import msgspec
from eth_account import Account

from quietswap.cli.context import signals_as_ctrl_c
from quietswap.cli.demo.compare import Comparison, DemoReport, Holdings
from quietswap.cli.output.console import OrderProgress
from quietswap.cli.output.quote import short
from quietswap.cli.output.tokens import KNOWN
from quietswap.client import node_calls
from quietswap.client.flows.approvals import Approved, ensure_allowance
from quietswap.client.flows.polling import PollingPolicy
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.swap import Event as SwapEvent
from quietswap.client.flows.swap import SwapResult
from quietswap.client.flows.wrap import Event as WrapEvent
from quietswap.client.flows.wrap import WrapResult
from quietswap.client.node_calls import NodeReceipt
from quietswap.client.sync_client import QuietswapClient
from quietswap.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.contract.quotes import SwapQuoteResponse
from quietswap.contract.wraps import WrapOrderResponse
from quietswap.sandbox.chain.anvil import die_with_parent

# The demo's sandbox: a child process `quietswap sandbox --json` that is always stopped.


_COMMAND = (sys.executable, "-m", "quietswap", "sandbox", "--json", "--free-ports")
_READY_SECONDS = 90.0
_STOP_SECONDS = 15.0


class SandboxFailed(Exception):
    """The sandbox did not start; the message has the end of its error output."""


class FundedAccount(msgspec.Struct, frozen=True, rename="camel"):
    """Address and private key of an account with ETH and tokens."""

    address: str
    private_key: str


class SandboxInfo(msgspec.Struct, frozen=True, rename="camel"):
    """The JSON line that the sandbox prints when it is ready."""

    base_url: str
    api_key: str
    rpc_url: str
    control_url: str
    wallets: tuple[FundedAccount, ...]
    tokens: dict[str, str]
    venues: dict[str, str]
    settings_file: str


@dataclass(frozen=True, slots=True)
class _Process:
    running: "subprocess.Popen[bytes]"
    errors: IO[bytes]

    def first_line(self) -> bytes:
        """Return the JSON line of the sandbox; empty if there is none in time."""
        lines: list[bytes] = []
        assert self.running.stdout is not None
        reader = threading.Thread(target=_read_line, args=(self.running.stdout, lines), daemon=True)
        reader.start()
        reader.join(_READY_SECONDS)
        return lines[0] if lines else b""

    def error_output(self) -> str:
        """Return the end of the error output. It may come after the end of the standard output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.running.wait(_STOP_SECONDS)
        self.errors.seek(0)
        text = self.errors.read()[-600:].decode("utf-8", "replace").strip()
        return text.removeprefix("Error: ") or "no message"

    def stop(self) -> None:
        """Terminate the process; kill it and its children if it does not end in time."""
        if self.running.poll() is None:
            self.running.terminate()
        try:
            self.running.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()
        if self.running.stdout is not None:
            self.running.stdout.close()


def _read_line(stream: IO[bytes], lines: list[bytes]) -> None:
    lines.append(stream.readline())


@contextlib.contextmanager
def running_sandbox(block_time: float, *options: str) -> Iterator[SandboxInfo]:
    """Run a sandbox, with more of its `options`, during the `with` block. Raises SandboxFailed.

    SIGTERM and SIGHUP end the block like Ctrl-C, so that the sandbox is always stopped.
    """
    with signals_as_ctrl_c(), tempfile.TemporaryFile() as errors:
        running = subprocess.Popen(  # noqa: S603  our own command line
            [*_COMMAND, "--block-time", str(block_time), *options],
            stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL,
            preexec_fn=die_with_parent(), start_new_session=True,  # noqa: PLW1509  no threads yet
        )  # fmt: skip
        process = _Process(running, errors)
        try:
            yield _info(process)
        finally:
            process.stop()


def _info(process: _Process) -> SandboxInfo:
    line = process.first_line()
    try:
        return msgspec.json.decode(line, type=SandboxInfo)
    except msgspec.DecodeError as error:
        raise SandboxFailed(f"the sandbox did not start: {process.error_output()}") from error


WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]
ONE = 10**18
POLLING = PollingPolicy(interval_s=0.25, node_interval_s=0.25, patience_s=60)


class DemoRun:
    """Runs each step once and adds its checks to the report."""

    def __init__(self, report: DemoReport, sandbox: SandboxInfo) -> None:
        self._report = report
        self._sandbox = sandbox
        self._account = Account.from_key(sandbox.wallets[0].private_key)
        self._wallet = str(self._account.address)
        self._client = QuietswapClient(
            sandbox.base_url, sandbox.api_key, rpc_url=sandbox.rpc_url, polling=POLLING
        )
        self._request = SwapRequest(WETH.address, USDC.address, ONE, self._wallet)

    def __call__(self) -> None:
        """Run the demo. Raises ClientError if a step fails."""
        self._report.ready()
        sandbox = self._sandbox
        self._report.facts["sandbox"] = {"baseUrl": sandbox.base_url, "rpcUrl": sandbox.rpc_url}
        self._report.line(f"ready after {self._report.seconds:.1f} s: API {sandbox.base_url}")
        self._report.line(
            f"real EVM, {len(sandbox.venues)} venues, a relay, a searcher, chain id 1"
        )
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
        held = {t.symbol: node(node_calls.token_balance(t.address, self._wallet)) for t in tokens}
        return {"ETH": node(node_calls.eth_balance(self._wallet)), **held}

    def _wrap(self) -> None:
        progress = self._report.title("1  Wrap 2 ETH")
        before = self._balances()
        result = self._client.wrap("2", self._account, watch=_EventPrinter(progress).wrapping)
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
            _EventPrinter(progress).swapping(approved)

    def _swap(self) -> None:
        progress = self._report.title("3  Swap 1 WETH for USDC, privately")
        events = _EventPrinter(progress, self._report)
        before = self._balances()
        result = self._client.swap(self._request, self._account, events.swapping)
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
        result = self._client.unwrap("0.5", self._account, watch=_EventPrinter(progress).wrapping)
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


class _EventPrinter:
    """Prints the events of the client's flows."""

    def __init__(self, progress: OrderProgress, report: DemoReport | None = None) -> None:
        self._progress = progress
        self._report = report

    def wrapping(self, event: WrapEvent) -> None:
        """Print one event of a wrap."""
        if isinstance(event, WrapOrderResponse):
            self._progress.say(f"tx {event.tx_hash}")
            self._progress.name(event.status)
        elif isinstance(event, NodeReceipt):
            self._progress.name("confirmed")
            self._progress.say(f"block {event.block_number}, gas {event.gas_used:,}", "dim")

    def swapping(self, event: SwapEvent) -> None:
        """Print one event of a swap."""
        if isinstance(event, Approved):
            block = event.receipt.block_number
            amount = WETH.show(event.amount)
            self._progress.say(f"approved   {amount} for {short(event.router)}, block {block}")
        elif isinstance(event, SwapQuoteResponse) and self._report is not None:
            self._report.quote(event, USDC)
        elif isinstance(event, SwapOrderResponse):
            self._progress.say(f"tx {event.order.tx_hash}")
            self._progress.name(event.order.status)
        elif isinstance(event, OrderStatusResponse):
            self._progress.state(event)
