"""An operator's first day: a database that cannot be used ends each command in one clear line."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.databases import PostgresCluster

pytestmark = pytest.mark.xdist_group("operator-mistakes")

COMMANDS = [("migrate",), ("keys", "list"), ("orders", "list")]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresCluster]:
    cluster = PostgresCluster()
    yield cluster
    cluster.close()


def operate(url: str, *words: str, **own: str) -> "subprocess.CompletedProcess[str]":
    done = forked.run(words, forked.without_settings() | own | {"QUIETSWAP_STORAGE__URL": url})
    assert "Traceback" not in done.stderr
    assert "hush" not in done.stdout + done.stderr
    return done


@pytest.mark.parametrize("words", COMMANDS)
def test_a_login_that_is_refused_is_unreachable(
    postgres: PostgresCluster, words: tuple[str, ...]
) -> None:
    name = asyncio.run(postgres.migrated()).partition("?")[0].rpartition("/")[2]
    postgres.guest("right", "all")
    socket = postgres.url().partition("?")[2]
    cases = {
        f"postgresql://guest:hush@/{name}?{socket}": "user or password is wrong",
        f"postgresql://guest:right@/{name}?{socket}": "the user lacks rights",
        f"postgresql://postgres@/nowhere?{socket}": "there is no such database",
    }
    for url, said in cases.items():
        done = operate(url, *words)
        assert (done.returncode, done.stdout) == (3, "")
        assert said in done.stderr
        assert "storage.url" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    postgres.guest("right", "template1")
    done = operate(f"postgresql://guest:right@/{name}?{socket}", *words)
    assert done.returncode == 3
    assert "may not log in" in done.stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:hush@h/d?sslmode=bogus", "sslmode is one of"),
        ("postgresql://u:hush@h/d?target_session_attrs=zzz", "target_session_attrs is one of"),
        ("postgresql://u:hush@h:99999/d", "its host and port"),
        ("postgresql://u:hush@h%00/d", "%00"),
    ],
)
@pytest.mark.parametrize("words", COMMANDS)
def test_a_url_that_cannot_be_used_is_a_bad_setting(
    words: tuple[str, ...], url: str, said: str
) -> None:
    done = operate(url, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"storage.url: {said}" in done.stderr


def test_a_sqlite_url_with_options_makes_no_file(tmp_path: Path) -> None:
    done = operate(f"sqlite:///{tmp_path}/x.db?mode=ro", "keys", "list")
    assert done.returncode == 2
    assert "storage.url" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_to_copy_from_is_named(postgres: PostgresCluster, tmp_path: Path) -> None:
    file = tmp_path / "hostname"
    file.write_text("no database at all, but long enough to be read as the header of a file")
    url = asyncio.run(postgres.empty())
    done = operate(url, "migrate", "--from", f"sqlite:///{file}")
    assert done.returncode == 1
    assert "--from: the SQLite file /" in done.stderr
    assert "storage.url" not in done.stderr


def test_a_database_without_its_schema_is_named(postgres: PostgresCluster) -> None:
    url = asyncio.run(postgres.empty())
    own = {"QUIETSWAP_NODE__URLS": "http://127.0.0.1:9"}
    redis = {"QUIETSWAP_STORAGE__REDIS_URL": "redis://127.0.0.1:1"}
    for words, more in ((("--check", "--stores"), {}), ((), {}), ((), redis)):
        done = operate(url, "serve", *words, **own, **more)
        assert done.returncode == (2 if words else 1), done.stderr
        assert "the database has schema 0, this release needs" in done.stderr
        assert "run quietswap migrate" in done.stderr


def test_what_was_copied_is_not_called_nothing(postgres: PostgresCluster, tmp_path: Path) -> None:
    source, url = f"sqlite:///{tmp_path}/own.db", asyncio.run(postgres.migrated())
    assert operate(source, "keys", "create").returncode == 0
    done = operate(url, "migrate", "--from", source)
    assert done.returncode == 0
    assert "copied 1 row of api_keys" in done.stdout
    assert "nothing" not in done.stdout


@pytest.mark.parametrize("rates", ["", "redis://127.0.0.1:1"])
def test_serving_without_its_database_is_said_once(rates: str) -> None:
    own = {"QUIETSWAP_NODE__URLS": "http://127.0.0.1:9"}
    own |= {"QUIETSWAP_STORAGE__REDIS_URL": rates} if rates else {}
    done = operate("postgresql://u:hush@127.0.0.1:1/d", "serve", **own)
    said = "PostgreSQL: ConnectionRefusedError: is storage.url right, and the database up?"
    assert (done.returncode, done.stdout) == (3, "")
    [line] = done.stderr.splitlines()
    assert json.loads(line)["message"] == f"quietswap cannot start: {said}"


STRAY = "careful: QUIETSWAP_X names no setting and is ignored; `quietswap serve` refuses it\n"


@pytest.mark.parametrize(
    "words",
    [
        ("keys", "create", "--name", "x", "--json"),
        ("keys", "list", "--json"),
        ("clients", "list", "--json"),
        ("operators", "list", "--json"),
        ("orders", "list", "--json"),
        ("audit", "list", "--json"),
        ("rpc", "list", "--json"),
        ("migrate", "--json"),
    ],
)
def test_a_stray_variable_is_named_and_stops_no_command_that_does_not_read_it(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    url = f"sqlite:///{tmp_path}/own.sqlite3"
    assert operate(url, "migrate").returncode == 0
    done = operate(url, *words, QUIETSWAP_X="1")
    assert (done.returncode, done.stderr.count(STRAY)) == (0, 1), done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(
    "name", ["STORAGE_URL", "STORGE__URL", "STORAGE__REDIS", "STORAGE", "OBSERVE_AUDIT_FILE"]
)
def test_a_variable_that_may_be_meant_for_the_command_stops_it(tmp_path: Path, name: str) -> None:
    """A key in another database than the service's would be a key that does not work."""
    url = f"sqlite:///{tmp_path}/own.sqlite3"
    done = operate(url, "keys", "create", "--name", "x", **{f"QUIETSWAP_{name}": "hush"})
    assert done.returncode == 2
    assert f"QUIETSWAP_{name}" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_would_matter_to_the_service_stops_the_service(tmp_path: Path) -> None:
    url, node = f"sqlite:///{tmp_path}/own.sqlite3", "http://127.0.0.1:9"
    for words in (("serve", "--check"), ("serve",), ("sources", "check")):
        done = operate(url, *words, QUIETSWAP_X="1", QUIETSWAP_NODE__URLS=node)
        assert done.returncode == 2
        assert "QUIETSWAP_X: there is no setting x" in done.stderr


@pytest.mark.parametrize("word", ["zz", "0x12", f"0x{'5' * 63}g"])
def test_no_node_is_asked_for_what_is_no_hash(tmp_path: Path, word: str) -> None:
    done = operate(f"sqlite:///{tmp_path}/x.db", "orders", "adopt", word, "--client", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Invalid value for 'HASH': '{word}' is no transaction hash" in done.stderr
    assert list(tmp_path.iterdir()) == []
