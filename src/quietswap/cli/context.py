"""The context of a client command: connection to the service, and output."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from quietswap.client import AsyncQuietswapClient, PollingPolicy, QuietswapClient

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class CommandContext:
    """Connection options and output of one command."""

    url: str
    api_key: str
    rpc_url: str | None
    as_json: bool
    raw: bool
    screen: "Console"
    """Text output: standard output, or standard error with `--json`."""
    reach: tuple[str, ...] = ()
    """The given connection options without secrets, as words for a new command line."""
    ca_file: Path | None = None
    unrepeated: tuple[str, ...] = ()
    """The given connection options that may hold a secret, by name."""
    approval: dict[str, Any] = field(default_factory=dict)
    """The JSON member of an approval that a failed command had signed before."""

    def client(self, polling: "PollingPolicy | None" = None) -> "QuietswapClient":
        """Return a client of the service. Raises click.UsageError for an invalid URL."""
        from quietswap.client import QuietswapClient

        return self._connect(QuietswapClient, polling)

    def async_client(self, polling: "PollingPolicy") -> "AsyncQuietswapClient":
        """Return the same for a command with an event loop."""
        from quietswap.client import AsyncQuietswapClient

        return self._connect(AsyncQuietswapClient, polling)

    def _connect(self, kind: Callable[..., C], polling: "PollingPolicy | None") -> C:
        from quietswap.cli.signed_orders import SignedOrdersFile

        try:
            return kind(
                self.url,
                self.api_key,
                rpc_url=self.rpc_url,
                ca_file=self.ca_file,
                polling=polling,
                orders=SignedOrdersFile(),
            )
        except ValueError as error:
            from quietswap.cli.option_names import in_options

            raise click.UsageError(in_options(str(error))) from error

    def say(self, text: "Text | str", style: str = "") -> None:
        """Print one message. In a pipe it is not wrapped, so that `grep` finds it."""
        from rich.text import Text

        line = Text(text, style) if isinstance(text, str) else text
        self.screen.print(line, soft_wrap=not self.screen.is_terminal)

    def again(self, *words: str) -> None:
        """Print a command to run later, with the connection options of this one but no secret."""
        from rich.text import Text

        command = shlex.join(["quietswap", *words, *self.reach])
        self.screen.print(Text(f"  {command}"), soft_wrap=True)
        if self.unrepeated:
            names = " and ".join(self.unrepeated)
            self.say(f"  (give {names} again, too: what may be secret is not repeated)")

    def result(self, value: Any) -> bool:
        """Print `value` as one line of JSON with `--json`; else return True: print it as text."""
        if self.as_json:
            from quietswap.client.wire import encode

            click.echo(encode(value).decode("utf-8"))  # bytes would pass unescaped
        return not self.as_json
