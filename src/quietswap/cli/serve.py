"""`quietswap serve`: the API on granian, TLS 1.3 or loopback only."""

import ipaddress
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from quietswap.cli.listening import wait_until_free
from quietswap.cli.outcomes import USAGE
from quietswap.cli.settings_option import read_settings, settings_option
from quietswap.settings.load import BadSettings
from quietswap.settings.schema import Server, Settings

if TYPE_CHECKING:
    from quietswap.storage.open import Storage

_MOST_HEAD_BYTES = 128 * 1024
"""Beyond it the server itself refuses, without the envelope; an absurd amount in a query is still
refused by name below it. The server looks before it reads again, so one read more may pass: a head
is surely refused above twice as much."""

_HEAD_WITHIN_MS = 10_000
"""How long a head may take to come, and a connection may wait for its next one."""
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""https://prometheus.github.io/client_python/multiprocess/"""


@click.command()
@settings_option
@click.option("--host", help="Address to listen on (default 127.0.0.1).")
@click.option("--port", type=click.IntRange(1, 65535), help="Port to listen on (default 8080).")
@click.option("--workers", type=click.IntRange(1, 64), help="API processes (default 1).")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="PEM certificate.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="PEM key, PKCS#8.")
@click.option("--check", is_flag=True, help="Validate the settings, ask nobody, and stop.")
@click.option("--json", "as_json", is_flag=True, help="With --check: one JSON object.")
def serve(
    settings_path: Path | None,
    host: str | None,
    port: int | None,
    workers: int | None,
    tls_cert: str | None,
    tls_key: str | None,
    check: bool,
    as_json: bool,
) -> None:
    """Serve the API until SIGINT or SIGTERM."""
    if as_json and not check:
        raise click.UsageError("--json needs --check")
    settings = read_settings(settings_path)
    given = {
        "host": host, "port": port, "workers": workers, "tls_cert": tls_cert, "tls_key": tls_key,
    }  # fmt: skip
    server = msgspec.structs.replace(
        settings.server, **{name: value for name, value in given.items() if value is not None}
    )
    settings = msgspec.structs.replace(settings, server=server)
    click.get_current_context().with_resource(_metrics_of_all(server.workers))
    faults = refusals(settings)
    if as_json:
        click.echo(json.dumps({"ok": not faults, "faults": faults}))
        raise click.exceptions.Exit(USAGE if faults else 0)
    if faults:
        raise click.UsageError("quietswap cannot start:\n" + "\n".join(f"- {f}" for f in faults))
    if check:
        click.echo(_summary(settings))
        return
    _begin_on_storage(settings_path, shared=bool(settings.storage.redis_url))
    _run(settings, settings_path)


def _begin_on_storage(path: Path | None, *, shared: bool) -> None:
    """End this command in words where the database cannot be used, or another process serves on it.

    An old process that is about to end is waited for; where rates are `shared` nobody has to.
    """
    from quietswap.adapters.clock import SystemClock
    from quietswap.cli.database import with_storage
    from quietswap.services.serve_alone import PREDECESSOR_S, NotAlone, ServeAlone

    def begin(storage: "Storage") -> Awaitable[object]:
        if shared:
            return storage.database.has_table("orders")
        return ServeAlone(storage.alone, SystemClock()).begin(PREDECESSOR_S)

    try:
        with_storage(path, begin)
    except NotAlone as error:
        raise click.ClickException(f"quietswap cannot start: {error}") from error


def refusals(settings: Settings) -> list[str]:
    """Return every reason the service would not be safe or useful with these settings."""
    server = settings.server
    faults = []
    if not settings.node.urls:
        faults.append(
            "node.urls is not set: balances, nonces and blocks are read from your own Ethereum "
            "node. Set it in the file or as QUIETSWAP_NODE__URLS=https://... "
            "(to try quietswap without a node, run: quietswap sandbox)"
        )
    if bool(server.tls_cert) != bool(server.tls_key):
        faults.append("server.tls_cert and server.tls_key must be set together")
    if not (server.tls_cert or server.behind_tls_proxy or _is_loopback(server.host)):
        faults.append(
            f"server.host is {server.host} without TLS: set server.tls_cert and server.tls_key, "
            "or server.behind_tls_proxy = true when a proxy on your side ends TLS"
        )
    if server.workers > 1 and not settings.storage.redis_url:
        faults.append(
            "storage.redis_url is not set: with more than one process the rate limit needs a "
            "store they share"
        )
    if server.workers > 1 and settings.storage.url.startswith("sqlite"):
        faults.append("storage.url is SQLite: more than one process needs postgresql://...")
    if not settings.node.urls:  # said above; the other choices are still worth a look
        node = msgspec.structs.replace(settings.node, urls=("http://unset",))
        settings = msgspec.structs.replace(settings, node=node)
    return faults + _unusable_choices(settings)


def _unusable_choices(settings: Settings) -> list[str]:
    """Return what the service would find wrong only while it starts, in words."""
    from quietswap.adapters.clock import SystemClock
    from quietswap.api.cors import BadOrigin, checked_origin
    from quietswap.app import choices
    from quietswap.app.parts import reach_outside
    from quietswap.app.tracing import check_traces
    from quietswap.storage.open import BadDatabaseUrl, check_redis_url, is_embedded

    faults = []
    checks: tuple[Callable[[], object], ...] = (
        lambda: reach_outside(settings, SystemClock()),
        lambda: choices.token_policy(settings),
        lambda: choices.trusted_networks(settings),
        lambda: choices.swap_terms(settings),
        lambda: choices.wrap_terms(settings),
        lambda: [choices.routers(settings, name) for name in choices.chosen_sources(settings)],
        lambda: is_embedded(settings.storage.url),
        lambda: check_redis_url(settings.storage.redis_url),
        lambda: check_traces(settings),
        lambda: [checked_origin(origin) for origin in settings.server.cors_origins],
    )
    for check in checks:
        try:
            check()
        except BadOrigin as error:
            faults.append(f"server.cors_origins: {error}")
        except (BadSettings, BadDatabaseUrl) as error:
            faults.extend(str(error).splitlines())
    return list(dict.fromkeys(faults))


@contextmanager
def _metrics_of_all(workers: int) -> Iterator[None]:
    """Give several processes a folder for their metrics, so that each can answer for all.

    The name must be in the environment before prometheus_client is imported, so nothing that
    counts is imported at the top of this module.
    """
    os.environ.pop(_METRICS_FOLDER, None)
    if workers == 1:
        yield
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="quietswap-metrics-")
    except OSError as error:
        raise click.UsageError(
            f"server.workers: several processes count in a temporary folder, and there is none: "
            f"{error.strerror}; set TMPDIR"
        ) from error
    with folder:
        os.environ[_METRICS_FOLDER] = folder.name
        yield


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _summary(settings: Settings) -> str:
    server = settings.server
    scheme = "https (TLS 1.3)" if server.tls_cert else "http"
    return (
        f"the settings are good: {scheme} on {server.host}:{server.port}, "
        f"{server.workers} process(es), {len(settings.node.urls)} node URL(s)"
    )


def _run(settings: Settings, path: Path | None) -> None:
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, Loops
    from granian.http import HTTP1Settings

    from quietswap.app.stopping import KILLED_AFTER_S

    if path is not None:
        os.environ["QUIETSWAP_SETTINGS"] = str(path.resolve())
    server: Server = settings.server
    wait_until_free(server.host, server.port)
    scheme = "https" if server.tls_cert else "http"
    click.echo(f"quietswap starts on {scheme}://{server.host}:{server.port}", err=True)
    Granian(
        "quietswap.app.asgi:create_app",
        factory=True,
        address=server.host,
        port=server.port,
        interface=Interfaces.ASGI,
        loop=Loops.asyncio,
        workers=server.workers,
        websockets=False,
        log_enabled=False,
        ssl_cert=Path(server.tls_cert) if server.tls_cert else None,
        ssl_key=Path(server.tls_key) if server.tls_key else None,
        http=HTTPModes.http1,  # the other modes wait for ever on a connection that says nothing
        http1_settings=HTTP1Settings(
            max_buffer_size=_MOST_HEAD_BYTES, header_read_timeout=_HEAD_WITHIN_MS
        ),
        workers_kill_timeout=KILLED_AFTER_S,
        respawn_failed_workers=True,
    ).serve()
