"""`quietswap sources check`: ask everything the service depends on, and say what to do."""

import asyncio
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from quietswap import observe
from quietswap.adapters.clock import SystemClock
from quietswap.app.health import Finding, check_outside
from quietswap.app.parts import reach_outside
from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.settings.load import BadSettings


@click.group()
def sources() -> None:
    """Check aggregators, node, relay and prices."""


@sources.command()
@settings_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def check(settings_path: Path | None, as_json: bool) -> None:
    """Ask every configured source, node, relay and price feed once.

    Exits 1 when the service could not work: no node, no source, or no relay.
    """
    observe.log_nothing()
    settings = read_settings(settings_path)
    if not settings.node.urls:
        raise click.UsageError("node.urls is not set (QUIETSWAP_NODE__URLS=https://...)")

    async def run() -> list[Finding]:
        outside = reach_outside(settings, SystemClock())
        try:
            return await check_outside(outside, SystemClock())
        finally:
            await outside.http.close()

    try:
        findings = asyncio.run(run())
    except BadSettings as error:
        raise click.UsageError(str(error)) from error
    if as_json:
        click.echo(json.dumps([finding.row() for finding in findings]))
    else:
        _print(findings)
    vital = {"source", "node", "relay"}
    if vital - {finding.kind for finding in findings if finding.works}:
        raise SystemExit(1)


def _print(findings: list[Finding]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("what", "name", "works", "ms", "found", "what to do"):
        table.add_column(name, justify="right" if name == "ms" else "left", overflow="fold")
    for finding in findings:
        table.add_row(
            finding.kind,
            finding.name,
            "yes" if finding.works else "no",
            "-" if finding.ms is None else str(finding.ms),
            finding.found,
            finding.advice,
        )
    Console(highlight=False).print(table)
