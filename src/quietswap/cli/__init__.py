"""The command line. Each command has its own module, imported on use."""

import difflib
import importlib
from typing import Any, ClassVar

import click

from quietswap import __version__

_JSON, _NO_TEXT = "quietswap.json", "quietswap.no_text"


def _is_text(argument: str) -> bool:
    """Return whether an argument was UTF-8; Python marks its other bytes by lone surrogates."""
    return not any("\ud800" <= char <= "\udfff" for char in argument)


class LazyGroup(click.Group):
    """A click group that imports a command only on use, so that `--help` is fast."""

    sections: ClassVar[dict[str, dict[str, tuple[str, str]]]] = {
        "Try it, without a node or a key": {
            "demo": ("sandbox:demo", "Run the main job on a miniature mainnet."),
            "sandbox": ("sandbox:sandbox", "Run a miniature mainnet until Ctrl-C."),
        },
        "Trade": {
            "quote": ("quote:quote", "Ask for the best verified route."),
            "price": ("quote:price", "Show an indicative price, without a wallet."),
            "watch": ("watch:watch", "Wait for a price, then show a quote."),
            "swap": ("swap:swap", "Swap tokens: quote, approve, sign, submit, follow."),
            "cancel": ("cancel:cancel", "Cancel an open order by its nonce."),
            "wrap": ("wrap:wrap", "Turn ETH into WETH."),
            "unwrap": ("wrap:unwrap", "Turn WETH into ETH."),
            "revoke": ("revoke:revoke", "Set what routers may move of a token to zero."),
            "balances": ("tokens:balances", "Show a wallet's balances and allowances."),
            "tokens": ("tokens:tokens", "Search tokens; show warnings about them."),
            "history": ("history:history", "List a wallet's orders."),
            "mcp": ("mcp:mcp", "Serve tools for a model (Model Context Protocol)."),
            "webhooks": ("webhooks:webhooks", "Have events sent to a URL of yours."),
        },
        "Operate a service": {
            "serve": ("serve:serve", "Serve the API."),
            "migrate": ("migrate:migrate", "Bring the database to this version's schema."),
            "clients": ("clients:clients", "Create, limit and disable the owners of orders."),
            "keys": ("keys:keys", "Create, list, rotate and revoke API keys."),
            "operators": ("operators:operators", "Say who may open the operator view."),
            "rpc": ("rpc:rpc", "Create, list and revoke RPC URLs for wallets."),
            "sources": ("sources:sources", "Check dependencies; pause and resume sources."),
            "orders": ("orders:orders", "Show stored orders and their event logs."),
            "audit": ("audit:audit", "Show what administrators changed."),
        },
    }
    """Title to command to (module:name, help)."""

    @property
    def commands_at(self) -> dict[str, tuple[str, str]]:
        return {name: found for part in self.sections.values() for name, found in part.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Record whether `--json` is given, also if the other arguments cannot be parsed."""
        ctx.meta[_JSON] = "--json" in args
        ctx.meta[_NO_TEXT] = next((n for n, one in enumerate(args, 1) if not _is_text(one)), None)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. With `--json`, errors are also printed as JSON."""
        from quietswap.cli.output.exit_codes import json_errors
        from quietswap.cli.output.lost_output import checked_output

        with checked_output(ctx.meta), json_errors(wanted=ctx.meta[_JSON]):
            if ctx.meta[_NO_TEXT] is not None:
                raise click.UsageError(f"argument {ctx.meta[_NO_TEXT]} is not text in UTF-8", ctx)
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands_at)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None for an unknown name."""
        if cmd_name not in self.commands_at:
            return None
        module, _, name = self.commands_at[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(f"quietswap.cli.commands.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggest the nearest command name for an unknown one."""
        near = difflib.get_close_matches(args[0], self.commands_at, 1)
        if args[0] not in self.commands_at and near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the tables of commands and the examples without importing any command."""
        for title, part in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in part.items()])
        with formatter.section("Examples"):
            formatter.write_dl(list(EXAMPLES.items()))


EXAMPLES = {
    "quietswap sandbox": "start a local test network; prints what to paste",
    "quietswap quote 1 WETH USDC": "compare promised and simulated output",
    "quietswap swap 1 WETH USDC": "show the swap, ask, then sign and submit",
    "quietswap history": "list the orders of the wallet",
    "quietswap serve --check": "check the settings before the start",
}
"""Shown by `--help`; a test parses each."""


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 refused or failed, 2 wrong usage or settings, 3 unreachable,"
    " 4 what was signed may still be mined, 5 less than the minimum received."
    " Completion by the Tab key: docs/cli.md.",
)
@click.version_option(__version__)
def command() -> None:
    """Private token swaps: verified quotes, MEV-protected submission, tracking on the chain.

    Your private key stays on your machine: the service returns transactions, you sign them.
    """
