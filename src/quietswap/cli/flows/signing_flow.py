"""State and prompts shared by the commands that sign: cancel, wrap, unwrap and swap."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import click
from rich.text import Text

from quietswap.cli.context import CommandContext
from quietswap.cli.flows.open_transaction import print_signed_transaction
from quietswap.cli.options.connection import confirm, confirm_loss
from quietswap.cli.options.signing import RecordingSigner, WalletSigner
from quietswap.cli.output.error_messages import error_name
from quietswap.cli.output.exit_codes import REFUSED, UNDECIDED
from quietswap.cli.output.lost_output import goes_on_without_output
from quietswap.cli.output.progress import OrderProgress
from quietswap.cli.output.quote import facts, loss_notice
from quietswap.cli.termination import signals_as_ctrl_c
from quietswap.client import ClientError, OutcomeWatch, QuietswapClient, QuoteDeclined
from quietswap.client.flows.loss import require_consent
from quietswap.client.flows.open_orders import find_open_order
from quietswap.domain.quote.loss import Loss

Result = TypeVar("Result")


class SigningFlow:
    """One run of a client flow at a terminal. Subclasses show the quote and the result."""

    def __init__(
        self, context: CommandContext, client: QuietswapClient, signer: WalletSigner, *, yes: bool
    ) -> None:
        self._context = context
        self._client = client
        self._progress = OrderProgress(context.screen)
        client.polling = replace(client.polling, on_trouble=self._print_trouble)
        self._wallet_signer = signer
        self._signer = RecordingSigner(signer)
        self._yes = yes
        goes_on_without_output(lambda: self._may_be_submitted)

    def _run(self, call: Callable[[], Result]) -> Result:
        """Return the result of the client flow `call`. Ctrl-C, SIGTERM, SIGHUP exit with 1 or 4."""
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
        why = f"unexpected {type(error).__name__}: {error}"
        self._context.say(Text.assemble(("✗ ", "bold red"), why))
        print_signed_transaction(self._context, self._signer)
        text = f"It may be mined. Do not repeat it unless nonce {self._signer.nonce} is the same."
        self._context.say(Text(text, "yellow"))
        body = {"ok": False, "error": error_name(error), "message": why}
        self._context.result(body | self._signer.signed())

    def _explain(self, error: ClientError) -> None:
        """Print what a failed flow leaves open."""
        raise NotImplementedError

    def _leave(self, why: str) -> None:
        """Print what may still be mined, and the commands that show or cancel it."""
        raise NotImplementedError

    @property
    def _may_be_submitted(self) -> bool:
        """Whether the signed transaction of this command can have reached the service."""
        return bool(self._signer.called)

    def _open_order(self) -> dict[str, Any]:
        """Return the JSON members that name the order after an interruption."""
        return {}

    def _interrupted(self) -> int:
        """Print whether a transaction or an approval was signed. Return the exit code."""
        if self._may_be_submitted:
            self._leave("Interrupted")
            text = "stopped; what was signed may still be mined"
            body = {"ok": False, "error": "LEFT_OPEN", "message": text} | self._open_order()
            self._context.result(body | self._signer.signed())
            return UNDECIDED
        self._progress.stop()
        approved = bool(self._signer.called)
        what = "the swap was not signed, but an approval was" if approved else "nothing was signed"
        self._context.say(Text(f"Interrupted: {what}.", "yellow"))
        body = {"ok": False, "error": "ABORTED", "message": f"stopped; {what}"}
        if approved:
            print_signed_transaction(self._context, self._signer)
            body |= self._signer.signed()
        self._context.result(body)
        return REFUSED

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
        found = self._client.run(search)
        if found is not None:
            self._print_warning(f"order {found} is open: this may take its nonce and cancel it")

    def _print_trouble(self, error: ClientError, seconds: float) -> None:
        self._progress.trouble(error, seconds)  # `_confirm` replaces the progress

    def _print_watch(self, event: OutcomeWatch) -> None:
        text = f"{event.why}; watching your node for {event.seconds:.0f} s"
        self._progress.say(text, "yellow")

    def _require_funds(self, has: int, needs: int, show: Callable[[int], str], what: str) -> None:
        """Check the balance before the prompt. Raises QuoteDeclined."""
        if has < needs:
            raise QuoteDeclined(f"the wallet holds {show(has)}, the {what} needs {show(needs)}")

    def _unaccepted(self, loss: Loss, most: int, *, has_floor: bool = False) -> Loss | None:
        """Print what may be lost. Return it if it is more than `most` basis points.

        Raises QuoteDeclined with --yes, which accepts no such loss.
        """
        if (notice := loss_notice(loss)) is not None:
            self._context.screen.print(notice)
        if self._yes:
            require_consent(loss, most, None, None, has_floor=has_floor)
        return loss if loss.exceeds(most, has_floor=has_floor) else None

    def _confirm_loss(self, _: object, loss: Loss) -> bool:
        """Ask for a loss in words."""
        self._progress.stop()
        return confirm_loss(loss)

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
