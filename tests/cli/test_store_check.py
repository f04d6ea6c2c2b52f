"""`serve --check --stores` says which stores it reached."""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from quietswap.service.base.clock import SystemClock
from quietswap.service.orders.tracking.single_process import SingleProcessGuard
from quietswap.service.storage import migrate
from quietswap.service.storage.file_lock import FileLeaderLock
from tests.databases import PostgresCluster, RedisServer
from tests.patient import open_database, open_storage

pytestmark = pytest.mark.xdist_group("store-check")


def check(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **storage: str) -> Result:
    variables = {"NODE__URLS": "http://127.0.0.1:9", "STORAGE__URL": f"sqlite:///{folder}/own.db"}
    for name, value in (variables | storage).items():
        monkeypatch.setenv(f"QUIETSWAP_{name}", value)
    return CliRunner().invoke(command, ["serve", "--check", *words])


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresCluster]:
    with closing(PostgresCluster()) as cluster:
        yield cluster


def test_the_database_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = check(tmp_path, monkeypatch)
    assert (plain.exit_code, "reached" in plain.output) == (0, False)
    done = check(tmp_path, monkeypatch, "--stores")
    assert done.exit_code == 0, done.output
    database = f"the database sqlite:///{tmp_path}/own.db"
    assert f"{database} does not exist yet, a start creates it; Redis is not set" in done.stdout
    assert not list(tmp_path.iterdir()), "a check creates nothing"
    (tmp_path / "own.db").touch()
    done = check(tmp_path, monkeypatch, "--stores")
    assert done.exit_code == 0, done.output
    assert f"{database} was reached and takes writes; Redis is not set (storage" in done.stdout


def test_nothing_of_the_query_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresCluster
) -> None:
    """A password may stand there."""
    url = asyncio.run(postgres.migrated())
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__URL=f"{url}&password=hush")
    assert (done.exit_code, "was reached" in done.output) == (0, True), done.output
    assert "hush" not in done.output


def test_redis_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own.db").touch()
    with closing(RedisServer()) as redis:
        done = check(tmp_path, monkeypatch, "--stores", STORAGE__REDIS_URL=redis.url)
        assert done.exit_code == 0, done.output
        assert "takes writes; Redis was reached" in done.stdout


@pytest.mark.parametrize(("ahead_s", "word"), [(120, "s ahead of"), (-7, "s behind"), (0, None)])
def test_a_clock_that_is_off_the_databases_is_named(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    postgres: PostgresCluster,
    ahead_s: int,
    word: str | None,
) -> None:
    now_ms = SystemClock.now_ms
    monkeypatch.setattr(SystemClock, "now_ms", lambda self: now_ms(self) + ahead_s * 1000)
    url = asyncio.run(postgres.migrated())
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__URL=url)
    assert done.exit_code == 0, done.output
    warning = "warning: the local clock is" in done.stdout
    assert warning is (word is not None), done.stdout
    assert word is None or f" {word} that of the database: set it by NTP" in done.stdout


def test_a_store_that_is_away_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__URL="postgresql://u:pw@127.0.0.1:1/x")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "- storage.url (127.0.0.1:1): PostgreSQL: ConnectionRefusedError" in done.stderr
    redis = f"unix://{tmp_path}/none.sock"
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__REDIS_URL=redis)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "- storage.redis_url: Redis: " in done.stderr


def test_a_start_beside_another_process_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a word, twelve seconds of nothing look like a service that runs."""
    monkeypatch.setattr("quietswap.service.orders.tracking.single_process.PREDECESSOR_S", 0.5)
    with asyncio.Runner() as own:
        storage = own.run(open_storage(f"sqlite:///{tmp_path}/own.db", clock=SystemClock()))
        own.run(SingleProcessGuard(storage.serving, SystemClock()).begin(0))
        for name, value in (("NODE__URLS", "http://127.0.0.1:9"), ("SERVER__PORT", "0")):
            monkeypatch.setenv(f"QUIETSWAP_{name}", value)
        monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
        done = CliRunner().invoke(command, ["serve"])
        own.run(storage.close())
    assert (done.exit_code, done.stdout) == (1, "")
    first, *_, last = map(json.loads, done.stderr.splitlines())  # each line is JSON, as the log's
    waiting = "another process serves from this database: waiting 0.5 s for its end"
    assert (first["event"], first["message"]) == ("predecessor_awaited", waiting)
    assert (last["event"], done.stderr.count(waiting)) == ("start_failed", 1)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Result]:
    """Return a start on `own.db` that ends where it would serve. It waits 0.1 s for others."""
    monkeypatch.setattr("quietswap.service.orders.tracking.single_process.PREDECESSOR_S", 0.1)
    monkeypatch.setattr("quietswap.service.server.process.run_server", lambda *_: None)
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
    return lambda: CliRunner().invoke(command, ["serve"])


def test_a_start_with_redis_beside_a_process_without_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], Result]
) -> None:
    monkeypatch.setenv("QUIETSWAP_STORAGE__REDIS_URL", "redis://127.0.0.1:9")
    with asyncio.Runner() as own:
        lock = FileLeaderLock(tmp_path / "own.db", "server")
        assert own.run(lock.acquire_or_renew())
        done = start()
        assert done.exit_code == 1, done.output
        assert "a process without storage.redis_url serves from this database" in done.stderr
        own.run(lock.release())
        own.run(FileLeaderLock(tmp_path / "own.db", "server", shared=True).acquire_or_renew())
        assert start().exit_code == 0


def test_a_start_says_that_redis_is_away(
    monkeypatch: pytest.MonkeyPatch, start: Callable[[], Result]
) -> None:
    """It serves: each process allows its share of the limits."""
    monkeypatch.setenv("QUIETSWAP_STORAGE__REDIS_URL", "redis://127.0.0.1:9")
    done = start()
    assert done.exit_code == 0, done.output
    line = json.loads(done.stderr)
    assert (line["event"], line["reason"]) == ("store_away", "Redis: ConnectionError")


def old_release(file: Path) -> None:
    """Make a database as the release before this one left it."""

    async def run() -> None:
        database = await open_database(f"sqlite:///{file}")
        try:
            await migrate.migrate(database, migrate.known()[:-1])
        finally:
            await database.close()

    asyncio.run(run())


def version(file: Path) -> int:
    steps = "SELECT version FROM schema_version UNION SELECT version FROM schema_expansions"
    with closing(sqlite3.connect(file)) as database:
        [[found]] = database.execute(f"SELECT MAX(version) FROM ({steps})")
    return int(found)


@pytest.mark.parametrize(
    ("words", "code"), [(("serve", "--check", "--stores"), 0), (("keys", "list"), 1)]
)
def test_what_only_looks_changes_no_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: int
) -> None:
    """The release that wrote the file could not open it again."""
    old_release(tmp_path / "own.db")
    before = version(tmp_path / "own.db")
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
    done = CliRunner().invoke(command, words)
    assert done.exit_code == code, done.output
    assert ("run quietswap migrate" in done.output) is bool(code)
    assert version(tmp_path / "own.db") == before


@pytest.mark.parametrize(
    ("words", "code"),
    [(("serve", "--check", "--stores"), 2), (("serve",), 1), (("keys", "create"), 1),
     (("keys", "list"), 1), (("migrate",), 1)],
)  # fmt: skip
@pytest.mark.parametrize("table", ["orders", "schema_version"])
def test_the_file_of_another_program_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    code: int,
    table: str,
) -> None:
    """It stays as it was, and no lock is left beside it."""
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
    with closing(sqlite3.connect(tmp_path / "own.db")) as database:
        database.execute(f"CREATE TABLE {table} (version TEXT, description TEXT)")
        database.commit()
    before = (tmp_path / "own.db").read_bytes()
    done = CliRunner().invoke(command, words)
    assert done.exit_code == code, done.output
    assert "it is one of another program" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["own.db"]
    assert (tmp_path / "own.db").read_bytes() == before


@pytest.mark.parametrize("file", ["x" * 300, "own.db/audit.jsonl", "link", "loop"])
def test_an_audit_file_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    (tmp_path / "own.db").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "audit.jsonl")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    done = check(tmp_path, monkeypatch, OBSERVE__AUDIT_FILE=str(tmp_path / file))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "- observe.audit_file: " in done.stderr


@pytest.mark.parametrize("name", ["x" * 300, "own.db/inner.db", "link", "loop"])
def test_a_path_that_cannot_be_looked_at_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "own.db").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "own.db")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__URL=f"sqlite:///{tmp_path}/{name}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "- storage.url: " in done.stderr


def test_a_start_with_shared_rates_migrates_no_older_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], Result]
) -> None:
    """Another process of the older release may have it open, without any lock."""
    monkeypatch.setenv("QUIETSWAP_STORAGE__REDIS_URL", "redis://127.0.0.1:9")
    old_release(tmp_path / "own.db")
    before = version(tmp_path / "own.db")
    done = start()
    assert (done.exit_code, version(tmp_path / "own.db")) == (1, before), done.output
    assert "run quietswap migrate" in done.stderr
    assert CliRunner().invoke(command, ["migrate"]).exit_code == 0
    assert start().exit_code == 0


def test_nothing_is_migrated_without_its_audit_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quietswap.service.operator.audit_file._ROOM", 1 << 60)
    monkeypatch.setattr("quietswap.service.server.start_checks.startup_faults", lambda _: [])
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(tmp_path / "audit.jsonl"))
    old_release(tmp_path / "own.db")
    before = version(tmp_path / "own.db")
    done = CliRunner().invoke(command, ["serve"])
    assert (done.exit_code, version(tmp_path / "own.db")) == (1, before), done.output
    assert "nothing was done" in done.stderr


def test_a_start_migrates_what_no_other_process_has_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, start: Callable[[], Result]
) -> None:
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(tmp_path / "audit.jsonl"))
    old_release(tmp_path / "own.db")
    before = version(tmp_path / "own.db")
    with asyncio.Runner() as own:
        lock = FileLeaderLock(tmp_path / "own.db", "server")
        assert own.run(lock.acquire_or_renew())
        done = start()
        assert (done.exit_code, version(tmp_path / "own.db")) == (1, before), done.output
        own.run(lock.release())
    done = start()
    assert done.exit_code == 0, done.output
    assert json.loads(done.stderr)["event"] == "database_migrated"
    assert version(tmp_path / "own.db") == before + 1
    for text in (
        (tmp_path / "audit.jsonl").read_text("utf-8"),
        CliRunner().invoke(command, ["audit", "list", "--json"]).stdout,
    ):
        assert "database_migrated" in text


def test_a_newer_schema_is_no_failed_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIETSWAP_NODE__URLS", "http://127.0.0.1:9")
    monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
    monkeypatch.setenv("QUIETSWAP_OBSERVE__AUDIT_FILE", str(tmp_path / "audit.jsonl"))
    old_release(tmp_path / "own.db")
    with closing(sqlite3.connect(tmp_path / "own.db")) as database:
        database.execute("INSERT INTO schema_version VALUES (999, 'later', '')")
        database.commit()
    done = CliRunner().invoke(command, ["serve"])
    assert (done.exit_code, "use a newer release" in done.stderr) == (1, True), done.output
    assert not (tmp_path / "audit.jsonl").exists()
