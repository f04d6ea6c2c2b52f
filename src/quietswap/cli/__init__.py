"""The command line. Each command lives in a module of its own, imported when it is used."""

import difflib
import importlib
from typing import Any, ClassVar

import click

from quietswap import __version__

_JSON = "quietswap.json"


class LazyGroup(click.Group):
    """A group that imports a command when it is called for, so that help starts quickly."""

    commands_at: ClassVar[dict[str, tuple[str, str]]] = {
        "demo": ("demo:demo", "Run the main job on a miniature mainnet."),
        "sandbox": ("sandbox:sandbox", "Keep a miniature mainnet running."),
        "serve": ("serve:serve", "Serve the API."),
        "migrate": ("migrate:migrate", "Bring the database to this version's schema."),
        "keys": ("keys:keys", "Create, list and revoke API keys."),
        "sources": ("sources:sources", "Check aggregators, node, relay and prices."),
        "orders": ("orders:orders", "Look at stored orders and their diary."),
        "quote": ("quote:quote", "Ask for the best verified route."),
        "swap": ("swap:swap", "Swap tokens: quote, approve, sign, submit, follow."),
        "wrap": ("wrap:wrap", "Turn ETH into WETH."),
        "unwrap": ("wrap:unwrap", "Turn WETH into ETH."),
        "balances": ("account:balances", "Show a wallet's ETH and WETH."),
        "history": ("account:history", "List a wallet's orders."),
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Remember whether the machine's answer is wanted, even if the rest cannot be parsed."""
        ctx.meta[_JSON] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and say in JSON too why it ended early."""
        from quietswap.cli.outcomes import speaking_json, writing

        with writing(), speaking_json(wanted=ctx.meta[_JSON]):
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of a reader's interest."""
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for an unknown name."""
        if cmd_name not in self.commands_at:
            return None
        module, _, name = self.commands_at[cmd_name][0].partition(":")
        found = getattr(importlib.import_module(f"quietswap.cli.{module}"), name)
        assert isinstance(found, click.Command)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the command a slip of the fingers meant."""
        near = difflib.get_close_matches(args[0], self.commands_at, 1)
        if args[0] not in self.commands_at and near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.commands_at.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 3 unreachable.",
)
@click.version_option(__version__)
def command() -> None:
    """Private token swaps: verified quotes, MEV-protected submission, honest tracking.

    No key ever leaves your machine: the service hands out transactions, you sign them.
    """
