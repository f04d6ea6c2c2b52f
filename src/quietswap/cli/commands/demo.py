"""`quietswap demo`: wrap, swap and unwrap on a miniature mainnet."""

import click

from quietswap.cli.options.connection import FiniteRange


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
    from quietswap.cli.demo import DemoReport, DemoRun, SandboxFailed, running_sandbox
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
