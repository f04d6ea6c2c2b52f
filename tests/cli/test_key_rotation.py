"""`quietswap keys rotate`: what passes on, when the old key ends, and what is refused."""

import asyncio
import os

from quietswap.cli.options.times import time_text
from quietswap.rules.clients import WebSessionBounds
from quietswap.service.base.clock import SystemClock
from quietswap.service.web.sessions import WebSessions
from tests.cli.operator_commands import Run, told
from tests.patient import open_storage

HOUR_MS = 3_600_000


def test_a_rotated_key(operate: Run) -> None:
    old = told(operate("keys", "create", "--scope", "read", "--expires", "10h", "--json"))
    new = told(operate("keys", "rotate", old["id"], "--overlap", "2h", "--json"))
    assert (new["clientId"], new["scope"], new["name"]) == (old["clientId"], "read", "default")
    assert new["key"] != old["key"]
    by_id = {key["id"]: key for key in told(operate("keys", "list", "--json"))}
    ends = by_id[old["id"]]["expiresAt"]
    assert ends == by_id[new["id"]]["createdAt"] + 2 * HOUR_MS
    assert new["expiresAt"] - new["createdAt"] == old["expiresAt"] - old["createdAt"]
    operate("keys", "revoke", new["id"])
    for identity in (new["id"], "key_none"):
        said = operate("keys", "rotate", identity, code=1).stderr
        assert "there is no live key" in said


def test_a_rotation_tells_when_the_old_key_really_ends(operate: Run) -> None:
    old = told(operate("keys", "create", "--expires", "1h", "--json"))
    said = operate("keys", "rotate", old["id"], "--overlap", "24h").stderr
    assert f"works until {time_text(old['expiresAt'])} UTC" in said
    [entry] = told(operate("audit", "list", "--json"))[-1:]
    assert entry["details"]["oldExpiresAt"] == old["expiresAt"]
    by_id = {key["id"]: key for key in told(operate("keys", "list", "--json"))}
    assert by_id[old["id"]]["expiresAt"] == old["expiresAt"]


def test_a_key_is_rotated_once_and_names_its_successor(operate: Run) -> None:
    old = told(operate("keys", "create", "--json"))
    new = told(operate("keys", "rotate", old["id"], "--json"))
    said = operate("keys", "rotate", old["id"], code=1).stderr
    assert f"was replaced by {new['id']} already" in said
    replaced = {key["id"]: key["replacedBy"] for key in told(operate("keys", "list", "--json"))}
    assert replaced == {old["id"]: new["id"], new["id"]: None}
    said = operate("keys", "revoke", old["id"]).stderr
    assert f"RPC URLs made with it belong to {new['id']} and go on" in said
    third = told(operate("keys", "rotate", new["id"], "--json"))
    assert third["expiresAt"] is None, "the overlap is no lifetime to inherit"


def test_the_key_of_a_web_session_is_revoked(operate: Run) -> None:
    async def begin() -> str:
        clock = SystemClock()
        storage = await open_storage(os.environ["QUIETSWAP_STORAGE__URL"], clock=clock)
        sessions = WebSessions(storage.web_sessions, clock, WebSessionBounds(1, 1))
        key, _ = await sessions.begin("192.0.2.1")
        await storage.close()
        return key.id

    key_id = asyncio.run(begin())
    done = operate("keys", "revoke", key_id, "--json")
    assert (told(done)["id"], told(done)["replacedBy"]) == (key_id, None)
    operate("keys", "revoke", key_id, code=1)


def test_a_key_of_a_disabled_client_is_not_rotated(operate: Run) -> None:
    key = told(operate("keys", "create", "--name", "acme", "--json"))
    operate("clients", "disable", "acme")
    assert "is disabled" in operate("keys", "rotate", key["id"], code=1).stderr
    assert len(told(operate("keys", "list", "--json"))) == 1
