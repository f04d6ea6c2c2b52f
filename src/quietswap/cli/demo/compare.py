"""Compares a public with a private swap: the amounts received and the searcher's profit.

The chain is reverted between the two, so that both have the same pool state. The searcher's
transactions are read from the blocks.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quietswap.cli.output.console import OrderProgress
from quietswap.cli.output.quote import short, sources
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.client import node_calls
from quietswap.client.errors.base import ClientError
from quietswap.client.flows.approvals import send_public
from quietswap.client.flows.quote_checks import SwapRequest
from quietswap.client.flows.quoting import approved_quote
from quietswap.client.flows.swap import Event
from quietswap.client.node_calls import NodeCall, NodeReceipt
from quietswap.client.sync_client import QuietswapClient
from quietswap.contract.orders import OrderStatusResponse, SwapOrderResponse
from quietswap.contract.quotes import SwapQuoteResponse

# Output of the demo: titles, balances, the comparison, and the list of checks.


Holdings = Mapping[str, int]
"""Amounts in smallest units by symbol."""


@dataclass(frozen=True, slots=True)
class SwapResultRow:
    """One of the two compared swaps; amounts in smallest units of the bought token.

    `attackers` are the hashes of the searcher's transactions before and after the swap in its
    block; `gain` is the searcher's profit in smallest units of the sold token.
    """

    quote: SwapQuoteResponse
    tx_hash: str
    received: int
    attackers: tuple[str, ...]
    searcher: str | None
    gain: int

    @property
    def lost(self) -> int:
        """The quoted amount minus the received amount."""
        return self.quote.buy_amount - self.received


class DemoReport:
    """Prints to one console and records the checks."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self._began = time.monotonic()
        self._checks: list[tuple[bool, str]] = []
        self.facts: dict[str, Any] = {"ok": False}
        self._starting = OrderProgress(screen, "starting chain, venues, relay, searcher, service")

    @property
    def passed(self) -> bool:
        """Whether there were checks and all of them held."""
        return bool(self._checks) and all(held for held, _ in self._checks)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Show a spinner until `ready`."""
        self.screen.print(Text("quietswap demo", "bold"), Text("a miniature mainnet", "dim"))
        self._starting.start()
        try:
            yield
        finally:
            self.ready()

    def ready(self) -> None:
        """Remove the spinner."""
        self._starting.stop()

    def title(self, text: str) -> OrderProgress:
        """Print the title of a step. Return the progress for its events."""
        self.screen.print()
        self.screen.print(Text(text, "bold cyan"))
        return OrderProgress(self.screen)

    def line(self, text: str, style: str = "dim") -> None:
        """Print one indented line."""
        self.screen.print(Text(f"          {text}", style))

    def quote(self, quote: SwapQuoteResponse, buy: DisplayToken) -> None:
        """Show promised and simulated output of each source."""
        self.screen.print(sources(quote, buy))
        least = buy.number(quote.min_buy_amount)
        self.line(f"{buy.show(quote.buy_amount)} via {quote.source}, at least {least}")
        self.line(f"MEV threat of a public swap: {quote.mev_analysis.threat_level}")

    def moved(self, before: Holdings, after: Holdings) -> None:
        """Show the balances that changed."""
        tokens = {"ETH": ETHER, **KNOWN}
        for symbol, amount in before.items():
            if after[symbol] != amount:
                token, change = tokens[symbol], after[symbol] - amount
                sign = "+" if change > 0 else ""
                row = f"{symbol:<5}{token.brief(amount)} → {token.brief(after[symbol])}"
                self.line(f"{row}  ({sign}{token.brief(change)})")

    def comparison(
        self, public: SwapResultRow, private: SwapResultRow, sell: DisplayToken, buy: DisplayToken
    ) -> None:
        """Show both swaps side by side."""
        table = Table(box=None, padding=(0, 2), pad_edge=False, header_style="bold")
        for name in ("", "publicly", "privately"):
            table.add_column(name, no_wrap=True, justify="left" if not name else "right")
        both = (public, private)
        table.add_row("promised", *(buy.show(one.quote.buy_amount) for one in both))
        table.add_row("received", *(buy.show(one.received) for one in both))
        table.add_row("lost", *(_loss(one, buy) for one in both))
        table.add_row("in its block", *(_company(one) for one in both))
        table.add_row("searcher's gain", *(f"{sell.brief(one.gain)} {sell.symbol}" for one in both))
        self.screen.print(table)
        if public.searcher:
            hashes = ", ".join(map(short, public.attackers))
            self.line(f"searcher {short(public.searcher)}: {hashes} around {short(public.tx_hash)}")
        self.facts["comparison"] = {"public": _machine(public), "private": _machine(private)}

    def check(self, claim: str, *, holds: bool) -> None:
        """Record a claim and whether it held."""
        self._checks.append((holds, claim))

    def verdict(self) -> None:
        """Print the checks, and add them to the facts."""
        self.screen.print()
        for held, claim in self._checks:
            mark = ("✓ ", "green") if held else ("✗ ", "bold red")
            self.screen.print(Text.assemble(mark, claim))
        word = Text("passed", "bold green") if self.passed else Text("failed", "bold red")
        self.screen.print(Text.assemble("demo ", word, f" in {self.seconds:.1f} s"))
        self.facts["ok"] = self.passed
        self.facts["seconds"] = round(self.seconds, 1)
        self.facts["checks"] = [{"ok": held, "claim": claim} for held, claim in self._checks]


def _loss(sent: SwapResultRow, buy: DisplayToken) -> Text:
    if sent.lost <= 0:
        return Text("nothing", "green")
    percent = 100 * sent.lost / sent.quote.buy_amount
    return Text(f"{buy.show(sent.lost)} ({percent:.2f} %)", "red")


def _company(sent: SwapResultRow) -> Text:
    if not sent.attackers:
        return Text("no attacker", "green")
    return Text("sandwiched", "red")


def _machine(sent: SwapResultRow) -> dict[str, Any]:
    return {
        "txHash": sent.tx_hash,
        "promised": sent.quote.buy_amount,
        "received": str(sent.received),
        "lost": str(max(sent.lost, 0)),
        "attackers": sent.attackers,
        "searcherGain": str(sent.gain),
    }


WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]
AMOUNT = 20 * 10**18
"""Large enough for a profitable sandwich after two fees. 1 WETH would not be attacked."""
SLIPPAGE_BPS = 100


class Comparison:
    """Swaps AMOUNT of WETH twice."""

    def __init__(self, report: DemoReport, client: QuietswapClient, account: Any) -> None:
        self._report = report
        self._client = client
        self._account = account
        self._wallet = str(account.address)
        self._request = SwapRequest(WETH.address, USDC.address, AMOUNT, self._wallet, SLIPPAGE_BPS)

    def __call__(self) -> None:
        """Compare both swaps, and check that only the public one lost anything."""
        node = self._client.node
        progress = self._report.title("6  The same swap twice: 20 WETH for USDC")
        quote = self._approved_quote()
        before = node(NodeCall("evm_snapshot", (), str))
        public = self._publicly(quote)
        progress.say("public     sent to the public mempool, mined", "yellow")
        height = NodeCall("eth_blockNumber", (), lambda number: int(number, 16))
        seen = node(height)
        if not node(NodeCall("evm_revert", (before,), bool)):
            raise ClientError("the sandbox's chain could not be reverted")
        # a node without a block that it had shown is late for the service
        node(NodeCall("anvil_mine", (hex(max(seen - node(height), 0)),), bool))
        progress.say("           chain reverted to the block before", "dim")
        private = self._privately(progress)
        self._report.comparison(public, private, WETH, USDC)
        self._check(public, private)

    def _check(self, public: SwapResultRow, private: SwapResultRow) -> None:
        check = self._report.check
        check("both met the same price", holds=_same_price(public.quote, private.quote))
        check(
            f"the public swap lost {USDC.show(max(public.lost, 0))} to a sandwich",
            holds=public.lost > 0 and len(public.attackers) >= 2,
        )
        check(
            "the private swap lost nothing to the searcher",
            holds=private.lost <= 0 and not private.attackers,
        )

    def _approved_quote(self) -> SwapQuoteResponse:
        """Return a checked quote whose router has an allowance for the sell amount."""
        quote, _ = self._client.run(
            approved_quote(
                self._request, self._account, self._client.polling, lambda _: None, has_node=True
            )
        )
        return quote

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
                polling=self._client.polling,
                gas_limit=params.gas_limit,
            )
        )
        return self._sent(quote, receipt)

    def _privately(self, progress: OrderProgress) -> SwapResultRow:
        def print_event(event: Event) -> None:
            if isinstance(event, SwapOrderResponse):
                progress.name(event.order.status)
            elif isinstance(event, OrderStatusResponse):
                progress.state(event)

        result = self._client.swap(self._request, self._account, print_event)
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
        return SwapResultRow(
            quote=quote,
            tx_hash=receipt.transaction_hash,
            received=node_calls.received(receipt, USDC.address, self._wallet),
            attackers=attackers,
            searcher=searcher,
            gain=gain,
        )

    def _around(self, receipt: NodeReceipt) -> tuple[tuple[str, ...], str | None]:
        """Return hashes and sender of the transactions around ours by the same sender."""
        block = self._client.node(
            NodeCall("eth_getBlockByNumber", (hex(receipt.block_number), True), dict)
        )
        rows = [(tx["hash"], tx["from"]) for tx in block["transactions"]]
        at = [tx_hash for tx_hash, _ in rows].index(receipt.transaction_hash)
        before, after = rows[:at], rows[at + 1 :]
        both = {sender for _, sender in before} & {sender for _, sender in after}
        for searcher in both:
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
