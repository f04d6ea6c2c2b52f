"""Secrets that the settings name: read from files and variables, never printed."""

import json
import os
from pathlib import Path

import pytest

from quietswap.sandbox.ports import free_port
from quietswap.service.server.settings import BadSettings, load, secret_origins
from tests.e2e.test_settings import NODE, check

KEY = "k-very-secret-0123456789"
NODE_KEY = "n-very-secret-9876543210"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good secret."""
    (tmp_path / "zeroex").write_text(f"{KEY}\n")
    return tmp_path


def settings_file(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text)
    return path


def test_files_and_variables_are_read(folder: Path) -> None:
    path = settings_file(
        folder,
        f"""
        [source.zeroex]
        api_key = "file:{folder}/zeroex"
        [source.oneinch]
        api_key = "file://{folder}/zeroex"
        [node]
        urls = ["http://127.0.0.1:9", "env:NODE_URL"]
        [relay.backup]
        url = "env:RELAY_URL"
        """,
    )
    node = f"https://node.test/{NODE_KEY}"
    found = load(path, {"NODE_URL": f" {node} ", "RELAY_URL": "https://relay.test"})
    assert found.source["zeroex"].api_key == found.source["oneinch"].api_key == KEY
    assert found.node.urls == ("http://127.0.0.1:9", node)
    assert found.relay.backup
    assert found.relay.backup.url == "https://relay.test"


def test_an_override_may_name_a_secret_too(folder: Path) -> None:
    environment = {
        "QUIETSWAP_SOURCE__ZEROEX__API_KEY": f"file:{folder}/zeroex",
        "QUIETSWAP_NODE__URLS": "http://127.0.0.1:9,env:OTHER",
        "OTHER": "http://127.0.0.1:10",
    }
    found = load(None, environment)
    assert found.source["zeroex"].api_key == KEY
    assert found.node.urls == ("http://127.0.0.1:9", "http://127.0.0.1:10")
    origins = {one.setting: one.origin for one in secret_origins(None, environment)}
    assert origins == {
        "source.zeroex.api_key": (
            f"file {folder}/zeroex, named by QUIETSWAP_SOURCE__ZEROEX__API_KEY"
        ),
        "node.urls, number 1": "environment variable QUIETSWAP_NODE__URLS",
        "node.urls, number 2": "environment variable OTHER, named by QUIETSWAP_NODE__URLS",
    }


def test_a_file_is_read_again_at_each_load(folder: Path) -> None:
    path = settings_file(folder, f'[source.zeroex]\napi_key = "file:{folder}/zeroex"')
    assert load(path, {"X": ""}).source["zeroex"].api_key == KEY
    (folder / "zeroex").write_text("another")
    assert load(path, {"X": ""}).source["zeroex"].api_key == "another"


def test_other_settings_are_taken_as_they_are_written(folder: Path) -> None:
    path = settings_file(folder, '[observe]\naudit_file = "env:NOTHING"')
    assert load(path, {"X": ""}).observe.audit_file == "env:NOTHING"


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("file:{folder}/none", "file {folder}/none: No such file or directory"),
        ("file:{folder}", "file {folder} is not a regular file"),
        ("file:{folder}/fifo", "file {folder}/fifo is not a regular file"),
        ("file:{folder}/link", "file {folder}/link is not a regular file"),
        ("file:/dev/null", "file /dev/null is not a regular file"),
        ("FILE:{folder}/zeroex", "write file: in lower case"),
        ("ENV:HOME", "write env: in lower case"),
        (" env:HOME", "write env: in lower case, with nothing before it"),
        ("file:{folder}/empty", "file {folder}/empty is empty"),
        ("file:{folder}/blank", "file {folder}/blank is empty"),
        ("file:{folder}/lines", "file {folder}/lines has more than one line"),
        ("file:{folder}/bytes", "file {folder}/bytes is not text in UTF-8"),
        ("file:{folder}/large", "file {folder}/large is larger than 64 KiB"),
        ("file:{folder}/zeroex/x", "file {folder}/zeroex/x: Not a directory"),
        ("file:", "after file: stands the path of a file"),
        ("env:UNSET", "environment variable UNSET is not set"),
        ("env:EMPTY", "environment variable EMPTY is empty"),
        ("env:", "after env: stands the name"),
        ("env:NOT A NAME", "after env: stands the name"),
    ],
)
def test_what_cannot_be_used_is_named_and_not_shown(
    folder: Path, reference: str, reason: str
) -> None:
    (folder / "empty").write_bytes(b"")
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("fifo")
    (folder / "blank").write_text(" \n\n")
    (folder / "lines").write_text(f"{KEY}\nX-Other: header\n")
    (folder / "bytes").write_bytes(b"\xff\xfe" + KEY.encode())
    (folder / "large").write_text(KEY * 4000)
    written = reference.format(folder=folder)
    path = settings_file(folder, f'[source.zeroex]\napi_key = "{written}"\n[servr]\nx = 1')
    with pytest.raises(BadSettings) as caught:
        load(path, {"EMPTY": ""})
    first, *others = str(caught.value).splitlines()
    assert first.startswith("source.zeroex.api_key: " + reason.format(folder=folder))
    assert others == ["there is no setting `servr`"], "the other faults are named, too"
    assert KEY not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read(folder: Path) -> None:
    (folder / "zeroex").chmod(0)
    path = settings_file(folder, f'[source.zeroex]\napi_key = "file:{folder}/zeroex"')
    with pytest.raises(BadSettings, match="zeroex: Permission denied"):
        load(path, {"X": ""})


def test_check_shows_where_each_comes_from_and_never_its_value(folder: Path) -> None:
    path = settings_file(
        folder,
        f"""
        [server]
        port = {free_port()}
        [source.zeroex]
        api_key = "file:{folder}/zeroex"
        [node]
        urls = ["env:NODE_URL"]
        [prices]
        coingecko_key = "{KEY}"
        """,
    )
    secret = {"NODE_URL": f"https://node.test/{NODE_KEY}"}
    done = check("--settings", str(path), **secret)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        f"source.zeroex.api_key: from file {folder}/zeroex",
        "node.urls, number 1: from environment variable NODE_URL",
        "prices.coingecko_key: from settings file",
    ]
    as_json = check("--settings", str(path), "--json", **secret)
    assert json.loads(as_json.stdout)["secrets"][0] == {
        "setting": "source.zeroex.api_key",
        "from": f"file {folder}/zeroex",
    }
    broken = check("--settings", str(path))
    assert broken.returncode == 2
    assert "node.urls, number 1: environment variable NODE_URL is not set" in broken.stderr
    for text in (done, as_json, broken):
        assert KEY not in text.stdout + text.stderr
        assert NODE_KEY not in text.stdout + text.stderr


def test_a_node_given_by_override_is_named_by_its_variable() -> None:
    done = check(**NODE)
    assert "from environment variable QUIETSWAP_NODE__URLS" in done.stdout
    assert NODE["QUIETSWAP_NODE__URLS"] not in done.stdout
