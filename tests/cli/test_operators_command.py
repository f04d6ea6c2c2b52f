"""Operators, as an administrator types them."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

from click.testing import CliRunner

from quietswap.cli import command
from quietswap.rules.clients import AuditEntry
from quietswap.service.base.clock import SystemClock
from tests.cli.operator_commands import Run, told
from tests.patient import open_storage

SECRET = "qo_" + "0123456789abcdef" * 4


def test_a_secret_is_shown_once_and_stored_only_as_a_hash(operate: Run, tmp_path: Path) -> None:
    made = told(operate("operators", "create", "alice", "--json"))
    assert made["secret"].startswith("qo_")
    assert (made["name"], made["revokedAt"], made["lastLoginAt"]) == ("alice", None, None)
    [listed] = told(operate("operators", "list", "--json"))
    assert listed == {name: value for name, value in made.items() if name != "secret"}
    with closing(sqlite3.connect(tmp_path / "own.db")) as database:
        dump = "\n".join(database.iterdump())
    assert made["id"] in dump
    assert made["secret"] not in dump
    assert made["secret"].removeprefix("qo_") not in dump


def test_text_output_names_the_place_to_log_in(operate: Run) -> None:
    done = operate("operators", "create", "alice")
    assert done.stdout.startswith("qo_")
    assert "/operator" in done.stderr
    header, line = operate("operators", "list").stdout.splitlines()
    assert header.split("  ")[0] == "operator"
    assert line.split()[1:3] == ["live", "alice"]
    assert line.endswith("never")


def test_a_name_belongs_to_one_live_operator(operate: Run) -> None:
    first = told(operate("operators", "create", "alice", "--json"))
    assert "alice" in operate("operators", "create", "alice", code=1).stderr
    revoked = told(operate("operators", "revoke", "alice", "--json"))
    assert revoked["id"] == first["id"]
    second = told(operate("operators", "create", "alice", "--json"))
    assert second["id"] != first["id"]
    operate("operators", "revoke", first["id"], code=1)
    operate("operators", "revoke", second["id"])
    states = [one["revokedAt"] is None for one in told(operate("operators", "list", "--json"))]
    assert states == [False, False]


def test_each_change_is_in_the_audit_log(operate: Run) -> None:
    made = told(operate("operators", "create", "alice", "--json"))
    operate("operators", "revoke", "alice")
    entries = told(operate("audit", "list", "--json"))
    assert [(one["event"], one["details"]["operator"]) for one in entries] == [
        ("operator_created", made["id"]),
        ("operator_revoked", made["id"]),
    ]
    assert made["secret"] not in json.dumps(entries)


def test_a_secret_from_standard_input(operate: Run) -> None:
    words = ["operators", "create", "alice", "--secret-stdin", "--json"]
    operate("operators", "list")  # the database exists
    done = CliRunner().invoke(command, words, input=SECRET)
    assert json.loads(done.stdout)["secret"] == SECRET
    again = CliRunner().invoke(command, [*words[:2], "bob", *words[3:]], input=SECRET)
    assert again.exit_code == 1
    wrong = CliRunner().invoke(command, words, input="qs_" + "5" * 64)
    assert wrong.exit_code == 2
    assert "5" * 16 not in wrong.output


def test_an_empty_list_says_what_to_do(operate: Run) -> None:
    assert "operators create" in operate("operators", "list").stderr


def test_the_audit_log_names_the_operator_of_an_action(operate: Run, tmp_path: Path) -> None:
    operate("operators", "create", "alice")

    async def act() -> None:
        storage = await open_storage(f"sqlite:///{tmp_path / 'own.db'}", clock=SystemClock())
        who = {"operator": "alice", "operatorId": "opr_1"}
        await storage.audit.append(AuditEntry("aud_z", 2**40, who, "key_revoked", {"key": "key_1"}))
        await storage.close()

    asyncio.run(act())
    [line] = [one for one in operate("audit", "list").stdout.splitlines() if "key_revoked" in one]
    assert "  operator alice  " in line
