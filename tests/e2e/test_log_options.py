"""What an operator chooses about the log, and the audit log, on a running service."""

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

from tests import forked
from tests.e2e.conftest import Town
from tests.e2e.serving import Served, serving

INFO = "/api/v1/mev/wrap/info"


def admin(town: Town, folder: Path, *words: str, **more: str) -> "subprocess.CompletedProcess[str]":
    """Run an operator's command on the database that `serving` uses in `folder`."""
    own = {
        "QUIETSWAP_SETTINGS": town.facts["settingsFile"],
        "QUIETSWAP_STORAGE__URL": f"sqlite:///{folder / 'own.sqlite3'}",
    }
    return forked.run(words, forked.without_settings() | own | more)


def requests_of(served: Served) -> list[dict[str, Any]]:
    return [line for line in served.lines() if line["event"] == "request_answered"]


def test_a_revoked_key_is_named_by_its_id(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path) as served:
        [known] = json.loads(admin(town, tmp_path, "keys", "list", "--json").stdout)
        assert admin(town, tmp_path, "keys", "revoke", known["id"]).returncode == 0
        answer = served.town.api.get(INFO)
        wrong = served.town.api.get(INFO, headers={"X-API-Key": "qs_wrong"})
        served.stop()
        lines = {line["request"]: line for line in requests_of(served)}
    line = lines[answer.headers["X-Request-Id"]]
    assert (line["status"], line["key"], line["revoked_key"]) == (401, None, known["id"])
    assert "revoked_key" not in lines[wrong.headers["X-Request-Id"]]


def test_the_clients_address_comes_from_a_trusted_proxy_alone(town: Town, tmp_path: Path) -> None:
    sent = {"X-Forwarded-For": "203.0.113.9, 198.51.100.7"}
    with serving(town, tmp_path) as served:
        served.town.api.get(INFO, headers=sent)
        served.stop()
        assert requests_of(served)[-1]["client"] == "127.0.0.1"
    with serving(town, tmp_path, SERVER__TRUSTED_PROXIES="127.0.0.1") as served:
        served.town.api.get(INFO, headers=sent)
        served.stop()
        assert requests_of(served)[-1]["client"] == "198.51.100.7"
    with serving(town, tmp_path, OBSERVE__LOG_CLIENT_ADDRESS="false") as served:
        served.town.api.get(INFO, headers=sent)
        served.stop()
        assert "client" not in requests_of(served)[-1]


def test_requests_need_not_be_logged(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path, OBSERVE__ACCESS_LOG="false") as served:
        served.town.api.get(INFO)
        served.stop()
        assert {"service_starting", "settings_loaded"} <= {li["event"] for li in served.lines()}
        assert requests_of(served) == []


def test_the_level_decides_what_is_written(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path, OBSERVE__LOG_LEVEL="warning") as served:
        town.fault("node", "down")
        try:
            assert served.town.quote().status_code == 503
        finally:
            town.heal("node")
        served.stop()
        levels = {line["level"] for line in served.lines()}
    assert "warning" in levels
    assert "info" not in levels


def test_lines_can_be_text_for_people(town: Town, tmp_path: Path) -> None:
    with serving(town, tmp_path, OBSERVE__LOG_FORMAT="console") as served:
        served.town.api.get(INFO, headers={"X-Request-Id": "find-me"})
        served.stop()
        text = served.log.read_text("utf-8")
    [line] = [line for line in text.splitlines() if "find-me" in line]
    assert " info    request_answered request=find-me endpoint=" in line
    assert "client=127.0.0.1" in line
    assert "{" not in text


def test_what_operators_do_is_in_the_audit_log(town: Town, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    variable = {"QUIETSWAP_OBSERVE__AUDIT_FILE": str(file)}
    with serving(town, tmp_path, OBSERVE__AUDIT_FILE=str(file)) as served:
        made = admin(town, tmp_path, "keys", "create", "--name", "second", "--json", **variable)
        key = json.loads(made.stdout)
        admin(town, tmp_path, "keys", "revoke", key["id"], **variable)
        assert admin(town, tmp_path, "keys", "revoke", "key_none", **variable).returncode == 1
        admin(town, tmp_path, "migrate", **variable)
        served.stop()
    text = file.read_text("utf-8")
    records = [json.loads(line) for line in text.splitlines()]
    assert [(record["event"], record.get("outcome")) for record in records] == [
        ("settings_loaded", None),
        ("key_created", "done"),
        ("key_revoked", "done"),
        ("key_revoked", "failed"),
        ("database_migrated", "done"),
    ]
    assert records[1]["key"] == records[2]["key"] == key["id"]
    assert records[1]["name"] == "second"
    assert records[0]["file"] == town.facts["settingsFile"]
    assert "QUIETSWAP_OBSERVE__AUDIT_FILE" in records[0]["environment"]
    assert len(records[0]["fingerprint"]) == 16
    assert all({"timestamp", "user", "host", "pid"} <= record.keys() for record in records)
    assert key["key"] not in text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_done_where_it_cannot_be_recorded(town: Town, tmp_path: Path) -> None:
    variable = {"QUIETSWAP_OBSERVE__AUDIT_FILE": "/nowhere/audit.jsonl"}
    done = admin(town, tmp_path, "keys", "create", **variable)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "observe.audit_file: /nowhere/audit.jsonl: No such file" in done.stderr
    assert "nothing was done" in done.stderr
    assert json.loads(admin(town, tmp_path, "keys", "list", "--json").stdout) == []
    check = admin(town, tmp_path, "serve", "--check", **variable)
    assert check.returncode == 2
    assert "observe.audit_file: /nowhere/audit.jsonl cannot be written" in check.stderr
