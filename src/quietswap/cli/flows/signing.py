"""State and prompts shared by the commands that sign: cancel, wrap, unwrap and swap."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click
from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.interrupts import signals_as_ctrl_c
from quietswap.cli.options.connection import confirm, confirm_loss, require_terminal, typed_options
from quietswap.cli.options.signing import SIGNING, RecordingSigner, WalletSigner
from quietswap.cli.output.errors import error_name
from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED
from quietswap.cli.output.lost_output import goes_on_without_output
from quietswap.cli.output.order_progress import OrderProgress
from quietswap.cli.output.quote import facts
from quietswap.cli.output.tokens import DisplayToken
from quietswap.client import OutcomeWatch, QuietswapClient, TransactionOutcome
from quietswap.client.errors import ClientError, QuoteDeclined, TransactionHashMismatch
from quietswap.client.flows.polling import find_open_order
from quietswap.rules.safety.loss import Loss
from quietswap.rules.wire import TERMINAL

SAME_NONCE = "sign the same nonce: then at most one of the two can be mined."
_NEWEST = 50


def is_open_mismatch(error: ClientError) -> bool:
    """Return whether the service named another hash and no block has decided the signed one."""
    undecided = (None, TransactionOutcome.OPEN)
    return isinstance(error, TransactionHashMismatch) and error.fate in undecided


Result = TypeVar("Result")


class SigningFlow:
    """One run of a client flow at a terminal. Subclasses show the quote and the result."""

    def __init__(
        self, context: CommandContext, client: QuietswapClient, signer: WalletSigner, *, yes: bool
    ) -> None:
        if not yes:
            require_terminal()
        self._context = context
        self._client = client
        self._progress = OrderProgress(context.screen)
        client.polling = replace(client.polling, on_trouble=self._print_trouble)
        self._wallet_signer = signer
        self._signer = RecordingSigner(signer)
        self._yes = yes
        self._final: str | None = None
        """How the order ended by the word of the service, if it can no longer be mined."""
        goes_on_without_output(lambda: self._may_be_submitted)

    def _run(self, call: Callable[[], Result]) -> Result:
        """Return the result of the client flow `call`. Ctrl-C, SIGTERM, SIGHUP exit with 1 or 4."""
        self._wallet_signer.load()
        try:
            with signals_as_ctrl_c():  # also while it explains, which makes requests
                return self._explained(call)
        except KeyboardInterrupt:
            raise click.exceptions.Exit(self._interrupted()) from None
        finally:
            self._progress.stop()

    def _explained(self, call: Callable[[], Result]) -> Result:
        try:
            return call()
        except ClientError as error:
            self._explain(error)
            raise
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            if self._signer.called:
                self._print_unexpected(error)
                raise click.exceptions.Exit(UNDECIDED) from error
            raise

    def _print_unexpected(self, error: Exception) -> None:
        """Print an exception after a signature, with hash and nonce of the transaction."""
        message = f"unexpected {type(error).__name__}: {error}"
        self._context.say(Text.assemble(("✗ ", "bold red"), message))
        self._print_signed()
        text = f"It may be mined. Do not repeat it unless nonce {self._signer.nonce} is the same."
        self._context.say(text, "yellow")
        body = {"ok": False, "error": error_name(error), "message": message}
        self._context.result(body | self._signer.signed())

    def _explain(self, error: ClientError) -> None:
        """Print what a failed flow leaves open."""
        raise NotImplementedError

    def _leave(self, why: str, known: str | None = None) -> None:
        """Print what may still be mined, and the commands that show or cancel it.

        `known` is said instead where the service calls the order final.
        """
        raise NotImplementedError

    @property
    def _may_be_submitted(self) -> bool:
        """Whether the signed transaction of this command can have reached the service."""
        return bool(self._signer.called)

    @property
    def _has_open_approval(self) -> bool:
        """Whether an approval was signed that no block is known to have."""
        return False

    def _open_order(self) -> dict[str, Any]:
        """Return the JSON members that name the order after an interruption."""
        return {}

    def _interrupted(self) -> int:
        """Print whether a transaction or an approval was signed. Return the exit code."""
        if self._may_be_submitted:
            state = "what was signed may still be mined"
            if self._final is not None:
                state = f"the service says that the order ended as {self._final};"
                state += " your own node has not confirmed it yet"
            self._leave("Interrupted", self._final and state)
            body = {"ok": False, "error": "LEFT_OPEN", "message": f"stopped; {state}"}
            body |= self._open_order()
            self._context.result(body | self._signer.signed())
            return UNDECIDED
        self._progress.stop()
        approved, is_open = bool(self._signer.called), self._has_open_approval
        outcome = (
            "the swap was not signed, but an approval was" if approved else "nothing was signed"
        )
        outcome += ", which may still be mined" if is_open else ""
        self._context.say(f"Interrupted: {outcome}.", "yellow")
        name = "LEFT_OPEN" if is_open else "ABORTED"
        body = {"ok": False, "error": name, "message": f"stopped; {outcome}"}
        if approved:
            self._print_signed()
            body |= self._signer.signed()
        self._context.result(body)
        return UNDECIDED if is_open else REFUSED

    def _print_signed(self) -> None:
        """Print nonce and hash of the transaction that was signed last."""
        self._context.say(f"signed: nonce {self._signer.nonce}, tx {self._signer.tx_hash}")

    def _print_again(self, *words: str, nonce: int | None, options: tuple[str, ...] = ()) -> None:
        """Print a command that signs this nonce, with the given ones of its `options`."""
        typed = typed_options(*options, *SIGNING)
        self._context.again(*words, "--nonce", str(nonce), *typed)

    def _print_cancel_command(self, order_id: str) -> None:
        self._context.say("To cancel it:", "yellow")
        self._print_again("cancel", order_id, nonce=self._signer.nonce)

    def _find_order(self, tx_hash: str | None) -> str | None:
        """Return the open order with this hash if it is among the wallet's newest 50 orders."""
        with contextlib.suppress(ClientError):
            wallet = self._wallet_signer.wallet
            for item in self._client.order_history(wallet, limit=_NEWEST).orders:
                is_it = item.tx_hash and tx_hash and item.tx_hash.lower() == tx_hash.lower()
                if is_it and item.status not in TERMINAL:
                    return item.order_id
        return None

    def _print_signer(self) -> None:
        signer = Text(f"{self._wallet_signer.wallet} ({self._wallet_signer.how})", "bold")
        self._context.screen.print()
        self._context.screen.print(facts(("sign for", signer)))

    def _print_warning(self, text: str, name: str = "careful") -> None:
        self._context.screen.print(facts((name, Text(text, "yellow"))))

    def _warn_of_open_orders(self) -> None:
        """Warn of an open order: it is private, so the node's nonce count does not include it."""
        wallet, has_node = self._wallet_signer.wallet, self._context.rpc_url is not None
        search = find_open_order(wallet, self._client.polling, has_node=has_node)
        open_order = self._client.run(search)
        if open_order is not None:
            self._print_warning(
                f"order {open_order} is open: this may take its nonce and cancel it"
            )

    def _print_trouble(self, error: ClientError, seconds: float) -> None:
        self._progress.trouble(error, seconds)  # `_confirm` replaces the progress

    def _print_watch(self, event: OutcomeWatch) -> None:
        text = f"{event.why}; watching your node for {event.seconds:.0f} s"
        self._progress.say(text, "yellow")

    def _require_funds(self, has: int, needs: int, token: DisplayToken, what: str) -> None:
        """Check the balance before the prompt. Raises QuoteDeclined."""
        if has < needs:
            held, needed = token.show(has), token.show(needs)
            raise QuoteDeclined(f"the wallet holds {held}, the {what} needs {needed}")

    def _confirm(self, doing: str = "submitting", loss: Loss | None = None) -> bool:
        """Ask whether to sign. If yes, unlock the key and start the progress clock.

        A `loss` is asked for in words instead.
        """
        asks = confirm_loss(loss) if loss else confirm("Sign and submit?", skip=self._yes)
        if not asks:
            return False
        self._wallet_signer.ready()
        self._progress = OrderProgress(self._context.screen, doing)
        if self._wallet_signer.is_quiet:
            self._progress.start()
        return True
