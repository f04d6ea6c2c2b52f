"""`quietswap sandbox` and `quietswap demo`: a miniature mainnet, until SIGINT or for one run."""

import asyncio
import itertools
import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from quietswap.cli.interrupts import stopping_signals
from quietswap.cli.options.connection import FiniteRange
from quietswap.cli.output.sandbox_text import check_env_file, welcome, write_env_file
from quietswap.rules.time_units import DAY_S

if TYPE_CHECKING:
    from quietswap.sandbox.stack import SandboxStack


class _HelpWithFaults(click.Command):
    """Adds the fault registry's list to the help page."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from quietswap.sandbox.faults import described

        super().format_epilog(ctx, formatter)
        with formatter.section("Faults (--fault PART=FAULT, or PUT /faults/PART on controlUrl)"):
            formatter.write_dl(
                [(spelling, f"{text} [{parts}]") for spelling, parts, text in described()]
            )


def _install(_context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted:
        return
    from quietswap.cli.output.console import open_screen
    from quietswap.cli.output.order_progress import OrderProgress
    from quietswap.sandbox import npm

    if npm.is_installed():
        click.echo("The sandbox's packages are installed already. Start it: quietswap sandbox")
        raise click.exceptions.Exit(0)
    progress = OrderProgress(open_screen(stderr=True))
    total, done = npm.package_count(), itertools.count()

    def advance() -> None:
        progress.doing = f"installing with npm, {next(done)} of {total} packages"

    advance()
    progress.start()
    try:
        folder = npm.install(advance)
    except npm.InstallFailed as error:
        raise click.ClickException(str(error)) from error
    finally:
        progress.stop()
    click.echo(f"Installed into {folder}. Start it: quietswap sandbox")
    raise click.exceptions.Exit(0)


@click.command(cls=_HelpWithFaults)
@click.option(
    "--port", type=click.IntRange(0, 65535),
    help="API port; 0 selects a free one (default 8080, or a free one if that is in use).",
)  # fmt: skip
@click.option(
    "--free-ports",
    is_flag=True,
    help="Use free ports for everything, not 8080 and those from 8545 on.",
)
@click.option(
    "--env-file", type=click.Path(dir_okay=False, path_type=Path),
    help="Write the environment of a client to this file: NAME=value lines.",
)  # fmt: skip
@click.option(
    "--block-time", type=FiniteRange(min=0.05, max=60), default=2.0, show_default=True,
    metavar="SECONDS", help="Time between blocks.",
)  # fmt: skip
@click.option(
    "--node", type=click.Choice(["anvil", "geth"]), default="anvil", show_default=True,
    help="Program that runs the chain; geth makes its blocks itself, as mainnet's nodes do.",
)  # fmt: skip
@click.option(
    "--amsterdam-in", type=click.IntRange(0, DAY_S), metavar="SECONDS",
    help="With --node geth: the rules of Amsterdam begin after this time (default: never).",
)  # fmt: skip
@click.option(
    "--patience", "patience_s", type=FiniteRange(min=0.1, max=300), metavar="SECONDS",
    help="Time limit of each call to node, sources and relays, for a busy machine "
    "(default: the service's own limits).",
)  # fmt: skip
@click.option(
    "--fault", "faults", multiple=True, metavar="PART=FAULT", help="Start with this fault."
)
@click.option(
    "--storage-url", metavar="URL",
    help="Database of the service, migrated first (default: a SQLite file, deleted at the end).",
)  # fmt: skip
@click.option("--redis-url", metavar="URL", help="Redis or Valkey of the service.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON line when ready.")
@click.option(
    "--install", is_flag=True, is_eager=True, expose_value=False, callback=_install,
    help="Install the chain and the public contracts into your cache with npm, and exit.",
)  # fmt: skip
def sandbox(
    port: int | None, free_ports: bool, env_file: Path | None, block_time: float, node: str,
    amsterdam_in: int | None, patience_s: float | None, faults: tuple[str, ...],
    storage_url: str | None, redis_url: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Run a miniature mainnet with the whole service on it.

    A real EVM with WETH9 and Uniswap, stand-ins with the vendors' protocols, a private relay, a
    block builder and a searcher, all on loopback. It needs no node, no key and no network. API key,
    wallets and their RPC URL are the same at each start; so are the ports that are free.
    """
    from quietswap.sandbox.chain.anvil import AnvilFailed
    from quietswap.sandbox.chain.geth import GethFailed
    from quietswap.sandbox.faults import UnknownFault, parse_option
    from quietswap.sandbox.network import GethOptions
    from quietswap.sandbox.npm import MissingPackage
    from quietswap.sandbox.ports import Ports
    from quietswap.sandbox.stack import SandboxStack, ServiceFailed, StoreUrls
    from quietswap.service.server.free_port import wait_for_free_port

    if redis_url and not storage_url:
        raise click.UsageError("--redis-url goes with --storage-url")
    if amsterdam_in is not None and node != "geth":
        raise click.UsageError("--amsterdam-in goes with --node geth")
    try:
        chosen = [parse_option(option) for option in faults]
    except UnknownFault as error:
        raise click.UsageError(str(error)) from error
    if env_file is not None:
        check_env_file(env_file)
    if port:
        wait_for_free_port("127.0.0.1", port, 0.0)
    stores = StoreUrls(storage_url, redis_url) if storage_url else None
    ports = Ports(None if port is None and not free_ports else port or 0, stable=not free_ports)
    stack = SandboxStack(
        ports, block_time=block_time, faults=chosen, stores=stores, patience_s=patience_s,
        geth=GethOptions(amsterdam_in) if node == "geth" else None,
    )  # fmt: skip
    try:
        asyncio.run(_run(stack, block_time, env_file, as_json=as_json))
    except (AnvilFailed, GethFailed, MissingPackage, ServiceFailed, OSError) as error:
        raise click.ClickException(str(error)) from error


async def _run(
    stack: "SandboxStack", block_time: float, env_file: Path | None, *, as_json: bool
) -> None:
    stop, broken = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    _report_late(broken)
    for name in (signal.SIGINT, *stopping_signals()):
        loop.add_signal_handler(name, stop.set)
    starting = asyncio.create_task(stack.start())
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((starting, stopping), return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            facts = starting.result()
            if env_file is not None:
                write_env_file(env_file, facts)
            for line in stack.moved(facts):
                click.echo(line, err=True)
            click.echo(json.dumps(facts) if as_json else welcome(facts, block_time, env_file))
            breaking = asyncio.create_task(stack.broken())
            await asyncio.wait((breaking, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not stopping.done():
                broken.set()
                breaking.result()
            breaking.cancel()
    finally:
        starting.cancel()
        stopping.cancel()
        await asyncio.gather(starting, stopping, return_exceptions=True)
        try:
            await stack.stop()
        except Exception:
            if not broken.is_set():  # else the cause is a component that ended, already reported
                raise


def _report_late(broken: asyncio.Event) -> None:
    """Delay background errors by 1 s; drop them if a component has ended, which is the cause."""
    loop = asyncio.get_running_loop()

    def report(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        loop.call_later(1.0, lambda: broken.is_set() or loop.default_exception_handler(context))

    loop.set_exception_handler(report)


@click.command()
@click.option(
    "--block-time", type=FiniteRange(0.2, 12), default=1.0, show_default=True,
    metavar="SECONDS", help="Time between the sandbox's blocks.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One line of JSON on standard output.")
def demo(*, block_time: float, as_json: bool) -> None:
    """Wrap, swap and unwrap on a miniature mainnet, then compare public with private.

    Starts the sandbox, uses it as an HTTP client with an API key and a wallet, and stops it. Exit
    code 0 means that all transactions were confirmed, at least the minimum was received, and the
    private swap lost nothing to the searcher.
    """
    from quietswap.cli.demo import DemoRun
    from quietswap.cli.demo_report import DemoReport
    from quietswap.cli.demo_sandbox import SandboxFailed, running_sandbox
    from quietswap.cli.output.console import open_screen
    from quietswap.cli.output.exit_codes import REFUSED
    from quietswap.client.errors import ClientError
    from quietswap.client.wire import encode

    report = DemoReport(open_screen(stderr=as_json))
    try:
        with report.starting(), running_sandbox(block_time) as sandbox:
            DemoRun(report, sandbox)()
    except (SandboxFailed, ClientError) as error:
        report.check(f"{type(error).__name__}: {error}", holds=False)
    report.verdict()
    if as_json:
        click.echo(encode(report.facts).decode("utf-8"))
    if not report.passed:
        raise click.exceptions.Exit(REFUSED)
