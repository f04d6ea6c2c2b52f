"""The steps and report of `quietswap demo`, run with the Python client, and its sandbox process."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from eth_account import Account

from quietswap.cli.demo_report import USDC, WETH, DemoReport, Holdings, SwapResultRow
from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.cli.output.order_progress import OrderProgress
from quietswap.cli.output.quote import short
from quietswap.client import ClientError, PollingPolicy, QuietswapClient, SwapRequest, node_calls
from quietswap.client.flows import swap, wrap
from quietswap.client.flows.approvals import Approved, ensure_allowance, send_public
from quietswap.client.flows.plan import approved_plan
from quietswap.client.node_calls import NodeCall, NodeReceipt
from quietswap.rules.chain.node_reads import HEIGHT
from quietswap.rules.chain.rpc_wire import text
from quietswap.rules.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.rules.contract.quotes import SwapQuoteResponse
from quietswap.rules.contract.wraps import WrapOrderResponse
from quietswap.rules.wire import WrapOperation

R = TypeVar("R")
ONE = 10**18
AMOUNT = 20 * ONE
"""Large enough for a profitable sandwich after two fees. 1 WETH would not be attacked."""
SLIPPAGE_BPS = 100
"""Of the two swaps that are compared."""
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
        report, sandbox = self._report, self._sandbox
        report.starts.stop()
        report.facts["sandbox"] = {"baseUrl": sandbox.base_url, "rpcUrl": sandbox.rpc_url}
        report.line(f"ready after {report.seconds:.1f} s: API {sandbox.base_url}")
        report.line(f"real EVM, {len(sandbox.venues)} venues, a relay, a searcher, chain id 1")
        report.line(f"wallet {self._wallet}")
        with self._client:
            self._convert("1  Wrap 2 ETH", "wrap", "2", "2 ETH became 2 WETH", 2 * ONE)
            self._approve()
            self._swap()
            claim = "0.5 WETH became ETH"
            self._convert("4  Unwrap 0.5 WETH", "unwrap", "0.5", claim, -ONE // 2)
            self._history()
            self._compare()

    def _gains(self, call: Callable[[], R]) -> tuple[R, Holdings]:
        """Return the result of a call, and the change of each balance, which is shown."""
        before = self._balances()
        result = call()
        after = self._balances()
        self._report.moved(before, after)
        return result, {symbol: after[symbol] - amount for symbol, amount in before.items()}

    def _balances(self) -> Holdings:
        node = self._client.node
        tokens = (WETH, USDC)
        token_balances = {
            t.symbol: node(node_calls.token_balance(t.address, self._wallet)) for t in tokens
        }
        return {"ETH": node(node_calls.eth_balance(self._wallet)), **token_balances}

    def _convert(
        self, title: str, operation: WrapOperation, amount: str, claim: str, gain: int
    ) -> None:
        watch = partial(_print_event, self._report.title(title), self._report)
        request = wrap.WrapRequest(operation, amount, self._wallet)
        result, gains = self._gains(lambda: self._client.convert(request, self._account, watch))
        holds = result.receipt is not None and result.receipt.succeeded
        self._report.check(f"the {operation} was confirmed", holds=holds)
        self._report.check(claim, holds=gains["WETH"] == gain)

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
            _print_event(progress, self._report, approved)

    def _swap(self) -> None:
        report = self._report
        watch = partial(_print_event, report.title("3  Swap 1 WETH for USDC, privately"), report)
        result, gains = self._gains(lambda: self._client.swap(self._request, self._account, watch))
        least = result.quote.min_buy_amount
        report.check("the swap was confirmed", holds=result.succeeded)
        claim = f"received {USDC.show(gains['USDC'])}, at least {USDC.number(least)} was promised"
        report.check(claim, holds=gains["USDC"] >= least)
        reports = result.quote.sources
        simulated = sum(row.simulated is not None for row in reports)
        report.facts["sources"] = reports
        claim = f"{simulated} of {len(reports)} sources gave a route that was simulated"
        report.check(claim, holds=simulated > 0)

    def _history(self) -> None:
        self._report.title("5  History")
        page = self._client.order_history(self._wallet)
        for item in page.orders:
            sold = WETH.show(item.summary.sell_amount)
            bought = USDC.show(item.summary.buy_amount)
            self._report.line(f"{item.status:<10} {sold} → {bought}  {short(item.order_id)}", "")
        states = [item.status for item in page.orders]
        self._report.check("the history holds the swap", holds="confirmed" in states)

    # Compares a public with a private swap. The chain is reverted between the two, so that both
    # have the same pool state. The searcher's transactions are read from the blocks.

    def _compare(self) -> None:
        """Swap AMOUNT of WETH twice, and check that only the public swap lost anything."""
        node, check = self._client.node, self._report.check
        progress = self._report.title("6  The same swap twice: 20 WETH for USDC")
        request = SwapRequest(WETH.address, USDC.address, AMOUNT, self._wallet, SLIPPAGE_BPS)
        plan, _ = self._client.run(
            approved_plan(request, self._account, POLLING, lambda _: None, {}, has_node=True)
        )
        before = node(NodeCall("evm_snapshot", (), text))
        public = self._publicly(plan.quote)
        progress.say("public     sent to the public mempool, mined", "yellow")
        seen = node(HEIGHT)
        if node(NodeCall("evm_revert", (before,), bytes)) != b"true":
            raise ClientError("the sandbox's chain could not be reverted")
        # a node without a block that it had shown is late for the service
        node(NodeCall("anvil_mine", (hex(max(seen - node(HEIGHT), 0)),), bytes))
        progress.say("           chain reverted to the block before", "dim")
        private = self._privately(request, progress)
        self._report.comparison(public, private)
        check("both met the same price", holds=_same_price(public.quote, private.quote))
        claim = f"the public swap lost {USDC.show(max(public.lost, 0))} to a sandwich"
        check(claim, holds=public.lost > 0 and len(public.attackers) >= 2)
        is_unharmed = private.lost <= 0 and not private.attackers
        check("the private swap lost nothing to the searcher", holds=is_unharmed)

    def _publicly(self, quote: SwapQuoteResponse) -> SwapResultRow:
        """Send the quoted call through the node as a public transaction with a tip."""
        params = quote.mev_protection.transaction_params
        receipt = self._client.run(
            send_public(
                "the public swap",
                to=params.to,
                data=params.data,
                wallet=self._wallet,
                signer=self._account,
                polling=POLLING,
                gas_limit=params.gas_limit,
            )
        )
        return self._sent(quote, receipt)

    def _privately(self, request: SwapRequest, progress: OrderProgress) -> SwapResultRow:
        def print_state(event: swap.Event) -> None:
            if isinstance(event, SwapOrderResponse):
                progress.reported(event.order.status)
            elif isinstance(event, OrderStatusResponse):
                progress.state(event)

        result = self._client.swap(request, self._account, print_state)
        self._report.check("the private swap was confirmed", holds=result.succeeded)
        receipt = None
        if result.succeeded and result.status.tx_hash is not None:
            receipt = self._client.node(node_calls.receipt(result.status.tx_hash))
        if receipt is None:
            raise ClientError(f"the private swap is {result.status.status}")
        return self._sent(result.quote, receipt)

    def _sent(self, quote: SwapQuoteResponse, receipt: NodeReceipt) -> SwapResultRow:
        attackers, searcher = self._around(receipt)
        gain = 0
        for tx_hash in attackers:
            other = self._client.node(node_calls.receipt(tx_hash))
            if other is not None and searcher is not None:
                gain += node_calls.received(other, WETH.address, searcher)
        received = node_calls.received(receipt, USDC.address, self._wallet)
        tx_hash = receipt.transaction_hash
        return SwapResultRow(quote, tx_hash, received, attackers, searcher, gain)

    def _around(self, receipt: NodeReceipt) -> tuple[tuple[str, ...], str | None]:
        """Return hashes and sender of the transactions around ours by the same sender."""
        block = self._client.node(node_calls.block(hex(receipt.block_number)))
        rows = [(tx.hash, tx.sender) for tx in block.transactions] if block else []
        at = [tx_hash for tx_hash, _ in rows].index(receipt.transaction_hash)
        before, after = rows[:at], rows[at + 1 :]
        for searcher in {sender for _, sender in before} & {sender for _, sender in after}:
            hashes = tuple(h for h, sender in (*before, *after) if sender == searcher)
            return hashes, str(searcher)
        return (), None


def _same_price(one: SwapQuoteResponse, other: SwapQuoteResponse) -> bool:
    """Return whether each source that responded both times gave the same amount."""
    first, second = (
        {row.source: row.simulated for row in quote.sources if row.simulated is not None}
        for quote in (one, other)
    )
    both = first.keys() & second.keys()
    return bool(both) and all(first[source] == second[source] for source in both)


def _print_event(
    progress: OrderProgress, report: DemoReport, event: swap.Event | wrap.Event
) -> None:
    match event:
        case Approved(amount=amount, router=router, receipt=receipt):
            text = f"{WETH.show(amount)} for {short(router)}, block {receipt.block_number}"
            progress.say(f"approved   {text}")
        case SwapQuoteResponse():
            report.quote(event)
        case SwapOrderResponse(order=sent) | (WrapOrderResponse() as sent):
            progress.say(f"tx {sent.tx_hash}")
            progress.reported(sent.status)
        case OrderStatusResponse():
            progress.state(event)
        case NodeReceipt(block_number=block, gas_used=gas):
            progress.name("confirmed")
            progress.say(f"block {block}, gas {gas:,}", "dim")
