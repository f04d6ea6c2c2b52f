"""`quietswap sandbox`: mainnet in miniature, until SIGINT or SIGTERM."""

import asyncio
import json
import signal
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from quietswap.sandbox.town import Town


class _HelpWithFaults(click.Command):
    """Lists the faults below the options, from the registry itself."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from quietswap.sandbox.faults import described

        super().format_epilog(ctx, formatter)
        with formatter.section("Faults (--fault PART=FAULT, or PUT /faults/PART on controlUrl)"):
            formatter.write_dl(
                [(spelling, f"{text} [{parts}]") for spelling, parts, text in described()]
            )


@click.command(cls=_HelpWithFaults)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="API port; 0 picks one.")
@click.option(
    "--block-time",
    type=click.FloatRange(min=0.05, max=60),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between blocks.",
)
@click.option("--fault", "faults", multiple=True, metavar="PART=FAULT", help="Start with a fault.")
@click.option(
    "--storage-url",
    metavar="URL",
    help="Database of the service, migrated first (default: a SQLite file that goes at the end).",
)
@click.option("--redis-url", metavar="URL", help="Redis or Valkey of the service.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line when ready.")
def sandbox(
    port: int,
    block_time: float,
    faults: tuple[str, ...],
    storage_url: str | None,
    redis_url: str | None,
    as_json: bool,
) -> None:
    """Run a miniature mainnet with the whole service on it.

    A real EVM with WETH9 and Uniswap, venues that speak the aggregators' protocols, a private
    relay, a block builder and a searcher, all on free loopback ports. Needs no node, no key, no
    network.
    """
    from quietswap.cli.listening import wait_until_free
    from quietswap.sandbox.anvil import AnvilFailed
    from quietswap.sandbox.faults import BadFault, parse_option
    from quietswap.sandbox.npm import MissingPackage
    from quietswap.sandbox.service import ServiceFailed, Stores
    from quietswap.sandbox.town import Town

    if redis_url and not storage_url:
        raise click.UsageError("--redis-url goes with --storage-url")
    try:
        chosen = [parse_option(option) for option in faults]
    except BadFault as error:
        raise click.UsageError(str(error)) from error
    if port:
        wait_until_free("127.0.0.1", port, 0.0)
    stores = Stores(storage_url, redis_url) if storage_url else None
    town = Town(port=port, block_time=block_time, faults=chosen, stores=stores)
    try:
        asyncio.run(_run(town, block_time, as_json))
    except (AnvilFailed, MissingPackage, ServiceFailed, OSError) as error:
        raise click.ClickException(str(error)) from error


async def _run(town: "Town", block_time: float, as_json: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    starting = asyncio.create_task(town.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            facts = starting.result()
            click.echo(json.dumps(facts) if as_json else _welcome(facts, block_time))
            await stopping
    finally:
        starting.cancel()
        stopping.cancel()
        await asyncio.gather(starting, stopping, return_exceptions=True)
        await town.stop()


def _welcome(facts: dict[str, Any], block_time: float) -> str:
    wallet = facts["wallets"][0]
    lines = [
        "quietswap sandbox: a miniature mainnet, nothing here is worth anything",
        "",
        f"  API        {facts['baseUrl']}   documentation: {facts['baseUrl']}/docs",
        f"  API key    {facts['apiKey']}",
        f"  node       {facts['rpcUrl']}   chain 1, a block every {block_time:g} s",
        f"  relay      {facts['relayUrl']}",
        f"  control    {facts['controlUrl']}   faults, mining, reorganisations",
        f"  settings   {facts['settingsFile']}",
        "",
        f"  wallet     {wallet['address']}",
        f"  its key    {wallet['privateKey']}",
        f"  ({len(facts['wallets'])} wallets hold ETH and some of every token)",
        "",
        "  Try, in another terminal:",
        f"    export QUIETSWAP_URL={facts['baseUrl']} QUIETSWAP_API_KEY={facts['apiKey']}",
        f"    export QUIETSWAP_RPC_URL={facts['rpcUrl']}",
        f"    export QUIETSWAP_PRIVATE_KEY={wallet['privateKey']}",
        f"    export QUIETSWAP_SETTINGS={facts['settingsFile']}",
        f"    export CONTROL={facts['controlUrl']}",
        "    quietswap swap 1 WETH USDC",
        "",
        "Ctrl-C stops everything.",
    ]
    return "\n".join(lines)
