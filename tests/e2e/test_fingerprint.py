"""The settings' fingerprint in the log tells which settings are in use, and no secret."""

from pathlib import Path

import pytest

from quietswap.service.server.settings import BadSettings, load
from quietswap.service.server.settings_summary import settings_summary

BASE = {
    "QUIETSWAP_NODE__URLS": "https://me:pw@node.example/v2?k=1",
    "QUIETSWAP_STORAGE__URL": "postgresql://me:pw@db.example/one",
    "QUIETSWAP_STORAGE__REDIS_URL": "redis://:pw@cache.example/0",
    "QUIETSWAP_RELAY__FIRST__URL": "https://relay.example?key=1",
    "QUIETSWAP_SOURCE__ZEROEX__URL": "https://zeroex.example",
    "QUIETSWAP_SOURCE__ZEROEX__API_KEY": "one",
}


def fingerprint(**changes: str) -> str:
    named = {f"QUIETSWAP_{name}": text for name, text in changes.items()}
    return str(settings_summary(load(None, BASE | named), None)["fingerprint"])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("NODE__URLS", "https://other.example/v2"),
        ("NODE__URLS", "https://me:pw@node.example/v2?k=1,https://second.example"),
        ("STORAGE__URL", "postgresql://me:pw@db.example/two"),
        ("STORAGE__URL", "sqlite:///quietswap.sqlite3"),
        ("STORAGE__REDIS_URL", "redis://:pw@cache.example/1"),
        ("RELAY__FIRST__URL", "https://relay.example:444?key=1"),
        ("SOURCE__ZEROEX__URL", "http://zeroex.example"),
        ("SERVER__RATE_LIMIT", "7"),
    ],
)
def test_another_place_is_another_fingerprint(name: str, other: str) -> None:
    assert fingerprint(**{name: other}) != fingerprint()


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("NODE__URLS", "https://you:secret@node.example/v2?k=2"),
        ("STORAGE__URL", "postgresql://you:secret@db.example/one?password=x"),
        ("STORAGE__REDIS_URL", "redis://:secret@cache.example/0"),
        ("RELAY__FIRST__URL", "https://relay.example?key=2#x"),
        ("SOURCE__ZEROEX__API_KEY", "two"),
    ],
)
def test_another_secret_is_the_same_fingerprint(name: str, other: str) -> None:
    assert fingerprint(**{name: other}) == fingerprint()


def test_the_environment_that_is_named_is_the_one_that_was_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("QUIETSWAP_SERVER__RATE_LIMIT", "7")
    facts = settings_summary(load(None), Path("x.toml"))
    assert "QUIETSWAP_SERVER__RATE_LIMIT" in facts["environment"]
    assert "QUIETSWAP_SERVER__PORT" not in facts["environment"]


@pytest.mark.parametrize("in_file", [True, False])
def test_a_value_that_is_none_of_a_list_is_told_the_list(tmp_path: Path, in_file: bool) -> None:
    file, variables = None, {}
    if in_file:
        file = tmp_path / "own.toml"
        file.write_text('[observe]\nlog_level = "loud"\n', "utf-8")
    else:
        variables = {"QUIETSWAP_OBSERVE__LOG_LEVEL": "loud"}
    with pytest.raises(BadSettings, match="there is debug, info, warning, error") as refused:
        load(file, variables or {"HOME": "/"})
    assert "\n" not in str(refused.value)
