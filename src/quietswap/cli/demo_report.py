"""What the demo says: titles, balances, the comparison, and the list of what it proved."""

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from quietswap.cli.follow import Progress
from quietswap.cli.render_quote import short, sources
from quietswap.cli.tokens import ETHER, KNOWN, Token
from quietswap.client.resources import SwapQuote

Holdings = Mapping[str, int]
"""Amounts in smallest units by symbol."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One of the two swaps that are compared; amounts in smallest units of the bought token.

    `attackers` are hashes in the same block by one other sender, before and after the swap;
    `gain` is what that sender had more of the sold token in the end.
    """

    quote: SwapQuote
    tx_hash: str
    received: int
    attackers: tuple[str, ...]
    searcher: str | None
    gain: int

    @property
    def lost(self) -> int:
        """How much less than the quote's simulation came."""
        return self.quote.buy_amount - self.received


class Report:
    """Prints to one console and keeps what was checked."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self._began = time.monotonic()
        self._checks: list[tuple[bool, str]] = []
        self.facts: dict[str, Any] = {"ok": False}
        self._spinner: Status | None = None

    @property
    def passed(self) -> bool:
        """Whether something was checked and all of it held."""
        return bool(self._checks) and all(held for held, _ in self._checks)

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Turn a spinner until `ready`."""
        self.screen.print(Text("quietswap demo", "bold"), Text("a miniature mainnet", "dim"))
        if self.screen.is_terminal:
            self._spinner = self.screen.status("starting chain, venues, relay, searcher, service")
            self._spinner.start()
        try:
            yield
        finally:
            self.ready()

    def ready(self) -> None:
        """Take the spinner away."""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None

    def title(self, text: str) -> Progress:
        """Begin a step; its news go through the returned progress."""
        self.screen.print(Text(f"\n{text}", "bold cyan"))
        return Progress(self.screen)

    def line(self, text: str, style: str = "dim") -> None:
        """Print one indented line."""
        self.screen.print(Text(f"          {text}", style))

    def quote(self, quote: SwapQuote, buy: Token) -> None:
        """Show what each source promised and what the simulation said."""
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

    def comparison(self, public: Sent, private: Sent, sell: Token, buy: Token) -> None:
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
        """Remember a claim and whether it held."""
        self._checks.append((holds, claim))

    def verdict(self) -> None:
        """Print what was proved, and complete the facts."""
        self.screen.print()
        for held, claim in self._checks:
            mark = ("✓ ", "green") if held else ("✗ ", "bold red")
            self.screen.print(Text.assemble(mark, claim))
        word = Text("passed", "bold green") if self.passed else Text("failed", "bold red")
        self.screen.print(Text.assemble("demo ", word, f" in {self.seconds:.1f} s"))
        self.facts["ok"] = self.passed
        self.facts["seconds"] = round(self.seconds, 1)
        self.facts["checks"] = [{"ok": held, "claim": claim} for held, claim in self._checks]


def _loss(sent: Sent, buy: Token) -> Text:
    if sent.lost <= 0:
        return Text("nothing", "green")
    percent = 100 * sent.lost / sent.quote.buy_amount
    return Text(f"{buy.show(sent.lost)} ({percent:.2f} %)", "red")


def _company(sent: Sent) -> Text:
    if not sent.attackers:
        return Text("nobody else", "green")
    return Text("sandwiched", "red")


def _machine(sent: Sent) -> dict[str, Any]:
    return {
        "txHash": sent.tx_hash,
        "promised": sent.quote.buy_amount,
        "received": str(sent.received),
        "lost": str(max(sent.lost, 0)),
        "attackers": sent.attackers,
        "searcherGain": str(sent.gain),
    }
