"""A file of what was signed for each order, so that a later command need not ask the service."""

import contextlib
import os
from collections import UserDict
from pathlib import Path

import click
import msgspec

from quietswap.client.flows.finality import SubmittedTransaction


class SignedOrdersFile(UserDict[str, SubmittedTransaction]):
    """One line of JSON per order, appended. It is below XDG_STATE_HOME, by default ~/.local/state.

    It holds no secret that the chain will not show, but private orders: only its owner reads it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._path = state_home() / "quietswap" / "orders.jsonl"
        with contextlib.suppress(OSError):
            for line in self._path.read_bytes().splitlines():
                with contextlib.suppress(msgspec.DecodeError):  # the write of a line was cut off
                    sent = msgspec.json.decode(line, type=SubmittedTransaction)
                    self.data.setdefault(sent.order_id or "", sent)

    def __setitem__(self, order_id: str, sent: SubmittedTransaction) -> None:
        """Keep it. Where the file cannot be written, warn: the order is submitted already."""
        self.data[order_id] = sent
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with open(self._path, "ab", opener=lambda name, how: os.open(name, how, 0o600)) as file:
                file.write(b"\n" * bool(file.tell()) + msgspec.json.encode(sent))
        except OSError as error:
            text = f"careful: {self._path} was not written ({error.strerror}): to cancel {order_id}"
            click.echo(f"{text}, give --nonce {sent.nonce}", err=True)


def state_home() -> Path:
    """Return the folder of what commands keep between runs: XDG_STATE_HOME or ~/.local/state."""
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home directory
        return Path(os.devnull)
