"""`serve --check --stores` says which stores it reached."""

from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from quietswap.cli import command
from tests.databases import RedisServer


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
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__URL="postgresql://127.0.0.1:1/none")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "PostgreSQL" in done.stderr
    redis = f"unix://{tmp_path}/none.sock"
    done = check(tmp_path, monkeypatch, "--stores", STORAGE__REDIS_URL=redis)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Redis" in done.stderr
