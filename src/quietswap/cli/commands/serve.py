"""`quietswap serve`: the API on granian, TLS 1.3 or loopback only."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from quietswap.cli.options.operator import OperatorContext, settings_option
from quietswap.cli.output.exit_codes import USAGE
from quietswap.service.server import free_port, start_checks
from quietswap.service.server.certificates import expires_at, validity_fault
from quietswap.service.server.settings import secret_origins
from quietswap.service.server.settings_summary import settings_summary
from quietswap.service.settings import ObserveConfig, Settings

if TYPE_CHECKING:
    from quietswap.service.storage.factory import Storage


@click.command()
@settings_option
@click.option("--host", help="Address to listen on (default 127.0.0.1).")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (default 8080).")
@click.option("--workers", type=click.IntRange(1, 64), help="API processes (default 1).")
@click.option("--tls-cert", type=click.Path(), help="PEM certificate chain.")
@click.option("--tls-key", type=click.Path(), help="PEM private key of the certificate.")
@click.option(
    "--check", is_flag=True, help="Validate settings and TLS files without a connection, and stop."
)
@click.option("--stores", is_flag=True, help="With --check: connect to database and Redis, too.")
@click.option(
    "--node",
    is_flag=True,
    help="With --check: read and simulate at each node as a quote does, too.",
)
@click.option("--json", "as_json", is_flag=True, help="With --check: one JSON object.")
def serve(
    settings_path: Path | None, check: bool, stores: bool, node: bool, as_json: bool, **given: Any
) -> None:
    """Serve the API until SIGINT or SIGTERM. SIGHUP reloads settings and certificate."""
    if (as_json or stores or node) and not check:
        raise click.UsageError("--json, --stores and --node need --check")
    context = OperatorContext(settings_path)
    with _ending_as_logged(None if check else ObserveConfig()):  # no format could be read
        settings = context.settings()
    given = {name: value for name, value in given.items() if value is not None}
    server = msgspec.structs.replace(settings.server, **given)
    settings = msgspec.structs.replace(settings, server=server)
    click.get_current_context().with_resource(start_checks.metrics_of_all(server.workers))
    faults, warnings = _findings(settings, check=check, stores=stores, node=node)
    secrets = secret_origins(settings_path) if check and not faults else ()
    if as_json:
        facts = {} if faults else settings_summary(settings, settings_path)
        facts |= {"warnings": warnings} if warnings else {}
        if stores and not faults:
            # a server of an older release reads this name
            facts["alone"] = start_checks.may_serve(settings)
            facts["needsStart"] = start_checks.start_needs(settings)
        if not faults:
            facts["secrets"] = [{"setting": it.setting, "from": it.origin} for it in secrets]
        click.echo(json.dumps({"ok": not faults, "faults": faults, **facts}))
        raise click.exceptions.Exit(USAGE if faults else 0)
    if faults and check:
        raise click.UsageError("the settings have faults:\n" + _listed(faults))
    if check:
        click.echo(_summary(settings, len(warnings)))
        if stores:
            click.echo(_reached(settings, context))
        lines = ["the node answers and simulates what a quote asks"] if node else []
        lines += [f"{one.setting}: from {one.origin}" for one in secrets]
        for line in (*lines, *(f"warning: {warning}" for warning in warnings)):
            click.echo(line)
        return
    with _ending_as_logged(settings.observe):
        if faults:
            raise click.UsageError(f"{_CANNOT_START}\n{_listed(faults)}")
        from quietswap.service import observe
        from quietswap.service.server.process import run_server

        observe.write_logs(settings.observe, cached=False)
        _begin_on_storage(context, shared=bool(settings.storage.redis_url))
        run_server(settings, settings_path, {name: str(value) for name, value in given.items()})


_CANNOT_START = "quietswap cannot start:"


def _listed(faults: list[str]) -> str:
    return "\n".join(f"- {fault}" for fault in faults)


@contextmanager
def _ending_as_logged(log: ObserveConfig | None) -> Iterator[None]:
    """Report a failed start as a line of the log where that is JSON and nobody reads along."""
    try:
        yield
    except click.ClickException as error:
        if log is None or log.log_format != "json" or sys.stderr.isatty():
            raise
        from quietswap.service import observe

        observe.write_logs(log, cached=False)
        observe.start_failed(error.format_message().removeprefix(_CANNOT_START).strip())
        raise click.exceptions.Exit(error.exit_code) from error


def _findings(
    settings: Settings, *, check: bool, stores: bool, node: bool
) -> tuple[list[str], list[str]]:
    """Return why the service must not start with these settings, and what to mend later."""
    warnings: list[str] = []
    faults = start_checks.startup_faults(settings)
    if stores and not faults:
        faults, warnings = start_checks.store_findings(settings)
    if node and not faults:
        faults, notices = start_checks.node_findings(settings)
        warnings += notices
    if check and not faults:
        warnings = [*warnings, *free_port.port_warnings(settings.server)]
    if check and not faults and settings.server.tls_cert:
        late = validity_fault(settings.server.tls_cert, datetime.now(UTC))
        faults = [f"server.tls_cert: {late}"] if late else []
    return faults, warnings


def _begin_on_storage(context: OperatorContext, *, shared: bool) -> None:
    """Check that the database is usable and that no process that serves from it excludes this one.

    Waits for a process that shuts down. Then no process of an older release has a SQLite file open,
    and it is migrated. With `shared` rate limits others are permitted, and an older release takes
    no lock: an older schema is refused. A shared rate store that is away is named. Raises
    click.ClickException.
    """
    from quietswap.rules.orders.stores import StoreUnavailable
    from quietswap.service import observe
    from quietswap.service.base.clock import SystemClock
    from quietswap.service.orders.tracking import single_process
    from quietswap.service.storage import migrate

    async def begin(storage: "Storage") -> None:
        is_file = storage.database.dialect == "sqlite"
        if not is_file:
            await migrate.check(storage.database)
        serving = single_process.SingleProcessGuard(storage.serving, SystemClock(), shared=shared)
        await serving.begin(single_process.PREDECESSOR_S, observe.predecessor_awaited)
        if is_file:
            await upgrade(storage)
        try:
            await storage.ping_all()
        except StoreUnavailable as error:
            observe.store_away(str(error))

    async def upgrade(storage: "Storage") -> None:
        version = await migrate.current_version(storage.database)
        if version == 0:
            await migrate.migrate(storage.database)
        if shared or version == 0 or version >= migrate.known()[-1].version:
            await migrate.check(storage.database)
            return
        with context.recorded("database_migrated") as record:
            applied = await migrate.migrate(storage.database)
            record["applied"] = applied
            await storage.audit.append(context.audit("database_migrated", applied=applied))
        observe.database_migrated(applied)

    try:
        context.run(begin, creates=True, checked=False, rates=True)
    except single_process.SecondProcessError as error:
        raise click.ClickException(f"quietswap cannot start: {error}") from error


def _reached(settings: Settings, context: OperatorContext) -> str:
    """Return what `store_findings` connected to, without passwords."""
    from quietswap.service.storage.database_urls import missing_file

    has_redis = settings.storage.redis_url is not None
    redis = "Redis was reached" if has_redis else "Redis is not set (storage.redis_url)"
    if missing_file(settings.storage.url):
        return f"the database {context.url} does not exist yet, a start creates it; {redis}"
    return f"the database {context.url} was reached and takes writes; {redis}"


def _summary(settings: Settings, warnings: int) -> str:
    server = settings.server
    scheme = "https (TLS 1.3)" if server.tls_cert else "http"
    verdict = "the settings are good"
    if warnings:
        count = "a warning" if warnings == 1 else f"{warnings} warnings"
        verdict = f"the settings have no fault, but {count} below"
    text = (
        f"{verdict}: {scheme} on {server.host}:{server.port}, "
        f"{server.workers} process(es), {len(settings.node.urls)} node URL(s)"
    )
    if server.tls_cert:
        text += f"\nthe certificate is valid until {expires_at(server.tls_cert):%Y-%m-%d}"
    return text
