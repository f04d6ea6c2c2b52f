"""`quietswap mcp`: tools of the service for a client of the Model Context Protocol."""

import asyncio
import importlib.util
import os
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import FiniteRange, require_terminal, with_context
from quietswap.cli.options.secret_files import read_secret
from quietswap.cli.options.signing import WalletSigner, chosen_signer, signer_options

if TYPE_CHECKING:
    from quietswap.cli.mcp.prepare import Preparer
    from quietswap.cli.mcp.signing import LocalSigner

_TOKEN = "QUIETSWAP_MCP_TOKEN"
_LEAST_TOKEN = 32


@click.command()
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), metavar="PORT",
    help="Serve over HTTP on this port of 127.0.0.1 (0: a free one), not on standard input and"
    f" output. Clients send the token of --token-file or {_TOKEN}.",
)  # fmt: skip
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help=f"File with the token for --http, at least {_LEAST_TOKEN} characters: openssl rand"
    " -hex 32",
)  # fmt: skip
@click.option(
    "--limit", "limits", multiple=True, metavar="TOKEN=AMOUNT",
    help="Let the signer of the options below sign what you confirm, at most this much of the sold"
    " token within 24 hours; repeatable. That of WETH holds for ETH that is sold, too; ETH is the"
    " limit of the gas, by default 0.05. Without a limit nothing is signed here.",
)  # fmt: skip
@click.option(
    "--max-loss", type=FiniteRange(0, 100), default=3.0, show_default=True, metavar="PERCENT",
    help="The most that a swap may lose. No tool accepts more, whatever a model asks for; 100 also"
    " permits pairs without a known price.",
)  # fmt: skip
@click.option(
    "--confirm", "asks", type=click.Choice(["client", "terminal"]), default="client",
    show_default=True,
    help="Who asks you before a signature: the client of the protocol, or this terminal (with"
    " --http).",
)  # fmt: skip
@signer_options
@with_context
def mcp(
    *, context: CommandContext, port: int | None, token_file: Path | None,
    limits: tuple[str, ...], max_loss: float, asks: str, **signing: Any,
) -> None:  # fmt: skip
    """Serve tools for a model: search tokens, quote, explain, swap, wrap, submit, follow, cancel.

    Swaps, wraps and cancels are prepared; they are submitted only with your signature.

    Start it from a client of the Model Context Protocol, which talks to it on standard input and
    output. It needs the extra mcp: pip install "quietswap[mcp]"
    """
    if importlib.util.find_spec("mcp") is None:
        raise click.UsageError(
            'quietswap mcp needs the extra mcp, which is missing: pip install "quietswap[mcp]"'
        )
    token = None if port is None else _token(token_file)
    signer = _signer(signing, over_http=port is not None, asks=asks) if limits else None
    if signer is None and any(signing[name] for name in ("password_file", "sign_with")):
        raise click.UsageError("a signer needs --limit TOKEN=AMOUNT: without it nothing is signed")
    asyncio.run(_serve(context, port, token, signer, limits, asks, Decimal(str(max_loss))))


mcp.params = [each for each in mcp.params if each.name not in ("as_json", "raw")]


def _token(file: Path | None) -> str:
    token_text = read_secret(file, "token") if file else os.environ.get(_TOKEN, "")
    token = token_text.strip()
    if len(token) < _LEAST_TOKEN or not token.isascii():
        raise click.UsageError(
            f"--http needs a token of {_LEAST_TOKEN} or more ASCII characters: give --token-file"
            f" FILE or set {_TOKEN}; openssl rand -hex 32 makes one"
        )
    return token


def _signer(signing: dict[str, Any], *, over_http: bool, asks: str) -> WalletSigner:
    """Return the unlocked signer. Raises click.UsageError where nobody could be asked."""
    if asks == "terminal":
        if not over_http:
            raise click.UsageError(
                "--confirm terminal needs --http: without it the terminal is the client's"
            )
        require_terminal()
    signer = chosen_signer(**signing)
    if signer.must_ask and not over_http:
        raise click.UsageError(
            "the password of the keystore cannot be typed here, standard input is the client's:"
            " give --password-file FILE"
        )
    signer.ready()
    return signer


async def _serve(
    context: CommandContext,
    port: int | None,
    token: str | None,
    signer: WalletSigner | None,
    limits: tuple[str, ...],
    asks: str,
    max_loss: Decimal,
) -> None:
    from quietswap.cli.mcp.prepare import Preparer
    from quietswap.cli.mcp.server import make_server, serve_http, serve_stdio
    from quietswap.client.flows.polling import PollingPolicy

    # the longest waits in a tool: many clients give up a call after a minute
    polling = PollingPolicy(patience_s=45.0, doubt_s=24.0)
    async with context.async_client(polling) as client:
        has_node = context.rpc_url is not None
        preparer = Preparer(client, has_node=has_node, max_loss_percent=max_loss)
        local = None if signer is None else await _local(preparer, signer, limits, asks)
        server = make_server(preparer, local)
        if port is None or token is None:
            await serve_stdio(server)
        else:
            await serve_http(server, port, token)


async def _local(
    preparer: "Preparer", signer: WalletSigner, limits: tuple[str, ...], asks: Any
) -> "LocalSigner":
    """Return the local signer. Raises click.UsageError for a limit that cannot be read."""
    from quietswap.cli.mcp.answers import Refused
    from quietswap.cli.mcp.limits import SigningLimits, read_limits
    from quietswap.cli.mcp.signing import LocalSigner, Person
    from quietswap.cli.output.tokens import ETHER
    from quietswap.cli.signed_orders import state_home
    from quietswap.service.base.clock import SystemClock

    file = state_home() / "quietswap" / "mcp-limits.sqlite3"
    try:
        read = await read_limits(limits, preparer.client, has_node=preparer.has_node)
        signing_limits = SigningLimits(file, signer.wallet, read, SystemClock())
        signing_limits.spent(ETHER)
    except Refused as error:
        raise click.UsageError(f"--limit: {error}") from error
    return LocalSigner(preparer, signer, signing_limits, Person(asks))
