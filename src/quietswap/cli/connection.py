"""What every client command shares: where the service is, and how results are printed."""

import contextlib
import functools
import ipaddress
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from quietswap.cli.outcomes import REFUSED, UNREACHABLE
from quietswap.cli.secret_files import read_secret

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from quietswap.client import Polling, QuietswapClient

__all__ = ["REFUSED", "UNREACHABLE"]


@dataclass(frozen=True, slots=True)
class Link:
    """One command's connection and way of speaking."""

    url: str
    api_key: str
    rpc_url: str | None
    as_json: bool
    raw: bool
    screen: "Console"
    """For people: standard output, or standard error when `--json` has that for itself."""
    reach: tuple[str, ...] = ()
    """The options that say where the service is and hold no secret, as they were given."""

    def client(self, polling: "Polling | None" = None) -> "QuietswapClient":
        """Return a client of the service. Raises click.UsageError for a bad address."""
        from quietswap.client import QuietswapClient

        try:
            return QuietswapClient(self.url, self.api_key, rpc_url=self.rpc_url, polling=polling)
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    def say(self, text: "Text") -> None:
        """Print one message; in a pipe it stays one line, for whoever searches it."""
        self.screen.print(text, soft_wrap=not self.screen.is_terminal)

    def again(self, *words: str) -> None:
        """Print a command to run later, with this one's own way to the service but no secret."""
        from rich.text import Text

        command = shlex.join(["quietswap", *words, *self.reach])
        self.screen.print(Text(f"  {command}"), soft_wrap=True)

    def result(self, value: Any) -> None:
        """Print the machine's answer, one line of JSON, when it was asked for."""
        if self.as_json:
            from quietswap.client.wire import encode

            click.echo(encode(value))


def linked(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options and hand the command a `link`; turn errors into exit codes."""

    @click.option(
        "--url", envvar="QUIETSWAP_URL", show_envvar=True, default="http://127.0.0.1:8080",
        show_default=True, help="The service.",
    )  # fmt: skip
    @click.option(
        "--api-key", envvar="QUIETSWAP_API_KEY", show_envvar=True,
        help="Better given by environment or file: a process list shows options.",
    )  # fmt: skip
    @click.option(
        "--api-key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File that holds the API key.",
    )  # fmt: skip
    @click.option(
        "--rpc-url", envvar="QUIETSWAP_RPC_URL", show_envvar=True,
        help="Your own Ethereum node, for approvals, nonces and receipts.",
    )  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="One line of JSON on standard output.")
    @click.option("--raw", is_flag=True, help="Amounts in smallest units, in and out.")
    @functools.wraps(function)
    def command(
        *, url: str, api_key: str | None, api_key_file: Path | None, rpc_url: str | None,
        as_json: bool, raw: bool, **rest: Any,
    ) -> None:  # fmt: skip
        key = _key(api_key, api_key_file)
        _warn_of_plain_http(url)
        screen = console(stderr=as_json)
        link = Link(url, key, rpc_url or None, as_json, raw, screen, _reach(url, api_key_file))
        with answering(link):
            function(link=link, **rest)

    return command


slippage_option = click.option(
    "--slippage-bps", type=click.IntRange(1, 5000), default=50, show_default=True,
    help="How far below the quote you still accept, in basis points: 50 is 0.5 %.",
)  # fmt: skip


def _warn_of_plain_http(url: str) -> None:
    """The API key travels with every request: say so where strangers could read it."""
    with contextlib.suppress(ValueError):  # an address that is none is refused later, by name
        parts = urlsplit(url)
        if parts.scheme == "http" and parts.hostname and _is_far(parts.hostname):
            text = f"careful: http:// shows your API key to every network up to {parts.hostname}"
            click.echo(text, err=True)


def _is_far(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host  # others are localhost, or names of the own network


def _reach(url: str, api_key_file: Path | None) -> tuple[str, ...]:
    source = click.get_current_context().get_parameter_source("url")
    words = ("--url", url) if source is click.core.ParameterSource.COMMANDLINE else ()
    return words + (("--api-key-file", str(api_key_file)) if api_key_file else ())


def _key(api_key: str | None, file: Path | None) -> str:
    key = (read_secret(file, "API key") if file else api_key or "").strip()
    if not key:
        raise click.UsageError(
            "an API key is needed: set QUIETSWAP_API_KEY or give --api-key-file FILE"
        )
    return key


def console(*, stderr: bool = False) -> "Console":
    """Return the screen for people, as `quietswap.cli.screen` makes it."""
    from quietswap.cli.screen import open_screen

    return open_screen(stderr=stderr)


@contextlib.contextmanager
def answering(link: Link) -> Iterator[None]:
    """Say what went wrong in one place and end with the exit code for it."""
    from quietswap.client import BadAnswer, ClientError, Unreachable

    try:
        yield
    except ClientError as error:
        from quietswap.cli.complaints import complain

        complain(link, error)
        away = isinstance(error, Unreachable | BadAnswer)
        raise click.exceptions.Exit(UNREACHABLE if away else REFUSED) from error


def confirm(question: str, *, skip: bool) -> bool:
    """Ask on standard error; `skip` answers yes.

    Raises click.UsageError when nobody can answer because standard input is no terminal.
    """
    if skip:
        return True
    if not _somebody_is_there():
        raise click.UsageError("nobody is here to confirm: give --yes")
    return click.confirm(question, err=True)


def _somebody_is_there() -> bool:
    return sys.stdin.isatty()
