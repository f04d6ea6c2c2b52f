"""`quietswap sources`: check each dependency of the service, and pause or resume sources."""

import asyncio
from typing import Any

import click

from quietswap.cli.options.operator import OperatorContext, operator_command, storage_errors
from quietswap.cli.options.times import time_text
from quietswap.rules.operator.operators import PausedSource
from quietswap.service.base.clock import SystemClock
from quietswap.service.operator.act import ActionRefused, checked_reason
from quietswap.service.server.checks import CheckResult, check_dependencies
from quietswap.service.server.container import adapters_of_a_command
from quietswap.service.storage.factory import Storage


@click.group()
def sources() -> None:
    """Check sources, node, relay and prices; pause and resume sources."""


@operator_command(sources, "list", prints="a JSON array")
def list_sources(context: OperatorContext) -> None:
    """List the sources in use, and which of them are paused. Times are UTC."""
    names = _names(context)
    pause_of = {one.name: one for one in context.run(lambda it: it.paused_sources.list())}
    names += [name for name in pause_of if name not in names]
    rows = [
        (name, "paused", time_text(one.paused_at_ms), one.paused_by, one.reason)
        if (one := pause_of.get(name))
        else (name, "in use", "", "", "")
        for name in names
    ]
    header = ("source", "state", "since", "by", "reason")
    context.listing([_row(name, pause_of.get(name)) for name in names], header, rows, "no source")


@operator_command(sources)
@click.argument("name")
@click.option("--reason", default="", help="Why; clients see it in `sources` of each quote.")
def pause(context: OperatorContext, name: str, reason: str) -> None:
    """Send no more requests to the source NAME, from the next second on, in every process.

    `quietswap sources resume` undoes it. Quotes are made of the other sources meanwhile.
    """
    names = _names(context)
    if name not in names:
        raise click.ClickException(f"{name} is not in use; there are {', '.join(names)}")
    try:
        reason = checked_reason(reason)
    except ActionRefused as error:
        raise click.UsageError(f"--reason: {error}") from error
    audit = context.audit("source_paused", source=name, pauseReason=reason)
    paused = PausedSource(name, audit.at_ms, str(audit.actor["user"]), reason)

    async def work(storage: Storage) -> None:
        if not await storage.paused_sources.pause(paused, audit):
            raise click.ClickException(f"{name} is paused already")

    context.change("source_paused", work, creates=True, source=name, pauseReason=reason)
    context.result(_row(name, paused), f"{name} is paused.")


@operator_command(sources)
@click.argument("name")
def resume(context: OperatorContext, name: str) -> None:
    """Send requests to the source NAME again."""
    audit = context.audit("source_resumed", source=name)

    async def work(storage: Storage) -> None:
        if not await storage.paused_sources.resume(name, audit):
            raise click.ClickException(f"{name} is not paused: see quietswap sources list")

    context.change("source_resumed", work, source=name[:100])
    context.result(_row(name, None), f"{name} is in use again.")


def _names(context: OperatorContext) -> list[str]:
    """Return the sources of the settings. Raises click.UsageError."""
    from quietswap.service.server import factories

    with storage_errors():
        return factories.chosen_sources(context.settings())


def _row(name: str, held: PausedSource | None) -> dict[str, Any]:
    return {
        "name": name,
        "paused": held is not None,
        "pausedAt": held and held.paused_at_ms,
        "pausedBy": held and held.paused_by,
        "reason": held and held.reason,
    }


@operator_command(sources, prints="a JSON array")
def check(context: OperatorContext) -> None:
    """Query each configured source, node, relay and price feed once.

    Exit code 1 means that the service cannot work: no node, no source or no relay responds, or no
    node can simulate a swap and quotes.require_verification is on.
    """
    settings = context.settings()
    if not settings.node.urls:
        raise click.UsageError("node.urls is not set (QUIETSWAP_NODE__URLS=https://...)")

    async def run() -> list[CheckResult]:
        async with adapters_of_a_command(settings) as outside:
            return await check_dependencies(outside, SystemClock())

    with storage_errors():
        findings = asyncio.run(run())
    if context.as_json:
        context.result([finding.row() for finding in findings], "")
    else:
        _print(findings)
    vital = {"source", "node", "relay"}
    if settings.quotes.require_verification:
        vital.add("simulation")
    if vital - {finding.kind for finding in findings if finding.works}:
        raise SystemExit(1)


def _print(findings: list[CheckResult]) -> None:
    from quietswap.cli.output.console import open_screen
    from quietswap.cli.output.text_table import text_table

    names = ("what", "name", "works", "ms", "found", "what to do")
    table = text_table(*names, right=("ms",), header_style="bold")
    for one in findings:
        works, ms = "yes" if one.works else "no", "-" if one.ms is None else str(one.ms)
        table.add_row(one.kind, one.name, works, ms, one.found, one.advice)
    open_screen().print(table)
