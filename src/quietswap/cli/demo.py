"""`quietswap demo`: the main job on a miniature mainnet, start to end."""

import click


@click.command()
@click.option(
    "--block-time", type=click.FloatRange(0.2, 12), default=1.0, show_default=True,
    metavar="SECONDS", help="Time between the sandbox's blocks.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One line of JSON on standard output.")
def demo(*, block_time: float, as_json: bool) -> None:
    """Wrap, swap and unwrap on a miniature mainnet, then compare public with private.

    Starts the sandbox, uses it as any HTTP client would, with an API key and a wallet, and stops
    it. Exit code 0 means: everything confirmed, at least the minimum received, and nothing lost to
    the searcher by the private swap.
    """
    from quietswap.cli.connection import REFUSED, console
    from quietswap.cli.demo_report import Report
    from quietswap.cli.demo_run import DemoRun
    from quietswap.cli.demo_sandbox import SandboxFailed, running_sandbox
    from quietswap.client import ClientError
    from quietswap.client.wire import encode

    report = Report(console(stderr=as_json))
    try:
        with report.starting(), running_sandbox(block_time) as town:
            DemoRun(report, town)()
    except (SandboxFailed, ClientError) as error:
        report.check(f"{type(error).__name__}: {error}", holds=False)
    report.verdict()
    if as_json:
        click.echo(encode(report.facts))
    if not report.passed:
        raise click.exceptions.Exit(REFUSED)
