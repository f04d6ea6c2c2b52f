"""Files of what was signed here, so that a later command need not ask the service."""

import contextlib
import fcntl
import os
from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from quietswap.client.flows.finality import SubmittedTransaction
from quietswap.client.node_calls import approval_of

T = TypeVar("T")


class DamagedRecord(click.ClickException):
    """What was signed before is not known, so that a swap with ETH could be made twice."""


class SignedOrdersFile(UserDict[str, SubmittedTransaction]):
    """One line of JSON per order, appended. It is below XDG_STATE_HOME, by default ~/.local/state.

    It holds no secret that the chain will not show, but private orders: only its owner reads it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.path = _path("orders.jsonl")
        self.damaged: list[int] = []
        """Numbers of lines that are damaged: what was signed there is not known."""
        self._line_of: dict[str, int] = {}
        """The number of the first line of each transaction, by its hash."""
        self.read_again()

    def read_again(self) -> None:
        """Add what other commands have recorded."""
        self.damaged.clear()
        for number, sent in _lines("orders.jsonl", SubmittedTransaction, self.damaged):
            self._line_of.setdefault(sent.tx_hash, number)
            if sent.order_id is None:
                self.data[sent.tx_hash] = sent
            else:
                self.data.setdefault(sent.order_id, sent)

    @contextlib.contextmanager
    def swap_with_ether(
        self, wallet: str, *, trade: str | None = None, is_new: bool = False
    ) -> Iterator[None]:
        """Hold the only swap with ETH of a wallet that commands on this machine run.

        It goes on with the `trade` of a transaction, or begins one; `is_new`: whatever came before.
        What others have recorded meanwhile is read. Raises click.ClickException if one is running,
        and DamagedRecord. Where no file can be made, other commands are not kept off.
        """
        path = self.path.with_name(f"{wallet.lower()}.lock")
        with contextlib.ExitStack() as until:
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                lock = until.enter_context(path.open("wb"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise click.ClickException(
                        f"a swap with ETH of {wallet} is running on this machine: wait for its"
                        " end. Nothing was signed"
                    ) from error
            self.read_again()
            if not is_new:
                self._require_whole(wallet, trade)
            yield

    def _require_whole(self, wallet: str, trade: str | None) -> None:
        """Refuse what a damaged line may concern: of a trade, those after its first transaction.

        Lines are only appended. Raises DamagedRecord.
        """
        named = None if trade is None else self.data.get(trade.lower())
        first = 0 if named is None else self._line_of.get(named.trade or "", 0)
        after = [number for number in self.damaged if number > first]
        if after:
            raise DamagedRecord(
                f"{self.path} is damaged from line {after[0]} on: what was signed there is not"
                " known, so a swap could be made twice. Do not remove the line: restore the file,"
                f" or see what the wallet has done (quietswap history --wallet {wallet}), swap or"
                " unwrap the WETH that is left of it, and begin other swaps with --new (new_trade)."
                " Nothing was signed"
            )

    def __setitem__(self, key: str, sent: SubmittedTransaction) -> None:
        """Keep it by its order's id. Where the file cannot be written, warn: it is submitted.

        By its hash it is not submitted yet: it is on the disk when this returns, or raises OSError.
        """
        if sent.order_id is None:
            _write("orders.jsonl", sent, is_synced=True)
        self.data[key] = sent
        if sent.order_id is not None:
            _append("orders.jsonl", sent, f"to cancel {key}, give --nonce {sent.nonce}")


class SignedApproval(msgspec.Struct, frozen=True, rename="camel"):
    """An approval that was signed here; `amount` in smallest units, 0 for a revocation."""

    wallet: str
    token: str
    router: str
    amount: str
    tx_hash: str
    nonce: int


class SignedApprovals:
    """The approvals that were signed here, one line of JSON each: no service knows of them."""

    def of(self, wallet: str, token: str | None = None) -> list[SignedApproval]:
        """Return those of a wallet, the newest first; of one token, if it is named."""
        return [
            each
            for _, each in reversed([*_lines("approvals.jsonl", SignedApproval)])
            if each.wallet.lower() == wallet.lower()
            and (token is None or each.token.lower() == token.lower())
        ]

    def keep(self, wallet: str, transaction: dict[str, Any], tx_hash: str) -> None:
        """Append the transaction if it is an approval. Where the file cannot be written, warn."""
        approved = approval_of(str(transaction["data"]))
        if approved is not None:
            router, amount = approved
            token, nonce = transaction["to"], transaction["nonce"]
            line = SignedApproval(wallet, token, router, str(amount), tx_hash, nonce)
            _append("approvals.jsonl", line, "the history will not show this approval")


def _path(name: str) -> Path:
    return state_home() / "quietswap" / name


def _lines(name: str, kind: type[T], damaged: list[int] | None = None) -> Iterator[tuple[int, T]]:
    """Yield the lines of a file with their numbers; those that cannot be read go to `damaged`."""
    lines: list[bytes] = []
    with contextlib.suppress(OSError):  # there is none yet
        lines = _path(name).read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield number, msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError:
            if damaged is not None:
                damaged.append(number)


def _append(name: str, line: SubmittedTransaction | SignedApproval, without: str) -> None:
    try:
        _write(name, line)
    except OSError as error:
        text = f"careful: {_path(name)} was not written ({error.strerror}): {without}"
        click.echo(text, err=True)


def _write(
    name: str, line: SubmittedTransaction | SignedApproval, *, is_synced: bool = False
) -> None:
    path = _path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab", opener=lambda at, how: os.open(at, how, 0o600)) as file:
        file.write(b"\n" * bool(file.tell()) + msgspec.json.encode(line))
        if is_synced:
            file.flush()
            os.fsync(file.fileno())


def state_home() -> Path:
    """Return the folder of what commands keep between runs: XDG_STATE_HOME or ~/.local/state."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home directory
        return Path(os.devnull)
