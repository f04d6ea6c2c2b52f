"""Output of the demo: titles, balances, the comparison, and the list of checks."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from quietswap.cli.output.order_progress import OrderProgress
from quietswap.cli.output.quote import short, sources
from quietswap.cli.output.text_table import text_table
from quietswap.cli.output.tokens import ETHER, KNOWN
from quietswap.rules.contract.quotes import SwapQuoteResponse

WETH, USDC = KNOWN["WETH"], KNOWN["USDC"]


Holdings = Mapping[str, int]  # amounts in smallest units by symbol


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
        return self.quote.buy_amount - self.received

    def machine(self) -> dict[str, Any]:
        return {
            "txHash": self.tx_hash,
            "promised": self.quote.buy_amount,
            "received": str(self.received),
            "lost": str(max(self.lost, 0)),
            "attackers": self.attackers,
            "searcherGain": str(self.gain),
        }


class DemoReport:
    """Prints to one console and records the checks."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self._checks: list[tuple[bool, str]] = []
        self.facts: dict[str, Any] = {"ok": False}
        self.starts = OrderProgress(screen, "starting chain, vendors, relay, searcher, service")

    @property
    def passed(self) -> bool:
        return bool(self._checks) and all(held for held, _ in self._checks)

    @property
    def seconds(self) -> float:
        return self.starts.seconds

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        self.screen.print(Text("quietswap demo", "bold"), Text("a miniature mainnet", "dim"))
        self.starts.start()
        try:
            yield
        finally:
            self.starts.stop()

    def title(self, text: str) -> OrderProgress:
        """Print the title of a step. Return the progress for its events."""
        self.screen.print()
        self.screen.print(Text(text, "bold cyan"))
        return OrderProgress(self.screen)

    def line(self, text: str, style: str = "dim") -> None:
        self.screen.print(Text(f"          {text}", style))

    def quote(self, quote: SwapQuoteResponse) -> None:
        """Show promised and simulated output of each source."""
        self.screen.print(sources(quote, USDC))
        least = USDC.number(quote.min_buy_amount)
        self.line(f"{USDC.show(quote.buy_amount)} via {quote.source}, at least {least}")
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

    def comparison(self, public: SwapResultRow, private: SwapResultRow) -> None:
        both, ways = (public, private), ("publicly", "privately")
        table = text_table("", *ways, right=ways, folds=(), padding=(0, 2), header_style="bold")
        table.add_row("promised", *(USDC.show(one.quote.buy_amount) for one in both))
        table.add_row("received", *(USDC.show(one.received) for one in both))
        table.add_row("lost", *map(_loss, both))
        safe, attacked = Text("no attacker", "green"), Text("sandwiched", "red")
        table.add_row("in its block", *(attacked if one.attackers else safe for one in both))
        table.add_row("searcher's gain", *(f"{WETH.brief(one.gain)} {WETH.symbol}" for one in both))
        self.screen.print(table)
        if public.searcher:
            hashes = ", ".join(map(short, public.attackers))
            self.line(f"searcher {short(public.searcher)}: {hashes} around {short(public.tx_hash)}")
        self.facts["comparison"] = {"public": public.machine(), "private": private.machine()}

    def check(self, claim: str, *, holds: bool) -> None:
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


def _loss(sent: SwapResultRow) -> Text:
    if sent.lost <= 0:
        return Text("nothing", "green")
    percent = 100 * sent.lost / sent.quote.buy_amount
    return Text(f"{USDC.show(sent.lost)} ({percent:.2f} %)", "red")
