"""The granian server process. A failed reload (SIGHUP) keeps the running workers."""

import json
import os
import subprocess
import sys
from functools import partial
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from typing import Any

import click
import msgspec
from granian.constants import HTTPModes, Interfaces, Loops, SSLProtocols
from granian.server import MPServer

from quietswap import __version__
from quietswap.rules.operator.operators import AuditUnavailable
from quietswap.service import observe
from quietswap.service.operator.audit_file import AuditFile
from quietswap.service.orders.tracking.single_process import WHY_NOT_ALONE, WHY_NOT_SHARED
from quietswap.service.server import asgi, garbage_collection
from quietswap.service.server.connections import HEAD_BOUNDS, most_connections, raise_file_limit
from quietswap.service.server.free_port import wait_for_free_port
from quietswap.service.server.settings import BadSettings, load
from quietswap.service.server.settings_summary import settings_summary
from quietswap.service.server.shutdown import KILLED_AFTER_S
from quietswap.service.settings import ServerConfig, Settings
from quietswap.service.storage.database_urls import is_same_database

LOWEST_TLS = SSLProtocols.tls13
"""The spec requires TLS 1.3. Given explicitly, so that another default of granian has no effect."""
_CHECK_WITHIN_S = 30
_CHECK = (sys.executable, "-m", "quietswap", "serve", "--check", "--stores", "--json")
_FIXED = ("host", "port", "workers")
"""Settings of the server process. They change only at a restart."""
_UP_WITHIN_S = 30.0
_LOOK_EVERY_S = 0.1
_STEADY_S = 0.5
"""A worker can still fail after it reports readiness, while granian sets up its listener."""
_NOT_UP = (
    "a worker with the new settings did not come up (log event start_failed has the reason): "
    "the service keeps the old settings"
)


def run_server(settings: Settings, path: Path | None, options: dict[str, str]) -> None:
    """Serve until SIGINT or SIGTERM. Raises click.ClickException if it cannot start.

    `options` holds the command-line options, by their names in `server`. They also apply after a
    reload.
    """
    if path is not None:
        os.environ["QUIETSWAP_SETTINGS"] = str(path.resolve())
    observe.write_logs(settings.observe, cached=False)
    server = settings.server
    wait_for_free_port(server.host, server.port, say=observe.port_awaited)
    _record(settings, "settings_loaded", "start", settings_summary(settings, path))
    url = f"{'https' if server.tls_cert else 'http'}://{server.host}:{server.port}"
    observe.service_starting(url, __version__, server.workers)
    garbage_collection.share_with_workers()
    raise_file_limit()
    _Reloading(settings, path, options).serve()


def _record(settings: Settings, event: str, occasion: str, facts: dict[str, Any]) -> None:
    """Log the event and append it to the audit file. Raises click.ClickException."""
    observe.settings_loaded(occasion, **facts)
    try:
        AuditFile(settings.observe.audit_file).write(event, occasion=occasion, **facts)
    except AuditUnavailable as error:
        raise click.ClickException(f"quietswap cannot start: {error}") from error


class _Reloading(MPServer):
    """On SIGHUP, a separate process checks the settings before any worker is replaced."""

    def __init__(self, settings: Settings, path: Path | None, options: dict[str, str]) -> None:
        server = settings.server
        super().__init__(
            "quietswap.service.server.asgi:create_app",
            factory=True,
            address=server.host,
            port=server.port,
            interface=Interfaces.ASGI,
            loop=Loops.uvloop,
            workers=server.workers,
            websockets=False,
            backpressure=most_connections(),
            log_enabled=False,
            ssl_cert=Path(server.tls_cert) if server.tls_cert else None,
            ssl_key=Path(server.tls_key) if server.tls_key else None,
            ssl_protocol_min=LOWEST_TLS,
            http=HTTPModes.http1,  # the other modes have no time limit for an idle connection
            http1_settings=HEAD_BOUNDS,
            workers_kill_timeout=KILLED_AFTER_S,
            respawn_failed_workers=True,
        )
        self._settings = settings
        self._path = path
        self._variables = {f"QUIETSWAP_SERVER__{n.upper()}": text for n, text in options.items()}
        self._words = [w for n, text in options.items() for w in (f"--{n.replace('_', '-')}", text)]

    def _reload(self, spawn_target: Any, target_loader: Any) -> None:
        """Replace the workers if the settings pass the check; keep them otherwise."""
        self.reload_signal = False
        self.main_loop_interrupt.clear()
        faults, may_serve = _reload_faults(self._words)
        if self.interrupt_signal:  # received during the check: the main loop must handle it
            self.main_loop_interrupt.set()
            return
        if faults or (settings := self._reread(faults)) is None:
            self._refuse(faults)
            return
        if not may_serve and (why := self._excluded(settings)):
            self._refuse([why])
            return
        self._change_to(settings, spawn_target, target_loader)

    def _excluded(self, settings: Settings) -> str | None:
        """Return why new workers must not start, if a process has the lock that they need.

        The worker of this server has it, or another process.
        """
        old, new = self._settings.storage, settings.storage
        if not is_same_database(old.url, new.url):
            return f"storage.url: {WHY_NOT_SHARED if new.redis_url else WHY_NOT_ALONE}"
        if old.redis_url is not None and new.redis_url is None:
            return "storage.redis_url: only a restart removes it: others may share the database"
        return None

    def _change_to(self, settings: Settings, spawn_target: Any, target_loader: Any) -> None:
        """Replace the workers. If a new worker does not start, restore the old settings."""
        before = self._settings
        is_alone = None in (before.storage.redis_url, settings.storage.redis_url)
        old, new = before.server, settings.server
        waiting = [name for name in _FIXED if getattr(old, name) != getattr(new, name)]
        fixed_values = {name: getattr(old, name) for name in _FIXED}
        settings = msgspec.structs.replace(
            settings, server=msgspec.structs.replace(new, **fixed_values)
        )
        self._use(settings)
        changed = []
        for index in range(len(self.wrks)):
            changed.append(index)
            if not self._replace(index, spawn_target, target_loader, is_alone):
                self._go_back(before, changed, spawn_target, target_loader)
                return
        self._note(waiting)

    def _go_back(
        self, settings: Settings, changed: list[int], spawn_target: Any, target_loader: Any
    ) -> None:
        self._use(settings)
        self._refuse([_NOT_UP])
        workers: list[Any] = self.wrks
        for index in changed:
            if self.interrupt_signal:
                return
            if index == changed[-1] and workers[index].is_alive():
                continue  # it was not stopped, because its replacement did not start
            if not self._replace(index, spawn_target, target_loader, ends_first=True):
                self.interrupt_children.append(index)  # granian's main loop starts it once more
                self.main_loop_interrupt.set()

    def _reread(self, faults: list[str]) -> Settings | None:
        try:
            return load(self._path, os.environ | self._variables)
        except BadSettings as error:  # changed again since the check
            faults.extend(str(error).splitlines())
            return None

    def _refuse(self, faults: list[str]) -> None:
        observe.reload_refused(faults)
        try:
            AuditFile(self._settings.observe.audit_file).write("reload_refused", faults=faults)
        except AuditUnavailable as error:
            observe.reload_refused([str(error)])

    def _use(self, settings: Settings) -> None:
        """Use these settings for all workers started later."""
        self._settings = settings
        self._load_certificate(settings.server)

    def _note(self, waiting: list[str]) -> None:
        """Record the settings now in use, and those that need a restart."""
        observe.write_logs(self._settings.observe, cached=False)
        facts = settings_summary(self._settings, self._path)
        if waiting:
            facts["needs_restart"] = [f"server.{name}" for name in waiting]
        try:
            _record(self._settings, "settings_loaded", "reload", facts)
        except click.ClickException as error:
            observe.reload_refused([error.message])

    def _load_certificate(self, server: ServerConfig) -> None:
        cert = Path(server.tls_cert) if server.tls_cert else None
        key = Path(server.tls_key) if server.tls_key else None
        self.build_ssl_context(cert, key, None, LOWEST_TLS, None, [], False)

    def _spawn_worker(  # type: ignore[override]
        self, idx: int, target: Any, callback_loader: Any
    ) -> Any:
        """Return a worker that uses this process's settings, not the file's current content.

        `callback_loader` would read the file again. The worker's `up` pipe reports its start.
        """
        reader, writer = Pipe(duplex=False)
        loader = partial(asgi.application, self._settings, writer)
        worker: Any = super()._spawn_worker(idx, target, loader)
        worker.up, worker.writer = reader, writer
        return worker

    def _replace(self, index: int, spawn_target: Any, target_loader: Any, ends_first: bool) -> bool:
        """Return whether a new worker started in place of an old one.

        `ends_first` stops the old worker first, because only one may serve from the database.
        Requests in flight complete; new connections are refused until the new worker listens.
        Otherwise the old worker keeps running if the new one does not start.
        """
        workers: list[Any] = self.wrks
        old = workers[index]
        if ends_first:
            _end(old)
        new = self._spawn_worker(index, spawn_target, target_loader)
        new.interrupt_by_parent = True  # this method handles its exit, not granian's main loop
        new.start()
        if not self._comes_up(new):
            _end(new)
            return False
        workers[index] = new
        new.interrupt_by_parent = False
        if not ends_first:
            _end(old)
        return True

    def _comes_up(self, worker: Any) -> bool:
        """Return whether the worker reports its start and keeps its pipe open for `_STEADY_S`.

        `is_alive` is not used: a granian thread waits for the same process, and of two concurrent
        waiters one can get a wrong result.
        """
        worker.writer.close()
        up: Connection = worker.up
        for _ in range(int(_UP_WITHIN_S / _LOOK_EVERY_S)):
            if up.poll(_LOOK_EVERY_S):
                return _has_message(up) and not up.poll(_STEADY_S)
            if self.interrupt_signal:
                return False
        return False


def _has_message(up: Connection) -> bool:
    try:
        up.recv_bytes()
    except (EOFError, OSError):
        return False
    return True


def _end(worker: Any) -> None:
    worker.terminate()
    worker.join(KILLED_AFTER_S)
    if worker.is_alive():
        worker.kill()
        worker.join()


def _reload_faults(options: list[str]) -> tuple[list[str], bool]:
    """Return the problems that a new process reports, and whether it got the database lock.

    `options` are words of a command line, as at the start: as variables they would replace, and so
    hide, what the settings file has.
    """
    try:
        done = subprocess.run(  # noqa: S603  our own command line
            (*_CHECK, *options),
            capture_output=True,
            text=True,
            timeout=_CHECK_WITHIN_S,
            check=False,
        )
        answer = json.loads(done.stdout.splitlines()[-1])
        if answer["ok"]:
            return answer["needsStart"], answer["alone"]
        return answer.get("faults") or [answer.get("message", "the settings cannot be used")], False
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError) as error:
        return [f"the settings could not be checked: {type(error).__name__}"], False
