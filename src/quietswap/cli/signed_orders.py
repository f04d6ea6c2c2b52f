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


class SignedOrdersFile(UserDict[str, SubmittedTransaction]):
    """One line of JSON per order, appended. It is below XDG_STATE_HOME, by default ~/.local/state.

    It holds no secret that the chain will not show, but private orders: only its owner reads it.
    """

    def __init__(self) -> None:
        super().__init__()
        self.path = _path("orders.jsonl")
        self.damaged: list[int] = []
        """Numbers of lines that are damaged: what was signed there is not known."""
        self.read_again()

    def read_again(self) -> None:
        """Add what other commands have recorded."""
        self.damaged.clear()
        for sent in _lines("orders.jsonl", SubmittedTransaction, self.damaged):
            if sent.order_id is None:
                self.data[sent.tx_hash] = sent
            else:
                self.data.setdefault(sent.order_id, sent)

    @contextlib.contextmanager
    def swap_with_ether(self, wallet: str, *, begins: bool) -> Iterator[None]:
        """Hold the only swap with ETH of a wallet that commands on this machine run.

        What others have recorded meanwhile is read. Raises click.ClickException if one is running,
        or if it `begins` one while the record is damaged. Where no file can be made, other commands
        are not kept off.
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
            if begins and self.damaged:
                raise click.ClickException(
                    f"{self.path} is damaged from line {self.damaged[0]} on: a swap of this pair"
                    " may be unfinished. Repair it or remove the line, or begin another swap with"
                    " --new. Nothing was signed"
                )
            yield

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
            for each in reversed([*_lines("approvals.jsonl", SignedApproval)])
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


def _lines(name: str, kind: type[T], damaged: list[int] | None = None) -> Iterator[T]:
    """Yield the lines of a file; the numbers of those that cannot be read go to `damaged`."""
    lines: list[bytes] = []
    with contextlib.suppress(OSError):  # there is none yet
        lines = _path(name).read_bytes().splitlines()
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=kind)
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
