"""Actions of operators: each asks once, changes what it says, and is in the audit log."""

import json

import httpx
import pytest

from quietswap.rules.clients import ApiKey, Client
from quietswap.service.operator import audit_file
from tests.operators.conftest import Office, send, token_of

PAUSE = "/operator/sources/velora/pause"
RESUME = "/operator/sources/velora/resume"


async def a_key(office: Office) -> ApiKey:
    key = ApiKey("key_1", "bot", 1, None, "client-1")
    await office.storage.keys.add(key, b"1", Client("client-1", "acme", 1))
    return key


async def test_a_key_is_revoked_after_one_question(office: Office, desk: httpx.AsyncClient) -> None:
    await a_key(office)
    link = await desk.get("/operator/clients")
    assert "/operator/keys/key_1/revoke" in link.text
    page = await desk.get("/operator/keys/key_1/revoke")
    assert "cannot be undone" in page.text
    [before] = await office.storage.keys.list()
    assert before.revoked_at_ms is None  # the question alone changes nothing
    answer = await send(desk, "/operator/keys/key_1/revoke")
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/audit")
    [after] = await office.storage.keys.list()
    assert after.revoked_at_ms == office.clock.now_ms()
    log = await desk.get("/operator/audit")
    assert "key revoked" in log.text
    assert "operator alice" in log.text
    again = await desk.get("/operator/keys/key_1/revoke")
    assert "revoked already" in again.text
    token = token_of(await desk.get("/operator"))
    twice = await desk.post("/operator/keys/key_1/revoke", data={"token": token})
    assert twice.status_code == 409
    assert "Nothing was changed" in twice.text


async def test_each_action_names_the_operator_in_both_logs(
    office: Office, desk: httpx.AsyncClient
) -> None:
    [operator] = office.operators
    await a_key(office)
    await send(desk, "/operator/keys/key_1/revoke")
    office.clock.ms += 1000
    await send(desk, PAUSE, reason="wrong prices")
    office.clock.ms += 1000
    await send(desk, RESUME)
    entries = [one for one in await office.storage.audit.list(0, 9) if "operator" in one.actor]
    assert [(one.event, dict(one.details)) for one in entries] == [
        ("key_revoked", {"key": "key_1"}),
        ("source_paused", {"source": "velora", "pauseReason": "wrong prices"}),
        ("source_resumed", {"source": "velora"}),
    ]
    assert {tuple(one.actor.items()) for one in entries} == {
        (("operator", "alice"), ("operatorId", operator.id))
    }
    lines = [json.loads(line) for line in office.audit_file.read_text("utf-8").splitlines()]
    assert [(one["event"], one["operator"], one["outcome"]) for one in lines] == [
        (one.event, "alice", "done") for one in entries
    ]


async def test_a_source_is_paused_and_resumed(office: Office, desk: httpx.AsyncClient) -> None:
    answer = await send(desk, PAUSE, reason="  wrong \n prices ")
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/sources")
    [held] = await office.storage.paused_sources.list()
    assert (held.name, held.paused_by, held.reason) == ("velora", "alice", "wrong prices")
    page = await desk.get("/operator/sources")
    assert "wrong prices" in page.text
    assert RESUME in page.text
    assert (await send(desk, PAUSE)).status_code == 409
    assert (await send(desk, RESUME)).status_code == 303
    assert not await office.storage.paused_sources.list()
    assert (await send(desk, RESUME)).status_code == 409


async def test_a_reason_is_checked(office: Office, desk: httpx.AsyncClient) -> None:
    for reason in ("x" * 201, "bidi \u202e", "bell \x07"):
        answer = await send(desk, PAUSE, reason=reason)
        assert answer.status_code == 409
        assert "a reason has at most 200 characters" in answer.text
        assert "\u202e" not in answer.text
    assert not await office.storage.paused_sources.list()


async def test_only_what_exists_can_be_changed(office: Office, desk: httpx.AsyncClient) -> None:
    token = token_of(await desk.get("/operator"))
    for path, status in (
        ("/keys/key_9/revoke", 409),
        ("/sources/nobody/pause", 409),
        ("/sources/nobody/resume", 409),
        ("/sources/velora/stop", 404),
        ("/orders", 404),
        ("", 404),
    ):
        if status == 409 or path.endswith("stop"):
            assert (await desk.get(f"/operator{path}")).status_code == 404
        answer = await desk.post(f"/operator{path}", data={"token": token})
        assert answer.status_code == status, path
    assert not [one for one in await office.storage.audit.list(0, 9) if "operator" in one.actor]


async def test_nothing_is_done_without_the_audit_file(
    office: Office, desk: httpx.AsyncClient
) -> None:
    office.audit_file.mkdir()
    answer = await send(desk, PAUSE)
    assert answer.status_code == 409
    assert "audit file cannot be written" in answer.text
    assert not await office.storage.paused_sources.list()


async def test_nothing_is_done_where_the_audit_file_has_no_room(
    office: Office, desk: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_file, "_ROOM", 1 << 60)
    answer = await send(desk, PAUSE)
    assert answer.status_code == 409
    assert "Nothing was changed" in answer.text
    assert "No space left on device" in answer.text
    assert not await office.storage.paused_sources.list()


async def test_what_was_done_without_its_line_is_said_to_be_done(
    office: Office, desk: httpx.AsyncClient
) -> None:
    """A disk that fills in between: the database has the entry, in one transaction with it."""
    office.audit_file.symlink_to("/dev/full")
    answer = await send(desk, PAUSE)
    assert "It was done, and the audit log has it, but the audit file cannot be" in answer.text
    assert "Nothing was changed" not in answer.text
    assert [one.name for one in await office.storage.paused_sources.list()] == ["velora"]
    assert "source paused" in (await desk.get("/operator/audit")).text


async def test_an_action_with_a_text_that_no_database_can_hold(
    office: Office, desk: httpx.AsyncClient
) -> None:
    token = token_of(await desk.get("/operator"))
    for path, reason in (("/operator/keys/%00/revoke", ""), (PAUSE, "a\0b")):
        answer = await desk.post(path, data={"token": token, "reason": reason})
        assert answer.status_code == 400
    assert not await office.storage.paused_sources.list()
