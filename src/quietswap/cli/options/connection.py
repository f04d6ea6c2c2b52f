"""Options shared by all client commands: address of the service, API key and output."""

import contextlib
import functools
import ipaddress
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.secret_files import read_secret
from quietswap.rules.contract.request_limits import DEFAULT_SLIPPAGE_BPS, MAX_SLIPPAGE_BPS

if TYPE_CHECKING:
    from quietswap.rules.safety.loss import Loss

F = TypeVar("F", bound=Callable[..., Any])


class FiniteRange(click.FloatRange):
    """click.FloatRange without infinities and `nan`, which compares with nothing and so passes."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number. Raises click.BadParameter."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not in the range {self._describe_range()}.", param, ctx)
        return number


def with_context(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection options and pass a `context`. Client errors become exit codes."""

    @click.option(
        "--url", envvar="QUIETSWAP_URL", show_envvar=True, default="http://127.0.0.1:8080",
        show_default=True, help="The service.",
    )  # fmt: skip
    @click.option(
        "--api-key", envvar="QUIETSWAP_API_KEY", show_envvar=True,
        help="Prefer the environment or a file: a process list shows options.",
    )  # fmt: skip
    @click.option(
        "--api-key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File that contains the API key.",
    )  # fmt: skip
    @click.option(
        "--rpc-url", envvar="QUIETSWAP_RPC_URL", show_envvar=True,
        help="Your own Ethereum node, for approvals, nonces and receipts.",
    )  # fmt: skip
    @click.option(
        "--ca-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        envvar="QUIETSWAP_CA_FILE", show_envvar=True,
        help="Certificates (PEM) to trust besides the system's: an authority of your own, or the"
        " service's self-signed one.",
    )  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="One line of JSON on standard output.")
    @click.option("--raw", is_flag=True, help="Amounts in smallest units, in and out.")
    @functools.wraps(function)
    def command(
        *, url: str, api_key: str | None, api_key_file: Path | None, rpc_url: str | None,
        ca_file: Path | None, as_json: bool = False, raw: bool = False, **rest: Any,
    ) -> None:  # fmt: skip
        from quietswap.cli.output.console import open_screen
        from quietswap.cli.output.errors import exit_code, print_error
        from quietswap.client.errors import ClientError

        key = _key(api_key, api_key_file)
        _warn_of_plain_http(url)
        screen = open_screen(stderr=as_json)
        reach = typed_options("url", "api-key-file", "ca-file")
        secret = [name for name in ("api-key", "rpc-url") if is_typed(name.replace("-", "_"))]
        context = CommandContext(
            url, key, rpc_url or None, as_json, raw, screen, reach, ca_file,
            tuple(f"--{name}" for name in secret),
        )  # fmt: skip
        try:
            function(context=context, **rest)
        except ClientError as error:
            print_error(context, error)
            raise click.exceptions.Exit(exit_code(error)) from error

    return command


def typed_options(*names: str) -> tuple[str, ...]:
    """Return the given options of the running command as words for a new command line.

    `names` are spelled as on the command line. None may hold a secret.
    """
    context = click.get_current_context()
    words: tuple[str, ...] = ()
    for option in context.command.params:
        spelled, name = option.opts[0], option.name or ""
        if spelled[2:] not in names or not is_typed(name):
            continue
        value = context.params[name]
        if getattr(option, "is_flag", False):
            words += (spelled,)
        else:
            for each in value if option.multiple else (value,):
                words += (spelled, str(each))
    return words


def is_typed(name: str) -> bool:
    """Return whether the parameter was given on the command line, not by a variable or default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def paging_options(what: str) -> Callable[[F], F]:
    """Return the options of a page of a list."""
    limit = click.option(
        "--limit", type=click.IntRange(1, 200), default=20, show_default=True,
        help=f"{what} to list.",
    )  # fmt: skip
    offset = click.option(
        "--offset", type=click.IntRange(min=0), default=0, show_default=True,
        help=f"{what} to skip.",
    )  # fmt: skip
    return lambda command: limit(offset(command))


def pair_arguments(command: F) -> F:
    """Add AMOUNT, SELL and BUY to a command."""
    for name in ("buy", "sell", "amount"):
        command = click.argument(name)(command)
    return command


def pair_with_receive(command: Callable[..., None]) -> Callable[..., None]:
    """Add SELL and BUY, and AMOUNT or --receive: the command gets one of the two, the other None.

    A command with an option --resume gets none of them if it is given. Raises click.UsageError.
    """

    @click.argument("amount", required=False)
    @click.argument("sell", required=False)
    @click.argument("buy", required=False)
    @click.option(
        "--receive", metavar="AMOUNT",
        help="Give it in the place of AMOUNT: the least of SELL is sold of which at least so much"
        " of BUY must arrive.",
    )  # fmt: skip
    @functools.wraps(command)
    def with_either(
        *, amount: str | None, sell: str | None, buy: str | None, receive: str | None, **rest: Any
    ) -> None:
        if rest.get("resume") is not None:
            if any(text is not None for text in (amount, receive)):
                raise click.UsageError("--resume has the recorded terms: leave AMOUNT to BUY out")
            command(amount=None, sell="", buy="", receive=None, **rest)
            return
        missing = "amount" if amount is None else "sell" if sell is None else "buy"
        if buy is None and (receive is None or missing != "buy"):
            raise click.UsageError(f"Missing argument '{missing.upper()}'.")
        if receive is not None and buy is not None:
            raise click.UsageError("--receive takes the place of AMOUNT: give SELL and BUY only")
        words = (amount, sell, buy) if receive is None else (None, amount, sell)
        command(**dict(zip(("amount", "sell", "buy"), words, strict=True)), receive=receive, **rest)

    return with_either


yes_option = click.option("--yes", is_flag=True, help="Do not ask before signing.")
poll_option = click.option(
    "--poll", type=FiniteRange(0.2, 60), default=5.0, show_default=True, metavar="SECONDS",
    help="Time between two polls of the order, where the event stream does not work.",
)  # fmt: skip
max_loss_option = click.option(
    "--max-loss", type=FiniteRange(0, 100), metavar="PERCENT",
    help="Sign what may lose up to this without asking for the loss. Without it, a loss of 3 % or"
    " more is asked for in words, 15 % or more has to be typed, and --yes declines both.",
)  # fmt: skip
slippage_option = click.option(
    "--slippage-bps", type=click.IntRange(1, MAX_SLIPPAGE_BPS), default=DEFAULT_SLIPPAGE_BPS,
    show_default=True,
    help="Accepted loss below the quote, in basis points: 50 is 0.5 %.",
)  # fmt: skip


def _warn_of_plain_http(url: str) -> None:
    """Warn if the API key is sent unencrypted to a host outside the local network."""
    with contextlib.suppress(ValueError):  # an invalid URL is rejected later, with a message
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname and _is_public(parts.hostname):
            text = f"careful: http:// shows your API key to every network up to {parts.hostname}"
            click.echo(text, err=True)


def _is_public(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host  # a name without a dot is localhost or in the local network


def _key(api_key: str | None, file: Path | None) -> str:
    key = (read_secret(file, "API key") if file else api_key or "").strip()
    if not key:
        raise click.UsageError(
            "an API key is needed: set QUIETSWAP_API_KEY or give --api-key-file FILE"
        )
    return key


def confirm(question: str, *, skip: bool) -> bool:
    """Ask on standard error; `skip` answers yes. Raises click.UsageError without a terminal."""
    if skip:
        return True
    require_terminal()
    return click.confirm(question, err=True)


def require_terminal() -> None:
    """Check that a person can be asked. Raises click.UsageError."""
    if not _is_interactive():
        raise click.UsageError("cannot ask for confirmation without a terminal: give --yes")


def confirm_loss(loss: "Loss") -> bool:
    """Ask on standard error for the word yes, or for the loss that the person has read."""
    word = loss.word_to_type
    text = f"It may lose: {loss}. To sign it nevertheless, type {word}"
    answer = click.prompt(text, default="no", show_default=False, err=True)
    return str(answer).strip().removesuffix("%").strip().lower() == word


def _is_interactive() -> bool:
    return sys.stdin.isatty()
