"""`serve --check --stores` says which stores it reached."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quietswap.adapters.clock import SystemClock
from quietswap.cli import command
from quietswap.services.single_process import SingleProcessGuard
from tests.databases import RedisServer
from tests.patient import open_storage


def check(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str, **storage: str) -> Result:
    variables = {"NODE__URLS": "http://127.0.0.1:9", "STORAGE__URL": f"sqlite:///{folder}/own.db"}
    for name, value in (variables | storage).items():
        monkeypatch.setenv(f"QUIETSWAP_{name}", value)
    return CliRunner().invoke(command, ["serve", "--check", *words])


def test_the_database_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = check(tmp_path, monkeypatch)
    assert (plain.exit_code, "reached" in plain.output) == (0, False)
    done = check(tmp_path, monkeypatch, "--stores")
    assert done.exit_code == 0, done.output
    database = f"the database sqlite:///{tmp_path}/own.db was reached and takes writes"
    assert f"{database}; Redis is not set (storage.redis_url)" in done.stdout


def test_redis_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(RedisServer()) as redis:
        done = check(tmp_path, monkeypatch, "--stores", STORAGE__REDIS_URL=redis.url)
        assert done.exit_code == 0, done.output
        assert "takes writes; Redis was reached" in done.stdout


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
    monkeypatch.setattr("quietswap.services.single_process.PREDECESSOR_S", 0.5)
    with asyncio.Runner() as own:
        storage = own.run(open_storage(f"sqlite:///{tmp_path}/own.db", clock=SystemClock()))
        own.run(SingleProcessGuard(storage.alone, SystemClock()).begin(0))
        for name, value in (("NODE__URLS", "http://127.0.0.1:9"), ("SERVER__PORT", "0")):
            monkeypatch.setenv(f"QUIETSWAP_{name}", value)
        monkeypatch.setenv("QUIETSWAP_STORAGE__URL", f"sqlite:///{tmp_path}/own.db")
        done = CliRunner().invoke(command, ["serve"])
        own.run(storage.close())
    assert (done.exit_code, done.stdout) == (1, "")
    waiting = "another process serves from this database: waiting 0.5 s for its end\n"
    assert done.stderr.count(waiting) == 1
    assert done.stderr.index(waiting) < done.stderr.index("quietswap cannot start")
