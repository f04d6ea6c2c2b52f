"""Checks of the settings before the start. Each fault is one line that names the setting."""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from quietswap.service.operator.audit_file import has_room
from quietswap.service.server import token_catalogue
from quietswap.service.server.certificates import tls_faults
from quietswap.service.server.settings import BadSettings
from quietswap.service.settings import Settings

if TYPE_CHECKING:  # the start of a command does not wait for storage
    from quietswap.service.storage.factory import Storage

_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""https://prometheus.github.io/client_python/multiprocess/"""


@contextmanager
def metrics_of_all(workers: int) -> Iterator[None]:
    """Create a folder for the metrics of several processes, so that each can report all of them.

    prometheus_client reads the environment variable at its import, so neither this module nor the
    command that calls it may import a module with metrics at the top.
    """
    os.environ.pop(_METRICS_FOLDER, None)
    if workers == 1:
        yield
        return
    try:
        folder = tempfile.TemporaryDirectory(prefix="quietswap-metrics-")
    except OSError as error:
        raise click.UsageError(
            "server.workers: several processes need a temporary folder for metrics: "
            f"{error.strerror}; set TMPDIR"
        ) from error
    with folder:
        os.environ[_METRICS_FOLDER] = folder.name
        yield


def startup_faults(settings: Settings) -> list[str]:
    """Return one line for each reason why the service must not start with these settings."""
    from quietswap.service.base.loopback import is_loopback
    from quietswap.service.server.connections import too_few_files

    server = settings.server
    faults = []
    if not settings.node.urls:
        faults.append(
            "node.urls is not set: balances, nonces and blocks are read from your own Ethereum "
            "node. Set it in the file or as QUIETSWAP_NODE__URLS=https://... "
            "(to try quietswap without a node, run: quietswap sandbox)"
        )
    if (few := too_few_files()) is not None:
        faults.append(few)
    if bool(server.tls_cert) != bool(server.tls_key):
        missing = "tls_key" if server.tls_cert else "tls_cert"
        faults.append(f"server.{missing} is not set: the certificate and its key go together")
    if server.tls_cert and server.tls_key:
        faults += tls_faults(server.tls_cert, server.tls_key)
    if not (server.tls_cert or server.behind_tls_proxy or is_loopback(server.host)):
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
    if not settings.node.urls:  # reported above; a placeholder lets the other checks run
        node = msgspec.structs.replace(settings.node, urls=("http://unset",))
        settings = msgspec.structs.replace(settings, node=node)
    return faults + _unusable_choices(settings) + _unwritable(settings.observe.audit_file)


def _unwritable(file: str | None) -> list[str]:
    """Check that the audit file is writable, without creating it."""
    if file is None:
        return []
    path = Path(os.path.realpath(file))
    with contextlib.suppress(OSError):
        place = path if path.exists() else path.parent
        fits = place.is_dir() if place is not path else not path.is_dir()
        if fits and not _is_loop(path) and os.access(place, os.W_OK) and has_room(place):
            return []
    return [f"observe.audit_file: {file} cannot be written"]


def _is_loop(path: Path) -> bool:
    """Return whether a result of `realpath` is a link that leads back to itself."""
    return path.is_symlink()


_SKEW_MS = 5_000
"""As the alert QuietswapClockSkew has it (deploy/alerts.yaml)."""


def store_findings(settings: Settings) -> tuple[list[str], list[str]]:
    """Connect to the database and Redis. Return why the service cannot use them, and warnings.

    No file is created and no schema changed.
    """
    from quietswap.rules.orders.stores import StoreUnavailable
    from quietswap.service.base.clock import SystemClock
    from quietswap.service.storage import migrate
    from quietswap.service.storage.database import ForeignDatabase
    from quietswap.service.storage.database_urls import BadDatabaseUrl, missing_file
    from quietswap.service.storage.factory import open_storage
    from quietswap.service.storage.migrate import SchemaTooNew, SchemaTooOld

    async def ping() -> list[str]:
        missing = missing_file(settings.storage.url)
        if missing:
            _check_folder(missing)
        url = "sqlite:///:memory:" if missing else settings.storage.url
        storage = await open_storage(
            url, clock=SystemClock(), rates_url=settings.storage.redis_url, checked=False
        )
        try:
            if storage.database.dialect == "postgresql":
                await migrate.check(storage.database)
            elif not missing:
                with contextlib.suppress(SchemaTooOld):  # a start migrates it
                    await migrate.check(storage.database)
            await storage.ping_all()
            return await _skew(storage)
        finally:
            await storage.close()

    try:
        return [], asyncio.run(ping())
    except StoreUnavailable as error:
        return [f"{_store_of(str(error), settings)}: {error}"], []
    except ForeignDatabase as error:
        return [f"storage.url: {error}"], []
    except (BadDatabaseUrl, SchemaTooNew, SchemaTooOld) as error:
        return [str(error)], []


async def _skew(storage: "Storage") -> list[str]:
    """Return a warning if the local clock is off that of the database."""
    from quietswap.service.base.clock import SystemClock

    ahead_ms = await storage.clock_ahead_ms(SystemClock())
    if ahead_ms is None or abs(ahead_ms) <= _SKEW_MS:
        return []
    side = "ahead of" if ahead_ms > 0 else "behind"
    text = (
        f"the local clock is {abs(ahead_ms) // 1000} s {side} that of the database: set it by NTP"
    )
    return [f"{text}; other processes refuse its quotes, or take them for longer than they say"]


def _check_folder(file: Path) -> None:
    from quietswap.service.storage.database_urls import BadDatabaseUrl

    target = Path(os.path.realpath(file))
    if _is_loop(target):
        raise BadDatabaseUrl(f"storage.url: {file} is a link that leads to no file")
    folder = target.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise BadDatabaseUrl(f"storage.url: no file can be created in {folder}")


def node_findings(settings: Settings) -> tuple[list[str], list[str]]:
    """Read and simulate as a quote does, at each node alone. Return faults and warnings, as lines.

    A fault is why the service cannot quote with these nodes; a warning is for the operator to mend.
    """
    faults: dict[str, str] = {}
    warnings: dict[str, None] = {}
    several = len(settings.node.urls) > 1
    for number, url in enumerate(settings.node.urls, 1):
        name = f"node.urls, number {number}" if several else "node.urls"
        alone = msgspec.structs.replace(settings.node, urls=(url,))
        fault, notices = _tried_node(msgspec.structs.replace(settings, node=alone))
        warnings |= dict.fromkeys(notices)
        if fault is not None:
            faults[name] = fault
    lines = [f"{name}: {fault}" for name, fault in faults.items()]
    if len(faults) == len(settings.node.urls):
        return lines, list(warnings)
    return [], [*lines, *warnings]


def _tried_node(settings: Settings) -> tuple[str | None, list[str]]:
    from quietswap.rules.chain.records import NodeUnavailable
    from quietswap.service.base.clock import SystemClock
    from quietswap.service.server.checks import try_quote
    from quietswap.service.server.container import adapters_of_a_command

    async def ask() -> tuple[str | None, list[str]]:
        async with adapters_of_a_command(settings) as outside:
            fault = await try_quote(outside, SystemClock())
            return fault, list((await outside.chain.warnings()).values())

    try:
        fault, warnings = asyncio.run(ask())
    except NodeUnavailable as error:
        return str(error), []
    if fault is None or not settings.quotes.require_verification:
        return None, warnings
    return f"no swap can be simulated, so none is quoted: {fault}", warnings


def start_needs(settings: Settings) -> list[str]:
    """Return why only a start can use a database that passed `store_findings`; a reload cannot.

    A worker would make a new database of a wrong path, and cannot open an older schema. An empty
    file was created on purpose. Raises StoreUnavailable and BadDatabaseUrl.
    """
    from quietswap.service.storage import migrate
    from quietswap.service.storage.database_urls import is_embedded, missing_file
    from quietswap.service.storage.factory import open_database

    async def version() -> int:
        database = await open_database(settings.storage.url, connections=1)
        try:
            return await migrate.current_version(database)
        finally:
            await database.close()

    if missing := missing_file(settings.storage.url):
        return [f"storage.url: there is no file {missing}, and only a start creates one"]
    if not is_embedded(settings.storage.url):
        return []
    found, needed = asyncio.run(version()), migrate.known()[-1].version
    if found in (0, needed):
        return []
    versions = f"the database has schema {found}, this release needs {needed}"
    return [f"storage.url: {versions}: only a start or quietswap migrate changes it"]


def _store_of(failure: str, settings: Settings) -> str:
    """Return the setting of the store that failed, with its host and no password."""
    from quietswap.service.storage.database_urls import shown_host

    name, url = "storage.url", settings.storage.url
    if failure.startswith("Redis") and settings.storage.redis_url:
        name, url = "storage.redis_url", settings.storage.redis_url
    return f"{name} ({shown_host(url)})" if shown_host(url) else name


def may_serve(settings: Settings) -> bool:
    """Return whether no process that serves from the database excludes one with these settings.

    It acquires the lock of the processes that serve, and releases it. Raises StoreUnavailable.
    """
    from quietswap.service.base.clock import SystemClock
    from quietswap.service.storage.database_urls import missing_file
    from quietswap.service.storage.factory import open_storage

    async def ask() -> bool:
        storage = await open_storage(
            settings.storage.url,
            clock=SystemClock(),
            rates_url=settings.storage.redis_url,
            checked=False,
        )
        try:
            return await storage.serving.acquire_or_renew()
        finally:
            await storage.close()

    if missing_file(settings.storage.url):
        return True
    return asyncio.run(ask())


def _unusable_choices(settings: Settings) -> list[str]:
    """Return the faults that otherwise appear only when the service builds its objects."""
    from quietswap.service.api.middleware.headers import (
        InvalidHost,
        InvalidOrigin,
        checked_host,
        checked_origin,
    )
    from quietswap.service.base.clock import SystemClock
    from quietswap.service.server import factories
    from quietswap.service.server.container import build_adapters
    from quietswap.service.server.traces import check_traces
    from quietswap.service.storage.database_urls import BadDatabaseUrl, check_redis_url, is_embedded

    faults = []
    checks: tuple[Callable[[], object], ...] = (
        lambda: build_adapters(settings, SystemClock()),
        lambda: factories.token_policy(settings),
        lambda: token_catalogue.token_catalogue(settings),
        lambda: factories.check_body_limits(settings),
        lambda: factories.trusted_networks(settings),
        lambda: factories.swap_terms(settings),
        lambda: factories.wrap_terms(settings),
        lambda: [factories.routers(settings, name) for name in factories.chosen_sources(settings)],
        lambda: is_embedded(settings.storage.url),
        lambda: check_redis_url(settings.storage.redis_url),
        lambda: check_traces(settings),
        lambda: [checked_origin(origin) for origin in settings.server.cors_origins],
        lambda: [checked_host(host) for host in settings.server.allowed_hosts],
    )
    for check in checks:
        try:
            check()
        except InvalidOrigin as error:
            faults.append(f"server.cors_origins: {error}")
        except InvalidHost as error:
            faults.append(f"server.allowed_hosts: {error}")
        except (BadSettings, BadDatabaseUrl) as error:
            faults.extend(str(error).splitlines())
    return list(dict.fromkeys(faults))
