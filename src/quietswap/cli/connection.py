"""What every client command shares: where the service is, how results are printed, exit codes.

Exit codes: 0 done, 1 refused or failed, 2 usage, 3 unreachable.
"""

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

    from quietswap.client import ClientError, Polling, QuietswapClient

REFUSED, UNREACHABLE = 1, 3


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

    def client(self, polling: "Polling | None" = None) -> "QuietswapClient":
        """Return a client of the service. Raises click.UsageError for a bad address."""
        from quietswap.client import QuietswapClient

        try:
            return QuietswapClient(self.url, self.api_key, rpc_url=self.rpc_url, polling=polling)
        except ValueError as error:
            raise click.UsageError(str(error)) from error

    def result(self, value: Any) -> None:
        """Print the machine's answer, one line of JSON, when it was asked for."""
        if self.as_json:
            from quietswap.client.wire import encode

            click.echo(encode(value))


def linked(function: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options and hand the command a `link`; turn errors into exit codes."""

    @click.option(
        "--url", envvar="QUIETSWAP_URL", default="http://127.0.0.1:8080", show_default=True,
        help="The service. [env QUIETSWAP_URL]",
    )  # fmt: skip
    @click.option(
        "--api-key", envvar="QUIETSWAP_API_KEY",
        help="Better given by environment or file: a process list shows options."
        " [env QUIETSWAP_API_KEY]",
    )  # fmt: skip
    @click.option(
        "--api-key-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="File that holds the API key.",
    )  # fmt: skip
    @click.option(
        "--rpc-url", envvar="QUIETSWAP_RPC_URL",
        help="Your own Ethereum node, for approvals, nonces and receipts. [env QUIETSWAP_RPC_URL]",
    )  # fmt: skip
    @click.option("--json", "as_json", is_flag=True, help="One line of JSON on standard output.")
    @click.option("--raw", is_flag=True, help="Amounts in smallest units, in and out.")
    @functools.wraps(function)
    def command(
        *, url: str, api_key: str | None, api_key_file: Path | None, rpc_url: str | None,
        as_json: bool, raw: bool, **rest: Any,
    ) -> None:  # fmt: skip
        key = _key(api_key, api_key_file)
        link = Link(url, key, rpc_url or None, as_json, raw, console(stderr=as_json))
        with answering(link):
            function(link=link, **rest)

    return command


def _key(api_key: str | None, file: Path | None) -> str:
    key = file.read_text("utf-8").strip() if file else (api_key or "").strip()
    if not key:
        raise click.UsageError(
            "an API key is needed: set QUIETSWAP_API_KEY or give --api-key-file FILE"
        )
    return key


def console(*, stderr: bool = False) -> "Console":
    """Return a console that survives any terminal: no colour in a pipe, no encoding errors."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    with contextlib.suppress(AttributeError):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    width = None if stream.isatty() or os.environ.get("COLUMNS") else 80
    return Console(stderr=stderr, highlight=False, width=width)


@contextlib.contextmanager
def answering(link: Link) -> Iterator[None]:
    """Say what went wrong in one place and end with the exit code for it."""
    from quietswap.client import BadAnswer, ClientError, Unreachable

    try:
        yield
    except click.UsageError:
        raise
    except click.ClickException as error:
        link.result({"ok": False, "error": "REFUSED", "message": error.message})
        raise
    except (Unreachable, BadAnswer) as error:
        _complain(link, error)
        raise click.exceptions.Exit(UNREACHABLE) from error
    except ClientError as error:
        _complain(link, error)
        raise click.exceptions.Exit(REFUSED) from error


def _complain(link: Link, error: "ClientError") -> None:
    from rich.text import Text

    from quietswap.client import ApiError, ValidationError

    code = error.error if isinstance(error, ApiError) else type(error).__name__
    link.screen.print(Text.assemble(("✗ ", "bold red"), str(error)))
    suggestion = error.suggestion if isinstance(error, ApiError) else None
    if suggestion:
        link.screen.print(Text(f"  {suggestion}"))
    if isinstance(error, ValidationError) and error.details:
        for field in error.details.fields:
            link.screen.print(Text(f"  {_difference(field)}"))
    body: dict[str, Any] = {"ok": False, "error": code, "message": str(error)}
    if isinstance(error, ApiError):
        body |= {"message": error.message, "details": error.raw_details, "suggestion": suggestion}
    link.result(body)


def _difference(field: dict[str, Any]) -> str:
    wanted, given = field.get("expected"), field.get("provided")
    return f"{field.get('field', '?')}: expected {wanted}, provided {given}"


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
