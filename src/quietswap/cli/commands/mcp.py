"""`quietswap mcp`: tools of the service for a client of the Model Context Protocol."""

import asyncio
import importlib.util
import os
from pathlib import Path

import click

from quietswap.cli.context import CommandContext
from quietswap.cli.options.connection import with_context
from quietswap.cli.options.secret_files import read_secret

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
@with_context
def mcp(*, context: CommandContext, port: int | None, token_file: Path | None) -> None:
    """Serve tools for a model: search tokens, quote, explain, follow orders.

    Start it from a client of the Model Context Protocol, which talks to it on standard input and
    output. It needs the extra mcp: pip install "quietswap[mcp]"
    """
    if importlib.util.find_spec("mcp") is None:
        raise click.UsageError(
            'quietswap mcp needs the extra mcp, which is missing: pip install "quietswap[mcp]"'
        )
    token = None if port is None else _token(token_file)
    asyncio.run(_serve(context, port, token))


mcp.params = [each for each in mcp.params if each.name not in ("as_json", "raw")]


def _token(file: Path | None) -> str:
    given = read_secret(file, "token") if file else os.environ.get(_TOKEN, "")
    token = given.strip()
    if len(token) < _LEAST_TOKEN or not token.isascii():
        raise click.UsageError(
            f"--http needs a token of {_LEAST_TOKEN} or more ASCII characters: give --token-file"
            f" FILE or set {_TOKEN}; openssl rand -hex 32 makes one"
        )
    return token


async def _serve(context: CommandContext, port: int | None, token: str | None) -> None:
    from quietswap.cli.mcp.quotes import QuoteBook
    from quietswap.cli.mcp.server import make_server, serve_http, serve_stdio
    from quietswap.cli.mcp.tools import ReadingTools

    async with context.async_client() as client:
        has_node = context.rpc_url is not None
        server = make_server(ReadingTools(client, QuoteBook(), has_node=has_node))
        if port is None or token is None:
            await serve_stdio(server)
        else:
            await serve_http(server, port, token)
