"""Output about a signed transaction that may still be mined: hash, nonce, cancel command."""

import contextlib

from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import typed_options
from quietswap.cli.options.signing import SIGNING, RecordingSigner
from quietswap.client import (
    ClientError,
    QuietswapClient,
    TransactionHashMismatch,
    TransactionOutcome,
)
from quietswap.contract.base import TERMINAL

_NEWEST = 50


def print_signed_transaction(context: CommandContext, signer: RecordingSigner) -> None:
    """Print nonce and hash of the transaction that was signed last."""
    context.say(Text(f"signed: nonce {signer.nonce}, tx {signer.tx_hash}"))


def print_cancel_command(context: CommandContext, order_id: str, nonce: int | None) -> None:
    """Print the command that cancels the order."""
    context.say(Text("To cancel it:", "yellow"))
    typed = typed_options(*SIGNING)
    context.again("cancel", order_id, "--nonce", str(nonce), *typed)


def find_order(client: QuietswapClient, wallet: str, tx_hash: str) -> str | None:
    """Return the open order with this hash if it is among the wallet's newest 50 orders."""
    with contextlib.suppress(ClientError):
        for item in client.order_history(wallet, limit=_NEWEST).orders:
            is_it = item.tx_hash is not None and item.tx_hash.lower() == tx_hash.lower()
            if is_it and item.status not in TERMINAL:
                return item.order_id
    return None


def has_ended(client: QuietswapClient, order_id: str) -> bool:
    """Return whether the service says that the order is terminal: then it takes no cancel."""
    with contextlib.suppress(ClientError):
        return client.order_status(order_id).is_terminal
    return False


def is_open_mismatch(error: ClientError) -> bool:
    """Return whether the service named another hash and no block has decided the signed one."""
    undecided = (None, TransactionOutcome.OPEN)
    return isinstance(error, TransactionHashMismatch) and error.fate in undecided
