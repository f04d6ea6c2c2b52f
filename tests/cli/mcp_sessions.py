"""Sessions of the official client of the Model Context Protocol with `quietswap mcp`."""

import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent

from quietswap.cli.demo_sandbox import SandboxInfo
from quietswap.cli.mcp.prepare import Preparer
from quietswap.cli.mcp.server import make_server
from quietswap.cli.mcp.signing import LocalSigner
from quietswap.client import AsyncQuietswapClient
from quietswap.client.flows.finality import SignedOrders
from tests import forked
from tests.client.fake_servers import FakeServers
from tests.waiting import LONG_S

WITHIN_S = 120.0


def variables(town: SandboxInfo, folder: Path) -> dict[str, str]:
    """Return the environment of a server that reads: no key of a wallet."""
    return forked.without_settings() | {
        "QUIETSWAP_URL": town.base_url,
        "QUIETSWAP_API_KEY": town.api_key,
        "QUIETSWAP_RPC_URL": town.rpc_url,
        "XDG_STATE_HOME": str(folder),
    }


_TEES = 'cd "$0" && { tee out.log <from_server & tee in.log >to_server; wait; }'


@asynccontextmanager
async def over_stdio(
    env: Mapping[str, str], folder: Path, *words: str, **options: Any
) -> AsyncIterator[Client]:
    """Start the command, and write all that passes in `folder`: in.log, out.log, err.log.

    It is forked, so what the client starts as its command are two pipes to it.
    """
    to_server, from_server = folder / "to_server", folder / "from_server"
    with ExitStack() as held:
        both = []
        for fifo in (to_server, from_server):
            os.mkfifo(fifo)
            held.callback(fifo.unlink)
            # while this one is open, no other end waits for its peer and none sees an end
            both.append(held.enter_context(os.fdopen(os.open(fifo, os.O_RDWR), "rb")))
        with (
            os.fdopen(os.open(to_server, os.O_RDONLY), "rb") as stdin,
            from_server.open("wb") as stdout,
            (folder / "err.log").open("wb") as stderr,
        ):
            numbers = [stdin.fileno(), stdout.fileno(), stderr.fileno()]
            process = forked.Forked(
                ["mcp", *words], env,
                stdin=numbers[0], stdout=numbers[1], stderr=numbers[2], folder=folder,
            )  # fmt: skip
        held.callback(process.send_signal, signal.SIGKILL)
        server = StdioServerParameters(command="/bin/sh", args=["-c", _TEES, str(folder)])
        async with Client(server, read_timeout_seconds=WITHIN_S, **options) as client:
            for fifo in both:
                fifo.close()
            yield client
        assert process.wait(LONG_S) == 0


@asynccontextmanager
async def in_process(
    outside: FakeServers,
    local: Callable[[Preparer], LocalSigner] | None = None,
    *,
    has_node: bool = True,
    orders: SignedOrders | None = None,
    **options: Any,
) -> AsyncIterator[Client]:
    """Connect to the tools in this process, with the fake service and node."""
    rpc_url = outside.rpc_url if has_node else None
    connected = AsyncQuietswapClient(outside.url, "qs_right", rpc_url=rpc_url, orders=orders)
    async with connected as client:
        preparer = Preparer(client, has_node=has_node)
        server = make_server(preparer, local(preparer) if local else None)
        async with Client(server, **options) as model:
            yield model


@asynccontextmanager
async def over_http(url: str, token: str, **options: Any) -> AsyncIterator[Client]:
    """Connect to a server that listens at `url`."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WITHIN_S, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), **options) as client,
    ):
        yield client


def transcript(folder: Path) -> str:
    """Return all that passed, and the log."""
    names = ("in.log", "out.log", "err.log")
    return "".join((folder / name).read_text("utf-8") for name in names)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the result of a tool that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return body_of(result)


async def refusal(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return the error of a tool that refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return body_of(result)


def signed_by(account: Any, prepared: Mapping[str, Any]) -> str:
    """Sign what was prepared as an external signer does, with an eth_account account."""
    fields = prepared["transaction"]
    wei = {name: int(fields[name]) for name in ("value", "maxFeePerGas", "maxPriorityFeePerGas")}
    plain = {name: fields[name] for name in ("to", "data", "nonce", "chainId", "type")}
    made = account.sign_transaction(plain | wei | {"gas": int(fields["gasLimit"])})
    return "0x" + made.raw_transaction.hex()


def body_of(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content, after the check that the text has the same."""
    body = result.structured_content
    assert isinstance(body, dict)
    assert json.loads(text_of(result)) == body
    return body


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text
