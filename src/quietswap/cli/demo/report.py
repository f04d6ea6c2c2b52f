"""Output of the demo: titles, balances, the comparison, and the list of checks."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quietswap.cli.output.progress import OrderProgress
from quietswap.cli.output.quote import short, sources
from quietswap.cli.output.tokens import ETHER, KNOWN, DisplayToken
from quietswap.contract.quotes import SwapQuoteResponse

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
