"""What a model may have signed: limits for each token within 24 hours, kept on disk.

The file is SQLite, so that a restart forgets nothing, and two servers count together.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quietswap.cli.mcp.answers import BadInput, Refused
from quietswap.cli.mcp.quotes import find_token, read_units
from quietswap.cli.output.tokens import ETHER, KNOWN, WETH, DisplayToken
from quietswap.client import AsyncQuietswapClient
from quietswap.client.flows.quote_checks import MAX_FEE_WEI
from quietswap.rules.time_units import DAY_MS
from quietswap.service.base.clock import Clock

_WITHIN_S = 10.0
_TABLE = """CREATE TABLE IF NOT EXISTS signed (
    id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, wallet TEXT NOT NULL, token TEXT NOT NULL,
    amount TEXT NOT NULL)"""
_TRADE = "ALTER TABLE signed ADD COLUMN trade TEXT"
"""An earlier release's file has no such column."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a signature can spend of a token, in smallest units. Gas is of `ETHER`, in wei.

    ETH is sold as the WETH that it becomes. What a `trade` with ETH sells is counted once, however
    many of its transactions are signed: at most one of them sells it.
    """

    token: DisplayToken
    amount: int
    trade: str | None = None


@dataclass(frozen=True, slots=True)
class SigningLimits:
    """The limits of one wallet by token, in smallest units; that of `ETHER` is for gas.

    A token without a limit is not sold. What was counted stays counted, also if the transaction is
    never mined: it was signed.
    """

    file: Path
    wallet: str
    limits: Mapping[DisplayToken, int]
    clock: Clock

    def check(self, *spendings: Spending) -> None:
        """Refuse what exceeds a limit. Raises Refused."""
        with self._opened() as database:
            self._check(database, spendings)

    def count(self, *spendings: Spending) -> list[int]:
        """Count what is about to be signed; return numbers for `release`. Raises Refused."""
        with self._opened() as database:
            self._check(database, spendings)
            insert = (
                "INSERT INTO signed (at_ms, wallet, token, amount, trade) VALUES (?, ?, ?, ?, ?)"
            )
            now, wallet = self.clock.now_ms(), self.wallet
            rows = [
                (now, wallet, one.token.address, str(one.amount), one.trade) for one in spendings
            ]
            return [database.execute(insert, row).lastrowid or 0 for row in rows]

    def release(self, counted: list[int]) -> None:
        """Take back what was counted and then not signed."""
        with self._opened() as database:
            database.executemany("DELETE FROM signed WHERE id = ?", [(one,) for one in counted])

    def name_trade(self, counted: list[int], trade: str) -> None:
        """Set the trade of the sale that was counted for its first transaction."""
        with self._opened() as database:
            update = "UPDATE signed SET trade = ? WHERE id = ? AND token != ?"
            database.executemany(update, [(trade, one, ETHER.address) for one in counted])

    def spent(self, token: DisplayToken, but: str | None = None) -> int:
        """Return what was signed of a token within the last 24 hours, `but` for one trade."""
        with self._opened() as database:
            return self._spent(database, token, but)

    def words(self, spending: Spending) -> str:
        """Return what of a limit would be used, for a person."""
        token, limit = spending.token, self.limits.get(spending.token, 0)
        used = self.spent(token, spending.trade) + spending.amount
        return f"{token.show(used)} of {token.show(limit)} within 24 hours"

    def all_words(self) -> str:
        """Return all limits, for a person or a model."""
        return ", ".join(
            token.show(limit) + (" for gas" if token == ETHER else "")
            for token, limit in self.limits.items()
        )

    def _check(self, database: sqlite3.Connection, spendings: tuple[Spending, ...]) -> None:
        for one in spendings:
            token, limit = one.token, self.limits.get(one.token)
            if limit is None:
                ether = ", which is that of ETH, too" if token == WETH else ""
                raise Refused(
                    "NO_LIMIT",
                    f"the person set no limit for {token.symbol}{ether}, so none of it is sold:"
                    " nothing was signed",
                )
            spent = self._spent(database, token, one.trade)
            if spent + one.amount > limit:
                subject = "gas" if token == ETHER else "sales"
                raise Refused(
                    "LIMIT_EXCEEDED",
                    f"{subject} of {token.show(one.amount)} exceed the limit of {token.show(limit)}"
                    f" within 24 hours, of which {token.show(spent)} are used: nothing was signed",
                )

    def _spent(self, database: sqlite3.Connection, token: DisplayToken, but: str | None) -> int:
        rows = database.execute(
            "SELECT id, trade, amount FROM signed WHERE wallet = ? AND token = ? AND at_ms > ?",
            (self.wallet, token.address, self.clock.now_ms() - DAY_MS),
        )
        amounts: dict[int | str, int] = {
            trade or number: int(amount)
            for number, trade, amount in rows
            if not trade or trade != but
        }
        return sum(amounts.values())

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction that excludes other writers. Raises Refused."""
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600))
            database = sqlite3.connect(self.file, timeout=_WITHIN_S, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        with contextlib.closing(database):
            try:
                database.execute("BEGIN IMMEDIATE")
                database.execute(_TABLE)
                columns = database.execute("SELECT name FROM pragma_table_info('signed')")
                if ("trade",) not in columns.fetchall():
                    database.execute(_TRADE)
                yield database
                database.execute("COMMIT")
            except sqlite3.Error as error:
                raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> Refused:
        fault = error.strerror if isinstance(error, OSError) else str(error)
        return Refused(
            "LIMITS_UNKNOWN",
            f"what was signed before cannot be read or written ({self.file.name}: {fault}): nothing"
            " was signed",
        )


async def read_limits(
    texts: Sequence[str], client: AsyncQuietswapClient, *, has_node: bool
) -> dict[DisplayToken, int]:
    """Return the limits of `TOKEN=AMOUNT` texts, and that of the gas. Raises Refused."""
    limits = {ETHER: MAX_FEE_WEI}
    for text in texts:
        name, _, amount = text.partition("=")
        if name.upper() == ETHER.symbol:
            token = ETHER
        else:
            token = await find_token(text, name, client, has_node=has_node)
            if not has_node and token not in KNOWN.values():
                raise BadInput(text, "only the service tells its decimals: give --rpc-url")
        limits[token] = read_units(amount, token, smallest=False, name=text)
    return limits
